import { describe, expect, test } from 'vitest';
import { MixtureSequence } from '../../src/core/statistics/index.ts';
import type { Outcome } from '../../src/core/tally.ts';
import type { VerdictParts } from '../../src/core/verdict.ts';
import { condition, gated, HALF, outcomeOf, profileOf, scored, verdictOf } from '../support/verdicts.ts';

/** What a run that stopped was decided by before anyone corrected it: nothing of it but where it stopped counts any more. */
const decision = { after_cases: 40, outcome: 'pass', interval: [0.9, 1], conditions: [] } as const;
/** The verdict of a run that stopped early, with its grades corrected to these scores. */
const corrected = (all: readonly object[], scores: readonly number[], more: VerdictParts = { decision }) =>
  verdictOf(profileOf({ early_stop: 'decided', gate: { all } }), scored(...scores), { ...more, corrected: true });
const sequence = (scores: readonly number[], confidence: number) => {
  const of = new MixtureSequence(confidence);
  for (const score of scores) of.add(score);
  return of.interval();
};
const scores = Array.from({ length: 40 }, (_, at) => (at % 10 === 0 ? 0.5 : 1));

describe('a run that stopped early and was corrected', () => {
  test('is judged anew by every condition, point or bound, at its share of the confidence', () => {
    const all = [
      { metric: 'mean_score', min: 0.5 },
      { metric: 'dimension.correctness', bound: 'lower', confidence: 0.9, max: 1 },
    ];
    const verdict = corrected(all, scores);
    expect(verdict).toMatchObject({
      gate_status: 'pass',
      interval: sequence(
        scores.map((score) => (score === 1 ? 1 : 0)),
        0.95,
      ),
      interval_method: 'beta_mixture',
    });
    expect(verdict.conditions).toMatchObject([
      { value: 0.95, holds: true, cases: 40 },
      { value: 0.95, holds: true, cases: 40 },
    ]);
    const [first, second] = [sequence(scores, 0.975), sequence(scores, 0.95)].map((interval) =>
      interval.map((end) => end.toFixed(4)).join(', '),
    );
    expect(verdict.reason).toBe(
      `decided after 40 cases by an always-valid interval: mean_score is 0.9500 in [${first}] over 40 cases, as wanted ≥ 0.5; dimension.correctness is 0.9500 in [${second}] over 40 cases, as wanted ≤ 1`,
    );
  });

  test('names the conditions that its cases no longer decide, and no others', () => {
    const all = [
      { metric: 'mean_score', min: 0.5 },
      { metric: 'pass_rate', min: 0.9 },
      { metric: 'dimension.correctness', min: 0.95 },
    ];
    expect(corrected(all, scores)).toMatchObject({
      gate_status: 'inconclusive',
      reason:
        'the run stopped after 40 cases, and as corrected they no longer decide pass_rate, dimension.correctness; run it anew',
    });
  });

  test('and one that ran to its end is judged as any other', () => {
    expect(corrected([{ metric: 'pass_rate', min: 0.5 }], scores, {})).toMatchObject({
      gate_status: 'pass',
      reason: 'pass_rate is 0.9000 over 40 cases, as wanted ≥ 0.5',
      early_stop: null,
    });
  });
});

describe('a condition tells of executions', () => {
  const of = (outcomes: readonly Outcome[], more: object) =>
    verdictOf(profileOf({ gate: condition({ min: 0, ...more }) }), outcomes).conditions[0];
  const names = ['executions', 'least_executions'];
  const told = (outcomes: readonly Outcome[], more: object) =>
    Object.entries(of(outcomes, more) ?? {}).filter(([name]) => names.includes(name));

  test('where they are what counts, a single one too', () => {
    expect(told(HALF, {})).toEqual([
      ['executions', 4],
      ['least_executions', 4],
    ]);
    expect(told([outcomeOf('a', 1)], {})).toEqual([
      ['executions', 1],
      ['least_executions', 1],
    ]);
  });

  test('and not where it says how many cases it needs, or has them by tries or of all', () => {
    for (const more of [{ min_cases: 2 }, { metric: 'pass_at_k', k: 1 }, { metric: 'pass_rate_strict' }])
      expect(told(HALF, more)).toEqual([]);
    expect(gated(condition({ metric: 'infra_rate', max: 0 }), HALF)[0]).toBe('pass');
  });
});
