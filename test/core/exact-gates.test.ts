import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EvaluatorResult } from '../../src/contract/evaluator.ts';
import { aggregate } from '../../src/core/aggregate.ts';
import { outcomeOf, profileOf, verdictOf } from '../support/verdicts.ts';

const scored = (index: number, score: number, weight: number, dimension = 'correctness'): EvaluatorResult => ({
  index,
  ref: `e${index}@1`,
  dimension,
  status: score >= 0.5 ? 'passed' : 'failed',
  severity: 'none',
  score,
  blocking: false,
  weight,
  reason: null,
  evidence: null,
});

/** Scores and limits as whole numbers of hundredths, so that the expectation is computed in whole numbers. */
const hundredths = fc.integer({ min: 0, max: 100 });
const weights = fc.integer({ min: 1, max: 30 });

describe('sums and comparisons are exact', () => {
  it('three evaluators at 0.7 are 0.7, and ten cases of 0.8 are 0.8', () => {
    const profile = profileOf({
      defaults: { min_execution_score: 0.7 },
      case_groups: [{ id: 'all', evaluators: [{ ref: 'a@1' }, { ref: 'b@1' }, { ref: 'c@1' }] }],
    });
    const [group] = profile.case_groups;
    if (group === undefined) throw new Error('a profile without a group');
    const found = aggregate(
      group,
      profile.defaults,
      [0, 1, 2].map((index) => scored(index, 0.7, 1)),
    );
    expect(found).toEqual({ blocking_failures: [], dimensions: { correctness: 0.7 }, passed: true, score: 0.7 });

    const gated = profileOf({ gate: { all: [{ metric: 'mean_score', min: 0.8 }] } });
    const verdict = verdictOf(
      gated,
      Array.from({ length: 10 }, (_, at) => outcomeOf(`c${at}`, 0.8)),
    );
    expect(verdict).toMatchObject({ gate_status: 'pass', mean_score: 0.8 });
    expect(verdict.reason).toBe('mean_score is 0.8000 over 10 cases, as wanted ≥ 0.8');
  });

  it('an execution passes exactly when its weighted mean in whole numbers reaches the limit', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(hundredths, weights), { minLength: 1, maxLength: 6 }),
        hundredths,
        (parts, limit) => {
          const profile = profileOf({
            defaults: { min_execution_score: limit / 100 },
            case_groups: [{ id: 'all', evaluators: parts.map((_, index) => ({ ref: `e${index}@1` })) }],
          });
          const [group] = profile.case_groups;
          if (group === undefined) throw new Error('a profile without a group');
          const results = parts.map(([score, weight], index) => scored(index, score / 100, weight / 10));
          const total = parts.reduce((sum, [, weight]) => sum + weight, 0);
          const sum = parts.reduce((all, [score, weight]) => all + score * weight, 0);
          expect(aggregate(group, profile.defaults, results).passed).toBe(sum >= limit * total);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('a gate holds exactly when the mean in whole numbers reaches it, over repeats and thirds too', () => {
    fc.assert(
      fc.property(fc.array(hundredths, { minLength: 1, maxLength: 40 }), hundredths, (scores, limit) => {
        const profile = profileOf({
          repeats: 3,
          gate: { max_infra_rate: 1, all: [{ metric: 'mean_score', min: limit / 100 }] },
        });
        const outcomes = scores.map((score, at) =>
          outcomeOf(`case-${String(Math.floor(at / 3)).padStart(2, '0')}`, score / 100, { repeat: (at % 3) + 1 }),
        );
        const sum = scores.reduce((all, score) => all + score, 0);
        const verdict = verdictOf(profile, outcomes);
        const holds = sum >= limit * scores.length;
        expect(verdict.gate_status).toBe(holds ? 'pass' : 'fail');
        // The printed number lies on the side that decided, and so does the number in the document.
        const printed = Number(/is ([\d.]+) over/.exec(verdict.reason)?.[1]);
        expect(printed >= limit / 100).toBe(holds);
        expect((verdict.conditions[0]?.value ?? Number.NaN) >= limit / 100).toBe(holds);
      }),
      { numRuns: 500 },
    );
  });

  it('prints as many places as it takes to see why', () => {
    const profile = profileOf({ gate: { all: [{ metric: 'pass_rate', min: 0.6667 }] } });
    const verdict = verdictOf(profile, [outcomeOf('a', 1), outcomeOf('b', 1), outcomeOf('c', 0)]);
    expect(verdict.reason).toBe('pass_rate is 0.66667 over 3 cases, wanted ≥ 0.6667');
  });
});
