import { type AgentAnswer, type AgentFailure, agentFailure, type Envelope } from '../contract/agent.ts';
import type { ArtifactStore } from '../contract/artifact.ts';
import type { EvaluatorResult } from '../contract/evaluator.ts';
import type { Plugins } from '../contract/ports.ts';
import { ProctorError } from '../contract/problem.ts';
import type { PlannedCase } from '../contract/snapshot.ts';
import type {
  AttemptSpend,
  Claim,
  Completion,
  EvidenceRow,
  Fence,
  RetryLater,
  Spend,
  Store,
} from '../contract/store.ts';
import { type Aggregate, aggregate, failedAggregate } from '../core/aggregate.ts';
import { overLimit, spendOf } from '../core/budget.ts';
import { type Decision, decide, type Failure } from '../core/decide.ts';
import { CANCELLED_CONTENT, envelopeContent, executionContent } from '../core/evidence.ts';
import { untilAborted } from '../lib/abort.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { Clock } from '../lib/clock.ts';
import { attemptId, executionId } from '../lib/id.ts';
import { agentRequest } from './agent-request.ts';
import { evaluatorsSpend, limitFailure, Overrun, TimeLimit } from './attempt-limits.ts';
import { evaluate } from './evaluate.ts';
import { EvidenceWriter, readKept } from './evidence-rows.ts';
import type { RunContext } from './run-context.ts';

/** What an attempt works with. */
export interface AttemptDeps {
  readonly store: Store;
  readonly artifacts: ArtifactStore;
  readonly plugins: Plugins;
  readonly clock: Clock;
}

/** How an attempt ended: for good, or with another to follow. */
export type Ending =
  | { readonly type: 'complete'; readonly completion: Completion }
  | { readonly type: 'retry'; readonly retry: RetryLater };

const GRACE_MS = 5_000; // an agent adapter that overruns its own time limit by this much is cut off

/**
 * One attempt at an execution, from the claim to how it ends: agent → envelope → evaluators → aggregate. Rejects with the
 * reason that `control` is aborted for when the lease is lost or the work is to stop; everything else is an ending.
 */
