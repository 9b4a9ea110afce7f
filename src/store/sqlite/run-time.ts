import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { Transaction } from './transaction.ts';

/** Adds the last `ms` to the time that a run was worked on, but for what another process has counted; answers the sum. */
export function countWork(tx: Transaction, runNo: number, ms: number): number {
  const row = tx.connection.get<{ worked_ms: number }>(
    `insert into run_time (run_no, worked_ms, counted_to) values (?1, ?2, ?3)
on conflict (run_no) do update set worked_ms = worked_ms + max(0, min(?2, ?3 - counted_to)), counted_to = max(counted_to, ?3)
returning worked_ms`,
    runNo,
    Math.round(ms),
    tx.schedule,
  );
  return row?.worked_ms ?? 0;
}

/** How long a run was worked on, ms, as far as it is counted. */
export function timeWorked(connection: Connection, keys: Keys, runId: string): number {
  return (
    connection.get<{ worked_ms: number }>('select worked_ms from run_time where run_no = ?', keys.run(runId))
      ?.worked_ms ?? 0
  );
}
