import { describe, expect, test } from 'vitest';
import type { ComparisonPolicy, MetricComparison, Pairing } from '../../src/core/comparison.ts';
import { comparisonOutcome, leastUnits } from '../../src/core/comparison-outcome.ts';

const PAIRING: Pairing = {
  baseline_cases: 100,
  candidate_cases: 100,
  paired: 100,
  only_baseline: 0,
  only_candidate: 0,
  changed: 0,
  ungraded: 0,
  passes_not_shown: { lost: 0, changed: 0, ungraded: 0 },
};
const RATE = { cases: 100, units: 100, delta: -0.02, p_value: 0.5, test: 'exact_mcnemar' } as MetricComparison;

interface Given {
  policy?: Partial<ComparisonPolicy>;
  pairing?: Partial<Pairing>;
  rate?: Partial<MetricComparison> | null;
  same_grading?: boolean | null;
  regressed?: number;
}

function told({ policy, pairing, rate = {}, same_grading = true, regressed = 2 }: Given): string {
  const whole: ComparisonPolicy = {
    test: 'exact_mcnemar',
    alpha: 0.05,
    max_regressions: null,
    min_cases: null,
    max_infra_rate: 0.05,
    ...policy,
  };
  return comparisonOutcome({
    policy: whole,
    pairing: { ...PAIRING, ...pairing },
    same_grading,
    improved: 0,
    regressed,
    rate: rate === null ? undefined : { ...RATE, ...rate },
  }).join(': ');
}

const CHANGES = '2 of 100 cases regressed, 0 improved; 100 of 100 baseline cases are paired';

describe('runs that were not graded alike are not comparable', () => {
  test('or whose grading is not known', () => {
    expect(told({ same_grading: false })).toBe(
      'not_comparable: the runs were graded by different evaluators or rules; `proctor regrade` grades one like the other',
    );
    expect(told({ same_grading: null })).toBe(
      'not_comparable: the baseline does not say how it was graded; bless a run made by this version',
    );
  });
});

describe('cases that are missing', () => {
  test('are told by what became of them', () => {
    const pairing = { paired: 0, only_baseline: 3, changed: 0, ungraded: 97 };
    expect(told({ rate: null, pairing })).toBe(
      'not_comparable: no case was graded in both runs: 0 of 100 baseline cases are paired (3 missing from the candidate, 97 not graded in one of the runs)',
    );
    expect(told({ pairing: { paired: 99, changed: 1 }, policy: { max_infra_rate: 0.01 } })).toBe(
      'no_regression: 2 of 100 cases regressed, 0 improved; 99 of 100 baseline cases are paired (1 with changed content); exact_mcnemar p = 0.500, not below 0.05',
    );
  });

  test.each<[number | null, number, number, string]>([
    [null, 0.05, 95, 'no_regression'],
    [null, 0.05, 94, 'not_comparable'],
    [null, 0.29, 71, 'no_regression'],
    [null, 0.29, 70, 'not_comparable'],
    [50, 0.05, 50, 'no_regression'],
    [50, 0.05, 49, 'not_comparable'],
    [0, 0.05, 7, 'no_regression'],
  ])('min_cases %j, %j faults allowed, %i paired: %s', (min_cases, max_infra_rate, paired, outcome) => {
    const found = told({ policy: { min_cases, max_infra_rate }, pairing: { paired } });
    expect(found.split(':')[0]).toBe(outcome);
    if (outcome === 'not_comparable')
      expect(found).toContain(
        `; a comparison needs ${min_cases ?? 100 - Math.round(100 * max_infra_rate)} (\`min_cases\`)`,
      );
  });

  test('none may be missing where the policy allows no faults', () => {
    const policy: ComparisonPolicy = { test: 'exact_mcnemar', alpha: 0.05, max_regressions: null };
    const of = (paired: number) =>
      comparisonOutcome({
        policy,
        pairing: { ...PAIRING, paired },
        same_grading: true,
        improved: 0,
        regressed: 0,
        rate: RATE,
      })[0];
    expect([of(100), of(99)]).toEqual(['no_regression', 'not_comparable']);
  });
});

