import { describe, expect, test } from 'vitest';
import type { Fault } from '../../../src/contract/state.ts';
import { VerdictBuilder } from '../../../src/core/method-1/verdict.ts';
import { passRateInterval, seedOf, wilson } from '../../../src/core/statistics/index.ts';
import type { Outcome } from '../../../src/core/tally.ts';
import type { BaselineResult, VerdictParts } from '../../../src/core/verdict.ts';
import { profileOf } from '../../support/profile.ts';

const DIGEST = '0123456789abcdef';
type Row = readonly [case_id: string, score: number | Fault, members?: Partial<Outcome>];

/** Outcomes in short: a case with its score (1 passed), or with the fault that ended it. */
const outcomes = (...rows: readonly Row[]): Outcome[] =>
  rows.map(([case_id, what, members]) => ({
    case_id,
    repeat: 1,
    cluster: null,
    status: what === 'cancelled' ? 'cancelled' : typeof what === 'string' ? 'failed' : 'completed',
    fault: typeof what === 'string' ? what : null,
    aggregate:
      typeof what === 'string'
        ? null
        : { passed: what === 1, score: what, dimensions: { tone: what / 2 }, blocking_failures: [] },
    ...members,
  }));

function verdict(members: object, rows: readonly Row[], parts: VerdictParts = {}) {
  const builder = new VerdictBuilder(profileOf(members), DIGEST);
  for (const outcome of outcomes(...rows)) builder.add(outcome);
  return builder.end('content', parts);
}
const gated = (gate: object, rows: readonly Row[], parts?: VerdictParts) => {
  const { gate_status, reason } = verdict({ gate }, rows, parts);
  return [gate_status, reason];
};
const HALF: readonly Row[] = [
  ['a', 1],
  ['b', 0],
  ['c', 1],
  ['d', 0],
];
const condition = (members: object) => ({ all: [{ metric: 'pass_rate', ...members }] });

test('the whole verdict', () => {
  const rows: readonly Row[] = [
    ['a', 1],
    ['b', 0.5],
    ['c', 'infrastructure'],
    ['d', 'agent', { status: 'timed_out' }],
    ['e', 'policy'],
  ];
  expect(verdict({ gate: { max_infra_rate: 0.5, ...condition({ min: 0.25 }) } }, rows)).toEqual({
    snapshot_digest: DIGEST,
    content_digest: 'content',
    gate_status: 'pass',
    reason: 'pass_rate is 0.2500, as wanted ≥ 0.25',
    conditions: [
      {
        metric: 'pass_rate',
        k: null,
        bound: 'point',
        confidence: 0.95,
        min: 0.25,
        max: null,
        value: 0.25,
        holds: true,
      },
    ].map((one) => expect.objectContaining(one)),
    cases: 4,
    repeats: 1,
    executions: { total: 5, completed: 2, failed: 2, timed_out: 1, cancelled: 0 },
    faults: expect.objectContaining({ infrastructure: 1, agent: 1, grader: 0, policy: 1, cancelled: 0 }),
    graded: 4,
    passed: 1,
    pass_rate: 0.25,
    pass_rate_strict: 0.2,
    interval: wilson(1, 4),
    interval_method: 'wilson',
    mean_score: 0.75,
    scores: { tone: 0.375 },
  });
});

