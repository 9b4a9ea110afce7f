import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { App } from '../app.ts';
import type { RunRow } from '../contract/store.ts';
import { describeRun } from '../engine/describe.ts';
import { findRun } from '../engine/run.ts';
import { Worker } from '../engine/worker.ts';
import type { CommandContext } from './context.ts';
import { showProgress } from './progress.ts';
import { runReport } from './report.ts';
import { onInterrupt } from './signals.ts';

/** Options of the commands that work on a run. */
export interface Working {
  readonly concurrency?: number;
  readonly workers: number;
  readonly leaseMs: number;
  readonly drainMs: number;
  readonly quiet?: boolean;
}

/** Works on a run in this process (and in `--workers` more) until it has ended, then prints its document; answers the exit code. */
export async function workOn(context: CommandContext, app: App, run: RunRow, options: Working): Promise<number> {
  const { output } = context;
  if (run.finished_at === null) {
    const children: { kill(signal: NodeJS.Signals): void }[] = [];
    using interruption = onInterrupt(output, (signal) => {
      for (const child of children) child.kill(signal);
    });
    for (let index = 0; index < options.workers; index += 1)
      children.push(startWorker(context, run.run_id, index + 1, options));
    const worker = new Worker(app, {
      name: `run-${process.pid}`,
      run_ids: [run.run_id],
      concurrency: options.concurrency ?? run.concurrency,
      lease_ms: options.leaseMs,
      base_dir: null,
      drain: interruption.drain,
      drain_ms: options.drainMs,
      notice: (message) => output.note(`proctor: ${message}`),
    });
    const shown = new AbortController();
    const title = `${run.run_id}  ${run.cases} cases × ${run.repeats}`;
    const show = options.quiet
      ? Promise.resolve()
      : showProgress(app.store, app.clock, output, {
          run_id: run.run_id,
          title,
          signal: shown.signal,
          session_id: worker.session_id,
        });
    try {
      await worker.run();
    } finally {
      shown.abort(new Error('the run ended'));
      await show;
    }
    const code = interruption.exitCode();
    const after = await findRun(app.store, run.run_id);
    if (code !== null && after.finished_at === null) {
      output.note(`proctor: stopped; go on with: proctor resume ${run.run_id}`);
      if (output.json) output.result(await describeRun(app.store, after), '');
      return code;
    }
  }
  return await printRun(context, app, run.run_id);
}

/** Prints the run's document or report; answers the exit code of its gate. */
export async function printRun({ output }: CommandContext, app: App, runId: string): Promise<number> {
  const run = await findRun(app.store, runId);
  const document = await describeRun(app.store, run);
  output.result(document, output.json ? '' : await runReport(app, run, document, output));
  return exitCodeOf(run);
}

/** The exit code of a run (CONTRACTS, exit codes). */
export function exitCodeOf(run: RunRow): number {
  if (run.status !== 'completed') return 3;
  return { pass: 0, fail: 1, inconclusive: 5, unknown: 3 }[run.gate_status];
}

/** Starts `proctor worker` for the run, with this very program. */
function startWorker(
  context: CommandContext,
  runId: string,
  number: number,
  options: Working,
): { kill(signal: NodeJS.Signals): void } {
  const main = fileURLToPath(import.meta.url).replace(/work(\.[tj]s)$/, 'main$1');
  const argv = [main, 'worker', '--run', runId, '--name', `worker-${number}`, '--lease-ms', String(options.leaseMs)];
  const child = spawn(process.execPath, argv, {
    cwd: context.cwd,
    env: context.environment as NodeJS.ProcessEnv,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  child.on('error', (error) => context.output.note(`proctor: worker ${number} could not be started: ${error.message}`));
  return { kill: (signal) => void child.kill(signal) };
}
