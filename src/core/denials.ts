import type { AgentFailure } from '../contract/agent.ts';
import type { Profile } from '../contract/profile.ts';
import type { Fault } from '../contract/state.ts';
import type { AttemptRow, ToolRunRow } from '../contract/store.ts';

/** Codes by which a rule or a limit of the declared policy denies a call; what a person denied or nobody answered is not among them. */
const BY_POLICY: ReadonlySet<string | null> = new Set(['policy', 'limit_reached']);

/** Whether declared policy denied a call. */
export function deniedByPolicy({ status, reason }: Pick<ToolRunRow, 'status' | 'reason'>): boolean {
  return status === 'denied' && BY_POLICY.has(reason);
}

/**
 * Whose fault it was that an agent came to no answer: its own, or policy's where that denied it a tool in the same attempt. An answer that goes
 * beyond a limit is an answer, and stays the agent's fault.
 */
export function afterDenials(failure: AgentFailure, denied: readonly string[]): AgentFailure {
  const { fault, code, message, evidence } = failure;
  const [tool] = denied;
  if (fault !== 'agent' || tool === undefined || code.startsWith('limit_')) return failure;
  const kept = typeof evidence === 'object' ? evidence : {};
  return {
    ...failure,
    fault: 'policy',
    code: reasonOf(tool),
    message: `policy denied \`${tool}\`, and the agent came to no answer: ${message}`,
    evidence: { ...kept, denied, failure: code },
  };
}

function reasonOf(tool: string): string {
  return `policy_denied: ${tool}`;
}

/**
 * Why an attempt cannot have ended as it says, by the tools that policy denied it; null when it can. Only a limit of the profile makes a failure
 * the agent's in spite of a denial.
 */
export function contradictedByDenials(
  { fault, reason }: Pick<AttemptRow, 'fault' | 'reason'>,
  denied: readonly string[],
  limits: Profile['limits'],
): string | null {
  if (fault === 'policy')
    return denied.some((tool) => reason === reasonOf(tool)) ? null : 'policy denied no such call in this attempt';
  if (fault !== 'agent' || denied.length === 0 || isOfLimit(reason, limits)) return null;
  return 'policy denied a call of this attempt, so its failure is policy’s';
}

/** Whether the limits of a profile make such a failure of an agent that did answer, or ran out of time. */
function isOfLimit(reason: string | null, { execution, run }: Profile['limits']): boolean {
  if (reason === 'time_limit') return execution.time_ms !== null;
  if (reason === 'usage_missing') return run.cost_usd !== null || run.tokens !== null || run.tool_calls !== null;
  return (['tokens', 'cost_usd', 'tool_calls'] as const).some(
    (limit) => reason === `limit_${limit}` && execution[limit] !== null,
  );
}

/** Whether an execution without an answer counts as not passed, with a score of 0. */
export function countsAsFailed(fault: Fault | null): boolean {
  return fault === 'agent' || fault === 'policy';
}
