import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BudgetState } from '../../src/contract/store.ts';
import {
  allowance,
  assumedOf,
  BUDGET_KINDS,
  budgetsOf,
  evaluatorSpend,
  MOST_LOST_BLIND,
  microUsd,
  overLimit,
  reserveOf,
  spendOf,
  spentOf,
  untoldBudget,
} from '../../src/core/budget.ts';
import { profileOf } from '../support/profile.ts';

const limitsOf = (limits: object) => profileOf({ limits }).limits;

test('what is counted, and how many lost calls are borne blind', () => {
  expect([BUDGET_KINDS, MOST_LOST_BLIND]).toEqual([['cost_micro_usd', 'tokens', 'tool_calls'], 3]);
});

describe('money in integers', () => {
  test.each([
    [0.1, 100_000],
    [5, 5_000_000],
    [1.1, 1_100_000],
    [0.0000001, 1],
    [0.0000011, 2],
    [0.0000010000005, 1],
    [0.000001000002, 2],
  ])('%f USD is %i micro-USD', (usd, micro) => {
    expect(microUsd(usd)).toBe(micro);
  });

  test('every whole number of micro-USD stays what it is', () => {
    fc.assert(fc.property(fc.nat(2_000_000_000), (micro) => microUsd(micro / 1e6) === micro));
  });
});

describe('the budgets of a profile', () => {
  test('are the caps that are set, each with what one execution may take', () => {
    const limits = { run: { cost_usd: 0.5, tokens: 100, tool_calls: 9 }, execution: { cost_usd: 0.1, tool_calls: 2 } };
    expect(budgetsOf({ limits: limitsOf(limits) })).toEqual([
      { kind: 'cost_micro_usd', cap: 500_000, reserve: 100_000 },
      { kind: 'tokens', cap: 100, reserve: null },
      { kind: 'tool_calls', cap: 9, reserve: 2 },
    ]);
    expect(budgetsOf({ limits: limitsOf({ execution: { tokens: 5 } }) })).toEqual([]);
  });
});

describe('what an answer took', () => {
  const price = { input_per_mtok_usd: 0.5, output_per_mtok_usd: 2 };
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: null, cost_micro_usd: null };
  const call = { name: 't', arguments: null, result: null, source: 'reported' } as const;

  test('its cost as told, else its tokens at the price, rounded up', () => {
    expect(spendOf({ usage, tool_calls: [call, call] }, price)).toEqual({
      cost_micro_usd: 6,
      tokens: 5,
      tool_calls: 2,
    });
    expect(spendOf({ usage: { ...usage, cost_micro_usd: 0 }, tool_calls: [] }, price).cost_micro_usd).toBe(0);
    expect(spendOf({ usage, tool_calls: [] }, null).cost_micro_usd).toBeNull();
    expect(spendOf({ usage: { ...usage, input_tokens: null }, tool_calls: [] }, price).cost_micro_usd).toBeNull();
    expect(spendOf({ usage: { ...usage, output_tokens: null }, tool_calls: [] }, price).cost_micro_usd).toBeNull();
    const exact = { input_per_mtok_usd: 0.1, output_per_mtok_usd: 0.2 };
    expect(spendOf({ usage: { ...usage, input_tokens: 10, output_tokens: 10 }, tool_calls: [] }, exact)).toMatchObject({
      cost_micro_usd: 3,
    });
  });

  test('its tokens as told in all, else those told of input and output', () => {
    const tokens = (members: object) => spendOf({ usage: { ...usage, ...members }, tool_calls: [] }, null).tokens;
    expect(tokens({ total_tokens: 99 })).toBe(99);
    expect(tokens({ input_tokens: null })).toBe(2);
    expect(tokens({ output_tokens: null })).toBe(3);
    expect(tokens({ input_tokens: null, output_tokens: null })).toBeNull();
  });

  test('nothing told is nothing known, but calls are counted', () => {
    expect(spendOf({ usage: null, tool_calls: [call] }, price)).toEqual({
      cost_micro_usd: null,
      tokens: null,
      tool_calls: 1,
    });
  });

  test.each([
    [{ cost_micro_usd: 3, tokens: 4 }, 3, 4],
    [{ cost_micro_usd: 0 }, 0, 0],
    [{ cost_micro_usd: -1, tokens: 0.5 }, 0, 0],
    [{ cost_micro_usd: '3', tokens: 2 ** 53 }, 0, 0],
    [null, 0, 0],
    ['text', 0, 0],
    [undefined, 0, 0],
  ])('an evaluator with evidence %j', (evidence, cost_micro_usd, tokens) => {
    expect(evaluatorSpend({ evidence })).toEqual({ cost_micro_usd, tokens, tool_calls: 0 });
  });
});

