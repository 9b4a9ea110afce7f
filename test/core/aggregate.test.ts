import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EvaluatorResult } from '../../src/contract/evaluator.ts';
import { dimensionsOf, exactDimension } from '../../src/core/aggregate.ts';
import { methodOf } from '../../src/core/method.ts';
import { groupOf, profileOf } from '../support/profile.ts';

const result = (members: Partial<EvaluatorResult> = {}): EvaluatorResult => ({
  index: 0,
  ref: 'regex@1',
  dimension: 'correctness',
  blocking: false,
  weight: 1,
  status: 'passed',
  severity: 'none',
  score: null,
  reason: null,
  evidence: null,
  ...members,
});
const scored = (score: number, members: Partial<EvaluatorResult> = {}) => result({ score, ...members });
const failed = (members: Partial<EvaluatorResult> = {}) => result({ status: 'failed', ...members });

describe.each([methodOf({}), methodOf({ method: 2 })])('method $version', (method) => {
  /** The aggregate of results by a group whose evaluators name their dimensions. */
  function of(results: readonly EvaluatorResult[], dimensions: object = {}, defaults: object = {}) {
    const names = results.length === 0 ? ['correctness'] : [...new Set(results.map(({ dimension }) => dimension))];
    const evaluators = names.map((dimension) => ({ ref: 'regex@1', dimension }));
    const profile = profileOf({ case_groups: [groupOf('g', { evaluators, aggregation: { dimensions } })], defaults });
    return method.aggregate(profile.case_groups[0]!, profile.defaults, results);
  }

  describe('scores', () => {
    test('passed is 1, failed is 0, unless a score is given', () => {
      expect(of([result(), failed()]).score).toBe(0.5);
      expect(of([scored(0.25), scored(0.75, { status: 'failed' })]).score).toBe(0.5);
      expect(of([scored(0)]).score).toBe(0);
    });

    test('a dimension is the mean by weight of its evaluators', () => {
      expect(of([scored(1, { weight: 3 }), scored(0, { weight: 1 })]).dimensions).toEqual({ correctness: 0.75 });
      expect(of([scored(1, { weight: 0 }), scored(0, { weight: 2 })]).dimensions).toEqual({ correctness: 0 });
      expect(of([scored(1, { weight: 0 }), scored(0.5, { weight: 0 })]).dimensions).toEqual({ correctness: 0.75 });
    });

    test('or the least score', () => {
      const least = { correctness: { method: 'min_score' } };
      expect(of([scored(0.75), scored(0.25, { weight: 0 }), scored(0.5)], least).dimensions).toEqual({
        correctness: 0.25,
      });
    });

    test('the score is the mean by weight of the dimensions, of weight 1 where nothing is said', () => {
      const results = [scored(1, { dimension: 'a' }), scored(0.5, { dimension: 'b' })];
      expect(of(results)).toMatchObject({ score: 0.75, dimensions: { a: 1, b: 0.5 } });
      expect(of(results, { b: { weight: 3 } }).score).toBe(0.625);
      expect(of(results, { a: { weight: 0 } }).score).toBe(0.5);
      expect(of(results, { a: { weight: 0 }, b: { weight: 0 } }).score).toBe(0.75);
    });

    test('what was skipped leaves the weights, and a dimension without results is not there', () => {
      const skipped = result({ status: 'skipped', weight: 9 });
      expect(of([skipped, scored(0.5)])).toMatchObject({ score: 0.5, dimensions: { correctness: 0.5 } });
      expect(of([{ ...skipped, dimension: 'tone' }, result()])).toMatchObject({
        score: 1,
        dimensions: { correctness: 1 },
      });
    });

    test('a better score never makes the whole worse', () => {
      const eighths = fc.integer({ min: 0, max: 8 }).map((n) => n / 8);
      fc.assert(
        fc.property(fc.array(eighths, { minLength: 1, maxLength: 5 }), fc.nat(4), (scores, at) => {
          const results = scores.map((score, index) =>
            scored(score, { weight: index, dimension: index % 2 === 0 ? 'a' : 'b' }),
          );
          const better = results.map((one, index) => (index === at ? { ...one, score: 1 } : one));
          expect(of(better).score).toBeGreaterThanOrEqual(of(results).score);
        }),
      );
    });
  });

  describe('an execution passes', () => {
    test('when no evaluator failed, where no score is asked for', () => {
      expect(of([result(), scored(0.1)]).passed).toBe(true);
      expect(of([result(), failed()]).passed).toBe(false);
      expect(of([result(), result({ status: 'skipped' })]).passed).toBe(true);
    });

    test('from the score on that is asked for, whatever failed', () => {
      const at = (score: number, min_execution_score: number) =>
        of([scored(score, { status: 'failed' })], {}, { min_execution_score }).passed;
      expect([at(0.5, 0.5), at(0.5, 0.25), at(0.5, 0.75), at(0, 0)]).toEqual([true, true, false, true]);
      expect(of([scored(0.25)], {}, { min_execution_score: 0.5 }).passed).toBe(false);
    });

    test('never when nothing was graded', () => {
      const skipped = [result({ status: 'skipped' })];
      const nothing = { passed: false, score: 0, dimensions: {}, blocking_failures: [] };
      expect(of(skipped)).toEqual(nothing);
      expect(of(skipped, {}, { min_execution_score: 0 })).toEqual(nothing);
      expect(of([])).toEqual(nothing);
    });
  });

  describe('what blocks', () => {
    const blocked = (results: readonly EvaluatorResult[], dimensions: object = {}, defaults: object = {}) => {
      const { passed, blocking_failures } = of(results, dimensions, { min_execution_score: 0, ...defaults });
      return [passed, blocking_failures];
    };

    test('a blocking evaluator that failed', () => {
      expect(blocked([failed({ blocking: true, ref: 'a@1' }), result({ blocking: true, ref: 'b@1' })])).toEqual([
        false,
        ['a@1'],
      ]);
      expect(blocked([failed({ ref: 'a@1' }), result({ blocking: true })])).toEqual([true, []]);
      expect(blocked([result({ status: 'skipped', blocking: true }), result()])).toEqual([true, []]);
    });

    test('a blocking dimension below its minimum, 1 where none is said', () => {
      const at = (score: number, members: object) =>
        blocked([scored(score)], { correctness: { blocking: true, ...members } });
      expect(at(0.5, { min: 0.5 })).toEqual([true, []]);
      expect(at(0.25, { min: 0.5 })).toEqual([false, ['dimension correctness']]);
      expect(at(0.75, {})).toEqual([false, ['dimension correctness']]);
      expect(at(1, {})).toEqual([true, []]);
      expect(blocked([scored(0)], { correctness: { blocking: false, min: 1 } })).toEqual([true, []]);
      expect(blocked([scored(0)])).toEqual([true, []]);
    });

    test('is named, and decides only where the profile lets it', () => {
      const results = [
        failed({ blocking: true, ref: 'a@1', dimension: 'x' }),
        failed({ blocking: true, ref: 'b@1', dimension: 'y' }),
      ];
      const dimensions = { x: { blocking: true }, y: { blocking: true } };
      const named = ['a@1', 'b@1', 'dimension x', 'dimension y'];
      expect(blocked(results, dimensions)).toEqual([false, named]);
      expect(blocked(results, dimensions, { fail_on_any_blocking_failure: false })).toEqual([true, named]);
    });
  });

  test('dimensions stand by name, whatever the order of the evaluators', () => {
    const results = ['b', 'a'].map((dimension) => failed({ dimension }));
    const found = of(results, { a: { blocking: true }, b: { blocking: true } });
    expect(Object.keys(found.dimensions)).toEqual(['a', 'b']);
    expect(found.blocking_failures).toEqual(['dimension a', 'dimension b']);
    const evaluators = ['b', 'a'].map((dimension) => ({ ref: 'regex@1', dimension }));
    const [group] = profileOf({ case_groups: [groupOf('g', { evaluators })] }).case_groups;
    expect(Object.keys(method.failedAggregate(group!).dimensions)).toEqual(['a', 'b']);
  });

  test('the dimensions of a group, each once, sorted; all 0 where the agent failed', () => {
    const evaluators = ['b', 'a', 'b'].map((dimension) => ({ ref: 'regex@1', dimension }));
    const [group] = profileOf({ case_groups: [groupOf('g', { evaluators })] }).case_groups;
    expect(dimensionsOf(group!)).toEqual(['a', 'b']);
    expect(method.failedAggregate(group!)).toEqual({
      passed: false,
      score: 0,
      dimensions: { a: 0, b: 0 },
      blocking_failures: [],
    });
  });
});

