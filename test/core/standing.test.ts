import { describe, expect, it } from 'vitest';
import { gateSchema } from '../../src/contract/gate.ts';
import type { CaseSummary } from '../../src/core/case-summary.ts';
import { type Comparison, ComparisonBuilder, type ComparisonPolicy } from '../../src/core/comparison.ts';
import { outcomeOf, profileOf, verdictOf } from '../support/verdicts.ts';

const name = (at: number) => `case-${String(at).padStart(3, '0')}`;

describe('a condition says what it stands on', () => {
  const profile = (more: object) => profileOf({ gate: { max_infra_rate: 0.02, all: [more] } });
  const skipped = (graded: number) =>
    Array.from({ length: 100 }, (_, at) => {
      const outcome = outcomeOf(name(at), 1);
      const dimensions = at < graded ? { correctness: 1, safety: 1 } : { correctness: 1 };
      return { ...outcome, aggregate: { blocking_failures: [], dimensions, passed: true, score: 1 } };
    });
  const safety = {
    case_groups: [{ id: 'all', evaluators: [{ ref: 'a@1' }, { ref: 'b@1', dimension: 'safety' }] }],
  };

  it.each([
    [1, 'inconclusive'],
    [97, 'inconclusive'],
    [98, 'pass'],
  ])('a dimension that %i of 100 cases have is %s', (graded, status) => {
    const given = {
      ...profile({ metric: 'dimension.safety', min: 0.95 }),
      ...profileOf(safety),
      gate: profile({ metric: 'dimension.safety', min: 0.95 }).gate,
    };
    const verdict = verdictOf(given, skipped(graded));
    expect(verdict.gate_status).toBe(status);
    expect(verdict.conditions[0]).toMatchObject({ cases: graded, least_cases: 98, value: 1 });
    if (graded === 1)
      expect(verdict.reason).toBe(
        "dimension.safety is 1.0000: it rests on 1 case, fewer than the 98 that it needs; see which cases were skipped or ended by a fault, or set the condition's `min_cases`",
      );
  });

  it('pass^k stands on the cases that still have k tries', () => {
    const given = profileOf({
      repeats: 3,
      gate: { max_infra_rate: 0.5, all: [{ metric: 'pass_hat_k', k: 3, min: 1, min_cases: 4 }] },
    });
    const run = (whole: number) =>
      Array.from({ length: 5 }, (_, at) =>
        [1, 2, 3].map((repeat) =>
          at >= whole && repeat === 3
            ? outcomeOf(name(at), null, { repeat, status: 'failed', fault: 'infrastructure' })
            : outcomeOf(name(at), 1, { repeat }),
        ),
      ).flat();
    expect(verdictOf(given, run(4))).toMatchObject({ gate_status: 'pass' });
    expect(verdictOf(given, run(3))).toMatchObject({
      gate_status: 'inconclusive',
      conditions: [{ cases: 3, least_cases: 4 }],
    });
  });

  it('a dimension that only the first of twenty repeats has rests on too few executions', () => {
    const given = profileOf({ ...safety, repeats: 20, gate: { all: [{ metric: 'dimension.safety', min: 0.9 }] } });
    const run = (graded: number) =>
      [0, 1, 2].flatMap((at) =>
        Array.from({ length: 20 }, (_, repeat) => {
          const dimensions = repeat < graded ? { correctness: 1, safety: 1 } : { correctness: 1 };
          const aggregate = { blocking_failures: [], dimensions, passed: true, score: 1 };
          return { ...outcomeOf(name(at), 1, { repeat: repeat + 1 }), aggregate };
        }),
      );
    const verdict = verdictOf(given, run(1));
    expect(verdict).toMatchObject({
      gate_status: 'inconclusive',
      conditions: [{ executions: 3, least_executions: 57 }],
    });
    expect(verdict.reason).toContain('it rests on 3 executions, fewer than the 57 that it needs');
    expect(verdictOf(given, run(19)).gate_status).toBe('pass');
  });

  it('a run that stopped early and was corrected is judged by the corrected prefix', () => {
    const given = profileOf({ early_stop: 'decided', gate: { all: [{ metric: 'pass_rate', min: 0.7 }] } });
    const decision = {
      after_cases: 30,
      outcome: 'pass' as const,
      interval: [0.8, 1] as const,
      conditions: [
        { metric: 'pass_rate', min: 0.7, max: null, cases: 30, mean: 1, interval: [0.8, 1] as const, holds: true },
      ],
    };
    const run = (failed: number) => Array.from({ length: 30 }, (_, at) => outcomeOf(name(at), at < failed ? 0 : 1));
    const corrected = (failed: number) => verdictOf(given, run(failed), { decision, corrected: true });
    expect(verdictOf(given, run(0), { decision })).toMatchObject({ gate_status: 'pass', interval: [0.8, 1] });
    expect(corrected(0).gate_status).toBe('pass');
    expect(corrected(12)).toMatchObject({
      gate_status: 'inconclusive',
      pass_rate: 0.6,
      early_stop: { after_cases: 30 },
    });
    expect(corrected(12).reason).toBe(
      'the run stopped after 30 cases, and as corrected they no longer decide pass_rate; run it anew',
    );
    expect(corrected(25).gate_status).toBe('fail');
    const [low, high] = corrected(12).interval ?? [1, 0];
    expect(low).toBeLessThan(0.6);
    expect(high).toBeGreaterThan(0.6);
  });

  it('a confidence that nothing could check is refused', () => {
    const condition = { metric: 'pass_rate', bound: 'lower', min: 0.5 };
    expect(gateSchema.safeParse({ all: [{ ...condition, confidence: 0.9999999 }] }).success).toBe(false);
    expect(gateSchema.safeParse({ all: [{ ...condition, confidence: 0.999999 }] }).success).toBe(true);
  });

  it('without a gate a failed blocking evaluator fails the run, whatever the defaults say', () => {
    const given = profileOf({ defaults: { fail_on_any_blocking_failure: false } });
    const blocked = { blocking_failures: ['a@1'], dimensions: { correctness: 1 }, passed: true, score: 1 };
    expect(verdictOf(given, [{ ...outcomeOf('a', 1), aggregate: blocked }, outcomeOf('b', 1)])).toMatchObject({
      gate_status: 'fail',
      reason: '1 of 2 graded executions have a failed blocking evaluator or dimension',
    });
  });

  it('a minimum above the maximum is refused', () => {
    const found = gateSchema.safeParse({ all: [{ metric: 'pass_rate', min: 0.9, max: 0.8 }] });
    expect(found.error?.issues[0]?.message).toBe('`min` is above `max`: no value lies between them');
    expect(gateSchema.safeParse({ all: [{ metric: 'pass_rate', min: 0.8, max: 0.8 }] }).success).toBe(true);
  });
});