describe('a run that cannot be judged', () => {
  test.each([
    ['the run has no executions', {}, []],
    ['no execution was graded', { max_infra_rate: 1 }, [['a', 'grader']]],
    ['4 graded cases, fewer than min_cases 5', { min_cases: 5 }, HALF],
    ['a budget of the run is spent: 1 of 5 executions were not made', {}, [...HALF, ['e', 'cancelled']]],
    [
      '2 of 6 executions ended by infrastructure or grader faults, above max_infra_rate 0.3',
      { max_infra_rate: 0.3 },
      [...HALF, ['e', 'grader'], ['f', 'infrastructure']],
    ],
  ] as const)('%s', (reason, gate, rows) => {
    expect(gated({ ...gate, ...condition({ min: 0 }) }, rows as readonly Row[])).toEqual(['inconclusive', reason]);
  });

  test('exactly so many faults and cases as allowed are enough', () => {
    expect(gated({ max_infra_rate: 0.2, min_cases: 4, ...condition({ min: 0 }) }, [...HALF, ['e', 'grader']])[0]).toBe(
      'pass',
    );
  });

  test('executions that were never made count as not made', () => {
    expect(gated(condition({ min: 0 }), HALF, { left_out: 4 })).toEqual([
      'inconclusive',
      'a budget of the run is spent: 4 of 8 executions were not made',
    ]);
  });

  test('a metric that could not be computed', () => {
    expect(gated({ all: [{ metric: 'pass_hat_k', k: 2, min: 0 }] }, HALF)).toEqual([
      'inconclusive',
      'pass_hat_k (k=2) could not be computed: too few cases or repeats',
    ]);
  });
});

describe('without a gate every graded execution must pass', () => {
  test('or not', () => {
    expect(
      gated({}, [
        ['a', 1],
        ['b', 1],
      ]),
    ).toEqual(['pass', 'all 2 graded executions passed']);
    expect(gated({}, HALF)).toEqual(['fail', '2 of 4 graded executions did not pass']);
  });
});

describe('conditions', () => {
  test.each([
    [{ min: 0.5 }, 'pass', 'pass_rate is 0.5000, as wanted ≥ 0.5'],
    [{ min: 0.6 }, 'fail', 'pass_rate is 0.5000, wanted ≥ 0.6'],
    [{ max: 0.5 }, 'pass', 'pass_rate is 0.5000, as wanted ≤ 0.5'],
    [{ max: 0.4 }, 'fail', 'pass_rate is 0.5000, wanted ≤ 0.4'],
    [{ min: 0.5, max: 0.5 }, 'pass', 'pass_rate is 0.5000, as wanted ≥ 0.5 and ≤ 0.5'],
    [{ min: 0.1, max: 0.4 }, 'fail', 'pass_rate is 0.5000, wanted ≥ 0.1 and ≤ 0.4'],
    [{ metric: 'pass_rate_strict', min: 0.5 }, 'pass', 'pass_rate_strict is 0.5000, as wanted ≥ 0.5'],
    [{ metric: 'mean_score', min: 0.5 }, 'pass', 'mean_score is 0.5000, as wanted ≥ 0.5'],
    [{ metric: 'dimension.tone', min: 0.25 }, 'pass', 'dimension.tone is 0.2500, as wanted ≥ 0.25'],
    [{ metric: 'infra_rate', max: 0 }, 'pass', 'infra_rate is 0.0000, as wanted ≤ 0'],
    [{ metric: 'pass_at_k', k: 1, min: 0.5 }, 'pass', 'pass_at_k (k=1) is 0.5000, as wanted ≥ 0.5'],
  ])('%j: %s', (one, status, reason) => {
    expect(gated(condition(one), HALF)).toEqual([status, reason]);
  });

  test('the lower bound and the upper bound are those of the interval', () => {
    const [low, high] = wilson(2, 4, 0.9)!;
    const at = (bound: string, limits: object) => gated(condition({ bound, confidence: 0.9, ...limits }), HALF);
    expect(at('lower', { min: low })[0]).toBe('pass');
    expect(at('lower', { min: low + 1e-9 })).toEqual([
      'fail',
      `the lower 90% bound of pass_rate is ${low.toFixed(4)}, wanted ≥ ${low + 1e-9}`,
    ]);
    expect(at('upper', { max: high })[0]).toBe('pass');
    expect(at('upper', { max: high - 1e-9 })).toEqual([
      'fail',
      `the upper 90% bound of pass_rate is ${high.toFixed(4)}, wanted ≤ ${high - 1e-9}`,
    ]);
    expect(at('upper', { min: 0.9 })[0]).toBe('fail');
    expect(at('lower', { max: 0.1 })[0]).toBe('fail');
  });

  test('all of them must hold; the first that fails is told, before one that is not known', () => {
    const all = [
      { metric: 'mean_score', min: 0.1 },
      { metric: 'pass_hat_k', k: 2, min: 0 },
      { metric: 'pass_rate', min: 0.6 },
    ];
    expect(gated({ all }, HALF)).toEqual(['fail', 'pass_rate is 0.5000, wanted ≥ 0.6']);
    expect(gated({ all: [all[0], { metric: 'pass_rate', max: 0.6 }] }, HALF)).toEqual([
      'pass',
      'mean_score is 0.5000, as wanted ≥ 0.1; pass_rate is 0.5000, as wanted ≤ 0.6',
    ]);
  });
});

