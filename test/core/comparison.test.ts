import { describe, expect, test } from 'vitest';
import { ComparisonBuilder, PAIRED_TESTS } from '../../src/core/comparison.ts';
import { methodOf } from '../../src/core/method.ts';
import { compared, metricRows, type Paired, summaryOf } from '../support/comparisons.ts';
import { profileOf } from '../support/verdicts.ts';

const BOTH = [1, 2] as const;
const ids = [...'abcdefgh'];
/** Eight cases with single results, two dimensions that both runs have, and tags. */
const SINGLE: readonly Paired[] = ids.map((id, at) => [
  summaryOf(id, at < 6 ? 1 : 0, { dimensions: { tone: at / 8, format: 1, old: 1 } }),
  summaryOf(id, at === 0 || (at >= 2 && at < 7) ? 1 : 0, {
    dimensions: { tone: (7 - at) / 8, format: at < 3 ? 0 : 1, new: 1 },
  }),
  at % 2 ? ['odd'] : ['even', 'all'],
]);
/** Eight cases of three tries, the first four in a cluster. */
const REPEATED: readonly Paired[] = ids.map((id, at) => {
  const of = (passed: number) => summaryOf(id, passed, { graded: 3, score: passed / 4, cluster: at < 4 ? 'x' : null });
  return [of([3, 3, 2, 3, 1, 0, 3, 3][at] ?? 0), of([3, 2, 2, 1, 1, 1, 2, 2][at] ?? 0)];
});
const sixteen = (of: (at: number) => readonly [number, number]): Paired[] =>
  Array.from({ length: 16 }, (_, at) => {
    const [before, after] = of(at);
    const id = `case-${String(at).padStart(2, '0')}`;
    return [summaryOf(id, before), summaryOf(id, after)];
  });
const SWAPPED = sixteen((at) => [at % 2, 1 - (at % 2)]);
const FELL = sixteen((at) => [at < 10 ? 1 : 0, 0]);

describe.each(BOTH)('method %i', (method) => {
  test('pairs the same case with the same content, graded in both', () => {
    const { changes, pairing } = compared(method, [
      [summaryOf('a', 1), summaryOf('a', 1)],
      [summaryOf('b', 0), summaryOf('b', 1)],
      [summaryOf('c', 2, { graded: 3 }), summaryOf('c', 1, { graded: 2 })],
      [summaryOf('d', 1), null],
      [null, summaryOf('e', 1)],
      [summaryOf('f', 1), summaryOf('f', 1, { case_content: 'new' })],
      [summaryOf('g', 0, { graded: 0 }), summaryOf('g', 1)],
      [summaryOf('h', 1), summaryOf('h', 0, { graded: 0 })],
    ]);
    expect(changes).toEqual([
      'equal',
      'improved',
      'regressed',
      'only_baseline',
      'only_candidate',
      'changed',
      'ungraded',
      'ungraded',
    ]);
    expect(pairing).toMatchObject({
      baseline_cases: 7,
      candidate_cases: 7,
      paired: 3,
      only_baseline: 1,
      only_candidate: 1,
      changed: 1,
      ungraded: 2,
    });
  });

  test('counts what improved, what regressed and what did neither', () => {
    const { improved, regressed, equal } = compared(method, REPEATED);
    expect({ improved, regressed, equal }).toEqual({ improved: 1, regressed: 4, equal: 3 });
  });

  test('tells of each case what it counted', () => {
    const policy = { test: 'exact_mcnemar', alpha: 0.05, max_regressions: null } as const;
    const builder = methodOf({ method }).comparison({ policy, seed: 'seed', same_grading: true });
    const [before, after] = [summaryOf('a', 2, { graded: 3 }), summaryOf('a', 1)];
    const counts = { baseline: { graded: 3, passed: 2 }, candidate: { graded: 1, passed: 1 } };
    expect(builder.add(before, after)).toEqual({ case_id: 'a', change: 'improved', ...counts });
    expect(builder.add(before, null)).toEqual({ case_id: 'a', change: 'only_baseline', ...counts, candidate: null });
    expect(builder.add(null, after)).toEqual({ case_id: 'a', change: 'only_candidate', ...counts, baseline: null });
  });

  test('of nothing has no metrics', () => {
    const { metrics, outcome, reason } = compared(method, []);
    expect([metrics, outcome]).toEqual([[], 'not_comparable']);
    expect(reason).toContain('no case was graded in both runs');
  });

  test('a metric that a case has in one of the runs only is not paired', () => {
    const rows: Paired[] = [
      [summaryOf('a', 1, { score: null }), summaryOf('a', 1)],
      [summaryOf('b', 1), summaryOf('b', 1, { score: null })],
    ];
    expect(compared(method, rows).metrics.map(({ metric, cases }) => [metric, cases])).toEqual([['pass_rate', 2]]);
    const third: Paired = [summaryOf('c', 1), summaryOf('c', 1)];
    expect(compared(method, [...rows, third]).metrics.map(({ cases }) => cases)).toEqual([3, 1]);
  });

  test('McNemar where single results of independent cases are compared, else the bootstrap', () => {
    const tests = (rows: readonly Paired[], test: 'exact_mcnemar' | 'paired_bootstrap' = 'exact_mcnemar') =>
      compared(method, rows, { test }).metrics.map((one) => one.test === 'exact_mcnemar');
    expect(tests(SINGLE)).toEqual([true, false, false, false, true, true, true]);
    expect(tests(SINGLE, 'paired_bootstrap')).toEqual([false, false, false, false, false, false, false]);
    expect(tests(REPEATED.slice(4))).toEqual([false, false]);
    expect(
      tests([...SINGLE.slice(0, 1), [summaryOf('z', 1, { cluster: 'x' }), summaryOf('z', 1, { cluster: 'x' })]])[0],
    ).toBe(false);
    const nine = sixteen((at) => (at === 0 ? [0, 1] : [1, 0])).slice(0, 9);
    expect(compared(method, nine).metrics[0]?.p_value).toBe((2 * (1 + 9)) / 2 ** 9);
  });
});