export async function executeAttempt(
  deps: AttemptDeps,
  context: RunContext,
  claim: Claim,
  control: AbortController,
): Promise<Ending> {
  const { case: item } = await context.cases.at(claim.ordinal);
  const limit = context.profile.limits.execution.time_ms;
  const evidence = new EvidenceWriter(deps.artifacts, context.profile.persistence);
  const work: Work = { deps, context, claim, item, evidence, control, signal: control.signal };
  let timer: NodeJS.Timeout | undefined;
  try {
    const kept = (await readKept(deps.artifacts, claim.kept)) ?? (await context.recorded?.(claim.ordinal)) ?? null;
    if (kept !== null && 'fault' in kept) return failedForGood(work, kept);
    if (kept === null) await context.pace(control.signal); // to wait for its turn takes none of the agent's time
    if (limit !== null) timer = setTimeout(() => control.abort(new TimeLimit(limit)), limit);
    if (kept !== null)
      return await grade(work, {
        ...kept,
        spend: null,
        row: await evidence.envelope(kept.envelope, kept.latency_ms, true),
      });
    const answer = await ask(work);
    if (answer.type === 'failure') return failed(work, answer);
    const over = answer.spend === null ? null : overLimit(answer.spend, context.profile.limits.execution);
    return over === null
      ? await grade(work, answer)
      : failed(work, limitFailure(over), { agent: answer.spend, evaluators: evaluatorsSpend([]) });
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
  return ProctorError.is(error) && ['store_full', 'store_failed', 'store_busy', 'store_altered'].includes(error.code);
}

/** The attempt's ending when its run is cancelled while it is held. */
export function cancelledEnding(claim: Claim): Completion {
  const end = {
    attempt_status: 'cancelled',
    status: 'cancelled',
    fault: 'cancelled',
    reason: 'run_cancelled',
  } as const;
  return { ...fenceOf(claim), ...end, aggregate: null, passed: false, content: CANCELLED_CONTENT, evidence: [] };
}

interface Work {
  readonly deps: AttemptDeps;
  readonly context: RunContext;
  readonly claim: Claim;
  readonly item: PlannedCase;
  readonly evidence: EvidenceWriter;
  /** Aborts with what ends the attempt: one for all of it, because each costs as much as a row of the store. */
  readonly control: AbortController;
  readonly signal: AbortSignal;
}

/** An answer to grade: the envelope, its row, and the results that an earlier attempt made of it. */
interface Answer {
  readonly type?: 'answer';
  readonly envelope: Envelope;
  readonly latency_ms: number;
  readonly row: EvidenceRow;
  readonly results: readonly EvaluatorResult[];
  /** What the agent took for it; null when an earlier attempt asked for it. */
  readonly spend: Spend | null;
}

async function ask(work: Work): Promise<Answer | AgentFailure> {
  const { deps, evidence } = work;
  const started = deps.clock.monotonic();
  const answer = await invoke(work);
  if (answer.type === 'failure') return deps.plugins.redact(answer);
  const latency_ms = Math.round(deps.clock.monotonic() - started);
  const envelope = deps.plugins.redact(answer.envelope);
  try {
    const spend = spendOf(envelope, work.context.profile.agent.price);
    return { envelope, latency_ms, row: await evidence.envelope(envelope, latency_ms, false), results: [], spend };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return agentFailure('agent', 'invalid_body', `the answer cannot be recorded: ${error.message}`);
  }
}

/** Calls the agent; an adapter that overruns the time of a request is cut off. */
async function invoke({ context, claim, item, control, signal }: Work): Promise<AgentAnswer> {
  const { run_id, ordinal, attempt } = claim;
  const ids = {
    run_id,
    execution_id: executionId(run_id, ordinal),
    attempt_id: attemptId(run_id, ordinal, attempt),
    attempt_number: attempt,
  };
  const request = agentRequest(ids, context.profile, item);
  const timeout_ms = context.profile.defaults.request_timeout_ms;
  const timer = setTimeout(() => control.abort(new Overrun(timeout_ms)), timeout_ms + GRACE_MS);
  try {
    if (context.agent === null) throw new Error('a run that grades anew has no agent to ask');
    return await untilAborted(context.agent.invoke(request, { signal, timeout_ms, repeat: claim.repeat }), signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs the evaluators that are still to run and ends the attempt by what they say. */
async function grade(work: Work, answer: Answer): Promise<Ending> {
  const { deps, context, claim, item, evidence, signal } = work;
  const { profile } = context;
  const { envelope, latency_ms } = answer;
  const evaluators = context.evaluators(item.group);
  const rows: EvidenceRow[] = [answer.row];
  if (evaluators.some(({ evaluator }) => evaluator.external) && profile.persistence.persist_raw_outputs === 'all') {
    // Grading leaves this process and may take long: the answer that was paid for is made durable first.
    if ((await deps.store.appendEvidence(claim, rows.splice(0))) === 'fenced') throw new LeaseLost();
  }
  const graded = await evaluate(work, envelope, latency_ms, evaluators, answer.results);
  const spend = { agent: answer.spend, evaluators: evaluatorsSpend(graded) };
  const results = graded.map(({ result }) => evidence.kept(result));
  const erred = results.find((result) => result.status === 'error');
  const score = aggregate(context.group(item.group), profile.defaults, results);
  if (rows.length > 0 && !evidence.keepsEnvelope(erred === undefined && score.passed))
    rows[0] = evidence.withoutEnvelope(envelope, latency_ms);
  for (const { result, duration_ms, reused } of graded) rows.push(await evidence.result(result, duration_ms, reused));
  if (erred) {
    const decision = decideOn(work, { fault: 'grader', timed_out: false, retry_after_ms: null });
    return ending(claim, decision, 'grader', `evaluator_error: ${erred.ref}`, rows, null, spend);
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
      envelope: envelopeContent(envelope),
      evaluator_results: results,
      aggregate: score,
    }),
    evidence: rows,
    spend,
  };
  return { type: 'complete', completion };
}

/** The lease was found lost by a write. */
export class LeaseLost extends Error {
  constructor() {
    super('the lease is lost');
  }
}

function failed(work: Work, failure: AgentFailure, spend?: AttemptSpend): Ending {
  const aggregated = failure.fault === 'agent' ? failedAggregate(work.context.group(work.item.group)) : null;
  return ending(
    work.claim,
    decideOn(work, failure),
    failure.fault,
    failure.code,
    [work.evidence.failure(failure)],
    aggregated,
    spend,
  );
}

/** A failure of the run that is graded anew stays what it was: nobody is asked again. */
function failedForGood(work: Work, failure: AgentFailure): Ending {
  const aggregated = failure.fault === 'agent' ? failedAggregate(work.context.group(work.item.group)) : null;
  const attempt_status = failure.timed_out ? 'timed_out' : 'failed_agent_call';
  const decision: Decision = { type: 'end', attempt_status, status: failure.timed_out ? 'timed_out' : 'failed' };
  return ending(work.claim, decision, failure.fault, failure.code, [work.evidence.failure(failure)], aggregated);
}

function decideOn({ context, claim }: Work, failure: Failure): Decision {
  return decide(
    failure,
    claim.failures,
    context.profile,
    `${executionId(claim.run_id, claim.ordinal)}|${claim.attempt}|${context.profile.seed}`,
  );
}

function ending(
  claim: Claim,
  decision: Decision,
  fault: Failure['fault'],
  reason: string,
  evidence: readonly EvidenceRow[],
  aggregated: Aggregate | null,
  spend?: AttemptSpend,
): Ending {
  const taken = spend === undefined ? {} : { spend };
  const common = { ...fenceOf(claim), attempt_status: decision.attempt_status, fault, reason, evidence, ...taken };
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
