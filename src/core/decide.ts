import type { Profile } from '../contract/profile.ts';
import type { Snapshot } from '../contract/snapshot.ts';
import type { AttemptEnd, Fault, TerminalStatus } from '../contract/state.ts';
import type { FailureCounts } from '../contract/store.ts';
import { type BackoffPolicy, backoffMs } from './backoff.ts';

/** A failed attempt: whose fault, whether time ran out, and what the other side asked to wait. */
export interface Failure {
  readonly fault: Extract<Fault, 'infrastructure' | 'configuration' | 'agent' | 'grader' | 'policy'>;
  readonly timed_out: boolean;
  /** The agent had answered: its answer is kept for whoever tries again. */
  readonly answered?: boolean;
  readonly retry_after_ms: number | null;
}

/** What follows a failed attempt: another one after a delay, or the end. */
export type Decision =
  | { readonly type: 'retry'; readonly attempt_status: AttemptEnd; readonly delay_ms: number }
  | { readonly type: 'end'; readonly attempt_status: AttemptEnd; readonly status: TerminalStatus };

/** Leases that an execution may lose before it ends `failed`, fault infrastructure (CONTRACTS, states). */
export const MAX_LEASE_LOSSES = 5;

/** What an execution waits for after a lost lease: not long after the first, which is mostly a worker that was stopped. */
export const LEASE_LOSS_BACKOFF: BackoffPolicy = { base_ms: 250, cap_ms: 30_000 };

/** Attempts that `retry.agent_errors` gives an agent where the profile names no `max_attempts`. */
const AGENT_ATTEMPTS = 2;

/** How often the failures of one execution are retried. */
export interface RetryRules {
  readonly infrastructure: number;
  readonly agent: number;
  readonly grader: number;
  /** The most attempts that may be charged to one execution, whatever they fail by. */
  readonly attempts: number;
  readonly backoff: BackoffPolicy;
}

/**
 * The retry rules of a run: a budget for each fault, and `max_attempts` over all of them. Runs of method 1 have a 1 there that nobody wrote, and it
 * bounded the agent's own failures only.
 */
export function retryRules({
  method = 1,
  profile: { retry, defaults },
}: Pick<Snapshot, 'method'> & { readonly profile: Pick<Profile, 'retry' | 'defaults'> }): RetryRules {
  const { max_attempts } = defaults;
  const attempts = method === 1 || max_attempts === null ? Number.POSITIVE_INFINITY : max_attempts;
  return {
    infrastructure: Math.min(retry.infrastructure, attempts - 1),
    agent: retry.agent_errors ? (max_attempts ?? AGENT_ATTEMPTS) - 1 : 0,
    grader: Math.min(retry.grader, attempts - 1),
    attempts,
    backoff: retry.backoff,
  };
}

/**
 * What follows a failed attempt: infrastructure and grader faults have budgets of their own, the agent's are retried only on request, and a wrong
 * configuration or a denial by policy never. All failures together are bounded by the attempts of an execution; leases that were lost or given back are not among them.
 */
export function decide(failure: Failure, before: FailureCounts, rules: RetryRules, backoffKey: string): Decision {
  const { fault, retry_after_ms } = failure;
  const attempt_status: AttemptEnd =
    fault === 'grader' || failure.answered
      ? 'failed_evaluation'
      : failure.timed_out
        ? 'timed_out'
        : 'failed_agent_call';
  const end: Decision = { type: 'end', attempt_status, status: failure.timed_out ? 'timed_out' : 'failed' };
  if (fault === 'configuration' || fault === 'policy') return end;
  const failures = before[fault] + 1;
  const charged = before.agent + before.infrastructure + before.grader + 1;
  if (failures > rules[fault] || charged >= rules.attempts) return end;
  return {
    type: 'retry',
    attempt_status,
    delay_ms: backoffMs(rules.backoff, failures, backoffKey, retry_after_ms),
  };
}
