import { describe, expect, test } from 'vitest';
import type { ComparisonPolicy } from '../../src/core/comparison.ts';
import { PairedMetrics } from '../../src/core/paired-metrics.ts';
import { pairedDifference, seedOf } from '../../src/core/statistics/index.ts';
import { ONE, type Rational, rationalOf, ZERO } from '../../src/lib/rational.ts';

const policy: ComparisonPolicy = { test: 'exact_mcnemar', alpha: 0.05, max_regressions: null };

function metrics(pairs: Record<string, readonly (readonly [Rational, Rational])[]>) {
  const of = new PairedMetrics();
  for (const [metric, rows] of Object.entries(pairs))
    for (const [baseline, candidate] of rows) of.add(metric, baseline, candidate, null);
  return of.end(policy, 'seed');
}

describe('the metrics of paired cases', () => {
  const better = [ZERO, ONE] as const;
  const worse = [ONE, ZERO] as const;

  // 2·(C(10, 0) + C(10, 1))/2¹⁰ and 2·(1 + 10 + 45)/2¹⁰.
  test.each([
    [9, 1, 22 / 1024],
    [1, 9, 22 / 1024],
    [8, 2, 112 / 1024],
    [10, 0, 2 / 1024],
  ])('%i improved and %i regressed cases by McNemar’s exact test', (improved, regressed, p_value) => {
    const rows = [...Array(improved).fill(better), ...Array(regressed).fill(worse), [ONE, ONE] as const];
    const [rate, ...others] = metrics({ pass_rate: rows });
    expect(rate).toMatchObject({ metric: 'pass_rate', test: 'exact_mcnemar', p_value, p_adjusted: p_value });
    expect(others).toEqual([]);
  });

  test('each metric draws by a seed of its own name', () => {
    const values = Array.from({ length: 24 }, (_, at) => (at % 3 === 0 ? -0.5 : 0.25) + (at % 8) / 32);
    const rows = values.map((value) => [rationalOf(0.5), rationalOf(0.5 + value / 2)] as const);
    const found = metrics({ mean_score: rows, 'dimension.a': rows });
    const expected = ['mean_score', 'dimension.a'].map((name) => {
      const options = { seed: seedOf('seed', `compare/${name}`), confidence: 0.95 };
      return pairedDifference(
        values.map((value) => 0.5 + value / 2 - 0.5),
        null,
        options,
      )?.p_value;
    });
    expect(found.map(({ p_value }) => p_value)).toEqual(expected);
    expect(new Set(expected).size).toBe(2);
  });

  test('are those that a case has in both runs, in a fixed order', () => {
    const of = new PairedMetrics();
    of.add('tag.b', ONE, ONE, null);
    of.add('mean_score', null, ONE, null);
    of.add('dimension.z', ONE, ONE, null);
    of.add('tag.a', ONE, ZERO, null);
    of.add('pass_rate', ONE, ONE, null);
    expect(of.end(policy, 'seed').map(({ metric }) => metric)).toEqual(['pass_rate', 'dimension.z', 'tag.a', 'tag.b']);
    expect(new PairedMetrics().end(policy, 'seed')).toEqual([]);
  });
});