describe('the interval', () => {
  const repeated: readonly Row[] = [
    ['a', 1],
    ['a', 0],
    ['b', 1],
    ['b', 1],
  ];

  test('is of cases for one repeat, else of a bootstrap over cases or clusters', () => {
    const seed = seedOf(DIGEST, 'pass_rate/0.95');
    const base = { repeats: 2, confidence: 0.95, seed };
    const told = verdict({ repeats: 2 }, repeated);
    expect([told.interval, told.interval_method]).toEqual([
      passRateInterval({ ...base, values: [0.5, 1], clusters: null }),
      'bootstrap',
    ]);
    const clustered = repeated.map(([id, score]): Row => [id, score, { cluster: id }]);
    const of = verdict({ repeats: 2 }, clustered);
    expect([of.interval, of.interval_method]).toEqual([
      passRateInterval({ ...base, values: [0.5, 1], clusters: ['a', 'b'] }),
      'cluster_bootstrap',
    ]);
    // With one repeat it is of executions, also where a case has more of them than the plan.
    expect(verdict({}, repeated).interval).toEqual(wilson(3, 4));
    expect(verdict({}, [['a', 1]]).interval).toEqual(wilson(1, 1));
    const nothing = verdict({}, [['a', 'grader']]);
    expect([nothing.interval, nothing.interval_method, nothing.pass_rate]).toEqual([null, null, null]);
  });
});

describe('the baseline', () => {
  const baseline = (outcome: string) => ({ outcome, reason: '1 regressed', content_digest: 'x' }) as BaselineResult;
  const against = (parts: VerdictParts, more: object = {}) => gated({ baseline: {}, ...more }, HALF, parts);

  test.each([
    ['regression', 'fail'],
    ['not_comparable', 'inconclusive'],
    ['no_difference', 'pass'],
  ])('%s: %s', (outcome, status) => {
    expect(against({ baseline: baseline(outcome) })).toEqual([status, 'against the baseline 1 regressed']);
  });

  test('nothing blessed, and conditions beside it', () => {
    expect(against({})).toEqual([
      'inconclusive',
      'no run of this profile is blessed yet; `proctor bless RUN` makes one the baseline',
    ]);
    expect(against({ baseline: baseline('improvement') }, condition({ min: 0.5 }))).toEqual([
      'pass',
      'pass_rate is 0.5000, as wanted ≥ 0.5; against the baseline 1 regressed',
    ]);
    expect(against({}, condition({ min: 0.6 }))[0]).toBe('fail');
    expect(verdict({ gate: { baseline: {} } }, HALF).baseline).toBeNull();
  });
});

test('a gate that was decided early tells by what', () => {
  const early = (outcome: 'pass' | 'fail', holds: boolean) =>
    gated({ ...condition({ min: 0.6 }) }, HALF, {
      decision: {
        outcome,
        after_cases: 4,
        interval: [0.25, 0.75],
        conditions: [{ metric: 'pass_rate', min: 0.6, max: null, mean: 0.5, interval: [0.25, 0.75], holds }],
      } as unknown as NonNullable<VerdictParts['decision']>,
    });
  expect(early('fail', false)).toEqual([
    'fail',
    'decided after 4 cases by an always-valid interval: pass_rate is 0.5000 in [0.2500, 0.7500], wanted ≥ 0.6',
  ]);
  expect(early('pass', true)).toEqual([
    'pass',
    'decided after 4 cases by an always-valid interval: pass_rate is 0.5000 in [0.2500, 0.7500], as wanted ≥ 0.6',
  ]);
});
