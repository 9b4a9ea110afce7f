import { z } from 'zod';
import { APPROVAL_STATUSES, TOOL_RUN_STATUSES } from './state.ts';

const at = z.string().nullable();

/** A tool run as `--json` and the API show it. */
export const toolRunDocumentSchema = z
  .object({
    tool_run_id: z.string(),
    tool: z.string(),
    status: z.enum(TOOL_RUN_STATUSES),
    reason: z.string().nullable(),
    principal: z.string(),
    agent: z.string().nullable(),
    surface: z.string(),
    risk: z.string(),
    run_id: z.string().nullable(),
    execution_id: z.string().nullable(),
    attempt_id: z.string().nullable(),
    request_id: z.string().nullable(),
    trace_id: z.string().nullable(),
    caused_by: z.string().nullable(),
    idempotency_key: z.string().nullable(),
    edited_from: z.string().nullable(),
    edited_into: z.string().nullable(),
    arguments: z.json(),
    arguments_digest: z.string(),
    call_digest: z.string(),
    definition_digest: z.string().nullable(),
    decision: z.enum(['allow', 'ask', 'deny']).nullable(),
    rules: z.array(z.string()),
    policy_digest: z.string().nullable(),
    approval_id: z.string().nullable(),
    error: z.object({ code: z.string().nullable(), message: z.string().nullable() }).nullable(),
    output: z.object({ content: z.array(z.json()), structured: z.json() }).nullable(),
    output_artifact: z.string().nullable(),
    output_digest: z.string().nullable(),
    output_bytes: z.number().nullable(),
    latency_ms: z.number().nullable(),
    cost_micro_usd: z.number(),
    created_at: at,
    dispatched_at: at,
    finished_at: at,
  })
  .meta({ id: 'tool_run_document', description: 'One recorded call of a tool' });
export type ToolRunDocument = z.output<typeof toolRunDocumentSchema>;

/** An approval as `--json` and the API show it. */
export const approvalDocumentSchema = z
  .object({
    approval_id: z.string(),
    tool_run_id: z.string(),
    tool: z.string(),
    status: z.enum(APPROVAL_STATUSES),
    requested_by: z.string(),
    arguments: z.json(),
    call_digest: z.string(),
    reason: z.string().nullable(),
    approvers: z.array(z.array(z.string())),
    self_approval: z.boolean(),
    edit: z.boolean(),
    preview: z.string(),
    preview_digest: z.string(),
    long: z.boolean(),
    requested_at: at,
    expires_at: at,
    decided_at: at,
    decided_by: z.string().nullable(),
    decided_on: z.string().nullable(),
    comment: z.string().nullable(),
    ended_at: at,
    ended_because: z.string().nullable(),
  })
  .meta({ id: 'approval_document', description: 'One ask for a person’s answer, and what became of it' });
export type ApprovalDocument = z.output<typeof approvalDocumentSchema>;
