import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readPromptfoo } from '../../adapters/importers/read-promptfoo.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { Command } from '../context.ts';
import { counted } from '../format.ts';
import { printable } from '../output.ts';

interface ImportOptions {
  readonly format: string;
  readonly file: string;
  readonly out?: string;
  readonly force?: boolean;
}

const MOST_SHOWN = 50;

/** `proctor import promptfoo FILE`: a promptfoo configuration as a profile and a dataset; exit 1 when something was left out. */
export const importFile: Command<ImportOptions> = async ({ cwd, output }, options) => {
  if (options.format !== 'promptfoo')
    throw new ProctorError(
      'usage',
      `there is no import of \`${options.format}\`; there is promptfoo (recorded predictions are an agent of kind \`replay\`)`,
    );
  const folder = path.resolve(cwd, options.out ?? 'imported');
  const found = await readPromptfoo(path.resolve(cwd, options.file), folder);
  if (found.count === 0)
    throw new ProctorError(
      'invalid_input',
      `no test of \`${options.file}\` can be imported: ${found.left_out.join('; ')}`,
    );
  await mkdir(folder, { recursive: true });
  await write(path.join(folder, 'profile.yaml'), found.profile, options.force ?? false);
  await write(path.join(folder, 'cases.jsonl'), found.cases, options.force ?? false);
  for (const line of found.left_out.slice(0, MOST_SHOWN))
    output.note(`  ${output.noteStyle('yellow', 'left out')} ${printable(line)}`);
  if (found.left_out.length > MOST_SHOWN) output.note(`  … ${found.left_out.length - MOST_SHOWN} more`);
  const profile = path.relative(cwd, path.join(folder, 'profile.yaml'));
  const next =
    found.left_out.length === 0
      ? `next: proctor check ${profile}`
      : `${counted(found.left_out.length, 'thing')} left out, listed under \`unfinished\` in ${profile}: settle each and delete its line; until then nothing runs`;
  output.result(
    { folder, cases: found.count, left_out: found.left_out },
    `${counted(found.count, 'case')} and a profile in ${folder}; ${next}`,
  );
  return found.left_out.length === 0 ? 0 : 1;
};

async function write(file: string, text: string, force: boolean): Promise<void> {
  await writeFile(file, text, { flag: force ? 'w' : 'wx' }).catch((error: NodeJS.ErrnoException) => {
    const cure =
      error.code === 'EEXIST'
        ? 'exists; --force writes over it, --out names another folder'
        : `cannot be written (${error.code ?? error.message})`;
    throw new ProctorError('usage', `\`${file}\` ${cure}`, { cause: error });
  });
}
