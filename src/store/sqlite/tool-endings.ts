import { ProctorError } from '../../contract/problem.ts';
import type { GatewayDecision } from '../../contract/store.ts';
import { toolErrorDigest } from '../../core/gateway.ts';
import { type Numbered, tell } from './tool-rows.ts';
import type { Transaction } from './transaction.ts';

/** Ends an approval and tells of it. */
export function endApproval(
  tx: Transaction,
  row: Numbered,
  approvalId: string,
  status: 'denied' | 'expired' | 'cancelled' | 'consumed',
  because: string | null,
  more: Readonly<Record<string, unknown>> = {},
): void {
  tx.connection.run(
    'update approval set status = ?, ended_at = ?, ended_because = ? where approval_id = ?',
    status,
    tx.now,
    because,
    approvalId,
  );
  tell(tx, row, `approval_${status}`, { approval_id: approvalId, because, ...more });
}

/** Ends a tool run without anything done: denied, or an error. */
export function refuse(
  tx: Transaction,
  row: Numbered,
  { effect, code, message }: Pick<GatewayDecision, 'code' | 'message'> & { effect: 'deny' | 'error' | 'allow' | 'ask' },
): void {
  const status = effect === 'deny' ? 'denied' : 'error';
  const error = JSON.stringify({ code, message });
  tx.connection.run(
    'update tool_run set status = ?, reason = ?, error = ?, finished_at = ? where tool_run_no = ?',
    status,
    code,
    error,
    tx.now,
    row.tool_run_no,
  );
  tell(tx, row, status === 'denied' ? 'tool_denied' : 'tool_failed', {
    status,
    reason: code,
    code,
    error_digest: toolErrorDigest(error),
  });
}

/** Notes that the outcome was handed over. */
export function deliver(tx: Transaction, row: Numbered): void {
  if (row.finished_at === null) throw new ProctorError('illegal_transition', `${row.tool_run_id} has not ended yet`);
  if (row.delivered_at !== null) return;
  tx.connection.run('insert into tool_delivery (tool_run_no, delivered_at) values (?, ?)', row.tool_run_no, tx.now);
  tell(tx, row, 'tool_outcome_delivered', {});
}
