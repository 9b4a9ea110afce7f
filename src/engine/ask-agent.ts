import { type AgentAnswer, type AgentFailure, agentFailure, type Envelope } from '../contract/agent.ts';
import type { EvaluatorResult } from '../contract/evaluator.ts';
import type { GatedCalls, OpenDoor } from '../contract/gateway-profile.ts';
import type { EvidenceRow, Spend } from '../contract/store.ts';
import { overLimit, spendOf } from '../core/budget.ts';
import type { HiddenEnvelope } from '../core/redaction/hidden.ts';
import { turnsOf } from '../core/session.ts';
import { untilAborted } from '../lib/abort.ts';
import { attemptId, executionId } from '../lib/id.ts';
import { agentRequest } from './agent-request.ts';
import { answeredSpend, limitFailure, Overrun, tookNothing, UNKNOWN_SPEND } from './attempt-limits.ts';
import type { AttemptWork } from './attempt-work.ts';
import { asReported, openDoor, withGatedCalls } from './gated-tools.ts';
import { haveSession, type Invoke } from './session.ts';

const GRACE_MS = 5_000; // an agent adapter that overruns its own time limit by this much is cut off

/** An answer to grade: the envelope as it came and as it is kept, its row, and the results that an earlier attempt made of it. */
export interface Answer {
  readonly type?: 'answer';
  /** What the evaluators grade; null when all that is left is a copy that secrets were taken out of. */
  readonly envelope: Envelope | null;
  readonly hidden: HiddenEnvelope;
  readonly latency_ms: number;
  readonly row: EvidenceRow;
  readonly results: readonly EvaluatorResult[];
  /** What the agent took for it; null when an earlier attempt asked for it. */
  readonly spend: Spend | null;
  /** The same as it is recorded: a number that is a secret counts as untold. */
  readonly recorded_spend: Spend | null;
}

/** Asks the agent and makes its answer recordable; a failure where it gave none. */
export async function ask(work: AttemptWork): Promise<Answer | AgentFailure> {
  const { deps, evidence } = work;
  const started = deps.clock.monotonic();
  work.taken.spend = UNKNOWN_SPEND;
  const door = await openDoor(work);
  if (door !== null) evidence.hide(door.token, '[gateway token]');
  let answer: AgentAnswer;
  let gated: GatedCalls | null = null;
  try {
    answer = await invoke(work, door);
  } finally {
    gated = (await door?.close()) ?? null;
    if (gated !== null) work.taken.denied = gated.denied;
  }
  if (answer.type === 'failure') {
    // What earlier turns took is spent; a first call that never reached the agent took nothing.
    if (tookNothing(answer) && work.taken.spend === UNKNOWN_SPEND) delete work.taken.spend;
    return answer;
  }
  const latency_ms = Math.round(deps.clock.monotonic() - started);
  const told = work.context.profile.agent.kind === 'replay' ? answer.envelope : asReported(answer.envelope);
  const envelope = gated === null ? told : withGatedCalls(told, gated);
  try {
    const spend = spendOf(envelope, work.context.profile.agent.price);
    const hidden = evidence.hidden(envelope);
    const recorded_spend = hidden.redacted.includes('usage')
      ? spendOf(hidden.envelope, work.context.profile.agent.price)
      : spend;
    work.taken.spend = answeredSpend(recorded_spend, work.context.profile);
    const row = await evidence.envelope(hidden, latency_ms, false);
    delete work.taken.denied; // it answered in spite of them
    return { envelope, hidden, latency_ms, row, results: [], spend, recorded_spend };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return agentFailure('agent', 'invalid_body', `the answer cannot be recorded: ${error.message}`);
  }
}

/** Calls the agent: once, or once a turn where the case is a session. */
async function invoke(work: AttemptWork, door: OpenDoor | null): Promise<AgentAnswer> {
  const { context, claim, item, signal } = work;
  const { run_id, ordinal, attempt } = claim;
  const ids = {
    run_id,
    execution_id: executionId(run_id, ordinal),
    attempt_id: attemptId(run_id, ordinal, attempt),
    attempt_number: attempt,
  };
  const request = agentRequest(ids, context.profile, item, door);
  const { agent } = context;
  if (agent === null) throw new Error('a run that grades anew has no agent to ask');
  const call: Invoke = (asked) =>
    within(work, (timeout_ms) => agent.invoke(asked, { signal, timeout_ms, repeat: claim.repeat }));
  const turns = context.group(item.group).session ? turnsOf(item.input, item.expected) : null;
  if (turns === null || typeof turns === 'string') return await call(request);
  const { agent: about, limits } = context.profile;
  return await haveSession(request, turns, work.deps.clock, call, (soFar) => {
    const spend = spendOf(soFar, about.price);
    work.taken.spend = answeredSpend(spend, { limits });
    const over = overLimit(spend, limits.execution);
    return over === null ? null : limitFailure(over);
  });
}

/** A call within the time of a request; an adapter that overruns it is cut off. */
async function within(
  { context, control, signal }: AttemptWork,
  call: (timeoutMs: number) => Promise<AgentAnswer>,
): Promise<AgentAnswer> {
  const timeout_ms = context.profile.defaults.request_timeout_ms;
  const timer = setTimeout(() => control.abort(new Overrun(timeout_ms)), timeout_ms + GRACE_MS);
  try {
    return await untilAborted(call(timeout_ms), signal);
  } finally {
    clearTimeout(timer);
  }
}