// Means, tests and p-values are the same by both methods; intervals are not.
const ROWS: readonly [string, number[], number[], string, (number | null)[]][] = [
  ['pass_rate', [8, 8], [0.75, 0.75, 0], 'exact_mcnemar', [1, 1, 0.75]],
  ['mean_score', [8, 8], [0.75, 0.75, 0], 'paired_bootstrap', [1, 1, 0.75]],
  ['dimension.format', [8, 8], [1, 0.625, -0.375], 'paired_bootstrap', [0.25, 0.5, 0.75]],
  ['dimension.tone', [8, 8], [0.4375, 0.4375, 0], 'paired_bootstrap', [1, 1, 0.75]],
  ['tag.all', [4, 4], [0.75, 1, 0.25], 'exact_mcnemar', [1, 1, null]],
  ['tag.even', [4, 4], [0.75, 1, 0.25], 'exact_mcnemar', [1, 1, null]],
  ['tag.odd', [4, 4], [0.75, 0.5, -0.25], 'exact_mcnemar', [1, 1, null]],
];

test.each([
  [
    1,
    [
      [-0.375, 0.375],
      [-0.375, 0.375],
      [-0.75, -0.125],
      [-0.40625, 0.40625],
      [0, 0.75],
      [0, 0.75],
      [-0.75, 0],
    ],
  ],
  [
    2,
    [
      [-0.475718444, 0.475718444],
      [-0.475718444, 0.475718444],
      [-0.755136784, 0.182234566],
      [-0.491006676, 0.491006676],
      [-0.527129196, 0.80587955],
      [-0.527129196, 0.80587955],
      [-0.80587955, 0.527129196],
    ],
  ],
] as const)('the metrics by method %i, as they were computed when it was new', (method, intervals) => {
  expect(metricRows(compared(method, SINGLE))).toEqual(
    ROWS.map(([name, units, means, test, p], at) => [name, units, means, intervals[at], test, p]),
  );
});

