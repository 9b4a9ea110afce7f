import type { ApprovalRow, ToolRunRow } from '../../contract/store.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Connection } from './connection.ts';
import type { Transaction } from './transaction.ts';

/** A tool run with its numbers in this file. */
export interface Numbered extends ToolRunRow {
  readonly tool_run_no: number;
  readonly stream: number;
}

/** The numbers and ids of a tool run. */
export type ToolRunPlace = Pick<Numbered, 'stream' | 'run_id' | 'tool_run_no' | 'tool_run_id'>;

/** The columns of a tool run as the contract has them, and where they come from. */
export const TOOL_RUN = `t.tool_run_no, t.stream, t.tool_run_id, r.run_id, t.ordinal, t.attempt, t.source, t.name, t.definition_digest, t.arguments, t.arguments_digest,
t.call_digest, t.principal, t.principal_kind, t.roles, t.agent, t.surface, t.risk, t.open_world, t.cost_micro_usd, t.request_id, t.trace_id, t.caused_by,
t.idempotency_key, f.tool_run_id as edited_from, t.created_at, t.status, t.reason, t.decision, t.policy_digest, t.rules, t.execute, t.tainted, t.pinned, t.dispatched_at,
t.timeout_ms, t.max_output_bytes, t.finished_at, t.error, t.output, t.output_artifact, t.output_digest, t.output_bytes, t.latency_ms, a.approval_id,
case when t.reason = 'superseded' then (select g.tool_run_id from tool_run g where g.edited_from = t.tool_run_no order by g.tool_run_no desc limit 1) end as edited_into, d.delivered_at
from tool_run t left join run r on r.run_no = t.stream left join approval a on a.tool_run_no = t.tool_run_no
left join tool_run f on f.tool_run_no = t.edited_from left join tool_delivery d on d.tool_run_no = t.tool_run_no`;

/** The columns of an approval as the contract has them. */
export const APPROVAL = `a.approval_id, t.tool_run_id, a.status, a.call_digest, a.approvers, a.self_approval, a.edit, a.reason, a.policy_digest, a.requested_at,
a.expires_at, a.decided_at, a.decided_by, a.decided_on, a.comment, a.preview_digest, a.ended_at, a.ended_because
from approval a join tool_run t on t.tool_run_no = a.tool_run_no`;

/** A tool run as the contract has it. */
export function plainToolRun({ tool_run_no: _no, stream: _stream, ...row }: Numbered): ToolRunRow {
  return row;
}

/** One tool run by id, with its numbers. */
export function toolRunById(connection: Connection, toolRunId: string): Numbered | null {
  return connection.get<Numbered>(`select ${TOOL_RUN} where t.tool_run_id = ?`, toolRunId) ?? null;
}

/** Where a tool run stands: all that its event needs. */
export function toolRunPlace(connection: Connection, toolRunId: string): ToolRunPlace | null {
  return (
    connection.get<ToolRunPlace & Record<string, unknown>>(
      'select t.tool_run_no, t.stream, t.tool_run_id, r.run_id from tool_run t left join run r on r.run_no = t.stream where t.tool_run_id = ?',
      toolRunId,
    ) ?? null
  );
}

/** One approval by id. */
export function approvalById(connection: Connection, approvalId: string): ApprovalRow | null {
  return connection.get<ApprovalRow>(`select ${APPROVAL} where a.approval_id = ?`, approvalId) ?? null;
}

/** The approval of a tool run. */
export function approvalOf(connection: Connection, toolRunNo: number): ApprovalRow | null {
  return connection.get<ApprovalRow>(`select ${APPROVAL} where a.tool_run_no = ?`, toolRunNo) ?? null;
}

/** Tells of a tool run in its stream. */
export function tell(tx: Transaction, run: ToolRunPlace, type: string, body: Readonly<Record<string, unknown>>): void {
  const { stream, run_id, tool_run_no, tool_run_id } = run;
  tx.gatewayEvent({ stream, run_id, type, tool_run_no, tool_run_id, body: canonicalJson(body) });
}

/** An approval of the tables' `a` that is over: its instant has come, or as much time has passed as it was given, whichever is first. */
export const LAPSED =
  "(a.expires_at <= ?1 or exists (select 1 from schedule_mark m where m.what = 'approval_end' and m.row_no = a.tool_run_no and m.at <= ?2))";

/** True when an approval may not be answered or used any more. */
export function hasLapsed({ connection, now, schedule }: Transaction, approvalId: string): boolean {
  const sql = `select 1 from approval a where a.approval_id = ?3 and ${LAPSED}`;
  return connection.get(sql, now, schedule, approvalId) !== undefined;
}
