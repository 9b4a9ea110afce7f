import type { AgentFailure } from '../contract/agent.ts';
import type { Fault } from '../contract/state.ts';
import type { ToolRunRow } from '../contract/store.ts';

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
  const kept = typeof evidence === 'object' && evidence !== null ? evidence : {};
  return {
    ...failure,
    fault: 'policy',
    code: `policy_denied: ${tool}`,
    message: `policy denied \`${tool}\`, and the agent came to no answer: ${message}`,
    evidence: { ...kept, denied, failure: code },
  };
}

/** Whether an execution without an answer counts as not passed, with a score of 0. */
export function countsAsFailed(fault: Fault | null): boolean {
  return fault === 'agent' || fault === 'policy';
}