describe('exact scores of method 2', () => {
  /** The fractions of an aggregate over dimensions with one weight each. */
  function exactOf(
    scores: Readonly<Record<string, readonly number[]>>,
    weights: Readonly<Record<string, number>> = {},
  ) {
    const names = Object.keys(scores);
    const evaluators = names.map((dimension) => ({ ref: 'regex@1', dimension }));
    const dimensions = Object.fromEntries(names.map((name) => [name, { weight: weights[name] ?? 1 }]));
    const profile = profileOf({ case_groups: [groupOf('g', { evaluators, aggregation: { dimensions } })] });
    const results = names.flatMap((dimension) => (scores[dimension] ?? []).map((one) => scored(one, { dimension })));
    return methodOf({ method: 2 }).aggregate(profile.case_groups[0]!, profile.defaults, results);
  }

  test('are fractions where no decimal is the mean, of the score, of dimensions, or of both', () => {
    expect(exactOf({ a: [1, 0, 0] }).exact).toEqual({ dimensions: { a: '1/3' }, score: '1/3' });
    expect(exactOf({ a: [1], b: [0, 0, 1] }, { b: 3 }).exact).toEqual({ dimensions: { b: '1/3' } });
    expect(exactOf({ a: [1], b: [0], c: [0] }).exact).toEqual({ score: '1/3' });
    expect(exactOf({ a: [0.1, 0.2], b: [0.3] })).not.toHaveProperty('exact');
  });

  test('of a dimension', () => {
    const found = exactOf({ a: [1, 0, 0], b: [0.5] });
    expect(exactDimension(found, 'a')).toEqual({ n: 1n, d: 3n });
    expect(exactDimension(found, 'b')).toEqual({ n: 1n, d: 2n });
    for (const name of ['c', 'constructor', 'toString']) expect(exactDimension(found, name)).toBeNull();
  });
});
