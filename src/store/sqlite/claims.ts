import type { Claim, ClaimRequest, EvidenceRow } from '../../contract/store.ts';
import { CAUTION } from '../../core/breaker.ts';
import { allowance } from '../../core/budget.ts';
import { randomText } from '../../lib/id.ts';
import { budgetsIn } from './budgets.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { Transaction } from './transaction.ts';

interface Due {
  readonly ordinal: number;
  readonly attempt: number;
  readonly agent_failures: number;
  readonly infrastructure_failures: number;
  readonly grader_failures: number;
  readonly lease_losses: number;
  readonly available_at: number;
  readonly case_id: string;
  readonly repeat: number;
}

interface ActiveRun {
  readonly run_no: number;
  readonly run_id: string;
  readonly concurrency: number;
}

/**
 * Claims executions under one fresh lease: due retries first, then the plan's order. A run's concurrency is shared out
 * among the live sessions, so that one process cannot take all of it and leave the others idle. An execution on its last
 * try is claimed alone.
 */
export function claim(tx: Transaction, keys: Keys, request: ClaimRequest): Claim[] {
  const sessionNo = keys.session(request.session_id);
  const leases = holdings(tx, sessionNo);
  if (leases.losses >= lastLosses(request)) return [];
  const runs = runnable(tx, request);
  const alone = request.capacity > 0 ? lastTry(tx, keys, runs, leases, request) : null;
  if (alone === 'wait') return [];
  if (alone !== null) return grant(tx, alone.run, sessionNo, request.lease_ms, [alone.row], []);
  const claims: Claim[] = [];
  for (const run of runs) {
    const room = request.capacity - claims.length;
    if (room <= 0) break;
    const take = Math.min(room, share(tx, keys, run, leases, request));
    if (take > 0) claims.push(...claimOf(tx, run, sessionNo, take, request));
  }
  return claims;
}

/** True when a claim could find something now; a look, so that idle workers spend no transaction. */
export function claimable(connection: Connection, request: ClaimRequest, schedule: number): boolean {
  return asked(connection, request).some(
    ({ run_no }) =>
      connection.get("select 1 from queue where run_no = ? and status = 'pending' limit 1", run_no) !== undefined ||
      connection.get(
        "select 1 from queue where run_no = ? and status = 'retry_scheduled' and available_at <= ? limit 1",
        run_no,
        schedule,
      ) !== undefined,
  );
}

/** The runs that were asked for and go on: few, so they are chosen here, for less than SQLite takes to read a list. */
function asked(connection: Connection, { run_ids }: ClaimRequest): ActiveRun[] {
  const runs = connection.all<ActiveRun>(
    "select run_no, run_id, concurrency from run where status = 'running' and cancel_requested_at is null and stop_reason is null and not exists (select 1 from breaker b where b.run_no = run.run_no and b.tripped_at is not null)",
  );
  return run_ids === null ? runs : runs.filter((run) => run_ids.includes(run.run_id));
}

/** Runs with work, the one that is furthest behind in its share first. */
function runnable({ connection }: Transaction, request: ClaimRequest): ActiveRun[] {
  const runs = asked(connection, request);
  if (runs.length < 2) return runs;
  const place = new Map(
    runs.map(({ run_no }) => [
      run_no,
      connection.get<{ pass: number | null }>(
        "select min(order_key) as pass from queue where run_no = ? and status = 'pending'",
        run_no,
      )?.pass ?? Number.MAX_SAFE_INTEGER,
    ]),
  );
  return runs.toSorted((a, b) => (place.get(a.run_no) ?? 0) - (place.get(b.run_no) ?? 0) || a.run_no - b.run_no);
}

/** What is leased: of each run by all and by the session, what the session holds in all, and the most losses among that. */
interface Holdings {
  readonly runs: ReadonlyMap<number, { readonly running: number; readonly own: number }>;
  readonly own: number;
  readonly losses: number;
}

function holdings(tx: Transaction, sessionNo: number): Holdings {
  const rows = tx.connection.all<{ run_no: number; running: number; own: number; losses: number }>(
    `select run_no, count(*) as running, sum(session_no = ?1) as own, max(iif(session_no = ?1, lease_losses, 0)) as losses
from queue indexed by queue_running where status = 'running' group by run_no`,
    sessionNo,
  );
  return {
    runs: new Map(rows.map((row) => [row.run_no, row])),
    own: rows.reduce((sum, row) => sum + row.own, 0),
    losses: Math.max(0, ...rows.map((row) => row.losses)),
  };
}

/**
 * The execution on its last try that this session is to take alone; `wait` when the session holds something and such an
 * execution has been due for longer than a lease, so that busy sessions run dry for it; null when there is none to think of.
 */
function lastTry(
  tx: Transaction,
  keys: Keys,
  runs: readonly ActiveRun[],
  leases: Holdings,
  request: ClaimRequest,
): { readonly run: ActiveRun; readonly row: Due } | 'wait' | null {
  for (const run of runs) {
    const [row] = due(
      tx,
      run,
      'queue_lost',
      "q.status = 'retry_scheduled' and q.lease_losses > 0 and q.lease_losses >= ?4 and q.available_at <= ?2 order by q.available_at, q.ordinal",
      1,
      lastLosses(request),
    );
    if (row === undefined) continue;
    if (share(tx, keys, run, leases, request) < 1 && leases.own === 0 && keys.budgeted(run.run_no)) continue;
    if (leases.own > 0) {
      if (row.available_at <= tx.schedule - request.lease_ms) return 'wait';
    } else if ((leases.runs.get(run.run_no)?.running ?? 0) < run.concurrency) {
      return { run, row };
    }
  }
  return null;
}

/** Losses after which an execution is on its last try; where none is allowed the first loss ends it. */
function lastLosses({ max_losses }: ClaimRequest): number {
  return Math.max(1, max_losses);
}

