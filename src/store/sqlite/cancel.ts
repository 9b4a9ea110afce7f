import { CANCELLED_CONTENT } from '../../core/evidence.ts';
import { closeAttempt, endExecution, sealOf } from './attempts.ts';
import type { Keys } from './keys.ts';
import { endCancelled } from './runs.ts';
import type { Transaction } from './transaction.ts';

/**
 * Ends executions that nobody holds of a run that is to be cancelled or has stopped, a bounded number a call; a cancelled run ends once
 * nothing is queued.
 * Executions that were never materialized stay unmaterialized: nothing happened to them.
 */
export function sweepCancelled(tx: Transaction, keys: Keys, runId: string, limit: number): number {
  const runNo = keys.run(runId);
  const idle = tx.connection.all<{
    ordinal: number;
    attempt: number;
    lease_id: string | null;
    status: 'pending' | 'retry_scheduled' | 'waiting';
  }>(
    `select q.ordinal, q.attempt, q.status, a.lease_id from queue q join run r on r.run_no = q.run_no
left join attempt a on a.run_no = q.run_no and a.ordinal = q.ordinal and a.attempt = q.attempt and a.status = 'suspended'
where q.run_no = ? and q.status <> 'running' and (r.cancel_requested_at is not null or r.stop_reason is not null) and r.status in ('pending', 'running') order by q.ordinal limit ?`,
    runNo,
    limit,
  );
  for (const { ordinal, attempt, status, lease_id } of idle) {
    const at = { run_no: runNo, run_id: runId, ordinal, attempt };
    // A suspended attempt is still open: it ends with its execution.
    if (lease_id !== null)
      closeAttempt(tx, { ...at, lease_id }, { status: 'cancelled', reason: 'run_cancelled', fault: 'cancelled' });
    const seal = attempt === 0 ? '' : sealOf(tx, runNo, ordinal, attempt);
    endExecution(
      tx,
      at,
      seal,
      { status: 'cancelled', fault: 'cancelled', aggregate: null, passed: false, content: CANCELLED_CONTENT },
      status,
    );
  }
  endCancelled(tx, runNo, runId);
  return idle.length;
}