describe('a comparison says what it stands on', () => {
  const summary = (at: number, passed: number, more: Partial<CaseSummary> = {}): CaseSummary => ({
    case_id: name(at),
    case_content: 'same',
    cluster: null,
    graded: 1,
    passed,
    score: passed,
    dimensions: {},
    ...more,
  });
  const POLICY: ComparisonPolicy = {
    test: 'exact_mcnemar',
    alpha: 0.05,
    max_regressions: 0,
    min_cases: null,
    max_infra_rate: 0.05,
  };
  function compared(
    candidate: (at: number) => CaseSummary | null,
    { policy = {}, same_grading = true }: { policy?: Partial<ComparisonPolicy>; same_grading?: boolean | null } = {},
  ): Comparison {
    const builder = new ComparisonBuilder({ policy: { ...POLICY, ...policy }, seed: 'seed', same_grading });
    for (let at = 0; at < 100; at += 1) builder.add(summary(at, 1), candidate(at));
    return builder.end();
  }

  it.each<[string, (at: number) => CaseSummary | null, Comparison['outcome'], string]>([
    [
      'all of the baseline',
      (at) => summary(at, 1),
      'no_regression',
      '100 of 100 baseline cases are paired; the pass rate did not fall',
    ],
    [
      'three of a hundred cases',
      (at) => (at < 3 ? summary(at, 1) : null),
      'not_comparable',
      '97 missing from the candidate',
    ],
    ['a lost pass', (at) => (at > 0 ? summary(at, 1) : null), 'not_comparable', '1 baseline pass is not shown'],
    [
      'ten passes that fail with changed content',
      (at) => summary(at, at < 10 ? 0 : 1, at < 10 ? { case_content: 'new' } : {}),
      'not_comparable',
      '10 with changed content',
    ],
    [
      'faults within what is allowed',
      (at) => summary(at, 1, at < 5 ? { graded: 0, passed: 0 } : {}),
      'no_regression',
      '5 not graded in one of the runs',
    ],
    [
      'faults beyond it',
      (at) => summary(at, 1, at < 6 ? { graded: 0, passed: 0 } : {}),
      'not_comparable',
      'a comparison needs 95',
    ],
    ['one regression', (at) => summary(at, at < 1 ? 0 : 1), 'regression', 'at most 0 may regress'],
  ])('%s', (_, candidate, outcome, reason) => {
    const found = compared(candidate);
    expect(found.outcome).toBe(outcome);
    expect(found.reason).toContain(reason);
  });

  it('other evaluators are no comparison, whatever improved', () => {
    const other = compared((at) => summary(at, 1), { same_grading: false });
    expect(other).toMatchObject({ outcome: 'not_comparable', same_grading: false });
    expect(other.reason).toContain('graded by different evaluators or rules');
    const allowed = compared((at) => summary(at, 1), { same_grading: false, policy: { any_grading: true } });
    expect(allowed).toMatchObject({ outcome: 'no_regression', same_grading: false });
    expect(compared((at) => summary(at, 1), { same_grading: null }).reason).toContain('does not say how it was graded');
  });

  it('passes that are not shown and could hide a regression are no comparison by a test either', () => {
    const changed = (count: number) =>
      compared((at) => summary(at, 1, at < count ? { case_content: 'new' } : {}), {
        policy: { max_regressions: null, min_cases: 50 },
      });
    expect(changed(5).outcome).toBe('no_regression');
    expect(changed(6)).toMatchObject({ outcome: 'not_comparable' });
    expect(changed(6).reason).toContain('6 baseline passes are not shown, enough to hide a regression');
  });

  it('a minimum of cases of its own takes the place of the default', () => {
    const half = (at: number) => (at < 50 ? summary(at, 1) : null);
    expect(compared(half, { policy: { max_regressions: null } }).outcome).toBe('not_comparable');
    expect(compared(half, { policy: { max_regressions: 50, min_cases: 50 } }).outcome).toBe('no_regression');
    expect(compared(half, { policy: { max_regressions: 50, min_cases: 51 } }).outcome).toBe('not_comparable');
  });
});
