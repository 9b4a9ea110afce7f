import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FAULTS, type Fault } from '../../src/contract/state.ts';
import type { Aggregate } from '../../src/core/aggregate.ts';
import { isGraded, type Outcome, Tally } from '../../src/core/tally.ts';
import { outcomeOf } from '../support/verdicts.ts';
import { binomial } from './statistics/exact.ts';

const WANTED = ['pass_rate', 'mean_score', 'dimension.correctness'];

function tallyOf(
  outcomes: readonly Outcome[],
  { wanted = WANTED, leftOut }: { wanted?: string[]; leftOut?: number } = {},
) {
  const tally = new Tally(wanted);
  for (const outcome of outcomes) tally.add(outcome);
  tally.end(leftOut);
  return tally;
}
/** A case tried several times. */
const tries = (case_id: string, scores: readonly (number | Fault)[], cluster: string | null = null): Outcome[] =>
  scores.map((score, at) =>
    typeof score === 'number'
      ? outcomeOf(case_id, score, { repeat: at + 1, cluster })
      : outcomeOf(case_id, null, { repeat: at + 1, cluster, status: 'failed', fault: score }),
  );
const scored = (dimensions: Record<string, number>, more: Partial<Aggregate> = {}): Partial<Outcome> => ({
  aggregate: { blocking_failures: [], dimensions, passed: false, score: 0.5, ...more },
});

test('the faults of an agent and of policy are graded, the others are not', () => {
  expect(FAULTS.filter((fault) => isGraded(fault)).sort()).toEqual(['agent', 'policy']);
  expect(isGraded(null)).toBe(true);
});

describe('counts', () => {
  test('executions by status and fault, cases that were graded, what passed and what was blocked', () => {
    const tally = tallyOf([
      ...tries('a', [1, 0.5, 'agent']),
      ...tries('b', ['grader', 'infrastructure']),
      ...tries('c', ['configuration', 1]),
      outcomeOf('d', 1, { status: 'timed_out' }),
      outcomeOf('e', null, { status: 'cancelled', fault: 'cancelled' }),
      outcomeOf('f', null, { status: 'failed', fault: 'policy' }),
      outcomeOf('g', 1, scored({}, { passed: true, blocking_failures: ['x@1'] })),
      outcomeOf('h', 1, scored({}, { blocking_failures: ['x@1', 'y@1'] })),
    ]);
    expect(tally.counts).toEqual({ total: 12, completed: 5, failed: 5, timed_out: 1, cancelled: 1 });
    expect(tally.faults).toEqual({ infrastructure: 1, configuration: 1, agent: 1, grader: 1, policy: 1, cancelled: 1 });
    expect([tally.graded, tally.passed, tally.cases, tally.blocked, tally.clustered]).toEqual([8, 4, 6, 2, false]);
  });

  test('executions that were never made as cancelled', () => {
    const tally = tallyOf(tries('a', [1, 'cancelled']), { leftOut: 3 });
    expect(tally.counts).toMatchObject({ total: 5, cancelled: 3 });
    expect(tally.faults.cancelled).toBe(4);
    expect(tallyOf(tries('a', [1])).counts).toMatchObject({ total: 1, cancelled: 0 });
  });

  test('nothing of nothing', () => {
    const tally = tallyOf([]);
    expect([tally.cases, tally.mean('pass_rate'), tally.casesOf('pass_rate'), tally.scores()]).toEqual([
      0,
      null,
      0,
      {},
    ]);
    expect(tally.executionsOf('pass_rate')).toBe(0);
    expect(tally.units('pass_rate')).toEqual({ sums: [], counts: [] });
    expect(tally.passK('pass_at_k', 1)).toEqual({ value: null, cases: 0 });
  });
});

describe('means', () => {
  test('are over executions, exactly', () => {
    const tally = tallyOf([...tries('a', [0.1, 0.2, 0.3]), ...tries('b', [1, 'agent']), ...tries('c', ['grader'])]);
    expect(tally.mean('mean_score')).toEqual({ n: 2n, d: 5n });
    expect(tally.mean('pass_rate')).toEqual({ n: 1n, d: 5n });
    expect(tally.mean('dimension.correctness')).toEqual({ n: 2n, d: 5n });
    expect(tally.mean('dimension.tone')).toBeNull();
    expect([tally.casesOf('pass_rate'), tally.casesOf('dimension.tone')]).toEqual([2, 0]);
  });

  test('take the fraction that a score stands for', () => {
    const exact = { score: '1/3', dimensions: { tone: '2/3' } };
    const tally = tallyOf([outcomeOf('a', 1, scored({ tone: 0.67 }, { score: 0.33, exact }))]);
    expect(tally.mean('mean_score')).toEqual({ n: 1n, d: 3n });
    expect(tally.mean('dimension.tone')).toEqual({ n: 2n, d: 3n });
  });

  test('of dimensions stand on the executions that have them', () => {
    const tally = tallyOf([
      outcomeOf('a', 1, scored({ tone: 0.25, format: 1 })),
      outcomeOf('a', 1, { repeat: 2, ...scored({ format: 0.5 }) }),
      outcomeOf('b', 1, scored({ tone: 0.75 })),
      outcomeOf('c', null, { status: 'failed', fault: 'agent' }),
    ]);
    expect(Object.entries(tally.scores())).toEqual([
      ['format', 0.75],
      ['tone', 0.5],
    ]);
    expect(['tone', 'format'].map((name) => tally.casesOf(`dimension.${name}`))).toEqual([2, 1]);
    expect([tally.casesOf('mean_score'), tally.casesOf('pass_rate')]).toEqual([2, 3]);
  });
});

