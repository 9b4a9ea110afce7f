import { describe, expect, test } from 'vitest';
import { compared, summaryOf } from '../support/comparisons.ts';

describe('a metric that paired cases have in one run only', () => {
  const of = (id: string, dimensions: Record<string, number>, more = {}) => summaryOf(id, 1, { dimensions, ...more });

  test('is named with the cases of each run, by name, and not compared on them', () => {
    const { metrics, one_sided } = compared(2, [
      [of('a', { tone: 1, old: 1 }), of('a', { tone: 1, new: 1 })],
      [of('b', { tone: 1, old: 1 }), of('b', { tone: 0, new: 1 })],
      [of('c', { old: 1 }), of('c', { tone: 1, mixed: 1 })],
      [of('d', { mixed: 1 }), of('d', {})],
      [of('e', { gone: 1 }), null],
    ]);
    expect(one_sided).toEqual([
      { metric: 'dimension.mixed', only_baseline: 1, only_candidate: 1 },
      { metric: 'dimension.new', only_baseline: 0, only_candidate: 2 },
      { metric: 'dimension.old', only_baseline: 3, only_candidate: 0 },
      { metric: 'dimension.tone', only_baseline: 0, only_candidate: 1 },
    ]);
    expect(metrics.find(({ metric }) => metric === 'dimension.tone')?.cases).toBe(2);
  });

  test('is not told of where both have every value, or neither has', () => {
    const found = compared(2, [[of('a', { tone: 1 }, { score: null }), of('a', { tone: 1 }, { score: null })]]);
    expect(found).not.toHaveProperty('one_sided');
  });
});
