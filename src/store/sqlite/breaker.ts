import type { CallFailure, CallReport, TrippedBreaker } from '../../contract/store.ts';
import { holdsBack, lengthened, trips } from '../../core/breaker.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Connection } from './connection.ts';
import { publish } from './deliveries.ts';
import type { Keys } from './keys.ts';
import type { Transaction } from './transaction.ts';

interface Place {
  readonly run_no: number;
  readonly run_id: string;
  readonly ordinal: number;
}

interface Row {
  readonly worked: 0 | 1;
  readonly class: string | null;
  readonly failures: number;
  readonly tripped_at: number | null;
}

const NEW: Row = { worked: 0, class: null, failures: 0, tripped_at: null };

/**
 * Takes down how the calls of an attempt went, and stops the run when enough first calls failed the same way. Answers what its execution
 * waits for when the attempt is to end nothing: a side failed on which no call has worked yet.
 */
export function reportCalls(tx: Transaction, keys: Keys, at: Place, calls: readonly CallReport[] = []): number | null {
  let hold: number | null = null;
  for (const call of calls) {
    if (keys.worked(at.run_no, call.side)) continue;
    const row = rowOf(tx.connection, at.run_no, call.side) ?? NEW;
    if (row.worked === 1) keys.hasWorked(at.run_no, call.side);
    else if (call.outcome === 'worked') worked(tx, keys, at, call.side, row);
    else if (failed(tx, at, call, row)) hold = call.hold_ms;
  }
  return hold;
}

function worked(tx: Transaction, keys: Keys, at: Place, side: CallReport['side'], row: Row): void {
  write(tx, at.run_no, side, { ...NEW, worked: 1 });
  keys.hasWorked(at.run_no, side);
  if (row.tripped_at !== null)
    tx.event({ ...run(at), type: 'run_resumed', body: canonicalJson({ because: 'worked', side }) });
}

/** Answers whether the attempt is to end nothing. */
function failed(tx: Transaction, at: Place, call: CallFailure, row: Row): boolean {
  const { connection, now } = tx;
  const key = [at.run_no, at.ordinal] as const;
  connection.run(
    'update or fail queue set breaker_failures = breaker_failures + 1 where run_no = ? and ordinal = ?',
    ...key,
  );
  const { rounds = 1, total = 1 } =
    connection.get<{ rounds: number; total: number }>(
      'select q.breaker_failures as rounds, r.total from queue q join run r on r.run_no = q.run_no where q.run_no = ? and q.ordinal = ?',
      ...key,
    ) ?? {};
  const streak = lengthened(row, call);
  const trip = row.tripped_at === null && trips(streak, call, rounds, total);
  write(tx, at.run_no, call.side, { worked: 0, ...streak, tripped_at: trip ? now : row.tripped_at }, call.reason);
  const { side, class: name, reason } = call;
  if (trip) {
    const told = { class: name, failures: streak.failures, reason, side };
    const outbox = publish(tx, run(at), 'run_paused', canonicalJson(told));
    tx.event({ ...run(at), type: 'run_paused', body: canonicalJson({ ...told, outbox }) });
  }
  return holdsBack(trip || row.tripped_at !== null, rounds);
}

/** Lets a run that was stopped try again: what failed meanwhile is due at once and has its retries back. */
export function rearm(tx: Transaction, keys: Keys, runId: string): boolean {
  const run_no = keys.run(runId);
  const changed = tx.connection.run(
    'update breaker set tripped_at = null, class = null, failures = 0 where run_no = ? and tripped_at is not null',
    run_no,
  );
  if (changed === 0) return false;
  tx.connection.run(
    "update or fail queue set breaker_failures = 0, infrastructure_failures = 0, available_at = ? where run_no = ? and status = 'retry_scheduled' and breaker_failures > 0",
    tx.schedule,
    run_no,
  );
  tx.event({ run_no, run_id: runId, type: 'run_resumed', body: canonicalJson({ because: 'asked' }) });
  return true;
}

/** The breaker that stopped the run, or null. */
export function breaker(connection: Connection, keys: Keys, runId: string): TrippedBreaker | null {
  // Bundles of older Proctors have no such table.
  if (connection.get("select 1 from sqlite_schema where name = 'breaker'") === undefined) return null;
  return (
    connection.get<TrippedBreaker & Record<string, unknown>>(
      'select side, class, failures, reason, tripped_at from breaker where run_no = ? and tripped_at is not null order by side limit 1',
      keys.run(runId),
    ) ?? null
  );
}

function rowOf(connection: Connection, runNo: number, side: string): Row | undefined {
  return connection.get<Row & Record<string, unknown>>(
    'select worked, class, failures, tripped_at from breaker where run_no = ? and side = ?',
    runNo,
    side,
  );
}

function write(tx: Transaction, runNo: number, side: string, row: Row, reason: string | null = null): void {
  tx.connection.run(
    `insert into breaker (run_no, side, worked, class, failures, reason, tripped_at) values (?, ?, ?, ?, ?, ?, ?)
on conflict (run_no, side) do update set worked = excluded.worked, class = excluded.class, failures = excluded.failures,
reason = excluded.reason, tripped_at = excluded.tripped_at`,
    runNo,
    side,
    row.worked,
    row.class,
    row.failures,
    reason,
    row.tripped_at,
  );
}

function run({ run_no, run_id }: Place): { run_no: number; run_id: string } {
  return { run_no, run_id };
}
