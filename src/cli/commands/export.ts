import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { exporterOf } from '../../adapters/exporters/index.ts';
import { type App, exportBundle } from '../../app.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { RunRow } from '../../contract/store.ts';
import { revisionRoots } from '../../core/evidence.ts';
import { describeRun } from '../../engine/describe.ts';
import { describeExecutions } from '../../engine/describe-executions.ts';
import { pausedText } from '../../engine/paused.ts';
import { findRun } from '../../engine/run.ts';
import { viewRun } from '../../engine/run-view.ts';
import { randomText } from '../../lib/id.ts';
import { onlyFileAt } from '../../lib/regular-file.ts';
import type { Command, CommandContext } from '../context.ts';
import { readKey } from '../key-file.ts';

interface ExportOptions {
  readonly run: string;
  readonly format: string;
  readonly out?: string;
  readonly sign?: string;
  readonly revision?: number;
}

/** `proctor export RUN --format FORMAT --out PATH`: a run for CI, spreadsheets, people, or another machine. */
export const exportRun: Command<ExportOptions> = async (context, options) => {
  const bundle = options.format === 'bundle';
  const exporter = bundle ? null : exporterOf(options.format); // a wrong name is told before anything is opened
  if (bundle && options.out === undefined)
    throw new ProctorError('usage', 'a bundle is a file: say where with --out PATH');
  if (!bundle && options.sign !== undefined)
    throw new ProctorError('usage', '--sign signs a bundle; the other formats carry no signature');
  if (bundle && options.revision !== undefined)
    throw new ProctorError('usage', 'a bundle holds every revision; --revision is for the other formats');
  await using app = await context.openApp({ existing: true });
  const run = await findRun(app.store, options.run);
  if (run.finished_at === null) throw await notEnded(app, run);
  const target = options.out === undefined ? null : path.resolve(context.cwd, options.out);
  if (exporter === null) return await bundleOf(context, app, run, target ?? '', options.sign ?? null);
  const view = await viewRun(app.store, run, options.revision ?? null);
  const parts = exporter.write({
    run: await describeRun(app.store, run, view),
    executions: () => describeExecutions(app, view),
  });
  if (target === null) {
    await context.output.text(parts);
    return 0;
  }
  await writeText(target, parts);
  context.output.result(
    { run_id: run.run_id, format: options.format, path: target },
    `${options.format} written to ${target}`,
  );
  return 0;
};

async function notEnded({ store }: App, { run_id, status }: RunRow): Promise<ProctorError> {
  const tripped = await store.breaker(run_id);
  const how = tripped === null ? status : `paused (${pausedText(tripped)})`;
  return new ProctorError(
    'illegal_transition',
    `${run_id} is ${how}: a run is exported when it has ended; \`proctor resume ${run_id}\` goes on with it`,
  );
}

async function bundleOf(
  { output, cwd }: CommandContext,
  app: App,
  run: RunRow,
  target: string,
  keyFile: string | null,
): Promise<number> {
  const key = keyFile === null ? null : await readKey(path.resolve(cwd, keyFile));
  const sha256 = await exportBundle(app, run, target, key);
  const roots = revisionRoots(run, await app.store.corrections(run.run_id));
  const document = {
    run_id: run.run_id,
    format: 'bundle',
    path: target,
    evidence_root: run.evidence_root,
    sha256,
    revision_root: roots.length > 1 ? (roots.at(-1) ?? null) : null,
    signed: key !== null,
  };
  output.result(
    document,
    `bundle written to ${target}; check it anywhere with: proctor verify ${path.basename(target)}`,
  );
  return 0;
}

/** Written aside and renamed: whoever waits for the file never reads half of it. */
async function writeText(target: string, parts: AsyncIterable<string>): Promise<void> {
  await onlyFileAt(target).catch((error: Error) => {
    throw new ProctorError('invalid_input', `\`${target}\` ${error.message}; name a file to write`, { cause: error });
  });
  const aside = `${target}.${randomText(8)}`;
  try {
    await pipeline(Readable.from(parts), createWriteStream(aside, { flags: 'wx' }));
    await rename(aside, target);
  } catch (error) {
    await rm(aside, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || ProctorError.is(error)) throw error;
    throw new ProctorError('invalid_input', `\`${target}\` cannot be written (${code})`, { cause: error });
  }
}
