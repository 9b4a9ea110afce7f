import { ProctorError } from '../../contract/problem.ts';
import type {
  DecideRequest,
  GatewayDecision,
  GatewayFacts,
  NewToolRun,
  Obligations,
  ToolRunEnd,
  ToolRunRow,
} from '../../contract/store.ts';
import { toolErrorDigest } from '../../core/gateway.ts';
import { newId } from '../../lib/id.ts';
import type { Keys } from './keys.ts';
import { endApproval, refuse } from './tool-endings.ts';
import { gatewayFacts, heldFence } from './tool-facts.ts';
import { calledWith, insertToolRun, knownByKey, rejoined } from './tool-insert.ts';
import { chargeLimits } from './tool-limits.ts';
import { approvalOf, hasLapsed, type Numbered, plainToolRun, tell, toolRunById, toolRunPlace } from './tool-rows.ts';
import type { Transaction } from './transaction.ts';

/** Records a call and decides it, in one transaction: what is dispatched by it is committed before anything is done. */
export function beginToolRun(
  tx: Transaction,
  keys: Keys,
  run: NewToolRun,
  request: DecideRequest,
): { run: ToolRunRow; created: boolean } {
  const known = knownByKey(tx, run);
  if (known !== null) return { run: plainToolRun(known), created: false };
  const joined = rejoined(tx, run, request.rejoin);
  if (joined !== null) return { run: joined, created: false };
  const row = insertToolRun(tx, keys, run);
  tell(tx, row, 'tool_called', calledWith(row));
  const facts = gatewayFacts(tx, keys, row, request, run.fence);
  const decision = request.decide(facts);
  tell(tx, row, 'policy_decided', decided(decision, facts));
  const columns = {
    decision: decision.effect === 'error' ? null : decision.effect,
    policy_digest: decision.policy_digest,
    rules: JSON.stringify(decision.rules),
    execute: decision.ask?.execute ?? null,
    tainted: facts.tainted === null ? null : Number(facts.tainted),
    pinned: Number(facts.pinned),
  };
  if (decision.effect === 'allow') {
    // The way of nearly every call: decided and dispatched by one statement, and not read again.
    const bounds = dispatch(tx, keys, row, request, decision, { ...columns, status: 'started' });
    return { run: plainToolRun({ ...row, ...columns, ...bounds, dispatched_at: tx.now }), created: true };
  }
  update(tx, row, columns);
  if (decision.effect === 'ask') askFor(tx, row, decision);
  else refuse(tx, row, decision);
  return { run: plainToolRun(toolRunById(tx.connection, run.tool_run_id) ?? row), created: true };
}

/** Uses an approval that was given; decides again with what holds now. */
export function consumeApproval(tx: Transaction, keys: Keys, toolRunId: string, request: DecideRequest): boolean {
  const row = toolRunById(tx.connection, toolRunId);
  const approval = row === null ? null : approvalOf(tx.connection, row.tool_run_no);
  if (row === null || approval === null || row.status !== 'approval_required' || approval.status !== 'approved')
    return false;
  if (hasLapsed(tx, approval.approval_id)) {
    endApproval(tx, row, approval.approval_id, 'expired', 'it expired before the call was made');
    refuse(tx, row, {
      effect: 'deny',
      code: 'approval_expired',
      message: 'the approval expired before the call was made',
    });
    return false;
  }
  const fence = row.run_id === null ? null : heldFence(tx, row);
  const facts = gatewayFacts(tx, keys, row, request, fence);
  const decision = request.decide(facts);
  tell(tx, row, 'policy_decided', { ...decided(decision, facts), approval_id: approval.approval_id });
  if (decision.effect === 'deny' || decision.effect === 'error') {
    endApproval(tx, row, approval.approval_id, 'cancelled', decision.code ?? 'policy_changed');
    refuse(tx, row, decision);
    return false;
  }
  endApproval(tx, row, approval.approval_id, 'consumed', null, {
    policy_digest: decision.policy_digest,
    by: approval.decided_by,
  });
  dispatch(tx, keys, row, request, decision, { status: 'approved' });
  return true;
}

/** Ends a tool run that this session dispatched and answers when; what comes after its end is told and changes nothing: null. */
export function finishToolRun(tx: Transaction, keys: Keys, end: ToolRunEnd): number | null {
  const row = toolRunPlace(tx.connection, end.tool_run_id);
  if (row === null) throw new ProctorError('not_found', `there is no tool run \`${end.tool_run_id}\` in this store`);
  const { status, reason, output_digest, output_artifact, latency_ms, output_bytes } = end;
  const error = end.error === null ? null : JSON.stringify(end.error);
  const outcome = {
    status,
    reason,
    code: end.error?.code ?? null,
    error_digest: error === null ? null : toolErrorDigest(error),
    output_digest,
    output_artifact,
    output_bytes,
    latency_ms,
  };
  const changed = tx.connection.run(
    `update tool_run set status = ?, reason = ?, error = ?, output = ?, output_artifact = ?, output_digest = ?, output_bytes = ?, latency_ms = ?, finished_at = ?
where tool_run_no = ? and session_no = ? and dispatched_at is not null and finished_at is null`,
    status,
    reason,
    error,
    end.output,
    output_artifact,
    output_digest,
    output_bytes,
    latency_ms,
    tx.now,
    row.tool_run_no,
    keys.session(end.session_id),
  );
  if (changed === 0) {
    tell(tx, row, 'tool_outcome_late', outcome);
    return null;
  }
  tell(tx, row, ENDS[status], outcome);
  return tx.now;
}

const ENDS = { ok: 'tool_succeeded', error: 'tool_failed', timeout: 'tool_timed_out' } as const;

