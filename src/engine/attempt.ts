import { type AgentFailure, agentFailure } from '../contract/agent.ts';
import { ProctorError } from '../contract/problem.ts';
import type { AttemptSpend, CallReport, Claim, Completion, EvidenceRow, Fence, RetryLater } from '../contract/store.ts';
import type { Aggregate } from '../core/aggregate.ts';
import { overLimit, untoldBudget } from '../core/budget.ts';
import { type Decision, decide, type Failure } from '../core/decide.ts';
import { afterDenials, countsAsFailed } from '../core/denials.ts';
import { CANCELLED_CONTENT, envelopeContent, executionContent } from '../core/evidence.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { executionId } from '../lib/id.ts';
import { type Answer, ask } from './ask-agent.ts';
import { answeredSpend, limitFailure, Overrun, TimeLimit, untoldFailure } from './attempt-limits.ts';
import type { AttemptDeps, AttemptTaken, AttemptWork } from './attempt-work.ts';
import { agentReport, gradedReport } from './call-reports.ts';
import { evaluate } from './evaluate.ts';
import { EvidenceWriter, type KeptAnswer, readKept } from './evidence-rows.ts';
import type { RunContext } from './run-context.ts';

/** How an attempt ended: for good, or with another to follow. */
export type Ending =
  | { readonly type: 'complete'; readonly completion: Completion }
  | { readonly type: 'retry'; readonly retry: RetryLater };

/**
 * One attempt at an execution, from the claim to how it ends: agent → envelope → evaluators → aggregate. Rejects with the
 * reason that `control` is aborted for when the lease is lost or the work is to stop; everything else is an ending.
 */
export async function executeAttempt(
  deps: AttemptDeps,
  context: RunContext,
  claim: Claim,
  control: AbortController,
  taken: AttemptTaken = {},
): Promise<Ending> {
  const { case: item } = await context.cases.at(claim.ordinal);
  const limit = context.profile.limits.execution.time_ms;
  const evidence = new EvidenceWriter(deps.artifacts, context.profile.persistence, deps.plugins.redaction);
  const work: AttemptWork = { deps, context, claim, item, evidence, control, signal: control.signal, taken };
  let timer: NodeJS.Timeout | undefined;
  try {
    const kept = (await readKept(deps.artifacts, claim.kept)) ?? (await context.recorded?.(claim.ordinal)) ?? null;
    if (kept !== null && 'fault' in kept) return failedForGood(work, kept);
    if (kept === null) await context.pace(control.signal); // to wait for its turn takes none of the agent's time
    if (limit !== null) timer = setTimeout(() => control.abort(new TimeLimit(limit)), limit);
    if (kept !== null) return await grade(work, await keptAnswer(evidence, kept));
    const answer = await ask(work);
    if (answer.type === 'failure') return failed(work, answer);
    const untold = untoldBudget(answer.spend, context.profile.limits);
    if (untold !== null) return failed(work, untoldFailure(untold));
    const over = answer.spend === null ? null : overLimit(answer.spend, context.profile.limits.execution);
    return over === null ? await grade(work, answer) : failed(work, limitFailure(over));
  } catch (caught) {
    if (stopsTheRun(caught)) throw caught;
    const error = control.signal.aborted ? control.signal.reason : caught;
    if (error instanceof TimeLimit || error instanceof Overrun) return failed(work, error.failure);
    if (control.signal.aborted || error instanceof LeaseLost) throw error;
    const message = error instanceof Error ? error.message : String(error);
    return failed(
      work,
      agentFailure('infrastructure', 'internal', `the worker could not carry out the attempt: ${message}`),
    );
  } finally {
    clearTimeout(timer);
  }
}

/** A store or artifact folder that cannot be written is not an attempt's failure: the worker stops, the run stays resumable. */
function stopsTheRun(error: unknown): boolean {
  return (
    ProctorError.is(error) &&
    ['store_full', 'store_failed', 'store_busy', 'store_lost', 'store_altered'].includes(error.code)
  );
}

/** The attempt's ending when its run is cancelled while it is held. */
export function cancelledEnding(claim: Claim, { spend }: AttemptTaken = {}): Completion {
  const end = {
    attempt_status: 'cancelled',
    status: 'cancelled',
    fault: 'cancelled',
    reason: 'run_cancelled',
  } as const;
  return {
    ...fenceOf(claim),
    ...end,
    aggregate: null,
    passed: false,
    content: CANCELLED_CONTENT,
    evidence: [],
    ...(spend === undefined ? {} : { spend }),
  };
}

const GRADED_NO_MORE: Decision = { type: 'end', attempt_status: 'failed_evaluation', status: 'failed' };

/** An answer that was kept, to be graded further; as a copy that secrets were taken out of it cannot be. */
async function keptAnswer(evidence: EvidenceWriter, kept: KeptAnswer): Promise<Answer> {
  const { latency_ms, results } = kept;
  const now = evidence.hidden(kept.envelope); // by the secrets of now: the run may be from before they were redacted
  const hidden = { ...now, redacted: [...new Set([...kept.redacted, ...now.redacted])] };
  const envelope = kept.redacted.length === 0 ? kept.envelope : null;
  const row = await evidence.envelope(hidden, latency_ms, true);
  return { envelope, hidden, latency_ms, results, row, spend: null, recorded_spend: null };
}

