import { describe, expect, test } from 'vitest';
import type { CaseSummary } from '../../src/core/case-summary.ts';
import { SEQUENTIAL_METRICS } from '../../src/core/early-stop.ts';
import { methodOf } from '../../src/core/method.ts';
import { MixtureSequence } from '../../src/core/statistics/index.ts';
import { summaryOf } from '../support/comparisons.ts';
import { groupOf, profileOf } from '../support/profile.ts';

const sequence = (confidence: number, values: readonly number[]) => {
  const of = new MixtureSequence(confidence);
  for (const value of values) of.add(value);
  return of;
};
/** How many passes of as many cases it takes until the whole interval lies above `p`. */
const needed = (confidence: number, p: number) => {
  let n = 1;
  while (sequence(confidence, Array(n).fill(1)).beyond(p) !== 'above') n += 1;
  return n;
};
const pass = summaryOf('a', 1, { dimensions: { tone: 1 } });
const failure = summaryOf('a', 0, { dimensions: { tone: 0 } });

describe.each([1, 2] as const)('early stop by method %i', (method) => {
  const stopOf = (gate: object, more: object = {}) =>
    methodOf({ method }).earlyStop({ profile: profileOf({ gate: { max_infra_rate: 1, ...gate }, ...more }) });
  /** After how many of these cases it stopped, with what. */
  function stopped(gate: object, cases: (at: number) => CaseSummary, more: object = {}) {
    const stop = stopOf(gate, more);
    for (let at = 0; at < 400; at += 1) {
      const found = stop.add(cases(at));
      if (found === null) continue;
      expect(stop.decision).toBe(found);
      expect(found.after_cases).toBe(at + 1);
      return found;
    }
    expect(stop.decision).toBeNull();
    return null;
  }
  const floor = { metric: 'pass_rate', min: 0.9 };

  test('a pass takes all conditions, each at its share of the error', () => {
    const all = [floor, { metric: 'mean_score', min: 0.5, confidence: 0.9 }, { metric: 'dimension.tone', max: 1 }];
    const least = needed(1 - 0.05 / 3, 0.9);
    const found = stopped({ all }, () => pass);
    expect(found).toBeNull();
    const without = stopped({ all: [...all.slice(0, 2), { metric: 'dimension.tone', min: 0.2 }] }, () => pass);
    expect(without?.after_cases).toBe(least);
    expect(without?.outcome).toBe('pass');
    const values: number[] = Array(least).fill(1);
    expect(without?.interval).toEqual(sequence(0.95, values).interval());
    expect(without?.conditions).toEqual([
      {
        metric: 'pass_rate',
        min: 0.9,
        max: null,
        cases: least,
        mean: 1,
        interval: sequence(1 - (1 - 0.95) / 3, values).interval(),
        holds: true,
      },
      expect.objectContaining({
        metric: 'mean_score',
        interval: sequence(1 - (1 - 0.9) / 3, values).interval(),
        holds: true,
      }),
      expect.objectContaining({ metric: 'dimension.tone', min: 0.2, max: null, holds: true }),
    ]);
  });

  test('one condition beyond its limit is enough to fail', () => {
    const all = [floor, { metric: 'mean_score', max: 0.3 }];
    const found = stopped({ all }, () => pass);
    expect(found).toMatchObject({
      outcome: 'fail',
      after_cases: needed(0.975, 0.3),
      conditions: [
        { metric: 'pass_rate', max: null, holds: null },
        { metric: 'mean_score', min: null, max: 0.3, holds: false },
      ],
    });
  });

  test('between two limits it takes both', () => {
    const half = (at: number) => (at % 2 ? pass : failure);
    const [inside] = [stopped({ all: [{ metric: 'pass_rate', min: 0.2, max: 0.8 }] }, half)];
    expect(inside?.outcome).toBe('pass');
    const alone = stopped({ all: [{ metric: 'pass_rate', min: 0.2 }] }, half);
    expect(inside?.after_cases).toBeGreaterThanOrEqual(alone?.after_cases ?? 0);
    expect(stopped({ all: [{ metric: 'pass_rate', min: 0.2, max: 0.5 }] }, half)).toBeNull();
    expect(stopped({ all: [{ metric: 'pass_rate', min: 0.5, max: 0.8 }] }, half)).toBeNull();
    expect(stopped({ all: [{ metric: 'pass_rate', min: 0.1, max: 0.3 }] }, () => pass)?.outcome).toBe('fail');
    expect(stopped({ all: [{ metric: 'pass_rate', min: 0.7, max: 0.9 }] }, () => failure)?.outcome).toBe('fail');
  });

  test('a limit from above alone is kept by an agent that never comes near it', () => {
    const all = [{ metric: 'dimension.tone', max: 0.3 }];
    // (1/(n + 1))/0.7ⁿ = 20 after 17 failures.
    expect(stopped({ all }, () => failure)).toMatchObject({ outcome: 'pass', conditions: [{ holds: true }] });
    expect(stopped({ all: [{ ...all[0], min: 0 }] }, () => failure)).toBeNull();
  });

  test('the pass rate of a case is the share of its tries; its score and dimensions stand in the summary', () => {
    const of = summaryOf('a', 1, { graded: 4, score: 0.75, dimensions: { tone: 0.5 } });
    const all = ['pass_rate', 'mean_score', 'dimension.tone'].map((metric) => ({ metric, min: 0.1 }));
    const found = stopped({ all }, () => of, { repeats: 4 });
    expect(found?.conditions.map(({ mean }) => mean)).toEqual([0.25, 0.75, 0.5]);
    expect(found?.interval).toEqual(sequence(0.95, Array(found?.after_cases).fill(0.25)).interval());
  });

  test('a case without the metric says nothing of it', () => {
    const none = summaryOf('a', 1, { score: null });
    const all = [
      { metric: 'dimension.tone', min: 0.1 },
      { metric: 'mean_score', min: 0.1 },
    ];
    expect(stopped({ all }, () => none)).toBeNull();
    const found = stopped({ all }, (at) => (at % 2 ? pass : none));
    expect(found?.conditions.map(({ cases }) => cases)).toEqual(Array(2).fill((found?.after_cases ?? 0) / 2));
  });

  test('never before the fewest graded cases', () => {
    const gate = { min_cases: 20, all: [{ metric: 'pass_rate', min: 0.1 }] };
    expect(stopped(gate, () => pass)?.after_cases).toBe(20);
    const every = (at: number) => (at % 2 ? pass : summaryOf('a', 0, { graded: 0 }));
    expect(stopped(gate, every)?.after_cases).toBe(40);
  });

  test('nor while more tries are broken than the gate allows', () => {
    const all = [{ metric: 'pass_rate', min: 0.1 }];
    const two = summaryOf('a', 2, { graded: 2 });
    const one = summaryOf('a', 1, { graded: 1 });
    // The first of the cases lost one of its two tries: 1 of 40 is what is allowed after 20 cases.
    const run = (rate: number) =>
      stopped({ max_infra_rate: rate, all }, (at) => (at === 0 ? one : two), { repeats: 2 });
    expect(run(0.025)?.after_cases).toBe(20);
    expect(run(0.02)?.after_cases).toBe(25);
    const none = summaryOf('a', 0, { graded: 0 });
    expect(stopped({ max_infra_rate: 0.05, all }, (at) => (at === 0 ? none : two), { repeats: 2 })?.after_cases).toBe(
      20,
    );
  });

  test('without conditions never, and once decided nothing more', () => {
    expect(stopped({ all: [] }, () => pass)).toBeNull();
    const stop = stopOf({ all: [{ metric: 'pass_rate', min: 0.1 }] });
    expect(stop.decision).toBeNull();
    while (stop.add(pass) === null);
    const found = stop.decision;
    for (let at = 0; at < 50; at += 1) expect([stop.add(pass), stop.add(failure)]).toEqual([null, null]);
    expect(stop.decision).toBe(found);
  });
});

