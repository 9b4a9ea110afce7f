import { describe, expect, it } from 'vitest';
import { meanInterval } from '../../../src/core/statistics/index.ts';

/** The interval of `passed` in `n`, as the bound sees it: a unit for each. */
function interval(passed: number, n: number, confidence: number): readonly [number, number] {
  const sums = new Float64Array(n).fill(1, 0, passed);
  return meanInterval({ sums, counts: new Float64Array(n).fill(1) }, confidence) ?? [Number.NaN, Number.NaN];
}

const CONFIDENCES = [0.95, 0.99, 0.999, 0.999999];

// Many units that nearly all passed: the characteristic function turns often before it is small.
describe('the interval of many passes', () => {
  it.each([200, 256, 500, 1_000, 3_000, 10_000])('of %i in as many is error^(1/n), by closed form', (n) => {
    for (const confidence of CONFIDENCES) {
      const bound = ((1 - confidence) / 2) ** (1 / n);
      expect(interval(n, n, confidence)[0]).toBeCloseTo(bound, 8);
      expect(interval(0, n, confidence)[1]).toBeCloseTo(1 - bound, 8);
    }
  });

  // scipy.stats.beta.ppf of SciPy 1.17: Clopper and Pearson.
  it.each([
    [999, 1_000, 0.999, 0.9900461856590492],
    [2_999, 3_000, 0.999, 0.9966721014958052],
    [9_999, 10_000, 0.99, 0.999257225887604],
    [998, 1_000, 0.999999, 0.9802800657455094],
  ])('of %i in %i at %f is Clopper and Pearson’s', (passed, n, confidence, low) => {
    expect(interval(passed, n, confidence)[0]).toBeCloseTo(low, 8);
  });

  it.each([300, 1_000, 3_000, 10_000])('falls with every failure among %i', (n) => {
    for (const confidence of CONFIDENCES) {
      const bounds = [0, 1, 2, 3].map((failed) => interval(n - failed, n, confidence));
      for (const side of [0, 1] as const) {
        const fell = bounds.map((bound) => bound[side]);
        expect(fell).toEqual([...fell].sort((a, b) => b - a));
      }
    }
  });
});