describe('units', () => {
  const outcomes = [
    ...tries('a', [1, 0.5], 'x'),
    ...tries('b', [0.25, 'grader', 1]),
    ...tries('c', [1], 'x'),
    ...tries('d', ['agent']),
  ];

  test('are clusters, and cases without one; a case without a value is none', () => {
    const tally = tallyOf(outcomes);
    expect(tally.clustered).toBe(true);
    expect(tally.units('mean_score')).toEqual({ sums: Float64Array.of(2.5, 1.25), counts: Float64Array.of(3, 2) });
    expect(tally.units('pass_rate')).toEqual({ sums: Float64Array.of(2, 1, 0), counts: Float64Array.of(3, 2, 1) });
  });

  test('are cases where no case has a cluster', () => {
    const tally = tallyOf(outcomes.map((outcome) => ({ ...outcome, cluster: null })));
    expect(tally.clustered).toBe(false);
    expect(tally.units('dimension.correctness')).toMatchObject({ sums: [1.5, 1.25, 1], counts: [2, 2, 1] });
  });

  test('are cases where only cases without a graded execution have one', () => {
    const tally = tallyOf([...tries('a', [1]), ...tries('b', ['grader'], 'x')]);
    expect(tally.units('pass_rate')).toMatchObject({ sums: [1], counts: [1] });
  });

  test('are kept for what is wanted only', () => {
    const tally = tallyOf(outcomes, { wanted: ['pass_rate'] });
    expect(tally.units('mean_score')).toEqual({ sums: [], counts: [] });
    expect(tally.mean('mean_score')).toEqual({ n: 3n, d: 4n });
    expect(tally.units('pass_rate').sums).toHaveLength(3);
  });
});

describe('pass@k and pass^k', () => {
  const pair = (outcomes: readonly Outcome[], k: number) => {
    const tally = tallyOf(outcomes);
    return [tally.passK('pass_at_k', k), tally.passK('pass_hat_k', k)];
  };

  test('are averages over the cases with at least k tries', () => {
    const outcomes = [
      ...tries('a', [1, 1, 0]),
      ...tries('b', [1, 0, 0]),
      ...tries('c', [1, 1, 0]),
      ...tries('d', [1, 1]),
      ...tries('e', [1, 'grader', 'infrastructure']),
    ];
    expect(pair(outcomes, 2)).toEqual([
      { value: { n: 11n, d: 12n }, cases: 4 },
      { value: { n: 5n, d: 12n }, cases: 4 },
    ]);
    expect(pair(outcomes, 1)[0]).toEqual({ value: { n: 11n, d: 15n }, cases: 5 });
    expect(pair(outcomes, 3)).toEqual([
      { value: { n: 1n, d: 1n }, cases: 3 },
      { value: { n: 0n, d: 1n }, cases: 3 },
    ]);
    expect(pair(outcomes, 4)).toEqual([
      { value: null, cases: 0 },
      { value: null, cases: 0 },
    ]);
  });

  test('are the shares of draws', () => {
    fc.assert(
      fc.property(fc.nat(8), fc.nat(8), fc.integer({ min: 1, max: 9 }), (passed, failed, k) => {
        const n = passed + failed;
        fc.pre(n >= k);
        const scores = [...Array<number>(passed).fill(1), ...Array<number>(failed).fill(0)];
        const [at, hat] = pair(tries('a', scores), k);
        const all = Number(binomial(n, k));
        const share = (of: number) => (of < k ? 0 : Number(binomial(of, k)));
        const number = (value: typeof at) => Number(value?.value?.n) / Number(value?.value?.d);
        expect(number(at)).toBe((all - share(failed)) / all);
        expect(number(hat)).toBe(share(passed) / all);
      }),
      { numRuns: 100 },
    );
  });
});
