import { describe, expect, test } from 'vitest';
import { meanInterval } from '../../src/core/statistics/index.ts';
import type { Outcome } from '../../src/core/tally.ts';
import { condition, faulty, gated, HALF, outcomeOf, profileOf, scored, verdictOf } from '../support/verdicts.ts';

test('the whole verdict', () => {
  const profile = profileOf({ gate: { max_infra_rate: 0.5, ...condition({ min: 0.25 }) } });
  const outcomes = [
    ...scored(1, 0.5),
    faulty('c2', 'infrastructure'),
    faulty('c3', 'agent', { status: 'timed_out' }),
    faulty('c4', 'policy'),
  ];
  expect(verdictOf(profile, outcomes)).toEqual({
    snapshot_digest: 'a'.repeat(64),
    content_digest: 'b'.repeat(64),
    method: 2,
    gate_status: 'pass',
    reason: 'pass_rate is 0.2500 over 4 cases, as wanted ≥ 0.25',
    conditions: [
      {
        metric: 'pass_rate',
        k: null,
        bound: 'point',
        confidence: 0.95,
        min: 0.25,
        max: null,
        min_cases: null,
        value: 0.25,
        holds: true,
        cases: 4,
        least_cases: 3,
        executions: 4,
        least_executions: 3,
      },
    ],
    cases: 4,
    repeats: 1,
    executions: { total: 5, completed: 2, failed: 2, timed_out: 1, cancelled: 0 },
    faults: { infrastructure: 1, configuration: 0, agent: 1, grader: 0, policy: 1, cancelled: 0 },
    graded: 4,
    passed: 1,
    pass_rate: 0.25,
    pass_rate_strict: 0.2,
    interval: meanInterval({ sums: [1, 0, 0, 0], counts: [1, 1, 1, 1] }, 0.95),
    interval_method: 'gaffke',
    mean_score: 0.75,
    scores: { correctness: 0.75 },
  });
});

test('of nothing', () => {
  expect(verdictOf(profileOf(), [])).toMatchObject({
    gate_status: 'inconclusive',
    reason: 'the run has no executions',
    pass_rate: null,
    pass_rate_strict: null,
    interval: null,
    interval_method: null,
    mean_score: null,
    scores: {},
  });
  expect(verdictOf(profileOf({ early_stop: 'decided' }), [])).toMatchObject({ interval: null, interval_method: null });
});

describe('a run that cannot be judged', () => {
  const faults = [faulty('e', 'grader'), faulty('f', 'infrastructure'), faulty('g', 'configuration')];

  test.each<[string, object, readonly Outcome[]]>([
    ['no execution was graded', { max_infra_rate: 1 }, [faulty('a', 'grader')]],
    ['4 graded cases, fewer than min_cases 5', { min_cases: 5 }, HALF],
    ['a budget of the run is spent: 1 of 5 executions were not made', {}, [...HALF, faulty('e', 'cancelled')]],
    [
      '3 of 7 executions ended by infrastructure, configuration or grader faults, above max_infra_rate 0.4',
      { max_infra_rate: 0.4 },
      [...HALF, ...faults],
    ],
  ])('%s', (reason, gate, outcomes) => {
    expect(gated({ ...gate, ...condition({ min: 0, min_cases: 0 }) }, outcomes)).toEqual(['inconclusive', reason]);
  });

  test('exactly as many faults and as few cases as allowed are enough', () => {
    const gate = { max_infra_rate: 0.2, min_cases: 4, ...condition({ min: 0 }) };
    for (const fault of ['grader', 'infrastructure', 'configuration'] as const)
      expect(gated(gate, [...HALF, faulty('e', fault)])[0]).toBe('pass');
    // In doubles 3 · 0.1 is above 0.3.
    const tenths = [...scored(1, 1, 1, 1, 1, 1, 1), ...faults];
    expect(gated({ max_infra_rate: 0.3, ...condition({ min: 0 }) }, tenths)[0]).toBe('pass');
  });

  test('executions that were never made count as not made', () => {
    expect(gated(condition({ min: 0 }), HALF, { left_out: 4 })).toEqual([
      'inconclusive',
      'a budget of the run is spent: 4 of 8 executions were not made',
    ]);
  });

  test('whatever was decided early', () => {
    const decision = { outcome: 'pass', after_cases: 1, interval: [0, 1], conditions: [] } as const;
    expect(gated({ min_cases: 5, ...condition({ min: 0 }) }, HALF, { decision })[0]).toBe('inconclusive');
  });
});

