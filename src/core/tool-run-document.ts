import type { ToolRunRow } from '../contract/store.ts';
import type { ToolOutput } from '../contract/tool.ts';
import type { ToolRunDocument } from '../contract/tool-documents.ts';
import { attemptId, executionId } from '../lib/id.ts';
import { instant } from './instant.ts';

const when = (at: number | null) => (at === null ? null : instant(at));

/** The document of a tool run; `output` is what its caller got. */
export function toolRunDocument(row: ToolRunRow, output: ToolOutput | null): ToolRunDocument {
  const { run_id, ordinal, attempt } = row;
  return {
    tool_run_id: row.tool_run_id,
    tool: `${row.source}.${row.name}`,
    status: row.status,
    reason: row.reason,
    principal: row.principal,
    agent: row.agent,
    surface: row.surface,
    risk: row.risk,
    run_id,
    execution_id: run_id === null || ordinal === null ? null : executionId(run_id, ordinal),
    attempt_id: run_id === null || ordinal === null || attempt === null ? null : attemptId(run_id, ordinal, attempt),
    request_id: row.request_id,
    trace_id: row.trace_id,
    caused_by: row.caused_by,
    idempotency_key: row.idempotency_key,
    edited_from: row.edited_from,
    edited_into: row.edited_into,
    arguments: JSON.parse(row.arguments),
    arguments_digest: row.arguments_digest,
    call_digest: row.call_digest,
    definition_digest: row.definition_digest,
    decision: row.decision,
    rules: row.rules === null ? [] : (JSON.parse(row.rules) as string[]),
    policy_digest: row.policy_digest,
    approval_id: row.approval_id,
    error: row.error === null ? null : (JSON.parse(row.error) as ToolRunDocument['error']),
    output:
      output === null
        ? null
        : ({ content: [...output.content], structured: output.structured ?? null } as ToolRunDocument['output']),
    output_artifact: row.output_artifact,
    output_digest: row.output_digest,
    output_bytes: row.output_bytes,
    latency_ms: row.latency_ms,
    cost_micro_usd: row.cost_micro_usd,
    created_at: when(row.created_at),
    dispatched_at: when(row.dispatched_at),
    finished_at: when(row.finished_at),
  };
}
