import type { Profile } from '../contract/profile.ts';
import type { AttemptEnd, Fault, TerminalStatus } from '../contract/state.ts';
import type { FailureCounts } from '../contract/store.ts';
import { type BackoffPolicy, backoffMs } from './backoff.ts';

/** A failed attempt: whose fault, whether time ran out, and what the other side asked to wait. */
export interface Failure {
  readonly fault: Extract<Fault, 'infrastructure' | 'configuration' | 'agent' | 'grader'>;
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

/** What follows a failed attempt: infrastructure and grader faults have budgets of their own, the agent's are retried only on request, and a wrong configuration never. */
export function decide(
  failure: Failure,
  before: FailureCounts,
  profile: Pick<Profile, 'retry' | 'defaults'>,
  backoffKey: string,
): Decision {
  const attempt_status: AttemptEnd =
    failure.fault === 'grader' || failure.answered
      ? 'failed_evaluation'
      : failure.timed_out
        ? 'timed_out'
        : 'failed_agent_call';
  const failures = failure.fault === 'configuration' ? 1 : before[failure.fault] + 1;
  if (failures <= budget(failure.fault, profile)) {
    return {
      type: 'retry',
      attempt_status,
      delay_ms: backoffMs(profile.retry.backoff, failures, backoffKey, failure.retry_after_ms),
    };
  }
  return { type: 'end', attempt_status, status: failure.timed_out ? 'timed_out' : 'failed' };
}

function budget(fault: Failure['fault'], { retry, defaults }: Pick<Profile, 'retry' | 'defaults'>): number {
  if (fault === 'infrastructure') return retry.infrastructure;
  if (fault === 'grader') return retry.grader;
  if (fault === 'configuration') return 0;
  return retry.agent_errors ? defaults.max_attempts - 1 : 0;
}
