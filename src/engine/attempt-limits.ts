import { type AgentFailure, agentFailure } from '../contract/agent.ts';
import type { Profile } from '../contract/profile.ts';
import type { AttemptSpend, Spend } from '../contract/store.ts';
import { evaluatorSpend, type overLimit } from '../core/budget.ts';
import type { Graded } from './evaluate.ts';

/** The failure of an answer beyond a limit of `limits.execution`; what it took is spent all the same. */
export function limitFailure({ limit, most, taken }: NonNullable<ReturnType<typeof overLimit>>): AgentFailure {
  return agentFailure('agent', `limit_${limit}`, `limits.execution.${limit} is ${most}; the answer took ${taken}`, {
    evidence: { limit, most, taken },
  });
}

/** The execution's own time limit was reached. */
export class TimeLimit extends Error {
  readonly failure: AgentFailure;

  constructor(limitMs: number) {
    super();
    const message = `limits.execution.time_ms (${limitMs} ms) was reached`;
    this.failure = agentFailure('agent', 'time_limit', message, { timed_out: true });
  }
}

/** The agent's adapter overran the time limit of a request. */
export class Overrun extends Error {
  readonly failure: AgentFailure;

  constructor(timeoutMs: number) {
    super();
    this.failure = agentFailure('agent', 'timeout', `no answer within ${timeoutMs} ms`, { timed_out: true });
  }
}

/** What the evaluators of an attempt took, as they tell it; what an earlier attempt made costs nothing again. */
function evaluatorsSpend(graded: readonly Graded[]): AttemptSpend['evaluators'] {
  const sum = { cost_micro_usd: 0, tokens: 0, tool_calls: 0 };
  for (const { result, reused } of graded) {
    if (reused) continue;
    const { cost_micro_usd, tokens } = evaluatorSpend(result);
    sum.cost_micro_usd += cost_micro_usd;
    sum.tokens += tokens;
  }
  return sum;
}

/** What an answered attempt took, as its run's limits take it. */
export function answeredSpend(
  agent: Spend | null,
  { limits }: Pick<Profile, 'limits'>,
  graded: readonly Graded[] = [],
): AttemptSpend {
  return { agent, evaluators: evaluatorsSpend(graded), waived: limits.unpriced === 'allow' };
}

/** What a call takes whose answer never told: nobody knows. */
export const UNKNOWN_SPEND: AttemptSpend = {
  agent: { cost_micro_usd: null, tokens: null, tool_calls: null },
  evaluators: { cost_micro_usd: 0, tokens: 0, tool_calls: 0 },
};

/** True for a failure of a call that never reached the agent, or that it refused to take: it took nothing. */
export function tookNothing({ code, fault, throttled = false }: AgentFailure): boolean {
  return UNREACHED.has(code) || fault === 'configuration' || throttled;
}

const UNREACHED: ReadonlySet<string> = new Set([
  'connection_refused',
  'connect_timeout',
  'unreachable',
  'dns',
  'tls',
  'address_refused',
  'no_answer',
  'spawn_failed',
]);

/** The failure of an answer that does not tell what a budget of the run counts. */
export function untoldFailure(kind: string): AgentFailure {
  return agentFailure(
    'agent',
    'usage_missing',
    `the run has a budget of ${kind}, and the answer does not tell what it took; have the agent report \`usage\`, or set \`limits.unpriced: allow\``,
  );
}
