import type { Envelope } from '../contract/agent.ts';
import { type EvaluatorResult, type Finding, finding } from '../contract/evaluator.ts';
import type { Plugins } from '../contract/ports.ts';
import type { PlannedCase } from '../contract/snapshot.ts';
import type { Claim } from '../contract/store.ts';
import { linkedSignal, untilAborted } from '../lib/abort.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { Clock } from '../lib/clock.ts';
import { attemptId, executionId } from '../lib/id.ts';
import type { OpenEvaluator } from './run-context.ts';

/** An evaluator result with how long it took, and whether an earlier attempt made it. */
export interface Graded {
  readonly result: EvaluatorResult;
  readonly duration_ms: number;
  readonly reused: boolean;
}

interface Work {
  readonly deps: { readonly clock: Clock; readonly plugins: Plugins };
  readonly claim: Claim;
  readonly item: PlannedCase;
  readonly signal: AbortSignal;
}

/** Runs the evaluators that have no result yet, at once, each within its time; an evaluator that throws gives status `error`. */
export async function evaluate(
  work: Work,
  envelope: Envelope,
  latency_ms: number,
  evaluators: readonly OpenEvaluator[],
  kept: readonly EvaluatorResult[],
): Promise<Graded[]> {
  const graded: Promise<Graded>[] = [];
  for (const open of evaluators) {
    const before = kept.find((result) => result.index === open.index && result.status !== 'error');
    graded.push(
      before
        ? Promise.resolve({ result: before, duration_ms: 0, reused: true })
        : run(work, envelope, latency_ms, open),
    );
  }
  return await Promise.all(graded);
}

async function run(
  { deps, claim, item, signal }: Work,
  envelope: Envelope,
  latency_ms: number,
  open: OpenEvaluator,
): Promise<Graded> {
  const { reference, index, evaluator } = open;
  const started = deps.clock.monotonic();
  const { ref, dimension, blocking, weight, timeout_ms } = reference;
  const input = {
    case: {
      case_id: item.id,
      task_type: item.task_type,
      input: item.input,
      expected: item.expected,
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
  let found: Finding;
  try {
    if (evaluator.external) {
      using limited = linkedSignal(signal, timeout_ms, () => new Error(`no finding within ${timeout_ms} ms`));
      found = deps.plugins.redact(
        await untilAborted(Promise.resolve(evaluator.evaluate(input, { signal: limited.signal })), limited.signal),
      );
      canonicalJson(found); // what cannot be recorded is the evaluator's error, here and not later
    } else found = await evaluator.evaluate(input, { signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    found = finding('error', error instanceof Error ? error.message : String(error));
  }
  const { status, severity, score, reason, evidence } = found;
  const result: EvaluatorResult = {
    blocking,
    dimension,
    evidence,
    index,
    reason,
    ref,
    score,
    severity,
    status,
    weight,
  };
  return { result, duration_ms: Math.round(deps.clock.monotonic() - started), reused: false };
}
