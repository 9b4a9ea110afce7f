import type { App } from '../../app.ts';
import type { RunRow, TrippedBreaker } from '../../contract/store.ts';
import { instant } from '../../core/instant.ts';
import { findRun } from '../../engine/run.ts';
import { attemptId, executionId } from '../../lib/id.ts';
import type { Command, CommandContext } from '../context.ts';
import { counted } from '../format.ts';
import { printable } from '../output.ts';
import { showProgress } from '../progress.ts';
import { onInterrupt } from '../signals.ts';
import { printRun, tellStop } from '../work.ts';

const LOOK_MS = 200;
const PAGE = 500;

/** `proctor watch RUN`: follow a run from anywhere that reaches the store; it works after the process that started it is gone. */
export const watch: Command<{ readonly run: string; readonly events?: boolean }> = async (context, options) => {
  await using app = await context.openApp({ existing: true });
  const { output } = context;
  const run = await findRun(app.store, options.run);
  using interruption = onInterrupt(output, () => undefined);
  const shown = new AbortController();
  const title = `${run.run_id}  ${counted(run.cases, 'case')} × ${run.repeats}`;
  const show =
    options.events || output.json || run.finished_at !== null
      ? Promise.resolve()
      : showProgress(app.store, app.clock, output, {
          run_id: run.run_id,
          title,
          signal: shown.signal,
          session_id: null,
        });
  show.catch(() => undefined); // awaited below; until then its failure is not an unhandled one
  let tripped: TrippedBreaker | null = null;
  try {
    tripped = await follow(context, app, run, options.events === true, interruption.drain);
  } finally {
    shown.abort(new Error('the watch ended'));
    await show;
  }
  const code = interruption.exitCode();
  if (code !== null) return code;
  if (tripped !== null) {
    const now = await findRun(app.store, run.run_id);
    return await tellStop({ output, app, document: options.events !== true }, now, tripped);
  }
  return options.events ? 0 : await printRun(context, app, run.run_id);
};

/** Waits for the run's end, or for its breaker to stop it; with `events` prints each event once, in commit order, to the last one. */
async function follow(
  { output }: CommandContext,
  app: App,
  run: RunRow,
  events: boolean,
  signal: AbortSignal,
): Promise<TrippedBreaker | null> {
  let after = 0;
  while (!signal.aborted) {
    // Looked up before the events, so that none is missed.
    const { finished_at } = await findRun(app.store, run.run_id);
    const tripped = finished_at === null ? await app.store.breaker(run.run_id) : null;
    for (let full = events; full; ) {
      const page = await app.store.events(run.run_id, { after, limit: PAGE });
      for (const event of page) {
        const document = {
          run_id: event.run_id,
          seq: event.seq,
          type: event.type,
          at: instant(event.at),
          execution_id: event.ordinal === null ? null : executionId(event.run_id, event.ordinal),
          attempt_id:
            event.ordinal === null || event.attempt === null
              ? null
              : attemptId(event.run_id, event.ordinal, event.attempt),
          data: event.body === null ? null : (JSON.parse(event.body) as unknown),
        };
        output.line(
          document,
          `${output.style('dim', document.at)} ${String(event.seq).padStart(6)} ${event.type} ${printable(document.attempt_id ?? document.execution_id ?? '')} ${printable(event.body ?? '')}`,
        );
      }
      after = page.at(-1)?.seq ?? after;
      full = page.length === PAGE;
    }
    if (finished_at !== null || tripped !== null) return tripped;
    await app.clock.sleep(LOOK_MS, signal).catch(() => undefined); // an interrupt ends the watch
  }
  return null;
}