test.each([
  [1, [-0.25490196078431376, -2.2204460492503132e-17], [-0.19642857142857142, 0], -0.16666666666666669],
  [2, [-0.675815134, 0.566297686], [-0.659590372, 0.577652562], -1 / 6],
] as const)('of repeats and clusters by method %i', (method, rate, score, delta) => {
  expect(metricRows(compared(method, REPEATED, { alpha: 0.2 }))).toEqual([
    ['pass_rate', [8, 5], [0.75, 0.5833333333333334, delta], rate, 'paired_bootstrap', [0.5, 0.5, 0.8]],
    ['mean_score', [8, 5], [0.5625, 0.4375, -0.125], score, 'paired_bootstrap', [0.5, 0.5, 0.8]],
  ]);
});

test('the smallest effect that could have been found follows from the error where that is more than the test needs', () => {
  for (const method of BOTH) {
    expect(compared(method, SWAPPED).metrics[0]).toMatchObject({ minimal_detectable_effect: 0.7233661928488265 });
    expect(compared(method, FELL).metrics[0]).toMatchObject({ minimal_detectable_effect: 6 / 16 });
    // Nothing varied, or too few cases to find anything.
    const same = sixteen(() => [1, 1]);
    expect(compared(method, same).metrics[0]).toMatchObject({ minimal_detectable_effect: null });
    expect(compared(method, SWAPPED.slice(0, 6)).metrics[0]?.minimal_detectable_effect).toBe(1);
    expect(compared(method, SWAPPED.slice(0, 5)).metrics[0]?.minimal_detectable_effect).toBeNull();
  }
});

test('the pass rate decides by its own test, whatever else is compared', () => {
  expect(compared(2, FELL).reason).toContain('fell by 0.6250, exact_mcnemar p = 0.00195 below 0.05');
  expect(compared(2, REPEATED, { alpha: 0.5, max_regressions: 4 }).reason).toContain('paired_bootstrap p = 0.500');
  expect(PAIRED_TESTS).toEqual(['exact_mcnemar', 'paired_bootstrap']);
});

test('thirds are compared exactly by method 2', () => {
  const third = (id: string): Paired => [
    summaryOf(id, 1, {
      graded: 3,
      score: 1 / 3,
      exact: { score: '1/3', dimensions: { tone: '1/3' } },
      dimensions: { tone: 1 / 3 },
    }),
    summaryOf(id, 2, { graded: 6, score: 0.3334, dimensions: { tone: 2 / 3 }, exact: { dimensions: { tone: '2/3' } } }),
  ];
  const { metrics, changes } = compared(2, [third('a'), third('b'), third('c')]);
  expect(changes).toEqual(['equal', 'equal', 'equal']);
  expect(metrics.map(({ metric, delta }) => [metric, delta])).toEqual([
    ['pass_rate', 0],
    ['mean_score', 1 / 15_000],
    ['dimension.tone', 1 / 3],
  ]);
});

describe('passes of the baseline that are not shown', () => {
  test('are counted by method 2, by what became of them', () => {
    const lost = compared(2, [
      [summaryOf('a', 1), null],
      [summaryOf('b', 0), null],
      [summaryOf('c', 2, { graded: 3 }), summaryOf('c', 1, { case_content: 'new' })],
      [summaryOf('d', 0), summaryOf('d', 1, { case_content: 'new' })],
      [summaryOf('e', 1), summaryOf('e', 0, { graded: 0 })],
      [summaryOf('f', 1), summaryOf('f', 0, { graded: 0 })],
      [summaryOf('g', 0, { graded: 0 }), summaryOf('g', 1)],
      [summaryOf('h', 1), summaryOf('h', 1)],
    ]);
    expect(lost.pairing.passes_not_shown).toEqual({ lost: 1, changed: 1, ungraded: 2 });
    expect(lost.same_grading).toBe(true);
  });
});

