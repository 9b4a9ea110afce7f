import type { DecideRequest, GatewayFacts, NewToolRun } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import { reachedLimits } from './tool-limits.ts';
import { LAPSED, type Numbered } from './tool-rows.ts';
import type { Transaction } from './transaction.ts';

/** What the decision of a call has to know, read in the transaction that decides. */
export function gatewayFacts(
  tx: Transaction,
  keys: Keys,
  row: Numbered,
  request: DecideRequest,
  fence: NewToolRun['fence'],
): GatewayFacts {
  const { connection, now } = tx;
  const off = connection.get<{ scope: string; reason: string; off: number }>(
    `select scope, reason, off from tool_switch s where scope in ('*', ?1, ?1 || '.' || ?2) and off = 1
and switch_no = (select max(switch_no) from tool_switch m where m.scope = s.scope) order by length(scope) limit 1`,
    row.source,
    row.name,
  );
  const pin = connection.get<{ digest: string | null }>(
    'select digest from tool_pin where source = ? and name = ? order by pin_no desc limit 1',
    row.source,
    row.name,
  );
  const pending = connection.get<{ n: number }>(
    `select count(*) as n from approval a indexed by approval_open join tool_run t on t.tool_run_no = a.tool_run_no
where a.status in ('pending', 'approved') and not ${LAPSED} and t.principal = ?3 and t.stream = ?4`,
    now,
    tx.schedule,
    row.principal,
    row.stream,
  );
  return {
    now,
    switched_off: off === undefined ? null : { scope: off.scope, reason: off.reason },
    pinned: row.definition_digest !== null && pin?.digest === row.definition_digest,
    reached: reachedLimits(tx, request.limits, row.cost_micro_usd),
    pending: pending?.n ?? 0,
    tainted: request.taint_ms === null ? null : isTainted(connection, row, { at: now, before: null }, request.taint_ms),
    held: row.run_id === null || (fence !== null && holds(tx, keys, fence)),
  };
}

/**
 * Whether a tool of the open world had been called: in the call's attempt or, outside of runs, by its principal in the last `taintMs`.
 * Looked at afterwards, only calls recorded before it count (`before`): one instant may have seen several.
 */
export function isTainted(
  connection: Connection,
  row: Numbered,
  { at, before }: { readonly at: number; readonly before: number | null },
  taintMs: number,
): boolean {
  const { stream, ordinal, attempt, principal, tool_run_no } = row;
  const dispatched = `open_world = 1 and dispatched_at <= ? and tool_run_no ${before === null ? '<>' : '<'} ?`;
  const found =
    row.run_id === null
      ? connection.get(
          `select 1 from tool_run where principal = ? and stream = 0 and dispatched_at > ? and ${dispatched} limit 1`,
          principal,
          at - taintMs,
          at,
          tool_run_no,
        )
      : connection.get(
          `select 1 from tool_run where stream = ? and ordinal = ? and attempt = ? and ${dispatched} limit 1`,
          stream,
          ordinal,
          attempt,
          at,
          tool_run_no,
        );
  return found !== undefined;
}

/** The fence of the attempt that holds the execution of a call now, if it is still the attempt that made the call. */
export function heldFence(tx: Transaction, row: Numbered): NewToolRun['fence'] {
  const held = tx.connection.get<{ lease_id: string | null }>(
    'select lease_id from queue where run_no = ? and ordinal = ? and attempt = ?',
    row.stream,
    row.ordinal,
    row.attempt,
  );
  if (held?.lease_id == null || row.run_id === null || row.ordinal === null || row.attempt === null) return null;
  return { run_id: row.run_id, ordinal: row.ordinal, attempt: row.attempt, lease_id: held.lease_id };
}

function holds(tx: Transaction, keys: Keys, fence: NonNullable<NewToolRun['fence']>): boolean {
  const { run_id, ordinal, attempt, lease_id } = fence;
  return (
    tx.connection.get(
      "select 1 from queue where run_no = ? and ordinal = ? and attempt = ? and lease_id = ? and status = 'running'",
      keys.run(run_id),
      ordinal,
      attempt,
      lease_id,
    ) !== undefined
  );
}
