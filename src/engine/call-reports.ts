import type { AgentFailure } from '../contract/agent.ts';
import type { CallFailure, CallReport } from '../contract/store.ts';
import { backoffMs } from '../core/backoff.ts';
import { patienceOf } from '../core/breaker.ts';
import { executionId } from '../lib/id.ts';
import type { AttemptWork } from './attempt-work.ts';

/** What a call that ended in no answer tells the run's breaker; a storm of refusals to be patient tells it nothing. */
export function agentReport(work: AttemptWork, failure: AgentFailure): CallReport[] {
  const { fault, suspect = false, throttled = false } = failure;
  if (throttled) return [];
  if (fault === 'policy' || (fault === 'agent' && !suspect)) return [{ side: 'agent', outcome: 'worked' }];
  return [
    failureReport(work, {
      side: 'agent',
      fault: fault === 'infrastructure' ? 'infrastructure' : 'configuration',
      class: failure.class ?? failure.code,
      reason: failure.message,
    }),
  ];
}

/** What an answer that was graded tells it; `erred`: the evaluator that could not, and whether trying again is of any use. */
export function gradedReport(
  work: AttemptWork,
  asked: boolean,
  erred: { readonly ref: string; readonly reason: string | null; readonly misconfigured: boolean } | null,
): CallReport[] {
  const evaluators: CallReport = erred?.misconfigured
    ? failureReport(work, {
        side: 'evaluators',
        fault: 'configuration',
        class: erred.ref,
        reason: erred.reason ?? '',
      })
    : { side: 'evaluators', outcome: 'worked' };
  return asked ? [{ side: 'agent', outcome: 'worked' }, evaluators] : [evaluators];
}

function failureReport(
  { claim, context }: AttemptWork,
  told: Pick<CallFailure, 'side' | 'fault' | 'class' | 'reason'>,
): CallFailure {
  const { infrastructure, backoff } = context.retries;
  const key = `${executionId(claim.run_id, claim.ordinal)}|${claim.attempt}|held`;
  return {
    ...told,
    outcome: 'failed',
    patience: patienceOf(told.fault, infrastructure),
    hold_ms: backoffMs(backoff, Math.min(claim.attempt, 4), key),
  };
}
