import { describe, expect, test } from 'vitest';
import { coverages } from '../../bench/coverage-simulations.ts';
import type { Profile } from '../../src/contract/profile.ts';
import { allowance, type BudgetState, budgetsOf, microUsd, overLimit, spendOf } from '../../src/core/budget.ts';
import type { CaseSummary } from '../../src/core/case-summary.ts';
import { EarlyStop } from '../../src/core/early-stop.ts';
import type { Planned } from '../../src/core/least-cases.ts';
import { seededRandom, seedOf } from '../../src/core/statistics/index.ts';
import { profileOf } from '../support/verdicts.ts';

function gateOf(min: number, more: object = {}): Planned {
  const condition = { metric: 'pass_rate', min, min_cases: null, bound: 'lower' };
  return { profile: profileOf({ gate: { all: [condition], ...more } }), group_cases: [1_000] };
}

function caseOf(passed: boolean, graded = 1): CaseSummary {
  const score = passed ? 1 : 0;
  return {
    case_id: 'c',
    case_content: 'x',
    cluster: null,
    graded,
    passed: passed ? graded : 0,
    score,
    dimensions: { correctness: score },
  };
}

describe('early stop', () => {
  test('decides as soon as the interval lies beyond the bound, and never changes its mind', () => {
    const stop = new EarlyStop(gateOf(0.9));
    let cases = 0;
    while (stop.add(caseOf(true)) === null) cases += 1;
    expect(stop.decision).toMatchObject({ outcome: 'pass', after_cases: cases + 1 });
    // With n passes of n the mixture's ratio against 0.9 is 1/((n + 1)·0.9ⁿ): the first n at which it reaches 20.
    const first =
      1 + Array.from({ length: 200 }, (_, index) => index + 1).findIndex((n) => 1 / ((n + 1) * 0.9 ** n) >= 20);
    expect(cases + 1).toBe(first);
    expect(stop.add(caseOf(false))).toBeNull();
    expect(stop.decision?.after_cases).toBe(first);
  });

  test('fails fast, waits for min_cases, and lets what was not graded pass by', () => {
    const fast = new EarlyStop(gateOf(0.9));
    let n = 0;
    do n += 1;
    while (fast.add(caseOf(false)) === null);
    expect(fast.decision).toMatchObject({ outcome: 'fail', after_cases: n });
    expect(n).toBeLessThan(5);
    const patient = new EarlyStop(gateOf(0.9, { min_cases: 30, max_infra_rate: 1 }));
    for (let index = 0; index < 40; index += 1) patient.add(caseOf(false, index < 10 ? 0 : 1));
    expect(patient.decision).toMatchObject({ outcome: 'fail', after_cases: 40 });
  });

  test('decides nothing by a condition that lacks its cases: as many as it says, else all but the allowed faults', () => {
    const safety = { metric: 'dimension.safety', min: 0.7 };
    const groups = [{ id: 'all', evaluators: [{ ref: 'a@1' }, { ref: 'b@1', dimension: 'safety' }] }];
    const planned = (condition: object): Planned => ({
      profile: profileOf({ case_groups: groups, gate: { all: [condition] } }),
      group_cases: [1_000],
    });
    const watch = (condition: object, scored: (at: number) => boolean) => {
      const stop = new EarlyStop(planned(condition));
      for (let at = 0; at < 300 && stop.decision === null; at += 1)
        stop.add({ ...caseOf(true), dimensions: scored(at) ? { safety: 1 } : {} });
      return stop.decision;
    };
    expect(watch(safety, () => true)).toMatchObject({ outcome: 'pass' });
    expect(watch(safety, (at) => at % 6 === 0)).toBeNull();
    expect(watch({ ...safety, min_cases: 20 }, (at) => at % 6 === 0)).toMatchObject({ conditions: [{ cases: 20 }] });
    expect(watch({ ...safety, min_cases: 250 }, (at) => at % 6 === 0)).toBeNull();
  });

  test('where only some groups have the metric, a random prefix of the plan may fall short of its share a little', () => {
    const groups = [
      { id: 'a', evaluators: [{ ref: 'a@1', dimension: 'safety' }] },
      { id: 'b', evaluators: [{ ref: 'b@1' }] },
    ];
    const planned = {
      profile: profileOf({ case_groups: groups, gate: { all: [{ metric: 'dimension.safety', min: 0.7 }] } }),
      group_cases: [100, 300],
    };
    const decided = (every: number) => {
      const stop = new EarlyStop(planned);
      for (let at = 0; at < 300 && stop.decision === null; at += 1)
        stop.add({ ...caseOf(true), dimensions: at % every === 0 ? { safety: 1 } : {} });
      return stop.decision;
    };
    expect(decided(4)).toMatchObject({ outcome: 'pass' });
    expect(decided(12)).toBeNull();
  });

  test('decides nothing while more of the prefix is broken than the gate allows', () => {
    const stop = new EarlyStop(gateOf(0.9, { max_infra_rate: 0.03 }));
    stop.add(caseOf(true, 0));
    let cases = 1;
    while (stop.decision === null) {
      stop.add(caseOf(false));
      cases += 1;
    }
    expect(stop.decision).toMatchObject({ outcome: 'fail', after_cases: cases });
    expect(1 / cases).toBeLessThanOrEqual(0.03);
    expect(1 / (cases - 1)).toBeGreaterThan(0.03);
  });

  test('of an agent on the bound decides wrongly no more often than its confidence says', () => {
    const random = seededRandom(seedOf('early stop', 'wrong'));
    let passes = 0;
    for (let round = 0; round < 300; round += 1) {
      const stop = new EarlyStop(gateOf(0.9));
      // Truly just below what is wanted: to pass would be wrong.
      for (let index = 0; index < 400 && stop.decision === null; index += 1)
        stop.add(caseOf(random.uint32() / 2 ** 32 < 0.899));
      if (stop.decision?.outcome === 'pass') passes += 1;
    }
    expect(passes / 300).toBeLessThan(0.05);
  });
});

