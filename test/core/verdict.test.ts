import { describe, expect, test } from 'vitest';
import type { Fault } from '../../src/contract/state.ts';
import type { StopDecision } from '../../src/core/early-stop.ts';
import { MixtureSequence, meanInterval } from '../../src/core/statistics/index.ts';
import type { Outcome } from '../../src/core/tally.ts';
import { type BaselineResult, VerdictBuilder, type VerdictParts } from '../../src/core/verdict.ts';
import { outcomeOf, profileOf, verdictOf } from '../support/verdicts.ts';

const scores = (...values: readonly number[]) => values.map((score, at) => outcomeOf(`c${at}`, score));
const faulty = (case_id: string, fault: Fault, more: Partial<Outcome> = {}) =>
  outcomeOf(case_id, null, { status: fault === 'cancelled' ? 'cancelled' : 'failed', fault, ...more });
const HALF = scores(1, 0, 1, 0);
const condition = (more: object) => ({ all: [{ metric: 'pass_rate', ...more }] });
const gated = (gate: object, outcomes: readonly Outcome[], parts?: VerdictParts) => {
  const { gate_status, reason } = verdictOf(profileOf({ gate }), outcomes, parts);
  return [gate_status, reason];
};

test('the whole verdict', () => {
  const profile = profileOf({ gate: { max_infra_rate: 0.5, ...condition({ min: 0.25 }) } });
  const outcomes = [
    ...scores(1, 0.5),
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
    const tenths = [...scores(1, 1, 1, 1, 1, 1, 1), ...faults];
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
  expect(gated({}, scores(1, 1))).toEqual(['pass', 'all 2 graded executions passed']);
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

describe('the fewest cases that a condition may stand on', () => {
  const groups = [
    { id: 'a', evaluators: [{ ref: 'x@1' }, { ref: 'y@1', dimension: 'tone' }] },
    { id: 'b', evaluators: [{ ref: 'x@1' }] },
  ];
  function least(
    more: object,
    { group_cases = [30, 71], rate = 0.02 }: { group_cases?: number[]; rate?: number } = {},
  ) {
    const profile = profileOf({
      case_groups: groups,
      gate: { max_infra_rate: rate, ...condition({ min: 0, ...more }) },
    });
    const builder = new VerdictBuilder({ profile, group_cases }, 'a');
    builder.add(outcomeOf('c', 1));
    return builder.end('b').conditions[0]?.least_cases;
  }

  test('are all that could have its metric, less the faults that the gate allows', () => {
    expect(least({})).toBe(99);
    expect(least({ metric: 'mean_score', bound: 'lower' })).toBe(99);
    expect(least({ metric: 'dimension.tone' })).toBe(30);
    expect(least({ metric: 'dimension.correctness' })).toBe(99);
    expect(least({ metric: 'dimension.unknown' })).toBe(0);
    expect(least({}, { rate: 0 })).toBe(101);
    expect(least({}, { rate: 0.999 })).toBe(1);
    expect(least({}, { rate: 1 })).toBe(0);
    expect(least({ metric: 'pass_rate' }, { group_cases: [100] })).toBe(98);
    // In doubles 0.29 · 100 is 28.999….
    expect(least({}, { group_cases: [100], rate: 0.29 })).toBe(71);
  });

  test('or as many as the condition says', () => {
    expect(least({ min_cases: 7 })).toBe(7);
    expect(least({ min_cases: 0 })).toBe(0);
    expect(gated(condition({ min: 0, min_cases: 5 }), HALF)[0]).toBe('inconclusive');
    expect(gated(condition({ min: 0, min_cases: 4 }), HALF)[0]).toBe('pass');
    // Too few say nothing, in neither direction.
    expect(gated(condition({ min: 0.9, min_cases: 5 }), HALF)[1]).toBe(
      "pass_rate is 0.5000: it rests on 4 cases, fewer than the 5 that it needs; see which cases were skipped or ended by a fault, or set the condition's `min_cases`",
    );
  });

  test('of a snapshot that does not count its groups there are none', () => {
    const builder = new VerdictBuilder({ profile: profileOf({ gate: condition({ min: 0 }) }) }, 'a');
    builder.add(outcomeOf('c', 1));
    expect(builder.end('b').conditions[0]?.least_cases).toBe(0);
  });
});

describe('the baseline', () => {
  const baseline = (outcome: string) => ({ outcome, reason: '1 regressed', content_digest: 'x' }) as BaselineResult;
  const against = (parts: VerdictParts, more: object = {}) => gated({ baseline: {}, ...more }, HALF, parts);

  test.each([
    ['regression', 'fail'],
    ['not_comparable', 'inconclusive'],
    ['no_regression', 'pass'],
  ])('%s: %s', (outcome, status) => {
    expect(against({ baseline: baseline(outcome) })).toEqual([status, 'against the baseline 1 regressed']);
  });

  test('nothing blessed, and conditions beside it', () => {
    const none = 'no run of this profile is blessed yet; `proctor bless RUN` makes one the baseline';
    expect(against({})).toEqual(['inconclusive', none]);
    expect(against({ baseline: baseline('no_regression') }, condition({ min: 0.5 }))).toEqual([
      'pass',
      'pass_rate is 0.5000 over 4 cases, as wanted ≥ 0.5; against the baseline 1 regressed',
    ]);
    expect(against({}, condition({ min: 0.6 }))[0]).toBe('fail');
    // A regression is told before what is not known, what is not known before a baseline that cannot be compared.
    const unknown = condition({ metric: 'pass_hat_k', k: 2, min: 0 });
    expect(against({ baseline: baseline('regression') }, unknown)[1]).toBe('against the baseline 1 regressed');
    expect(against({}, unknown)[1]).toContain('pass_hat_k (k=2) could not be computed');
  });

  test('stands in the verdict where the gate names one', () => {
    const found = baseline('regression');
    const profile = profileOf({ gate: { baseline: {} } });
    expect(verdictOf(profile, HALF).baseline).toBeNull();
    expect(verdictOf(profile, HALF, { baseline: found }).baseline).toBe(found);
    expect(verdictOf(profileOf(), HALF, { baseline: found })).not.toHaveProperty('baseline');
  });
});

describe('a profile that may stop early', () => {
  const profile = (all: readonly object[]) => profileOf({ early_stop: 'decided', gate: { all } });
  const sequence = (values: readonly number[], confidence: number) => {
    const of = new MixtureSequence(confidence);
    for (const value of values) of.add(value);
    return of.interval();
  };

  test('has the always-valid interval where it did not stop, shared out over the conditions', () => {
    const all = ['lower', 'upper'].map((bound) => ({ metric: 'pass_rate', bound, confidence: 0.9, min: 0 }));
    const verdict = verdictOf(profile(all), HALF);
    const [low, high] = sequence([1, 0, 1, 0], 0.95);
    expect(verdict).toMatchObject({ interval: [low, high], interval_method: 'beta_mixture', early_stop: null });
    expect(verdict.conditions.map(({ value }) => value)).toEqual([low, high]);
    expect(verdictOf(profile(all.slice(0, 1)), HALF).conditions[0]?.value).toBe(sequence([1, 0, 1, 0], 0.9)[0]);
  });

  test('takes repeats by their mean', () => {
    const repeated = [0.1, 0.7, 0.2].map((score, at) => outcomeOf('a', score, { repeat: at + 1 }));
    const all = [{ metric: 'mean_score', bound: 'lower', min: 0 }];
    const verdict = verdictOf(profile(all), [...repeated, outcomeOf('b', 1)]);
    expect(verdict.conditions[0]?.value).toBe(sequence([(0.1 + 0.7 + 0.2) / 3, 1], 0.95)[0]);
  });

  test('tells by what it was decided', () => {
    const held = { metric: 'pass_rate', min: 0.6, max: null, cases: 4, mean: 0.5, interval: [0.25, 0.75] } as const;
    const early = (outcome: 'pass' | 'fail', conditions: StopDecision['conditions']) =>
      verdictOf(
        profile([
          { metric: 'pass_rate', min: 0.6 },
          { metric: 'mean_score', max: 0.6 },
        ]),
        HALF,
        {
          decision: { outcome, after_cases: 4, interval: [0.2, 0.8], conditions },
        },
      );
    const other = { ...held, metric: 'mean_score', min: null, max: 0.6, cases: 1, interval: [0.1, 1 / 3] } as const;
    const lost = early('fail', [
      { ...held, holds: null },
      { ...other, holds: false },
      { ...held, holds: false },
    ]);
    expect(lost).toMatchObject({
      gate_status: 'fail',
      reason:
        'decided after 4 cases by an always-valid interval: mean_score is 0.5000 in [0.1000, 0.3333] over 1 case, wanted ≤ 0.6',
      interval: [0.2, 0.8],
      interval_method: 'beta_mixture',
      early_stop: { outcome: 'fail', after_cases: 4, interval: [0.2, 0.8], method: 'beta_mixture' },
    });
    expect(lost.conditions).toMatchObject([
      { metric: 'pass_rate', value: 0.5, holds: null, cases: 4, least_cases: 0 },
      { metric: 'mean_score', value: 0.5, holds: false, cases: 1, least_cases: 0 },
    ]);
    const won = early('pass', [
      { ...held, holds: true },
      { ...other, mean: null, holds: true },
    ]);
    expect(won.reason).toBe(
      'decided after 4 cases by an always-valid interval: pass_rate is 0.5000 in [0.2500, 0.7500] over 4 cases, as wanted ≥ 0.6; mean_score is unknown in [0.1000, 0.3333] over 1 case, as wanted ≤ 0.6',
    );
    expect(won.conditions[1]).toMatchObject({ value: null, holds: true });
  });

  test('and one that may not does not speak of it', () => {
    expect(verdictOf(profileOf(), HALF)).not.toHaveProperty('early_stop');
  });
});
