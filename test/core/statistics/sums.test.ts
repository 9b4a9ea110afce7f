import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clusterCodes } from '../../../src/core/statistics/clusters.ts';
import { clusteredStandardError, meanStandardError } from '../../../src/core/statistics/standard-error.ts';
import { mean, sum } from '../../../src/core/statistics/sum.ts';

describe('the sum', () => {
  test('keeps what plain addition loses, whichever of the two is larger', () => {
    expect(sum([1, 1e100, 1, -1e100])).toBe(2);
    expect(sum([1e16, 1, 1, -1e16])).toBe(2);
    expect(sum([1, 1e16, -1e16])).toBe(1);
    expect(sum([-1e16, 1, 1e16])).toBe(1);
    expect(sum([1, -1e16, 1e16])).toBe(1);
    expect(sum(new Array(10).fill(0.1))).toBe(1);
    expect(sum([])).toBe(0);
  });

  test('of integers is exact, and the mean divides by how many there are', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1, maxLength: 20 }), (values) => {
        const exact = values.reduce((total, value) => total + BigInt(value), 0n);
        expect(BigInt(sum(values))).toBe(exact);
        expect(mean(Float64Array.from(values))).toBe(Number(exact) / values.length);
      }),
    );
    expect(mean([])).toBeNaN();
  });
});

describe('the standard error of a mean', () => {
  test('by hand: 0, 0, 1, 1 has variance ⅓', () => {
    expect(meanStandardError([0, 0, 1, 1])).toEqual({ mean: 0.5, standard_error: Math.sqrt(1 / 3 / 4) });
    expect(meanStandardError([0, 1])).toEqual({ mean: 0.5, standard_error: 0.5 });
    expect(meanStandardError([0.25, 0.25, 0.25])).toEqual({ mean: 0.25, standard_error: 0 });
    expect(meanStandardError([0, 3, 6])).toEqual({ mean: 3, standard_error: Math.sqrt(3) });
  });

  test('is unknown of one value, and there is no mean of none', () => {
    expect(meanStandardError([0.5])).toEqual({ mean: 0.5, standard_error: null });
    expect(() => meanStandardError([])).toThrow(new RangeError('no values have no mean'));
  });
});

describe('clustered by code', () => {
  test('by hand: deviations add up within a cluster', () => {
    const three = clusteredStandardError([0, 0, 1, 1, 4], Int32Array.of(0, 0, 1, 1, 2), 3);
    // Mean 1.2; the clusters deviate by −2.4, −0.4 and 2.8.
    expect(three.mean).toBe(1.2);
    expect(three.standard_error).toBeCloseTo(Math.sqrt((3 / 2) * (2.4 ** 2 + 0.4 ** 2 + 2.8 ** 2)) / 5, 14);
    expect(clusteredStandardError([0, 1], Int32Array.of(0, 1), 2)).toEqual({ mean: 0.5, standard_error: 0.5 });
  });

  test('is unknown of one cluster, and refuses what does not fit', () => {
    expect(clusteredStandardError([0, 1], Int32Array.of(0, 0), 1)).toEqual({ mean: 0.5, standard_error: null });
    expect(() => clusteredStandardError([], Int32Array.of(), 0)).toThrow(new RangeError('no values have no mean'));
    expect(() => clusteredStandardError([1], Int32Array.of(0, 1), 2)).toThrow(
      new RangeError('2 cluster codes stand for 1 values'),
    );
  });
});

describe('codes of clusters', () => {
  test('by first appearance, a case without cluster by itself', () => {
    expect(clusterCodes(['b', null, 'a', 'b', null, 'a'], 6)).toEqual({
      codes: Int32Array.of(0, 1, 2, 0, 3, 2),
      count: 4,
    });
    expect(clusterCodes(Int32Array.of(7, -1, 0, 7, -1), 5)).toEqual({ codes: Int32Array.of(0, 1, 2, 0, 3), count: 4 });
    expect(clusterCodes(Int32Array.of(0, 0), 2)).toEqual({ codes: Int32Array.of(0, 0), count: 1 });
    expect(clusterCodes(['-1', '-1'], 2)).toEqual({ codes: Int32Array.of(0, 0), count: 1 });
  });

  test('none where no case names one', () => {
    expect(clusterCodes(null, 3)).toBeNull();
    expect(clusterCodes([null, null], 2)).toBeNull();
    expect(clusterCodes(Int32Array.of(-1, -2), 2)).toBeNull();
  });

  test('one for each value', () => {
    expect(() => clusterCodes(['a'], 2)).toThrow(new RangeError('1 clusters stand for 2 values'));
  });
});
