import type { Fence, HeartbeatAnswer, Reaped, ReapRequest } from '../../contract/store.ts';
import { backoffMs } from '../../core/backoff.ts';
import { executionContent } from '../../core/evidence.ts';
import { closeAttempt, endExecution } from './attempts.ts';
import { chargeLost, withTook } from './budgets.ts';
import type { Keys } from './keys.ts';
import type { Transaction } from './transaction.ts';

/** Extends the leases that are still held; answers those that are not, and the runs to be cancelled. */
export function heartbeat(
  tx: Transaction,
  keys: Keys,
  sessionId: string,
  leaseMs: number,
  fences: readonly Fence[],
): HeartbeatAnswer {
  const { connection, schedule } = tx;
  connection.run('update worker_session set last_seen_at = ? where session_id = ?', schedule, sessionId);
  const lost = fences.filter(
    (fence) =>
      connection.run(
        "update or fail queue set lease_until = ? where run_no = ? and ordinal = ? and attempt = ? and lease_id = ? and status = 'running'",
        schedule + leaseMs,
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

interface Expired {
  readonly ordinal: number;
  readonly attempt: number;
  readonly lease_losses: number;
  readonly run_no: number;
  readonly run_id: string;
  readonly lease_id: string;
  readonly session_id: string;
}

/**
 * Takes leases that ran out, if their time was `watched`, or whose session is dead: attempt `stale`, execution ready again, not charged to the agent. After
 * `max_losses` it ends `failed`, fault infrastructure, so that a case that kills its worker cannot do so for ever.
 */
export function reap(tx: Transaction, request: ReapRequest, watched = true): Reaped[] {
  const expired = tx.connection.all<Expired>(
    `select q.run_no, r.run_id, q.ordinal, q.attempt, q.lease_id, s.session_id, q.lease_losses
from queue q indexed by queue_running join run r on r.run_no = q.run_no join worker_session s on s.session_no = q.session_no
where q.status = 'running' and q.run_no in (select run_no from run where status in ('running', 'pending'))
and (q.lease_until < ?1 or s.session_id in (select value from json_each(?2))) limit ?3`,
    watched ? tx.schedule : 0,
    JSON.stringify(request.dead_sessions),
    request.limit,
  );
  const taken = expired.map((row) => take(tx, row, request));
  // A dead session that holds nothing any more is over; while it counted as live, the others left it its share.
  tx.connection.run(
    `update worker_session set ended_at = ?1 where ended_at is null and session_id in (select value from json_each(?2))
and not exists (select 1 from queue q where q.session_no = worker_session.session_no and q.status = 'running')`,
    tx.now,
    JSON.stringify(request.dead_sessions),
  );
  return taken;
}

function take(tx: Transaction, row: Expired, { max_losses, backoff }: ReapRequest): Reaped {
  const { run_no, run_id, ordinal, attempt, lease_id, session_id } = row;
  const losses = row.lease_losses + 1;
  const ended = losses > max_losses;
  const seal = closeAttempt(
    tx,
    { run_no, run_id, ordinal, attempt, lease_id },
    { status: 'stale', reason: 'lease_lost', fault: 'infrastructure' },
  );
  const took = chargeLost(tx, run_no);
  const body = Object.keys(took).length === 0 ? {} : { body: withTook({}, took) };
  tx.event({ run_no, run_id, type: 'attempt_stale', ordinal, attempt, ...body });
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
      tx.schedule + backoffMs(backoff, losses, `${run_id}/${ordinal}/${attempt}`),
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
