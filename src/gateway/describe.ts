import type { ApprovalRow, GatewayEventRow, ToolRunRow } from '../contract/store.ts';
import type { ApprovalDocument } from '../contract/tool-documents.ts';
import { instant } from '../core/instant.ts';
import { toolRunDocument } from '../core/tool-run-document.ts';
import type { ApprovalView } from './gateway.ts';

const when = (at: number | null) => (at === null ? null : instant(at));

/** The document of an approval with the call that it is about. */
export function approvalDocument({ approval, run, preview }: ApprovalView): ApprovalDocument {
  return {
    approval_id: approval.approval_id,
    tool_run_id: approval.tool_run_id,
    tool: `${run.source}.${run.name}`,
    status: approval.status,
    requested_by: run.principal,
    arguments: JSON.parse(run.arguments),
    call_digest: approval.call_digest,
    reason: approval.reason,
    approvers: JSON.parse(approval.approvers) as string[][],
    self_approval: approval.self_approval === 1,
    edit: approval.edit === 1,
    preview: preview.text,
    preview_digest: preview.digest,
    long: preview.long,
    ...answered(approval),
  };
}

function answered(approval: ApprovalRow) {
  return {
    requested_at: when(approval.requested_at),
    expires_at: when(approval.expires_at),
    decided_at: when(approval.decided_at),
    decided_by: approval.decided_by,
    decided_on: approval.decided_on,
    comment: approval.comment,
    ended_at: when(approval.ended_at),
    ended_because: approval.ended_because,
  };
}

/** The document of an event of the gateway, with the ids that correlate it. */
export function gatewayEventDocument(event: GatewayEventRow, run: ToolRunRow | null) {
  const ids = run === null ? null : toolRunDocument(run, null);
  return {
    event_id: `evt_g${event.position.toString(32).padStart(12, '0')}`,
    type: event.type,
    at: instant(event.at),
    tool_run_id: event.tool_run_id,
    run_id: event.run_id,
    execution_id: ids?.execution_id ?? null,
    attempt_id: ids?.attempt_id ?? null,
    request_id: ids?.request_id ?? null,
    trace_id: ids?.trace_id ?? null,
    span_id: event.tool_run_id,
    caused_by: ids?.caused_by ?? null,
    seq: event.seq,
    hash: event.hash,
    data: JSON.parse(event.body) as unknown,
  };
}
