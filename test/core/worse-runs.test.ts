import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/core/tally.ts';
import { outcomeOf, profileOf, verdictOf } from '../support/verdicts.ts';

const METRICS = ['pass_rate', 'mean_score', 'dimension.correctness'] as const;
const profile = profileOf({
  repeats: 3,
  gate: {
    max_infra_rate: 1,
    all: METRICS.flatMap((metric) => [
      { metric, bound: 'lower', min: 0 },
      { metric, bound: 'upper', min: 0 },
      { metric, min: 0 },
    ]),
  },
});

const boundsOf = (outcomes: readonly Outcome[]) =>
  verdictOf(profile, outcomes).conditions.map(({ value }) => value ?? 0);

/** Runs of 1 to 12 cases, each tried up to three times, some in clusters. */
const runs = fc
  .array(
    fc.record({
      scores: fc.array(fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })), {
        minLength: 1,
        maxLength: 3,
      }),
      cluster: fc.constantFrom(null, 'a', 'b'),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((cases) =>
    cases.flatMap(({ scores, cluster }, at) =>
      scores.map((score, repeat) =>
        outcomeOf(`case-${String(at).padStart(2, '0')}`, score, { repeat: repeat + 1, cluster }),
      ),
    ),
  );

describe('a run that got worse', () => {
  it('never has a higher value or bound: one execution with a lower score, a failure, an agent without an answer', () => {
    fc.assert(
      fc.property(runs, fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (outcomes, which, share) => {
        const at = which % outcomes.length;
        const old = outcomes[at] as Outcome;
        const before = boundsOf(outcomes);
        const worse = [
          outcomeOf(old.case_id, (old.aggregate?.score ?? 0) * share, { repeat: old.repeat, cluster: old.cluster }),
          outcomeOf(old.case_id, 0, { repeat: old.repeat, cluster: old.cluster, status: 'failed', fault: 'agent' }),
        ];
        for (const outcome of worse)
          for (const [index, value] of boundsOf(outcomes.with(at, outcome)).entries())
            expect(value).toBeLessThanOrEqual(before[index] ?? 0);
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ['15 cases × 3', 15, 3, 1, 0.9],
    ['40 cases × 3', 40, 3, 1, 0.93],
    ['40 cases in two clusters', 40, 1, 20, 0.9],
  ])('of %s does not pass where the one without a failure fails', (_, cases, repeats, size, min) => {
    const gated = profileOf({ repeats, gate: { all: [{ metric: 'pass_rate', bound: 'lower', min }] } });
    const run = (failures: number) =>
      Array.from({ length: cases * repeats }, (__, at) =>
        outcomeOf(`case-${String(Math.floor(at / repeats)).padStart(2, '0')}`, at < failures ? 0 : 1, {
          repeat: (at % repeats) + 1,
          cluster: size === 1 ? null : `k${Math.floor(at / size)}`,
        }),
      );
    const verdicts = [0, 1, 2].map((failures) => verdictOf(gated, run(failures)));
    const lower = verdicts.map(({ conditions }) => conditions[0]?.value ?? 0);
    expect(lower).toEqual(lower.toSorted((a, b) => b - a));
    expect(new Set(lower).size).toBe(3);
    expect(verdicts[1]?.gate_status).toBe('fail');
  });

  it('of scores does not pass where the one with only full scores fails', () => {
    const gated = profileOf({ gate: { all: [{ metric: 'mean_score', bound: 'lower', min: 0.9 }] } });
    const run = (last: number) => Array.from({ length: 15 }, (_, at) => outcomeOf(`c${at}`, at === 14 ? last : 1));
    const verdicts = [1, 0.99].map((last) => verdictOf(gated, run(last)));
    expect(verdicts.map(({ gate_status }) => gate_status)).toEqual(['fail', 'fail']);
    expect(verdicts.map(({ conditions }) => conditions[0]?.value)).toEqual([0.781980639, 0.78145687]);
  });
});