describe('a limit of regressions', () => {
  const at = (max_regressions: number, more: Given = {}) =>
    told({ ...more, policy: { max_regressions, ...more.policy } });

  test('decides before everything that is missing', () => {
    expect(at(1)).toBe(`regression: ${CHANGES}; at most 1 may regress`);
    expect(at(1, { pairing: { paired: 3 } })).toContain('at most 1 may regress');
    expect(at(2)).toBe(`no_regression: ${CHANGES}; exact_mcnemar p = 0.500, not below 0.05`);
  });

  test('takes passes that are not shown for possible regressions, but for the faults that are allowed', () => {
    const hidden = (lost: number, changed: number, ungraded: number, regressed = 0) =>
      at(2, { pairing: { passes_not_shown: { lost, changed, ungraded } }, regressed });
    expect([hidden(2, 0, 0), hidden(1, 1, 0), hidden(0, 0, 7)].map((text) => text.split(':')[0])).toEqual(
      Array(3).fill('no_regression'),
    );
    expect(hidden(3, 0, 0)).toBe(
      'not_comparable: 0 of 100 cases regressed, 0 improved; 100 of 100 baseline cases are paired; 3 baseline passes are not shown, and at most 2 may regress',
    );
    expect(hidden(0, 3, 0)).toContain('3 baseline passes are not shown');
    expect(hidden(0, 0, 8)).toContain('3 baseline passes are not shown');
    expect(hidden(1, 1, 6)).toContain('3 baseline passes are not shown');
    expect(hidden(1, 0, 0, 2)).toContain('1 baseline pass is not shown, and at most 2 may regress');
    expect(hidden(0, 0, 0, 2)).toContain('no_regression');
    // Without a limit the test decides.
    expect(told({ pairing: { passes_not_shown: { lost: 3, changed: 0, ungraded: 0 } } })).toContain('no_regression');
  });

  test('needs no number of units', () => {
    expect(at(2, { rate: { units: 1 } })).toContain('no_regression');
  });
});

describe('passes that are not shown, without a limit of regressions', () => {
  const hidden = (lost: number, regressed: number, more: Given = {}) =>
    told({ ...more, regressed, pairing: { passes_not_shown: { lost, changed: 0, ungraded: 0 } } });

  test('are no comparison where they could make a regression', () => {
    expect(hidden(1, 5)).toBe(
      'not_comparable: 5 of 100 cases regressed, 0 improved; 100 of 100 baseline cases are paired; 1 baseline pass is not shown, enough to hide a regression',
    );
    expect(hidden(2, 4)).toContain('2 baseline passes are not shown, enough to hide a regression');
    expect(hidden(1, 4)).toContain('no_regression');
    // 2 · 2^−5 is alpha, and not below it.
    expect(hidden(1, 4, { policy: { alpha: 0.0625 } })).toContain('no_regression');
    expect(hidden(1, 4, { policy: { alpha: 0.0626 } })).toContain('not_comparable');
  });

  test('and where there are none the declared test decides alone', () => {
    // Cases that fell in one cluster: single results would be enough for a regression, the cluster is not.
    expect(hidden(0, 9, { rate: { test: 'paired_bootstrap' } })).toContain('no_regression');
  });
});

describe('the test', () => {
  test('finds a fall below alpha', () => {
    expect(told({ rate: { p_value: 0.0499 } })).toBe(
      `regression: ${CHANGES}; the pass rate fell by 0.0200, exact_mcnemar p = 0.0499 below 0.05`,
    );
    expect(told({ rate: { p_value: 0.05 } })).toContain('no_regression');
    expect(told({ rate: { p_value: 0.001, delta: 0 } })).toBe(`no_regression: ${CHANGES}; the pass rate did not fall`);
    expect(told({ rate: { p_value: 0.001, delta: 0.1 } })).toContain('the pass rate did not fall');
  });

  test('says nothing of fewer units than it takes', () => {
    expect(told({ rate: { units: 5 } })).toBe(
      `not_comparable: ${CHANGES}; 5 cases or clusters cannot show a regression at alpha 0.05, which takes 6`,
    );
    expect(told({ rate: { units: 6 } })).toContain('no_regression');
    // 2^(1 − n) has to be below alpha.
    expect([0.5, 0.25, 0.1, 0.05, 0.01].map(leastUnits)).toEqual([3, 4, 5, 6, 8]);
  });
});
