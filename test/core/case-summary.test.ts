import { describe, expect, test } from 'vitest';
import type { Fault } from '../../src/contract/state.ts';
import type { Aggregate } from '../../src/core/aggregate.ts';
import {
  CaseSummaries,
  type CaseSummary,
  type ContentOutcome,
  summaryLine,
  summaryOf,
  summaryScore,
} from '../../src/core/case-summary.ts';
import { methodOf } from '../../src/core/method.ts';
import { outcomeOf } from '../support/verdicts.ts';

const row = (score: number | Fault, more: Partial<Aggregate> = {}, case_id = 'a'): ContentOutcome => {
  const aggregate =
    typeof score === 'number'
      ? { blocking_failures: [], dimensions: { tone: score }, passed: score === 1, score, ...more }
      : null;
  const fault = typeof score === 'number' ? null : score;
  return { ...outcomeOf(case_id, null, { aggregate, fault, cluster: 'k' }), case_content: 'digest' };
};

describe.each([methodOf({}), methodOf({ method: 2 })])('a case by method $version', (method) => {
  const of = (...rows: ContentOutcome[]) => method.summarize(rows);

  test('is the mean over its graded executions that have a result', () => {
    expect(of(row(1), row(0.5), row('agent'), row('grader'), row('infrastructure'), row('cancelled'))).toEqual({
      case_id: 'a',
      case_content: 'digest',
      cluster: 'k',
      graded: 3,
      passed: 1,
      score: 0.75,
      dimensions: { tone: 0.75 },
    });
    expect(of(row('policy'))).toMatchObject({ graded: 1, passed: 0, score: null, dimensions: {} });
    expect(of(row('grader'))).toMatchObject({ graded: 0, passed: 0, score: null, dimensions: {} });
  });

  test('has every dimension that one of them has, by name, over those that have it', () => {
    const summary = of(row(1, { dimensions: { tone: 1, format: 0.5 } }), row(0, { dimensions: { tone: 0 } }));
    expect(Object.entries(summary.dimensions)).toEqual([
      ['format', 0.5],
      ['tone', 0.5],
    ]);
  });

  test('is no case without outcomes', () => {
    expect(() => of()).toThrow(new RangeError('no outcomes make no case'));
  });
});

test('a configuration fault is graded by the first method and not by the second', () => {
  expect(
    [1, 2].map((method) => methodOf({ method: method as 1 | 2 }).summarize([row('configuration')]).graded),
  ).toEqual([1, 0]);
});

describe('exact means', () => {
  const { summarize } = methodOf({ method: 2 });

  test('are fractions where no decimal is the mean', () => {
    const thirds = summarize([row(1), row(0), row(0)]);
    expect(thirds).toMatchObject({ score: 1 / 3, exact: { score: '1/3', dimensions: { tone: '1/3' } } });
    expect(summaryScore(thirds)).toEqual({ n: 1n, d: 3n });
    expect(summarize([row(0.1), row(0.2), row(0.3)])).not.toHaveProperty('exact');
  });

  test('of the score or of a dimension alone', () => {
    const score = [0, 0, 1].map((one) => row(one, { dimensions: { tone: 1 } }));
    expect(summarize(score).exact).toEqual({ score: '1/3' });
    const tone = [0, 0, 1].map((one) => row(1, { dimensions: { tone: one, format: 1 } }));
    expect(summarize(tone).exact).toEqual({ dimensions: { tone: '1/3' } });
  });

  test('go on from fractions', () => {
    const exact = { score: '1/3', dimensions: { tone: '1/7' } };
    expect(summarize([row(0.33, { exact }), row(0, { score: 2 / 3, exact: { score: '2/3' } })])).toMatchObject({
      score: 0.5,
      exact: { dimensions: { tone: '1/14' } },
    });
  });

  test('the score of a case without one', () => {
    expect(summaryScore(summarize([row('agent')]))).toBeNull();
    expect(summaryScore(summarize([row(0.25)]))).toEqual({ n: 1n, d: 4n });
  });
});

describe('the line of a summary', () => {
  const plain: CaseSummary = {
    case_id: 'a',
    case_content: 'digest',
    cluster: null,
    graded: 3,
    passed: 1,
    score: 0.5,
    dimensions: { tone: 0.25, format: 1 },
  };

  test('holds it by position, dimensions by name', () => {
    expect(summaryLine(plain)).toBe('["a","digest",null,3,1,0.5,["format","tone"],[1,0.25]]');
    const exact = { score: '1/3', dimensions: { tone: '2/3' } };
    expect(summaryLine({ ...plain, cluster: 'k', score: 1 / 3, exact })).toBe(
      '["a","digest","k",3,1,"1/3",["format","tone"],[1,"2/3"]]',
    );
    expect(summaryLine({ ...plain, score: 1 / 3, exact: { score: '1/3' } })).toBe(
      '["a","digest",null,3,1,"1/3",["format","tone"],[1,0.25]]',
    );
    expect(summaryLine({ ...plain, score: null, dimensions: {} })).toBe('["a","digest",null,3,1,null,[],[]]');
  });

  test.each<[string, CaseSummary]>([
    ['decimal', plain],
    ['without a score', { ...plain, score: null, dimensions: {} }],
    ['of thirds', methodOf({ method: 2 }).summarize([row(1), row(0), row(0)])],
    ['with one fraction', { ...plain, dimensions: { a: 1 / 3, b: 1 }, exact: { dimensions: { a: '1/3' } } }],
  ])('gives it back: %s', (_, summary) => {
    expect(summaryOf(summaryLine(summary))).toEqual(summary);
  });
});

describe('summaries', () => {
  function handed(...rows: ContentOutcome[]) {
    const taken: string[] = [];
    const of = new CaseSummaries(
      (given) => ({ ...methodOf({}).summarize(given), case_content: `${given.length}` }),
      ({ case_id, case_content }) => void taken.push(`${case_id} ${case_content}`),
    );
    const during = rows.map((one) => {
      of.add(one);
      return taken.length;
    });
    of.end();
    of.end();
    return [taken, during];
  }

  test('are handed on as soon as the next case begins, the last at the end', () => {
    expect(handed(row(1), row(0), row(1, {}, 'b'), row(1, {}, 'c'), row(1, {}, 'c'))).toEqual([
      ['a 2', 'b 1', 'c 2'],
      [0, 0, 1, 2, 2],
    ]);
    expect(handed()).toEqual([[], []]);
  });
});