test('intervals hold the truth as often as they say', () => {
  for (const { interval, what, covered, met } of coverages(200))
    expect({ interval, what, covered, met }).toMatchObject({ met: true });
});

describe('budgets', () => {
  const limits = {
    run: { time_ms: null, cost_usd: 0.1, tokens: 1_000, tool_calls: null },
    execution: { time_ms: null, tokens: 50, cost_usd: null, tool_calls: 2 },
  } as unknown as Profile['limits'];

  test('are the caps of the profile, in integers, rounded up', () => {
    expect(budgetsOf({ limits })).toEqual([
      { kind: 'cost_micro_usd', cap: 100_000, reserve: null },
      { kind: 'tokens', cap: 1_000, reserve: 50 },
    ]);
    expect([microUsd(0.1), microUsd(5), microUsd(0.0000001), microUsd(1.1)]).toEqual([
      100_000, 5_000_000, 1, 1_100_000,
    ]);
  });

  test('spend is what the agent reports, else its tokens at the price; unknown stays unknown', () => {
    const price = { input_per_mtok_usd: 0.4, output_per_mtok_usd: 1.6 };
    const usage = { input_tokens: 1_000, output_tokens: 500, total_tokens: null, cost_micro_usd: null };
    expect(spendOf({ usage, tool_calls: [] }, price)).toEqual({ cost_micro_usd: 1_200, tokens: 1_500, tool_calls: 0 });
    expect(spendOf({ usage: { ...usage, cost_micro_usd: 7 }, tool_calls: [] }, price).cost_micro_usd).toBe(7);
    expect(spendOf({ usage: null, tool_calls: [] }, price)).toEqual({
      cost_micro_usd: null,
      tokens: null,
      tool_calls: 0,
    });
    expect(overLimit({ cost_micro_usd: null, tokens: 51, tool_calls: 0 }, limits.execution)).toMatchObject({
      limit: 'tokens',
      most: 50,
    });
    expect(overLimit({ cost_micro_usd: null, tokens: null, tool_calls: 2 }, limits.execution)).toBeNull();
  });

  test('leave room for as many executions as the rest of the cap has reserves for; one a session while nothing is known', () => {
    const budget: BudgetState = {
      kind: 'tokens',
      cap: 100,
      reserve: null,
      known: 0,
      untold: 0,
      waived: 0,
      highest: 0,
      answers: 0,
    };
    expect(allowance([], 7, 3)).toBe(Number.POSITIVE_INFINITY);
    expect([allowance([budget], 5, 0), allowance([budget], 5, 1)]).toEqual([1, 0]);
    expect(allowance([{ ...budget, answers: 3, known: 30, highest: 10 }], 4, 2)).toBe(3);
    expect(allowance([{ ...budget, answers: 3, known: 30, highest: 10, reserve: 20 }], 4, 2)).toBe(0);
    expect(allowance([{ ...budget, answers: 3, known: 100, highest: 10 }], 0, 0)).toBe(0);
    expect(allowance([{ ...budget, answers: 3, known: 91, highest: 10 }], 0, 0)).toBe(0);
    // What did not tell counts as the reserve, by the highest that is known now.
    expect(allowance([{ ...budget, answers: 3, known: 30, highest: 10, untold: 4 }], 0, 0)).toBe(3);
    expect(allowance([{ ...budget, answers: 3, known: 30, highest: 10, untold: 7 }], 0, 0)).toBe(0);
    // While nothing is known, few calls may be lost, unless the profile permits answers that do not tell.
    expect([1, 2, 3].map((untold) => allowance([{ ...budget, untold }], 0, 0))).toEqual([1, 1, 0]);
    expect(allowance([{ ...budget, untold: 1 }], 2, 0)).toBe(0);
    expect(allowance([{ ...budget, untold: 9, waived: 9 }], 4, 0)).toBe(1);
    // Answers that took nothing are knowledge too.
    expect(allowance([{ ...budget, answers: 3 }], 0, 1)).toBe(0);
    expect(allowance([{ ...budget, answers: 20 }], 9, 4)).toBe(Number.POSITIVE_INFINITY);
  });
});
