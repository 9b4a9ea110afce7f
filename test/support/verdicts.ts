import type { GateCondition } from '../../src/contract/gate.ts';
import { type Profile, profileSchema } from '../../src/contract/profile.ts';
import type { Fault } from '../../src/contract/state.ts';
import type { Aggregate } from '../../src/core/aggregate.ts';
import type { Outcome } from '../../src/core/tally.ts';
import { type Verdict, VerdictBuilder, type VerdictParts } from '../../src/core/verdict.ts';

/** A profile with one group and one evaluator, but for what is given. */
export function profileOf(more: Record<string, unknown> = {}): Profile {
  return profileSchema.parse({
    profile_id: 'p',
    agent: { kind: 'echo', name: 'a', version: '1' },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'exact_match@1' }] }],
    ...more,
  });
}

/** A condition of the gate. */
export function conditionOf(more: Partial<GateCondition>): Partial<GateCondition> {
  return { metric: 'pass_rate', ...more };
}

/** One graded execution: passed or not, its score, and its place. */
export function outcomeOf(case_id: string, score: number | null, more: Partial<Outcome> = {}): Outcome {
  const aggregate: Aggregate | null =
    score === null ? null : { blocking_failures: [], dimensions: { correctness: score }, passed: score === 1, score };
  return { case_id, repeat: 1, cluster: null, status: 'completed', fault: null, aggregate, ...more };
}

/** The verdict over outcomes, which are put into (case_id, repeat) order. */
export function verdictOf(profile: Profile, outcomes: readonly Outcome[], parts: VerdictParts = {}): Verdict {
  const cases = new Set(outcomes.map(({ case_id }) => case_id)).size;
  const builder = new VerdictBuilder({ profile, group_cases: [cases] }, 'a'.repeat(64));
  const order = (a: Outcome, b: Outcome) =>
    a.case_id < b.case_id ? -1 : a.case_id > b.case_id ? 1 : a.repeat - b.repeat;
  for (const outcome of outcomes.toSorted(order)) builder.add(outcome);
  return builder.end('b'.repeat(64), parts);
}

/** One graded case for each score, `c0` on. */
export const scored = (...values: readonly number[]): Outcome[] =>
  values.map((score, at) => outcomeOf(`c${at}`, score));

/** An execution that a fault ended. */
export const faulty = (case_id: string, fault: Fault, more: Partial<Outcome> = {}): Outcome =>
  outcomeOf(case_id, null, { status: fault === 'cancelled' ? 'cancelled' : 'failed', fault, ...more });

/** Four cases, two of them passed. */
export const HALF: readonly Outcome[] = scored(1, 0, 1, 0);

/** A gate with one condition on the pass rate. */
export const condition = (more: object) => ({ all: [{ metric: 'pass_rate', ...more }] });

/** What a gate says of outcomes, and why. */
export function gated(gate: object, outcomes: readonly Outcome[], parts?: VerdictParts): [string, string] {
  const { gate_status, reason } = verdictOf(profileOf({ gate }), outcomes, parts);
  return [gate_status, reason];
}