test('only means over cases have an always-valid interval', () => {
  const names = ['pass_rate', 'mean_score', 'dimension.tone', 'pass_rate_strict', 'tag.pass_rate', 'pass_at_k'];
  expect(names.filter((name) => SEQUENTIAL_METRICS.test(name))).toEqual(names.slice(0, 3));
});

describe('a condition that only some groups have', () => {
  const groups = [
    groupOf('a', { evaluators: [{ ref: 'exact_match@1', dimension: 'tone' }] }),
    groupOf('b', { evaluators: [{ ref: 'exact_match@1' }] }),
  ];
  const gate = { max_infra_rate: 0, all: [{ metric: 'dimension.tone', min: 0.1 }] };
  const stopOf = (group_cases: number[] | undefined) =>
    methodOf({ method: 2 }).earlyStop({
      profile: profileOf({ case_groups: groups, gate }),
      ...(group_cases && { group_cases }),
    });
  /** After how many cases it stopped, when so many come first that lack the metric. */
  const stopsAt = (without: number, group_cases?: number[]) => {
    const stop = stopOf(group_cases);
    for (let at = 0; at < 100; at += 1) {
      const found = stop.add(at < without ? summaryOf('b', 1) : pass);
      if (found !== null) return found.after_cases;
    }
    return null;
  };

  // The first n of n values with n ≥ ⌊c·share − 3·√(c·share·(1 − share))⌋ at c cases, worked out apart.
  test.each([
    [20, 60, 62, 68],
    [25, 75, 85, 96],
    [30, 60, 73, 89],
    [40, 60, 74, 98],
    [50, 50, 65, 99],
  ])('of %i and %i cases waits for its share of the prefix, less three standard errors', (a, b, without, expected) => {
    expect(stopsAt(without, [a, b])).toBe(expected);
  });

  test('waits for every case where nobody counted the groups', () => {
    expect([stopsAt(0), stopsAt(1)]).toEqual([2, null]);
  });
});
