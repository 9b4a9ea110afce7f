import { describe, expect, test } from 'vitest';
import type { StopDecision } from '../../src/core/early-stop.ts';
import { MixtureSequence } from '../../src/core/statistics/index.ts';
import { type BaselineResult, VerdictBuilder, type VerdictParts } from '../../src/core/verdict.ts';
import { condition, gated, HALF, outcomeOf, profileOf, verdictOf } from '../support/verdicts.ts';

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
