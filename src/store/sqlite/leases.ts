import type {
  Claim,
  ClaimRequest,
  EvidenceRow,
  Fence,
  HeartbeatAnswer,
  Reaped,
  ReapRequest,
} from '../../contract/store.ts';
import { executionContent } from '../../core/evidence.ts';
import { randomText } from '../../lib/id.ts';
import { closeAttempt, endExecution } from './attempts.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { Transaction } from './transaction.ts';

interface Leased {
  readonly ordinal: number;
  readonly attempt: number;
  readonly agent_failures: number;
  readonly infrastructure_failures: number;
  readonly grader_failures: number;
  readonly lease_losses: number;
}

interface Due extends Leased {
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
 * among the live sessions, so that one process cannot take all of it and leave the others idle.
 */
export function claim(tx: Transaction, keys: Keys, request: ClaimRequest): Claim[] {
  const sessionNo = keys.session(request.session_id);
  const claims: Claim[] = [];
  for (const run of runnable(tx, request)) {
    const room = request.capacity - claims.length;
    if (room <= 0) break;
    const take = Math.min(room, share(tx, run, sessionNo, request.lease_ms));
    if (take > 0) claims.push(...claimOf(tx, run, sessionNo, take, request.lease_ms));
  }
  return claims;
}

/** True when a claim could find something now; a look, so that idle workers spend no transaction. */
export function claimable(connection: Connection, request: ClaimRequest, now: number): boolean {
  const found = connection.get(
    `select 1 from run r where r.status = 'running' and r.cancel_requested_at is null and (?1 is null or r.run_id in (select value from json_each(?1)))
and (exists (select 1 from queue q where q.run_no = r.run_no and q.status = 'pending')
  or exists (select 1 from queue q where q.run_no = r.run_no and q.status = 'retry_scheduled'
    and q.available_at <= max(?2, (select value from meta where key = 'last_now')))) limit 1`,
    request.run_ids === null ? null : JSON.stringify(request.run_ids),
    now,
  );
  return found !== undefined;
}

/** Runs with work, the one that is furthest behind in its share first. */
function runnable(tx: Transaction, request: ClaimRequest): ActiveRun[] {
  const runs = tx.connection.all<ActiveRun>(
    `select run_no, run_id, concurrency from run
where status = 'running' and cancel_requested_at is null and (?1 is null or run_id in (select value from json_each(?1)))
order by (select min(order_key) from queue where queue.run_no = run.run_no and queue.status = 'pending') nulls last, run_no`,
    request.run_ids === null ? null : JSON.stringify(request.run_ids),
  );
  return runs;
}

function share(tx: Transaction, run: ActiveRun, sessionNo: number, leaseMs: number): number {
  const { running, own } = tx.connection.get<{ running: number; own: number }>(
    "select count(*) as running, coalesce(sum(session_no = ?2), 0) as own from queue where run_no = ?1 and status = 'running'",
    run.run_no,
    sessionNo,
  ) ?? { running: 0, own: 0 };
  const live =
    tx.connection.get<{ n: number }>(
      'select count(*) as n from worker_session where ended_at is null and last_seen_at > ?',
      tx.now - leaseMs,
    )?.n ?? 1;
  return Math.min(run.concurrency - running, Math.ceil(run.concurrency / Math.max(1, live)) - own);
}

function claimOf(tx: Transaction, run: ActiveRun, sessionNo: number, take: number, leaseMs: number): Claim[] {
  const leaseId = randomText(16);
  const retries = due(
    tx,
    run,
    "q.status = 'retry_scheduled' and q.available_at <= ?2 order by q.available_at, q.ordinal",
    take,
  );
  const rest = take - retries.length;
  const fresh =
    rest > 0 ? due(tx, run, "q.status = 'pending' and q.available_at <= ?2 order by q.order_key, q.ordinal", rest) : [];
  tx.count(run.run_no, 'retry_scheduled', -retries.length);
  tx.count(run.run_no, 'pending', -fresh.length);
  tx.count(run.run_no, 'running', retries.length + fresh.length);
  tx.count(run.run_no, 'attempts', retries.length + fresh.length);
  return [...retries, ...fresh].map((row) => open(tx, run, sessionNo, leaseId, leaseMs, row));
}

/**
 * Executions that may be claimed now, to be leased one by one by key: the transaction holds the write lock, so nobody takes
 * them meanwhile, and an UPDATE over a list opens temporary tables that cost more than all its rows (0.3 ms a claim).
 */
function due(tx: Transaction, run: ActiveRun, which: string, take: number): Due[] {
  return tx.connection.all<Due & Record<string, unknown>>(
    `select q.ordinal, q.attempt, q.agent_failures, q.infrastructure_failures, q.grader_failures, q.lease_losses, x.case_id, x.repeat
from queue q cross join execution x on x.run_no = ?1 and x.ordinal = q.ordinal where q.run_no = ?1 and ${which} limit ?3`,
    run.run_no,
    tx.now,
    take,
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
    tx.now + leaseMs,
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

/** Extends the leases that are still held; answers those that are not, and the runs to be cancelled. */
export function heartbeat(
  tx: Transaction,
  keys: Keys,
  sessionId: string,
  leaseMs: number,
  fences: readonly Fence[],
): HeartbeatAnswer {
  const { connection, now } = tx;
  connection.run('update worker_session set last_seen_at = ? where session_id = ?', now, sessionId);
  const lost = fences.filter(
    (fence) =>
      connection.run(
        "update or fail queue set lease_until = ? where run_no = ? and ordinal = ? and attempt = ? and lease_id = ? and status = 'running'",
        now + leaseMs,
        keys.run(fence.run_id),
        fence.ordinal,
        fence.attempt,
        fence.lease_id,
      ) === 0,
  );
  const runs = connection.all<{ run_id: string }>(
    "select run_id from run where status in ('pending', 'running', 'finalizing') and cancel_requested_at is not null",
  );
  return { lost, cancelled_runs: runs.map((run) => run.run_id) };
}

interface Expired extends Leased {
  readonly run_no: number;
  readonly run_id: string;
  readonly lease_id: string;
  readonly session_id: string;
}

/**
 * Takes leases that ran out or whose session is dead: attempt `stale`, execution ready again, not charged to the agent. After
 * `max_losses` it ends `failed`, fault infrastructure, so that a case that kills its worker cannot do so for ever.
 */
export function reap(tx: Transaction, request: ReapRequest): Reaped[] {
  const expired = tx.connection.all<Expired>(
    `select q.run_no, r.run_id, q.ordinal, q.attempt, q.lease_id, s.session_id, q.agent_failures, q.infrastructure_failures, q.grader_failures, q.lease_losses
from queue q indexed by queue_running join run r on r.run_no = q.run_no join worker_session s on s.session_no = q.session_no
where q.status = 'running' and q.run_no in (select run_no from run where status in ('running', 'pending'))
and (q.lease_until < ?1 or s.session_id in (select value from json_each(?2))) limit ?3`,
    tx.now,
    JSON.stringify(request.dead_sessions),
    request.limit,
  );
  const taken = expired.map((row) => take(tx, row, request.max_losses));
  // A dead session that holds nothing any more is over; while it counted as live, the others left it its share.
  tx.connection.run(
    `update worker_session set ended_at = ?1 where ended_at is null and session_id in (select value from json_each(?2))
and not exists (select 1 from queue q where q.session_no = worker_session.session_no and q.status = 'running')`,
    tx.now,
    JSON.stringify(request.dead_sessions),
  );
  return taken;
}

function take(tx: Transaction, row: Expired, maxLosses: number): Reaped {
  const { run_no, run_id, ordinal, attempt, lease_id, session_id } = row;
  const losses = row.lease_losses + 1;
  const ended = losses > maxLosses;
  const seal = closeAttempt(
    tx,
    { run_no, run_id, ordinal, attempt, lease_id },
    { status: 'stale', reason: 'lease_lost', fault: 'infrastructure' },
  );
  tx.event({ run_no, run_id, type: 'attempt_stale', ordinal, attempt });
  tx.count(run_no, 'stale', 1);
  if (ended) {
    const content = executionContent({
      status: 'failed',
      fault: 'infrastructure',
      envelope: null,
      evaluator_results: [],
      aggregate: null,
    });
    endExecution(tx, { run_no, run_id, ordinal, attempt }, seal, {
      status: 'failed',
      fault: 'infrastructure',
      aggregate: null,
      passed: false,
      content,
    });
  } else {
    tx.connection.run(
      `update or fail queue set status = 'retry_scheduled', available_at = ?1, lease_losses = ?2, lease_id = null, session_no = null, lease_until = null
where run_no = ?3 and ordinal = ?4 and attempt = ?5 and lease_id = ?6 and status = 'running'`,
      tx.now,
      losses,
      run_no,
      ordinal,
      attempt,
      lease_id,
    );
    tx.count(run_no, 'running', -1);
    tx.count(run_no, 'retry_scheduled', 1);
  }
  return { run_id, ordinal, attempt, lease_id, session_id, ended };
}
