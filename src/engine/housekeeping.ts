import { ProctorError } from '../contract/problem.ts';
import type { RunRow, Store } from '../contract/store.ts';
import { LEASE_LOSS_BACKOFF, MAX_LEASE_LOSSES } from '../core/decide.ts';
import { isDead } from '../lib/host.ts';
import { Lru } from '../lib/lru.ts';
import type { AttemptDeps } from './attempt-work.ts';
import { finalizeRun } from './finalize.ts';
import { materializeWindow } from './materialize.ts';
import { readSnapshot } from './run-context.ts';
import { StopSearch, stopAtBudget } from './stop.ts';
import { TimeWorked } from './time-worked.ts';

/** Which runs to keep, until when, and whom to tell. */
export interface HousekeepingOptions {
  readonly session_id: string;
  readonly run_ids: readonly string[] | null;
  readonly lease_ms: number;
  readonly signal: AbortSignal;
  /** Something changed that a waiting worker should look at. */
  readonly changed: () => void;
  readonly failed: (error: unknown) => void;
  /** How many sessions are live, this one among them. */
  readonly sharers: (count: number) => void;
  /** The run is to be cancelled: let go of what is held of it. */
  readonly cancelled: (runId: string) => void;
}

const TICK_MS = 100;
const REAP_EVERY_MS = 1000;
const REAP_BATCH = 200;
const SWEEP_BATCH = 500;

/**
 * What every worker does for the runs besides working: fill the queue's window, take leases of the dead, end cancelled
 * executions, stop runs at their time limit, at a spent budget or at a decided gate, finalize. Any number of workers may do it; every step is guarded in the store.
 */
export async function keepHouse(deps: AttemptDeps, options: HousekeepingOptions): Promise<void> {
  const { clock } = deps;
  let reaped = Number.NEGATIVE_INFINITY;
  const frozen: FrozenRuns = new Lru(100);
  const time = new TimeWorked(deps, options.lease_ms);
  while (!options.signal.aborted) {
    try {
      const active = (await deps.store.activeRuns()).filter(
        (run) => options.run_ids === null || options.run_ids.includes(run.run_id),
      );
      time.keep(active);
      for (const run of active) {
        if (run.cancel_requested_at !== null) options.cancelled(run.run_id);
        if (await tend(deps, run, frozen, time)) options.changed();
      }
      const now = clock.monotonic();
      const due = now - reaped > Math.min(REAP_EVERY_MS, options.lease_ms / 2) * (0.75 + 0.5 * Math.random());
      if (due) {
        reaped = now;
        const taken = await deps.store.reap({
          dead_sessions: await deadSessions(deps.store, options),
          limit: REAP_BATCH,
          lease_ms: options.lease_ms,
          max_losses: MAX_LEASE_LOSSES,
          backoff: LEASE_LOSS_BACKOFF,
        });
        if (taken.length > 0) options.changed();
        const live = await deps.store.liveSessions(clock.now() - options.lease_ms);
        options.sharers(live.filter(({ role }) => role === 'worker').length);
      }
    } catch (error) {
      options.failed(error);
      return;
    }
    await clock.sleep(TICK_MS, options.signal).catch(() => undefined); // the stop ends the loop
  }
}

/** What looking after a run needs of its snapshot, by run id. */
interface FrozenRun {
  readonly time_ms: number | null;
  /** Null when the run does not stop early. */
  readonly search: StopSearch | null;
}
type FrozenRuns = Lru<string, Promise<FrozenRun>>;

async function frozenOf(store: Store, run: RunRow): Promise<FrozenRun> {
  const snapshot = await readSnapshot(store, run);
  const { limits, early_stop } = snapshot.profile;
  return { time_ms: limits.run.time_ms, search: early_stop === 'off' ? null : new StopSearch(snapshot) };
}

/** One look at one run; true when it moved. */
async function tend(deps: AttemptDeps, run: RunRow, frozen: FrozenRuns, time: TimeWorked): Promise<boolean> {
  const { store, artifacts } = deps;
  if (run.cancel_requested_at !== null) return (await store.sweepCancelled(run.run_id, SWEEP_BATCH)) > 0;
  if (run.status === 'finalizing') return await guarded(deps, run, () => finalizeRun(deps, run));
  if (run.stop_reason !== null) {
    if ((await store.sweepCancelled(run.run_id, SWEEP_BATCH)) > 0) return true;
    return (await store.beginFinalize(run.run_id)) && (await guarded(deps, run, () => finalizeRun(deps, run)));
  }
  const { time_ms: limit, search } = await frozen.get(run.run_id, () => frozenOf(store, run));
  const decision = (await search?.look(store, run.run_id)) ?? null;
  if (decision !== null && decision.after_cases < run.cases)
    return await store.stopRun(run.run_id, { reason: 'early_stop', after: decision.after_cases * run.repeats });
  if (await stopAtBudget(store, run)) return true;
  if (limit !== null && run.status === 'running' && (await time.over(run.run_id, limit)))
    return await store.requestCancel(run.run_id, `limits.run.time_ms (${limit} ms) was reached`);
  if (run.materialized < run.total) return await guarded(deps, run, () => materializeWindow(store, artifacts, run));
  const { pending, running, retry_scheduled, waiting } = await store.progress(run.run_id);
  if (pending + running + retry_scheduled + waiting > 0) return false; // a look, so that no transaction is spent; the store decides
  if (await store.beginFinalize(run.run_id)) return await guarded(deps, run, () => finalizeRun(deps, run));
  return false;
}

/** A run whose own evidence cannot be read fails by its own fault; the store's troubles are not the run's. */
async function guarded(deps: AttemptDeps, run: RunRow, step: () => Promise<boolean>): Promise<boolean> {
  try {
    return await step();
  } catch (error) {
    if (!ProctorError.is(error) || !['artifact_missing', 'artifact_corrupt', 'store_altered'].includes(error.code))
      throw error;
    return await deps.store.failRun(run.run_id, error.message);
  }
}

async function deadSessions(store: Store, { session_id }: HousekeepingOptions): Promise<string[]> {
  const live = await store.liveSessions(0);
  return live
    .filter((session) => session.session_id !== session_id && isDead(session))
    .map((session) => session.session_id);
}