function share(tx: Transaction, keys: Keys, run: ActiveRun, leases: Holdings, request: ClaimRequest): number {
  const { running, own } = leases.runs.get(run.run_no) ?? { running: 0, own: 0 };
  const live =
    tx.connection.get<{ n: number }>(
      "select count(*) as n from worker_session where ended_at is null and role = 'worker' and last_seen_at > ?",
      tx.schedule - request.lease_ms,
    )?.n ?? 1;
  const ahead = live <= 1 ? request.ahead : 0;
  const fair = Math.min(
    run.concurrency + ahead - running,
    Math.ceil(run.concurrency / Math.max(1, live)) + ahead - own,
  );
  return Math.min(fair, keys.budgeted(run.run_no) ? allowance(budgetsIn(tx, run.run_no), running, own) : fair);
}

function claimOf(tx: Transaction, run: ActiveRun, sessionNo: number, take: number, request: ClaimRequest): Claim[] {
  const retries = due(
    tx,
    run,
    'queue_retry',
    "q.status = 'retry_scheduled' and q.lease_losses < ?4 and q.available_at <= ?2 order by q.available_at, q.ordinal",
    take,
    lastLosses(request),
  );
  const rest = cautious(tx, run) ? 0 : take - retries.length;
  const fresh =
    rest > 0
      ? due(
          tx,
          run,
          'queue_pending',
          "q.status = 'pending' and q.available_at <= ?2 order by q.order_key, q.ordinal",
          rest,
        )
      : [];
  return grant(tx, run, sessionNo, request.lease_ms, retries, fresh);
}

/** While no call has worked and many have failed the same way, what failed is tried again before anything fresh is. */
function cautious(tx: Transaction, { run_no }: ActiveRun): boolean {
  const found = tx.connection.get(
    'select 1 from breaker where run_no = ? and worked = 0 and failures >= ?',
    run_no,
    CAUTION,
  );
  return found !== undefined && tx.stat(run_no, 'retry_scheduled') + tx.stat(run_no, 'running') > 0;
}

function grant(
  tx: Transaction,
  run: ActiveRun,
  sessionNo: number,
  leaseMs: number,
  retries: readonly Due[],
  fresh: readonly Due[],
): Claim[] {
  const leaseId = randomText(16);
  tx.count(run.run_no, 'retry_scheduled', -retries.length);
  tx.count(run.run_no, 'pending', -fresh.length);
  tx.count(run.run_no, 'running', retries.length + fresh.length);
  tx.count(run.run_no, 'attempts', retries.length + fresh.length);
  return [...retries, ...fresh].map((row) => open(tx, run, sessionNo, leaseId, leaseMs, row));
}

/**
 * Executions that may be claimed now, to be leased one by one by key: the transaction holds the write lock, so nobody takes
 * them meanwhile, and an UPDATE over a list opens temporary tables that cost more than all its rows (0.3 ms a claim). The
 * index is named, because without statistics SQLite may read all that is queued instead; the limit is an expression, because
 * SQLite compiles a statement anew whenever another value is bound to a bare `limit ?` (0.2 ms a claim).
 */
function due(tx: Transaction, run: ActiveRun, index: string, which: string, take: number, ...more: number[]): Due[] {
  return tx.connection.all<Due & Record<string, unknown>>(
    `select q.ordinal, q.attempt, q.agent_failures, q.infrastructure_failures, q.grader_failures, q.lease_losses, q.available_at, x.case_id, x.repeat
from queue q indexed by ${index} cross join execution x on x.run_no = ?1 and x.ordinal = q.ordinal where q.run_no = ?1 and ${which} limit ?3 + 0`,
    run.run_no,
    tx.schedule,
    take,
    ...more,
  );
}

function open(tx: Transaction, run: ActiveRun, sessionNo: number, leaseId: string, leaseMs: number, row: Due): Claim {
  const { ordinal, case_id, repeat } = row;
  const attempt = row.attempt + 1;
  tx.connection.run(
    `update or fail queue set status = 'running', attempt = ?1, lease_id = ?2, session_no = ?3, lease_until = ?4
where run_no = ?5 and ordinal = ?6`,
    attempt,
    leaseId,
    sessionNo,
    tx.schedule + leaseMs,
    run.run_no,
    ordinal,
  );
  tx.connection.run(
    "insert or fail into attempt (run_no, ordinal, attempt, session_no, lease_id, status, started_at) values (?, ?, ?, ?, ?, 'running', ?)",
    run.run_no,
    ordinal,
    attempt,
    sessionNo,
    leaseId,
    tx.now,
  );
  tx.event({ run_no: run.run_no, run_id: run.run_id, type: 'attempt_started', ordinal, attempt });
  return {
    run_id: run.run_id,
    ordinal,
    attempt,
    lease_id: leaseId,
    case_id,
    repeat,
    failures: {
      agent: row.agent_failures,
      infrastructure: row.infrastructure_failures,
      grader: row.grader_failures,
      lease: row.lease_losses,
    },
    kept: attempt > 1 ? keptEvidence(tx, run.run_no, ordinal) : [],
  };
}

/** The envelope and results of the last attempt that failed in evaluation, unless the agent was called again since. */
function keptEvidence(tx: Transaction, runNo: number, ordinal: number): EvidenceRow[] {
  return tx.connection.all<{ kind: EvidenceRow['kind']; body: string; artifact: string | null }>(
    `select kind, body, artifact from evidence where run_no = ?1 and ordinal = ?2 and kind <> 'failure' and attempt = (
  select max(attempt) from attempt where run_no = ?1 and ordinal = ?2 and status = 'failed_evaluation'
) order by seq`,
    runNo,
    ordinal,
  );
}