/** Runs the evaluators that are still to run and ends the attempt by what they say. */
async function grade(work: AttemptWork, answer: Answer): Promise<Ending> {
  const { deps, context, claim, item, evidence, signal } = work;
  const { profile } = context;
  const { hidden, latency_ms } = answer;
  const evaluators = context.evaluators(item.group);
  const rows: EvidenceRow[] = [answer.row];
  if (evaluators.some(({ evaluator }) => evaluator.external) && profile.persistence.persist_raw_outputs === 'all') {
    // Grading leaves this process and may take long: the answer that was paid for is made durable first.
    if ((await deps.store.appendEvidence(claim, rows.splice(0))) === 'fenced') throw new LeaseLost();
  }
  const graded = await evaluate({ ...work, redaction: evidence.redaction }, answer, evaluators);
  const spend = answeredSpend(answer.recorded_spend, profile, graded);
  work.taken.spend = spend;
  const results = graded.map(({ result }) => evidence.kept(result));
  const misconfigured = graded.some((one) => one.misconfigured);
  const erred = results.find(
    (result, index) => result.status === 'error' && (!misconfigured || graded[index]?.misconfigured),
  );
  const score = context.method.aggregate(context.group(item.group), profile.defaults, results);
  if (rows.length > 0 && !evidence.keepsEnvelope(erred === undefined && score.passed))
    rows[0] = evidence.withoutEnvelope(hidden.envelope, latency_ms);
  for (const { result, duration_ms, reused } of graded) rows.push(await evidence.result(result, duration_ms, reused));
  const calls = gradedReport(work, answer.spend !== null, erred === undefined ? null : { ...erred, misconfigured });
  if (erred) {
    // Only a copy without secrets is left to be graded again: an evaluator would judge another answer than the others did.
    const gone = hidden.redacted.length > 0 && evidence.keepsEnvelope(false);
    const fault = misconfigured ? 'configuration' : 'grader';
    const decision = gone
      ? GRADED_NO_MORE
      : decideOn(work, { fault, answered: true, timed_out: false, retry_after_ms: null });
    const reason = answer.envelope === null ? 'not_recomputable' : `evaluator_error: ${erred.ref}`;
    const told = gone ? calls.filter(({ side }) => side === 'agent') : calls;
    return ending(claim, decision, { fault, reason, evidence: rows, spend, calls: told });
  }
  signal.throwIfAborted();
  const completion: Completion = {
    ...fenceOf(claim),
    attempt_status: 'completed',
    status: 'completed',
    fault: null,
    reason: null,
    aggregate: canonicalJson(score),
    passed: score.passed,
    content: executionContent({
      status: 'completed',
      fault: null,
      envelope: envelopeContent(hidden.envelope),
      evaluator_results: results,
      aggregate: score,
    }),
    evidence: rows,
    spend,
    calls,
  };
  return { type: 'complete', completion };
}

/** The lease was found lost by a write. */
export class LeaseLost extends Error {
  constructor() {
    super('the lease is lost');
  }
}

function failed(work: AttemptWork, told: AgentFailure): Ending {
  const failure = afterDenials(told, work.taken.denied ?? []);
  const calls = agentReport(work, failure);
  return failedBy(work, failure, decideOn(work, failure), { calls, spend: work.taken.spend });
}

/** A failure of the run that is graded anew stays what it was: nobody is asked again. */
function failedForGood(work: AttemptWork, failure: AgentFailure): Ending {
  const attempt_status = failure.timed_out ? 'timed_out' : 'failed_agent_call';
  const decision: Decision = { type: 'end', attempt_status, status: failure.timed_out ? 'timed_out' : 'failed' };
  return failedBy(work, failure, decision);
}

function failedBy(
  work: AttemptWork,
  failure: AgentFailure,
  decision: Decision,
  more: Pick<Ended, 'spend' | 'calls'> = {},
): Ending {
  const { fault, code } = failure;
  const aggregated = countsAsFailed(fault)
    ? work.context.method.failedAggregate(work.context.group(work.item.group))
    : null;
  const evidence = [work.evidence.failure(failure)];
  return ending(work.claim, decision, { fault, reason: code, evidence, aggregated, ...more });
}

function decideOn({ context, claim }: AttemptWork, failure: Failure): Decision {
  return decide(
    failure,
    claim.failures,
    context.retries,
    `${executionId(claim.run_id, claim.ordinal)}|${claim.attempt}|${context.profile.seed}`,
  );
}

/** How an attempt that came to no grade ended. */
interface Ended {
  readonly fault: Failure['fault'];
  readonly reason: string;
  readonly evidence: readonly EvidenceRow[];
  readonly aggregated?: Aggregate | null;
  readonly spend?: AttemptSpend | undefined;
  readonly calls?: readonly CallReport[];
}

function ending(claim: Claim, decision: Decision, ended: Ended): Ending {
  const { fault, reason, evidence, aggregated = null, spend, calls } = ended;
  const more = { ...(spend === undefined ? {} : { spend }), ...(calls === undefined ? {} : { calls }) };
  const common = { ...fenceOf(claim), attempt_status: decision.attempt_status, fault, reason, evidence, ...more };
  if (decision.type === 'retry') return { type: 'retry', retry: { ...common, delay_ms: decision.delay_ms } };
  const content = executionContent({
    status: decision.status,
    fault,
    envelope: null,
    evaluator_results: [],
    aggregate: aggregated,
  });
  const completion: Completion = {
    ...common,
    status: decision.status,
    aggregate: aggregated === null ? null : canonicalJson(aggregated),
    passed: false,
    content,
  };
  return { type: 'complete', completion };
}

function fenceOf({ run_id, ordinal, attempt, lease_id }: Claim): Fence {
  return { run_id, ordinal, attempt, lease_id };
}