test('without a gate every graded execution must pass, and none may be blocked', () => {
  expect(gated({}, scored(1, 1))).toEqual(['pass', 'all 2 graded executions passed']);
  expect(gated({}, HALF)).toEqual(['fail', '2 of 4 graded executions did not pass']);
  const blocked = { blocking_failures: ['a@1'], dimensions: {}, passed: true, score: 1 };
  expect(gated({}, [outcomeOf('a', 1), outcomeOf('b', 1, { aggregate: blocked })])).toEqual([
    'fail',
    '1 of 2 graded executions have a failed blocking evaluator or dimension',
  ]);
  // With a gate its conditions decide.
  expect(gated(condition({ min: 1 }), [outcomeOf('b', 1, { aggregate: blocked })])[0]).toBe('pass');
});

describe('conditions', () => {
  test.each([
    [{ min: 0.5 }, 'pass', 'pass_rate is 0.5000 over 4 cases, as wanted ≥ 0.5'],
    [{ min: 0.6 }, 'fail', 'pass_rate is 0.5000 over 4 cases, wanted ≥ 0.6'],
    [{ max: 0.5 }, 'pass', 'pass_rate is 0.5000 over 4 cases, as wanted ≤ 0.5'],
    [{ max: 0.4 }, 'fail', 'pass_rate is 0.5000 over 4 cases, wanted ≤ 0.4'],
    [{ min: 0.1, max: 0.4 }, 'fail', 'pass_rate is 0.5000 over 4 cases, wanted ≥ 0.1 and ≤ 0.4'],
    [{ metric: 'pass_rate_strict', min: 0.5 }, 'pass', 'pass_rate_strict is 0.5000 over 4 cases, as wanted ≥ 0.5'],
    [{ metric: 'mean_score', min: 0.5 }, 'pass', 'mean_score is 0.5000 over 4 cases, as wanted ≥ 0.5'],
    [
      { metric: 'dimension.correctness', min: 0.5 },
      'pass',
      'dimension.correctness is 0.5000 over 4 cases, as wanted ≥ 0.5',
    ],
    [{ metric: 'infra_rate', max: 0 }, 'pass', 'infra_rate is 0.0000 over 4 cases, as wanted ≤ 0'],
    [{ metric: 'pass_hat_k', k: 1, min: 0.6 }, 'fail', 'pass_hat_k (k=1) is 0.5000 over 4 cases, wanted ≥ 0.6'],
    [{ metric: 'pass_at_k', k: 1, min: 0.5 }, 'pass', 'pass_at_k (k=1) is 0.5000 over 4 cases, as wanted ≥ 0.5'],
  ])('%j: %s', (one, status, reason) => {
    expect(gated(condition(one), HALF)).toEqual([status, reason]);
  });

  test('the infrastructure rate counts all three faults, the strict pass rate all executions', () => {
    const outcomes = [...HALF, faulty('e', 'grader'), faulty('f', 'infrastructure'), faulty('g', 'configuration')];
    const value = (metric: string) => {
      const all = [{ metric, max: 1, min_cases: 0 }];
      return verdictOf(profileOf({ gate: { max_infra_rate: 1, all } }), outcomes).conditions[0];
    };
    expect(value('infra_rate')).toMatchObject({ value: 3 / 7, cases: 4 });
    expect(value('pass_rate_strict')).toMatchObject({ value: 2 / 7, cases: 4 });
    expect(value('pass_rate')).toMatchObject({ value: 0.5, cases: 4 });
  });

  test('bounds are those of the interval at the confidence of the condition', () => {
    const [low, high] = meanInterval({ sums: [1, 0, 1, 0], counts: [1, 1, 1, 1] }, 0.9) ?? [0, 0];
    const at = (bound: string, limits: object, metric = 'pass_rate') =>
      gated(condition({ metric, bound, confidence: 0.9, ...limits }), HALF);
    expect(at('lower', { min: low })[0]).toBe('pass');
    expect(at('lower', { min: low + 1e-9 }, 'mean_score')[0]).toBe('fail');
    expect(at('lower', { min: 0.2 })).toEqual([
      'fail',
      'the lower 90% bound of pass_rate is 0.0976 over 4 cases, wanted ≥ 0.2',
    ]);
    expect(at('upper', { max: high })[0]).toBe('pass');
    expect(at('upper', { max: high - 1e-9 }, 'dimension.correctness')[0]).toBe('fail');
    expect(at('upper', { max: 0.8 })).toEqual([
      'fail',
      'the upper 90% bound of pass_rate is 0.9024 over 4 cases, wanted ≤ 0.8',
    ]);
    const both = ['lower', 'upper'].map((bound) => ({ metric: 'pass_rate', bound, confidence: 0.9, min: 0 }));
    const verdict = verdictOf(profileOf({ gate: { all: both } }), HALF);
    expect(verdict.conditions.map(({ value }) => value)).toEqual([low, high]);
    expect(gated(condition({ bound: 'lower', confidence: 0.57, min: 0 }), HALF)[1]).toContain('the lower 57% bound');
  });

  test('all of them must hold; the first that fails is told, before one that is not known', () => {
    const all = [
      { metric: 'mean_score', min: 0.1 },
      { metric: 'pass_hat_k', k: 2, min: 0 },
      { metric: 'pass_rate', min: 0.6 },
      { metric: 'pass_rate', min: 0.7 },
    ];
    expect(gated({ all }, HALF)).toEqual(['fail', 'pass_rate is 0.5000 over 4 cases, wanted ≥ 0.6']);
    expect(gated({ all: [all[0], { metric: 'pass_rate', max: 0.6 }] }, HALF)).toEqual([
      'pass',
      'mean_score is 0.5000 over 4 cases, as wanted ≥ 0.1; pass_rate is 0.5000 over 4 cases, as wanted ≤ 0.6',
    ]);
    const more = "see which cases were skipped or ended by a fault, or set the condition's `min_cases`";
    expect(gated({ all: all.slice(0, 2) }, HALF)).toEqual([
      'inconclusive',
      `pass_hat_k (k=2) could not be computed: it rests on 0 cases, fewer than the 4 that it needs; ${more}`,
    ]);
    expect(gated({ all: [all[1], { ...all[1], k: 3 }] }, HALF)[1]).toContain('pass_hat_k (k=2)');
    // A wanted metric without any value has no bound either.
    expect(gated(condition({ metric: 'dimension.tone', bound: 'lower', min: 0 }), HALF)).toEqual([
      'inconclusive',
      `the lower 95% bound of dimension.tone could not be computed: it rests on 0 cases, fewer than the 0 that it needs; ${more}`,
    ]);
  });

  test('a value that lies between two doubles is told on its own side of the limit', () => {
    const third = outcomeOf('a', 1, {
      aggregate: { blocking_failures: [], dimensions: {}, exact: { score: '1/3' }, passed: false, score: 1 / 3 },
    });
    const verdict = verdictOf(profileOf({ gate: condition({ metric: 'mean_score', max: 0.3333333333333333 }) }), [
      third,
    ]);
    expect(verdict.conditions[0]).toMatchObject({ holds: false, value: 0.33333333333333337 });
    expect(verdict.reason).toBe('mean_score is 0.33333333333333333 over 1 case, wanted ≤ 0.3333333333333333');
  });
});