describe('room for more executions', () => {
  const budget = (members: Partial<BudgetState> = {}): BudgetState => ({
    kind: 'tokens',
    cap: 100,
    reserve: null,
    known: 0,
    highest: 0,
    answers: 0,
    untold: 0,
    waived: 0,
    ...members,
  });

  test('the reserve is the limit of one, or the most that one took', () => {
    expect([reserveOf({ reserve: null, highest: 7 }), reserveOf({ reserve: 9, highest: 7 })]).toEqual([7, 9]);
    expect(reserveOf({ reserve: 5, highest: 7 })).toBe(7);
    expect(reserveOf({ reserve: null, highest: 0 })).toBe(0);
  });

  test('what never told counts as its reserve each', () => {
    const lost = budget({ known: 30, untold: 2, highest: 10 });
    expect([assumedOf(lost), spentOf(lost)]).toEqual([20, 50]);
  });

  test('without budgets there is no end', () => {
    expect(allowance([], 7, 3)).toBe(Number.POSITIVE_INFINITY);
  });

  test.each([
    ['the rest by the reserve', { known: 30, highest: 10, answers: 3 }, 0, 7],
    ['less what runs', { known: 30, highest: 10, answers: 3 }, 4, 3],
    ['never below none', { known: 30, highest: 10, answers: 3 }, 9, 0],
    ['rounded down', { known: 31, highest: 10, answers: 3 }, 0, 6],
    ['less what was lost', { known: 30, highest: 10, answers: 3, untold: 2 }, 0, 5],
    ['none at the cap', { known: 100, highest: 10, answers: 3 }, 0, 0],
    ['none when what was lost reaches it', { known: 80, highest: 10, answers: 3, untold: 2 }, 0, 0],
  ])('%s', (_, members, running, room) => {
    expect(allowance([budget(members)], running, 0)).toBe(room);
  });

  test('the tightest budget decides, whichever comes first', () => {
    const wide = budget({ highest: 1, answers: 3 });
    const tight = budget({ highest: 50, answers: 3 });
    expect([allowance([wide, tight], 0, 0), allowance([tight, wide], 0, 0)]).toEqual([2, 2]);
    expect(allowance([wide, budget({ known: 100 })], 0, 0)).toBe(0);
  });

  test('while nothing is known a session has one; twenty answers that took nothing are enough', () => {
    expect([allowance([budget()], 5, 0), allowance([budget()], 5, 1)]).toEqual([1, 0]);
    expect([allowance([budget({ answers: 19 })], 5, 0), allowance([budget({ answers: 19 })], 5, 1)]).toEqual([1, 0]);
    expect(allowance([budget({ answers: 20 })], 9, 4)).toBe(Number.POSITIVE_INFINITY);
    expect(allowance([budget({ known: 100, answers: 20 })], 0, 0)).toBe(0);
  });

  test('calls that were lost blind make room for few, unless an answer came or the loss is waived', () => {
    const room = (members: Partial<BudgetState>, running = 0) => allowance([budget(members)], running, 0);
    expect([room({ untold: 1 }), room({ untold: 1 }, 1), room({ untold: 1 }, 2)]).toEqual([1, 1, 0]);
    expect([room({ untold: 2 }), room({ untold: 2 }, 1), room({ untold: 3 }), room({ untold: 9 })]).toEqual([
      1, 0, 0, 0,
    ]);
    expect([room({ untold: 9, answers: 1 }, 9), room({ untold: 3, waived: 3 }, 9)]).toEqual([1, 1]);
    expect([room({ untold: 3, waived: 1 }), room({ untold: 3, waived: 1 }, 1)]).toEqual([1, 0]);
  });
});

describe('limits and what they cannot see', () => {
  const told = { cost_micro_usd: 1, tokens: 1, tool_calls: 1 };

  test('a budget that an answer does not tell of', () => {
    const limits = limitsOf({ run: { cost_usd: 1, tokens: 9 } });
    expect(untoldBudget(told, limits)).toBeNull();
    expect(untoldBudget({ ...told, tokens: null }, limits)).toBe('tokens');
    expect(untoldBudget({ ...told, cost_micro_usd: null, tokens: null }, limits)).toBe('cost_micro_usd');
    expect(untoldBudget({ ...told, cost_micro_usd: null }, limitsOf({ run: { tokens: 9 } }))).toBeNull();
    expect(untoldBudget(null, limits)).toBeNull();
    const waived = limitsOf({ run: { tokens: 9 }, unpriced: 'allow' });
    expect(untoldBudget({ ...told, tokens: null }, waived)).toBeNull();
  });

  test('the limit of one execution that was passed, the first of them', () => {
    const { execution } = limitsOf({ execution: { tokens: 10, cost_usd: 0.5, tool_calls: 0 } });
    const spent = { cost_micro_usd: 500_000, tokens: 10, tool_calls: 0 };
    expect(overLimit(spent, execution)).toBeNull();
    expect(overLimit({ ...spent, tokens: 11, tool_calls: 1 }, execution)).toEqual({
      limit: 'tokens',
      most: 10,
      taken: 11,
    });
    expect(overLimit({ ...spent, cost_micro_usd: 600_000 }, execution)).toEqual({
      limit: 'cost_usd',
      most: 0.5,
      taken: 0.6,
    });
    expect(overLimit({ ...spent, tool_calls: 1 }, execution)).toEqual({ limit: 'tool_calls', most: 0, taken: 1 });
    expect(overLimit({ cost_micro_usd: null, tokens: null, tool_calls: 0 }, execution)).toBeNull();
    expect(overLimit({ ...spent, tokens: 99 }, limitsOf({}).execution)).toBeNull();
  });
});
