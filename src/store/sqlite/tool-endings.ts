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
export function deliver(tx: Transaction, toolRunNo: number): void {
  if (tx.connection.get('select 1 from tool_delivery where tool_run_no = ?', toolRunNo) !== undefined) return;
  tx.connection.run('insert into tool_delivery (tool_run_no, delivered_at) values (?, ?)', toolRunNo, tx.now);
}
