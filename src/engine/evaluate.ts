import type { Envelope } from '../contract/agent.ts';
import { type EvaluatorResult, type Finding, finding } from '../contract/evaluator.ts';
import type { Redaction } from '../contract/redaction.ts';
import type { PlannedCase } from '../contract/snapshot.ts';
import type { Claim } from '../contract/store.ts';
import { hiddenFinding } from '../core/redaction/hidden.ts';
import { gradedTurns, sessionFinding, type Turn, turnEnvelope, turnsOf } from '../core/session.ts';
import { linkedSignal, untilAborted } from '../lib/abort.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { Clock } from '../lib/clock.ts';
import { attemptId, executionId } from '../lib/id.ts';
import type { OpenEvaluator, RunContext } from './run-context.ts';

/** An evaluator result with how long it took, and whether an earlier attempt made it. */
export interface Graded {
  readonly result: EvaluatorResult;
  readonly duration_ms: number;
  readonly reused: boolean;
  /** Trying again is of no use: the evaluator is set up wrongly, or cannot read what it is given. */
  readonly misconfigured?: boolean;
}

/** What is graded: an envelope, or null where only a copy without its secrets is left, and the results that are there already. */
interface Graduand {
  readonly envelope: Envelope | null;
  readonly latency_ms: number;
  readonly results: readonly EvaluatorResult[];
}

interface Work {
  readonly deps: { readonly clock: Clock };
  /** Takes secrets out of what is found. */
  readonly redaction: Redaction;
  /** Says which groups grade sessions. */
  readonly context: Pick<RunContext, 'group'>;
  readonly claim: Claim;
  readonly item: PlannedCase;
  readonly signal: AbortSignal;
}

/** Runs the evaluators that have no result yet, at once, each within its time; an evaluator that throws gives status `error`. */
export async function evaluate(
  work: Work,
  { envelope, latency_ms, results }: Graduand,
  evaluators: readonly OpenEvaluator[],
): Promise<Graded[]> {
  return await Promise.all(
    evaluators.map(async (open) => {
      const before = results.find((result) => result.index === open.index && result.status !== 'error');
      if (before) return { result: before, duration_ms: 0, reused: true };
      if (envelope === null) return { result: resultOf(open, UNGRADABLE), duration_ms: 0, reused: false };
      return await run(work, envelope, latency_ms, open);
    }),
  );
}

const UNGRADABLE = finding(
  'error',
  'the answer held a secret and is kept without it, so it cannot be graded again as it came',
);

async function run(work: Work, envelope: Envelope, latency_ms: number, open: OpenEvaluator): Promise<Graded> {
  const { deps, item } = work;
  const { reference } = open;
  const started = deps.clock.monotonic();
  const turns = work.context.group(item.group).session ? turnsOf(item.input, item.expected) : [];
  const found =
    typeof turns === 'string' || turns.length === 0 || reference.turns === 'whole'
      ? await find(work, { input: item.input, expected: item.expected }, envelope, latency_ms, open)
      : sessionFinding(await ofTurns(work, turns, envelope, open));
  const misconfigured = found.status === 'error' && found.fault === 'configuration';
  const duration_ms = Math.round(deps.clock.monotonic() - started);
  return { result: resultOf(open, found), duration_ms, reused: false, misconfigured };
}

function resultOf({ reference, index }: OpenEvaluator, found: Finding): EvaluatorResult {
  const { ref, dimension, blocking, weight } = reference;
  const { status, score, reason, evidence } = found;
  const severity = status === 'failed' && found.severity === 'none' ? (reference.severity ?? 'none') : found.severity;
  return { blocking, dimension, evidence, index, reason, ref, score, severity, status, weight };
}

/** What the evaluator finds of each turn that it is to look at. */
async function ofTurns(
  work: Work,
  turns: readonly Turn[],
  envelope: Envelope,
  open: OpenEvaluator,
): Promise<{ turn: number; found: Finding }[]> {
  const which = open.reference.turns === 'last' ? 'last' : 'each';
  const chosen = gradedTurns(turns, which).flatMap(({ index, ...turn }) => {
    const answer = envelope.turns?.[index];
    return answer === undefined ? [] : [{ turn, answer, number: index + 1 }];
  });
  return await Promise.all(
    chosen.map(async ({ turn, answer, number }) => ({
      turn: number,
      found: await find(work, turn, turnEnvelope(envelope, answer), answer.latency_ms, open),
    })),
  );
}

/** One finding of one evaluator within its time; what it throws is status `error`. */
async function find(
  { redaction, claim, item, signal }: Work,
  { input: asked, expected }: Turn,
  envelope: Envelope,
  latency_ms: number,
  { reference, evaluator }: OpenEvaluator,
): Promise<Finding> {
  const { timeout_ms } = reference;
  const input = {
    case: {
      case_id: item.id,
      task_type: item.task_type,
      input: asked,
      expected,
      context: item.context,
      tags: item.tags,
      metadata: item.metadata,
    },
    envelope,
    latency_ms,
    run_id: claim.run_id,
    execution_id: executionId(claim.run_id, claim.ordinal),
    attempt_id: attemptId(claim.run_id, claim.ordinal, claim.attempt),
    repeat: claim.repeat,
  };
  try {
    if (!evaluator.external) return hiddenFinding(await evaluator.evaluate(input, { signal }), redaction);
    using limited = linkedSignal(signal, timeout_ms, () => new Error(`no finding within ${timeout_ms} ms`));
    const found = await untilAborted(
      Promise.resolve(evaluator.evaluate(input, { signal: limited.signal })),
      limited.signal,
    );
    canonicalJson(found); // what cannot be recorded is the evaluator's error, here and not later
    return hiddenFinding(found, redaction);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // What it says may quote a request with a secret in it.
    return hiddenFinding(finding('error', error instanceof Error ? error.message : String(error)), redaction);
  }
}
