import type { Leg } from '../gateway/call.ts';

/** A result of `tools/call`. */
export interface CallToolResult {
  readonly content: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** How a call ended, for an MCP client: the tool's output, or a short reason that a model can act on. */
export function callResult({ run, output }: Leg & { type: 'done' }): CallToolResult {
  const edited =
    run.edited_from === null ? [] : [text(`[a person changed the arguments before this ran: ${run.arguments}]`)];
  if (run.status === 'ok')
    return {
      content: [...(output?.content ?? []), ...edited],
      ...(output?.structured === null || output === null ? {} : { structuredContent: output.structured }),
    };
  if (output !== null && output.content.length > 0 && run.reason === 'tool_error')
    return { content: [...output.content, ...edited], isError: true };
  const error = run.error === null ? null : (JSON.parse(run.error) as { message: string | null });
  return refusedResult(run.reason ?? run.status, error?.message ?? run.status, {
    status: run.status,
    tool_run_id: run.tool_run_id,
  });
}

/** A call that waits for a person, for a client that cannot be kept waiting any longer. */
export function pendingResult({ run, approval }: Leg & { type: 'pending' }, toolRunId: string): CallToolResult {
  const waiting = approval === null ? 'it is still running' : `a person has to answer (${approval.approval_id})`;
  const status = approval === null ? 'running' : 'approval_pending';
  const told = {
    status,
    tool_run_id: toolRunId,
    approval_id: run.approval_id,
    message: `nothing is decided yet: ${waiting}. Make the same call again, with the same arguments, to go on waiting; it is carried out once at most.`,
  };
  return toldAs(told);
}

/** A call that was not carried out, or failed. */
export function refusedResult(
  code: string,
  message: string,
  more: Readonly<Record<string, unknown>> = {},
): CallToolResult {
  const told = { status: 'error', ...more, code, message };
  return toldAs(told);
}

/** Told as text and beside the result: structured content has to fit the tool's own schema, and clients refuse what does not. */
function toldAs(told: Readonly<Record<string, unknown>>): CallToolResult {
  return { content: [text(JSON.stringify(told))], isError: true, _meta: { 'io.proctor/told': told } };
}

function text(value: string): { type: 'text'; text: string } {
  return { type: 'text', text: value };
}
