import path from 'node:path';
import { stringify } from 'yaml';
import { ProctorError } from '../../contract/problem.ts';
import { readRegular } from '../../lib/regular-file.ts';
import { parsePlaced } from '../yaml/placed-document.ts';
import { type Imported, importPromptfoo } from './promptfoo.ts';

const MOST_BYTES = 16 * 1024 * 1024;

/** An import as the texts of its two files. */
export interface ImportedFiles {
  readonly profile: string;
  readonly cases: string;
  readonly count: number;
  readonly left_out: readonly string[];
}

/** Reads a promptfoo configuration in YAML or JSON with the YAML and JSON files that its tests name, for a profile in a folder; runs nothing of it. */
export async function readPromptfoo(file: string, folder: string): Promise<ImportedFiles> {
  const config = await readYaml(file);
  if (typeof config !== 'object' || config === null || Array.isArray(config))
    throw new ProctorError('invalid_input', `\`${file}\` is not a promptfoo configuration: it is not a mapping`);
  const tests = (config as { tests?: unknown }).tests ?? [];
  const read = await Promise.all((Array.isArray(tests) ? tests : [tests]).map((test) => readTests(test, file)));
  const prompts = (config as { prompts?: unknown }).prompts ?? [];
  const texts = await Promise.all(
    (Array.isArray(prompts) ? prompts : [prompts]).map((prompt) => readPrompt(prompt, file)),
  );
  const [defaultTest] = await readTests((config as { defaultTest?: unknown }).defaultTest ?? {}, file);
  const from = path.relative(folder, path.dirname(file)).split(path.sep).join('/') || '.';
  const imported: Imported = importPromptfoo({ ...config, defaultTest, prompts: texts, tests: read.flat() }, from);
  return {
    profile: stringify(imported.profile, { lineWidth: 120 }),
    cases: imported.cases.map((item) => `${JSON.stringify(item)}\n`).join(''),
    count: imported.cases.length,
    left_out: imported.left_out,
  };
}

/** A test, or the tests of the YAML or JSON file that stands in its place; other references stay as they are. */
async function readTests(test: unknown, file: string): Promise<unknown[]> {
  const named = typeof test === 'string' ? /^(?:file:\/\/)?(.+\.(?:ya?ml|json))$/.exec(test)?.[1] : undefined;
  if (named === undefined) return [test];
  const found = await readYaml(path.resolve(path.dirname(file), named));
  return Array.isArray(found) ? found : [found];
}

/** A prompt, or the text of the file that stands in its place; a prompt that is code is refused, because nothing could be asked. */
async function readPrompt(prompt: unknown, file: string): Promise<unknown> {
  const named =
    typeof prompt === 'string'
      ? /^(?:file:\/\/(.+)|([^\s{}]+\.(?:txt|md|json|ya?ml|js|mjs|ts|py)))$/.exec(prompt)
      : null;
  if (named === null) return prompt;
  const name = named[1] ?? named[2] ?? '';
  if (!/\.(?:txt|md|json)$/.test(name) || /[*?]/.test(name))
    throw new ProctorError(
      'invalid_input',
      `the prompt \`${name}\` is code or a pattern, which is not imported; write it as a text`,
    );
  return await readText(path.resolve(path.dirname(file), name));
}

async function readText(file: string): Promise<string> {
  const bytes = await readRegular(file, MOST_BYTES).catch((error: Error) => {
    throw new ProctorError('invalid_input', `\`${file}\` ${error.message}`, { cause: error });
  });
  return bytes.toString('utf8');
}

async function readYaml(file: string): Promise<unknown> {
  const text = await readText(file);
  const { value, problems } = parsePlaced(text, file, { merge: true });
  if (problems.length > 0)
    throw new ProctorError('invalid_input', `\`${file}\` is not YAML`, { diagnostics: problems });
  return value;
}
