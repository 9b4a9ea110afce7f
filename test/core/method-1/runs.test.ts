import { describe, expect, test } from 'vitest';
import type { Fault } from '../../../src/contract/state.ts';
import type { StopDecision } from '../../../src/core/early-stop.ts';
import { VerdictBuilder } from '../../../src/core/method-1/verdict.ts';
import type { Outcome } from '../../../src/core/tally.ts';
import type { VerdictParts } from '../../../src/core/verdict.ts';
import { profileOf } from '../../support/profile.ts';
import { outcomeOf } from '../../support/verdicts.ts';

/** One try: its score, or the fault that ended it; format is not graded in the fourth case. */
function tried(at: number, repeat: number, what: number | Fault, cluster: string | null): Outcome {
  const place = { repeat, cluster };
  if (typeof what === 'string') return outcomeOf(`case-${at}`, null, { ...place, status: 'failed', fault: what });
  const dimensions = at === 3 ? { tone: 1 - what / 4 } : { tone: 1 - what / 4, format: what / 2 };
  return outcomeOf(`case-${at}`, what, {
    ...place,
    aggregate: { passed: what === 1, score: what, dimensions, blocking_failures: [] },
  });
}

const TRIES = [[1, 1, 0.5], [1, 0.25, 1], [0.75, 1], [1, 1, 1], [0, 'agent', 1], [0.5, 0.5, 'grader'], [1]] as const;
const runOf = (clustered: boolean) =>
  TRIES.flatMap((tries, at) =>
    tries.map((what, index) => tried(at, index + 1, what, clustered && at < 4 ? `k${at % 2}` : null)),
  );

function verdict(members: object, outcomes: readonly Outcome[], parts: VerdictParts = {}) {
  const builder = new VerdictBuilder(profileOf(members), '0123456789abcdef');
  for (const outcome of outcomes) builder.add(outcome);
  return builder.end('content', parts);
}

const METRICS = ['pass_rate', 'mean_score', 'dimension.tone', 'dimension.format', 'dimension.none'];
const all = [
  ...METRICS.flatMap((metric) => [
    { metric, bound: 'lower', confidence: 0.9, min: 0 },
    { metric, bound: 'upper', min: 0 },
  ]),
  ...[1, 2, 3].flatMap((k) => ['pass_at_k', 'pass_hat_k'].map((metric) => ({ metric, k, min: 0 }))),
];

// The values are those that runs of this method were judged by.
describe('runs of repeats and clusters', () => {
  const bounds = [
    [0.38095238095238093, 0.8333333333333333],
    [0.6547619047619049, 0.9168154761904741],
    [0.7767857142857143, 0.8422619047619048],
    [0.3090277777777778, 0.4444444444444445],
    [null, null],
  ];
  const clustered = [
    [0.3333333333333333, 0.8333333333333331],
    [0.6180555555555556, 0.9010416666666667],
    [0.7789351851851851, 0.85],
    [0.3, 0.4404761904761906],
    [null, null],
  ];
  const k = [0.5952380952380952, 0.5952380952380951, 0.7777777777777778, 0.27777777777777773, 1, 0.25];

  test.each([
    [false, bounds, [0.33333333333333337, 0.8333333333333333], 'bootstrap'],
    [true, clustered, [0.26666666666666666, 0.8333333333333331], 'cluster_bootstrap'],
  ] as const)('clusters: %j', (inClusters, values, interval, interval_method) => {
    const found = verdict({ repeats: 3, gate: { max_infra_rate: 1, all } }, runOf(inClusters));
    expect(found.conditions.map(({ value }) => value)).toEqual([...values.flat(), ...k]);
    expect(found).toMatchObject({
      reason: 'the lower 90% bound of dimension.none could not be computed: too few cases or repeats',
      interval,
      interval_method,
      cases: 7,
      graded: 17,
      passed: 10,
      mean_score: 0.78125,
    });
    expect(Object.entries(found.scores)).toEqual([
      ['format', 0.36538461538461536],
      ['tone', 0.8046875],
    ]);
  });
});

test('of one try a case the pass rate has Wilson’s interval, scores are resampled', () => {
  const single = [1, 0.5, 0, 1, 0.25].map((score, at) => tried(at, 1, score, null));
  const values = verdict({ gate: { all: all.slice(0, 6) } }, single).conditions.map(({ value }) => value);
  expect(values).toEqual([0.14270647201921313, 0.769275718723987, 0.25, 0.9, 0.7875, 0.95]);
  const none = verdict({ gate: { max_infra_rate: 1, all: all.slice(0, 6) } }, [tried(0, 1, 'grader', null)]);
  expect(none.conditions.map(({ value, holds }) => value ?? holds)).toEqual(Array(6).fill(null));
});

