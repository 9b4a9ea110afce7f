import type { App } from '../app.ts';
import { ProctorError } from '../contract/problem.ts';
import type { RunRow, TrippedBreaker } from '../contract/store.ts';
import { describeRun } from '../engine/describe.ts';
import { pausedText } from '../engine/paused.ts';
import { findRun } from '../engine/run.ts';
import { type RunView, viewRun } from '../engine/run-view.ts';
import { Worker } from '../engine/worker.ts';
import { openToolDoors } from '../gateway-doors.ts';
import type { CommandContext } from './context.ts';
import { counted } from './format.ts';
import type { Output } from './output.ts';
import { showProgress } from './progress.ts';
import { publishEnd, startPublisher } from './publisher.ts';
import { runReport } from './report.ts';
import { onInterrupt } from './signals.ts';
import { startWorkers } from './worker-processes.ts';

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
    if (await app.store.rearm(run.run_id)) output.note(`proctor: ${run.run_id} had stopped; trying again`);
    await using workers = startWorkers(context, {
      run_id: run.run_id,
      count: options.workers,
      lease_ms: options.leaseMs,
      drain_ms: options.drainMs,
    });
    await using _publisher = startPublisher(app, output);
    using interruption = onInterrupt(output, (signal) => workers.signal(signal));
    await using doors = openToolDoors(app, context);
    const worker = new Worker(
      { ...app, doors },
      {
        name: `run-${process.pid}`,
        run_ids: [run.run_id],
        concurrency: options.concurrency ?? run.concurrency,
        lease_ms: options.leaseMs,
        base_dir: null,
        drain: interruption.drain,
        drain_ms: options.drainMs,
        notice: (message) => output.note(`proctor: ${message}`),
      },
    );
    const shown = new AbortController();
    const title = `${run.run_id}  ${counted(run.cases, 'case')} × ${run.repeats}`;
    const show = options.quiet
      ? Promise.resolve()
      : showProgress(app.store, app.clock, output, {
          run_id: run.run_id,
          title,
          signal: shown.signal,
          session_id: worker.session_id,
        });
    show.catch(() => undefined); // awaited below; until then its failure is not an unhandled one
    try {
      await worker.run();
    } catch (error) {
      workers.signal('SIGTERM'); // what ends this process for a reason is not waited out by the others
      throw withNext(error, `\`proctor resume ${run.run_id}\` then goes on: nothing is lost`);
    } finally {
      shown.abort(new Error('the run ended'));
      await show;
    }
    const code = interruption.exitCode();
    const after = await findRun(app.store, run.run_id);
    const tripped = after.finished_at === null ? await app.store.breaker(run.run_id) : null;
    if (after.finished_at !== null || tripped !== null) await publishEnd(app, output, run.run_id);
    if (tripped !== null) return await tellStop({ output, app }, after, tripped);
    if (code !== null && after.finished_at === null) {
      output.note(`proctor: stopped; go on with: proctor resume ${run.run_id}`);
      if (output.json) output.result(await describeRun(app.store, after), '');
      return code;
    }
  }
  return await printRun(context, app, run.run_id);
}

/** Tells of a run that its breaker stopped and how to go on; answers the exit code. */
export async function tellStop(
  { output, app, document = true }: { readonly output: Output; readonly app: App; readonly document?: boolean },
  run: RunRow,
  tripped: TrippedBreaker,
): Promise<number> {
  output.note(`proctor: stopped: ${pausedText(tripped)}; then: proctor resume ${run.run_id}`);
  if (output.json && document) output.result(await describeRun(app.store, run), '');
  return 3;
}

/** A full disk with what to do once there is room; any other error as it is. */
export function withNext(error: unknown, next: string): unknown {
  if (!ProctorError.is(error) || error.code !== 'store_full') return error;
  return new ProctorError('store_full', `${error.message}; ${next}`, { cause: error });
}

/** Prints the run's document or report by the last revision; answers the exit code of its gate. */
export async function printRun({ output }: CommandContext, app: App, runId: string): Promise<number> {
  const run = await findRun(app.store, runId);
  const view = await viewRun(app.store, run);
  return await printView(output, app, view);
}

/** Prints a run by a revision, once the store is known to hold it; answers the exit code of its gate. */
export async function printView(output: Output, app: App, view: RunView): Promise<number> {
  const document = await describeRun(app.store, view.run, view);
  if (view.run.finished_at !== null) {
    await app.store.confirm(view.run.run_id);
    await app.artifacts.confirm();
  }
  output.result(document, output.json ? '' : await runReport(app, view, document, output));
  return exitCodeOf(document);
}

/** The exit code of a run (CONTRACTS, exit codes). */
export function exitCodeOf(run: Pick<RunRow, 'status' | 'gate_status'>): number {
  if (run.status !== 'completed') return 3;
  return { pass: 0, fail: 1, inconclusive: 5, unknown: 3 }[run.gate_status];
}