/** Ends a tool run that waits for an approval, and the approval with it. */
export function cancelToolRun(tx: Transaction, toolRunId: string, code: string, message: string, by: string): boolean {
  const row = toolRunById(tx.connection, toolRunId);
  if (row === null) throw new ProctorError('not_found', `there is no tool run \`${toolRunId}\` in this store`);
  if (row.status !== 'approval_required') return false;
  const approval = approvalOf(tx.connection, row.tool_run_no);
  if (approval !== null && approval.ended_at === null)
    endApproval(tx, row, approval.approval_id, 'cancelled', code, { by });
  refuse(tx, row, { effect: 'error', code, message });
  return true;
}

/** Asks the process that carries a call out to stop it; false when there is nothing to stop. */
export function requestToolCancel(tx: Transaction, toolRunId: string, reason: string, by: string): boolean {
  const row = toolRunById(tx.connection, toolRunId);
  if (row === null) throw new ProctorError('not_found', `there is no tool run \`${toolRunId}\` in this store`);
  if (row.finished_at !== null) return false;
  if (tx.connection.get('select 1 from tool_cancel where tool_run_no = ?', row.tool_run_no) !== undefined) return true;
  tx.connection.run(
    'insert into tool_cancel (tool_run_no, reason, requested_by, requested_at) values (?, ?, ?, ?)',
    row.tool_run_no,
    reason,
    by,
    tx.now,
  );
  tell(tx, row, 'tool_cancel_requested', { reason, by });
  return true;
}

/** Ends what sessions dispatched that live no more: nobody knows whether it was done, so it is not done again. */
export function reapToolRuns(tx: Transaction, deadSessions: readonly string[], limit: number): string[] {
  const lost = tx.connection.all<{ tool_run_id: string }>(
    `select t.tool_run_id from tool_run t indexed by tool_run_open join worker_session s on s.session_no = t.session_no
where t.finished_at is null and t.dispatched_at is not null
and (s.ended_at is not null or s.session_id in (select value from json_each(?1))) limit ?2`,
    JSON.stringify(deadSessions),
    limit,
  );
  for (const { tool_run_id } of lost) {
    const row = toolRunById(tx.connection, tool_run_id);
    if (row === null) continue;
    refuse(tx, row, {
      effect: 'error',
      code: 'TOOL_OUTCOME_UNKNOWN',
      message:
        'the process that made the call ended before the tool answered: it may have been carried out, so it is not repeated',
    });
  }
  tx.connection.run(
    "update worker_session set ended_at = ?1 where ended_at is null and role = 'gateway' and session_id in (select value from json_each(?2))",
    tx.now,
    JSON.stringify(deadSessions),
  );
  return lost.map(({ tool_run_id }) => tool_run_id);
}

function update(tx: Transaction, row: Numbered, columns: Readonly<Record<string, string | number | null>>): void {
  const set = Object.keys(columns).map((name) => `${name} = ?`);
  tx.connection.run(
    `update tool_run set ${set.join(', ')} where tool_run_no = ?`,
    ...Object.values(columns),
    row.tool_run_no,
  );
}

function decided(
  { effect, code, rules, policy_digest, ask }: GatewayDecision,
  { tainted, pinned }: GatewayFacts,
): Record<string, unknown> {
  return { effect, code, rules, policy_digest, execute: ask?.execute ?? null, tainted, pinned };
}

function askFor(tx: Transaction, row: Numbered, { ask, policy_digest }: GatewayDecision): void {
  if (ask === null) throw new TypeError('a decision that asks has no terms');
  const approval_id = newId('apr', tx.now);
  const expires_at = tx.now + ask.expires_ms;
  const { approvers, reason, self_approval, edit } = ask;
  tx.connection.run("update tool_run set status = 'approval_required' where tool_run_no = ?", row.tool_run_no);
  tx.connection.run(
    `insert into approval (approval_id, tool_run_no, status, call_digest, approvers, self_approval, edit, reason, policy_digest, requested_at, expires_at)
values (?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?)`,
    approval_id,
    row.tool_run_no,
    row.call_digest,
    JSON.stringify(approvers),
    self_approval ? 1 : 0,
    edit ? 1 : 0,
    reason,
    policy_digest,
    tx.now,
    expires_at,
  );
  tx.mark('approval_end', row.tool_run_no, tx.schedule + ask.expires_ms);
  const { call_digest } = row;
  const terms = { approvers, self_approval, edit, expires_at, reason };
  tell(tx, row, 'approval_requested', { approval_id, call_digest, policy_digest, ...terms });
}

function dispatch(
  tx: Transaction,
  keys: Keys,
  row: Numbered,
  request: DecideRequest,
  decision: GatewayDecision,
  columns: Readonly<Record<string, string | number | null>>,
): Obligations {
  chargeLimits(tx, request.limits, row.cost_micro_usd);
  // A gateway that was silent so long that another took it for dead (a laptop that slept) lives if it makes a call; left as
  // ended, all that it makes from now on would be reaped while it is being made.
  tx.connection.run(
    "update worker_session set ended_at = null, last_seen_at = ? where session_id = ? and ended_at is not null and role = 'gateway'",
    tx.schedule,
    request.session_id,
  );
  const { timeout_ms = null, max_output_bytes = null } = decision.obligations ?? {};
  const bounds = { timeout_ms, max_output_bytes };
  update(tx, row, { ...columns, ...bounds, session_no: keys.session(request.session_id), dispatched_at: tx.now });
  tell(tx, row, 'tool_dispatched', { session_id: request.session_id, ...bounds });
  return bounds;
}