describe('faults', () => {
  const value = (fault: Fault, metric: string) =>
    verdict({ gate: { max_infra_rate: 1, all: [{ metric, max: 1 }] } }, [
      tried(0, 1, 1, null),
      tried(1, 1, fault, null),
    ]);

  test('of configuration are booked as infrastructure, and graded', () => {
    const found = value('configuration', 'infra_rate');
    expect(found.faults).toEqual({ infrastructure: 1, agent: 0, grader: 0, policy: 0, cancelled: 0 });
    expect([found.conditions[0]?.value, found.graded]).toEqual([0.5, 2]);
  });

  test.each<[Fault, number, number]>([
    ['infrastructure', 0.5, 1],
    ['grader', 0.5, 1],
    ['agent', 0, 2],
    ['policy', 0, 2],
  ])('of %s: a rate of %d, %i graded', (fault, rate, graded) => {
    const found = value(fault, 'infra_rate');
    expect([found.conditions[0]?.value, found.graded]).toEqual([rate, graded]);
  });

  test('what was cancelled or never made is not graded', () => {
    const cancelled = tried(1, 1, 'cancelled', null);
    const found = verdict({}, [tried(0, 1, 1, null), { ...cancelled, status: 'cancelled' }], { left_out: 3 });
    expect(found).toMatchObject({ graded: 1, faults: { cancelled: 4 }, executions: { total: 5, cancelled: 4 } });
    expect(verdict({}, [tried(0, 1, 1, null)]).executions).toMatchObject({ total: 1, cancelled: 0 });
  });
});

describe('a profile that may stop early', () => {
  const both = [
    { metric: 'pass_rate', min: 0.6 },
    { metric: 'mean_score', max: 0.6 },
    { metric: 'pass_rate', min: 0.7 },
  ];
  const outcomes = [1, 0, 1, 0].map((score, at) => tried(at, 1, score, null));
  const held = { metric: 'pass_rate', min: 0.6, max: null, cases: 4, mean: 0.5, interval: [0.25, 0.75] } as const;
  const other = { ...held, metric: 'mean_score', min: 0.1, max: 0.6 } as const;
  const decided = (decision: StopDecision | null) =>
    verdict({ early_stop: 'decided', gate: { all: both } }, outcomes, { decision });

  test('tells by what it was decided', () => {
    const decision: StopDecision = {
      outcome: 'fail',
      after_cases: 4,
      interval: [0.2, 0.8],
      conditions: [
        { ...held, holds: null },
        { ...other, holds: false },
        { ...held, holds: false },
      ],
    };
    const found = decided(decision);
    expect(found).toMatchObject({
      gate_status: 'fail',
      reason:
        'decided after 4 cases by an always-valid interval: mean_score is 0.5000 in [0.2500, 0.7500], wanted ≥ 0.1 and ≤ 0.6',
      interval: [0.2, 0.8],
      interval_method: 'beta_mixture',
      early_stop: { ...decision, method: 'beta_mixture' },
    });
    expect(found.conditions.map(({ metric, value, holds }) => [metric, value, holds])).toEqual([
      ['pass_rate', 0.5, null],
      ['mean_score', 0.5, false],
      ['pass_rate', 0.5, false],
    ]);
    const conditions = [
      { ...held, holds: true },
      { ...other, min: null, mean: null, holds: true },
    ];
    expect(decided({ ...decision, outcome: 'pass', conditions }).reason).toBe(
      'decided after 4 cases by an always-valid interval: pass_rate is 0.5000 in [0.2500, 0.7500], as wanted ≥ 0.6; mean_score is undefined in [0.2500, 0.7500], as wanted ≤ 0.6',
    );
  });

  test('and is judged as any other where it was not', () => {
    expect(decided(null)).toMatchObject({
      gate_status: 'fail',
      reason: 'pass_rate is 0.5000, wanted ≥ 0.6',
      early_stop: null,
      interval_method: 'wilson',
    });
    expect(verdict({}, outcomes)).not.toHaveProperty('early_stop');
  });

  test('the first condition that is not known is told', () => {
    const ks = [2, 3].map((k) => ({ metric: 'pass_hat_k', k, min: 0 }));
    expect(verdict({ gate: { all: ks } }, outcomes).reason).toBe(
      'pass_hat_k (k=2) could not be computed: too few cases or repeats',
    );
    expect(verdict({ gate: { all: [{ metric: 'pass_rate', max: 0.5 }] } }, outcomes).gate_status).toBe('pass');
  });
});
