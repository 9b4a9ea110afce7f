import type { GateCondition } from '../../src/contract/gate.ts';
import { type Profile, profileSchema } from '../../src/contract/profile.ts';
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
