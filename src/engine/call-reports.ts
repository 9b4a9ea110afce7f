import type { AgentFailure } from '../contract/agent.ts';
import type { CallReport } from '../contract/store.ts';
import { backoffMs } from '../core/backoff.ts';
import { patienceOf } from '../core/breaker.ts';
import { executionId } from '../lib/id.ts';
import type { AttemptWork } from './attempt-work.ts';

/** What a call that ended in no answer tells the run's breaker; a storm of refusals to be patient tells it nothing. */
export function agentReport(work: AttemptWork, failure: AgentFailure): CallReport[] {
  const { fault, suspect = false, throttled = false } = failure;
  if (throttled) return [];
  const common = { side: 'agent', class: failure.class ?? failure.code, reason: failure.message } as const;
  if (fault === 'policy' || (fault === 'agent' && !suspect))
    return [report(work, { ...common, outcome: 'worked', fault: 'configuration' })];
  const how = fault === 'infrastructure' ? 'infrastructure' : 'configuration';
  return [report(work, { ...common, outcome: 'failed', fault: how })];
}

/** What an answer that was graded tells it; `erred`: the evaluator that could not, and whether trying again is of any use. */
export function gradedReport(
  work: AttemptWork,
  asked: boolean,
  erred: { readonly ref: string; readonly reason: string | null; readonly misconfigured: boolean } | null,
): CallReport[] {
  const fault = 'configuration';
  const agent = report(work, { side: 'agent', outcome: 'worked', fault, class: '', reason: '' });
  const outcome = erred?.misconfigured ? 'failed' : 'worked';
  const told = { class: erred?.ref ?? '', reason: erred?.reason ?? '' };
  return [...(asked ? [agent] : []), report(work, { side: 'evaluators', outcome, fault, ...told })];
}

function report({ claim, context }: AttemptWork, told: Omit<CallReport, 'patience' | 'hold_ms'>): CallReport {
  const { infrastructure, backoff } = context.retries;
  const key = `${executionId(claim.run_id, claim.ordinal)}|${claim.attempt}|held`;
  return {
    ...told,
    patience: patienceOf(told.fault, infrastructure),
    hold_ms: backoffMs(backoff, Math.min(claim.attempt, 4), key),
  };
}
