import type { RunStatus } from '../../contract/state.ts';
import type { EventRow, RunRow } from '../../contract/store.ts';

/** The run as its events so far tell of it. */
type RunSoFar = Partial<Record<keyof RunRow, unknown>>;

const GOING: readonly RunStatus[] = ['pending', 'running'];
const WORKED_ON: readonly RunStatus[] = ['running', 'failed']; // who holds an execution of a run that failed may still end it
const ANY: readonly RunStatus[] = ['pending', 'running', 'finalizing', 'completed', 'failed', 'cancelled'];

/** In which states of its run an event can happen, by type; every type that there is. */
const HAPPENS_WHILE: Readonly<Record<string, readonly RunStatus[]>> = {
  run_created: ['pending'],
  run_started: ['pending'],
  run_cancel_requested: GOING,
  run_stopped: ['running'],
  run_paused: WORKED_ON,
  run_resumed: WORKED_ON,
  run_finalizing: ['running'],
  gateway_sealed: ['finalizing'],
  run_completed: ['finalizing'],
  run_cancelled: GOING,
  run_failed: ['running', 'finalizing'],
  attempt_started: ['running'],
  attempt_suspended: WORKED_ON,
  attempt_finished: WORKED_ON,
  attempt_stale: WORKED_ON,
  execution_finished: WORKED_ON,
  late_evidence: ANY,
  grade_corrected: ['completed'],
};

/** Events that happen once, and the column that they fill. */
const ONCE: Readonly<Record<string, keyof RunRow>> = {
  run_cancel_requested: 'cancel_requested_at',
  run_stopped: 'stop_reason',
};

/** Why an event cannot have happened where it stands in its run's chain, however well it is chained; null when it can. */
export function whyMisplaced({ type }: EventRow, run: RunSoFar, any: boolean): string | null {
  if (!Object.hasOwn(HAPPENS_WHILE, type)) return 'no run has such an event';
  if ((type === 'run_created') === any)
    return any ? 'a run is created once, before anything else' : 'a run begins with its creation';
  const status = run.status as RunStatus;
  if (!HAPPENS_WHILE[type]?.includes(status)) return `it cannot happen to a run that is ${status}`;
  const column = ONCE[type];
  if (column !== undefined && run[column] !== null) return 'it happened before';
  return type === 'run_cancelled' && run.cancel_requested_at === null ? 'nobody had asked for it' : null;
}