describe('the outcome by method 1', () => {
  const told = (rows: readonly Paired[], policy: Parameters<typeof compared>[2] = {}) => {
    const { outcome, reason } = compared(1, rows, policy);
    return [outcome, reason];
  };

  test('by count', () => {
    expect(told(REPEATED, { max_regressions: 3 })).toEqual([
      'regression',
      '4 of 8 cases regressed, 1 improved; at most 3 may regress',
    ]);
    expect(told(REPEATED.slice(0, 2), { max_regressions: 1 })).toEqual([
      'no_regression',
      '1 of 2 cases regressed, 0 improved; paired_bootstrap p = 1.00, not below 0.05',
    ]);
  });

  test('by the test', () => {
    expect(told(FELL)).toEqual([
      'regression',
      '10 of 16 cases regressed, 0 improved; the pass rate fell by 0.6250, exact_mcnemar p = 0.00195 below 0.05',
    ]);
    expect(told(FELL, { alpha: 0.001 })).toEqual([
      'no_regression',
      '10 of 16 cases regressed, 0 improved; exact_mcnemar p = 0.00195, not below 0.001',
    ]);
    expect(told(FELL, { alpha: 0.001953125 })[0]).toBe('no_regression');
    expect(told(SWAPPED)).toEqual(['no_regression', '8 of 16 cases regressed, 8 improved; the pass rate did not fall']);
    expect(told(FELL.map(([before, after]) => [after, before]))[0]).toBe('no_regression');
  });

  test('of too few cases there is none', () => {
    expect(told(SINGLE.slice(0, 5))).toEqual([
      'not_comparable',
      '1 of 5 cases regressed, 0 improved; 5 cases or clusters cannot show a regression at alpha 0.05, which takes 6',
    ]);
    expect(told(SINGLE.slice(0, 6))[0]).toBe('no_regression');
    expect(told(SINGLE.slice(0, 3), { alpha: 0.5 })[0]).toBe('no_regression');
    expect(told(SINGLE.slice(0, 2), { alpha: 0.5 })[0]).toBe('not_comparable');
    expect(told([])).toEqual(['not_comparable', 'no case was graded in both runs']);
  });
});

describe('the policy of a profile', () => {
  const policyOf = (method: 1 | 2, members: Record<string, unknown>) =>
    methodOf({ method }).comparisonPolicy(profileOf(members));

  test('is what the gate declares, with the test that the repeats ask for', () => {
    const base = { alpha: 0.05, max_regressions: null };
    const own = { min_cases: null, max_infra_rate: 0.05 };
    expect(policyOf(1, { gate: { baseline: {} } })).toEqual({ ...base, test: 'exact_mcnemar' });
    expect(policyOf(1, { repeats: 2, gate: { baseline: {} } })).toEqual({ ...base, test: 'paired_bootstrap' });
    expect(policyOf(2, { repeats: 2, gate: { baseline: {} } })).toEqual({ ...base, ...own, test: 'paired_bootstrap' });
    const declared = { test: 'exact_mcnemar', alpha: 0.1, max_regressions: 2 };
    const gate = { max_infra_rate: 0.2, baseline: { ...declared, min_cases: 9 } };
    expect(policyOf(1, { repeats: 2, gate })).toEqual(declared);
    expect(policyOf(2, { repeats: 2, gate })).toEqual({ ...declared, min_cases: 9, max_infra_rate: 0.2 });
    expect([policyOf(1, {}), policyOf(2, {})]).toEqual([null, null]);
  });

  test('an unknown method is that of a newer version', () => {
    expect([methodOf({}).version, methodOf({ method: 1 }).version, methodOf({ method: 2 }).version]).toEqual([1, 1, 2]);
    expect(() => methodOf({ method: 3 as 2 })).toThrow(
      expect.objectContaining({
        code: 'store_newer',
        message:
          'the run is computed by method 3, and this Proctor knows 1 and 2; use the newer Proctor that made the run',
      }),
    );
  });

  test('what a comparison came to says whether both runs were graded alike', () => {
    const policy = { test: 'exact_mcnemar', alpha: 0.05, max_regressions: null } as const;
    const end = (same_grading: boolean | null) => new ComparisonBuilder({ policy, seed: 's', same_grading }).end();
    expect([end(null), end(false)].map(({ same_grading, outcome }) => [same_grading, outcome])).toEqual([
      [null, 'not_comparable'],
      [false, 'not_comparable'],
    ]);
    expect(end(true).policy).toBe(policy);
  });
});
