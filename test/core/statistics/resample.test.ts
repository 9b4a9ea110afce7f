import { describe, expect, test } from 'vitest';
import { bootstrapInterval } from '../../../src/core/statistics/bootstrap-interval.ts';
import { clusterCodes } from '../../../src/core/statistics/clusters.ts';
import { exactMcNemar } from '../../../src/core/statistics/mcnemar.ts';
import { twoSidedQuantile } from '../../../src/core/statistics/normal-quantile.ts';
import { minimalDetectableEffect, pairedDifference } from '../../../src/core/statistics/paired-difference.ts';
import { passRateInterval } from '../../../src/core/statistics/pass-rate-interval.ts';
import { percentiles, resampledMeans } from '../../../src/core/statistics/resample.ts';
import { seededRandom, seedOf } from '../../../src/core/statistics/seeded-random.ts';
import { signFlipP } from '../../../src/core/statistics/sign-flip.ts';
import { meanStandardError } from '../../../src/core/statistics/standard-error.ts';
import { wilson } from '../../../src/core/statistics/wilson.ts';

const seed = seedOf('0123456789abcdef', 'pass_rate');
const options = { seed, confidence: 0.9, resamples: 50 };
const VALUES = [0.25, 1, 0, 0.5, 1];
/** Sums with sizes by hand: a and b tie in the sum. */
const NAMES = ['a', 'b', 'a', null, 'b'];

/** The means of resamples once more: units in order of sum and size, each drawn by `below`. */
function drawn(units: readonly (readonly [sum: number, size: number])[], resamples: number): number[] {
  const random = seededRandom(seed);
  const means = Array.from({ length: resamples }, () => {
    const picks = units.map(() => units[random.below(units.length)] ?? [0, 0]);
    return picks.reduce((sum, [value]) => sum + value, 0) / picks.reduce((sum, [, size]) => sum + size, 0);
  });
  return means.sort((a, b) => a - b);
}

describe('means of resamples', () => {
  test('draw as many values as there are, in an order that values have by themselves', () => {
    const expected = drawn(
      [
        [0, 1],
        [0.25, 1],
        [0.5, 1],
        [1, 1],
        [1, 1],
      ],
      50,
    );
    expect([...resampledMeans(VALUES, null, options)]).toEqual(expected);
    expect([...resampledMeans(VALUES.toReversed(), null, options)]).toEqual(expected);
    expect(resampledMeans([0, 1], null, { seed, confidence: 0.9 })).toHaveLength(10_000);
  });

  test('draw whole clusters, those of one sum by their size', () => {
    const values = [0.25, 1, 0, 0.5, 1, 0.25];
    const of = (clusters: readonly (string | null)[], turned = values) => [
      ...resampledMeans(turned, clusterCodes(clusters, turned.length), options),
    ];
    // a: 0.25 of 2; b: 2 of 2; 0.5 alone; 0.25 alone.
    const clusters = [...NAMES, null];
    const expected = drawn(
      [
        [0.25, 1],
        [0.25, 2],
        [0.5, 1],
        [2, 2],
      ],
      50,
    );
    expect(of(clusters)).toEqual(expected);
    expect(of(clusters.toReversed(), values.toReversed())).toEqual(expected);
  });

  test('is the mean alone where every resample would give it', () => {
    expect([...resampledMeans([0.5, 0.5, 0.5], null, options)]).toEqual([0.5]);
    expect([...resampledMeans([1, 0, 1], clusterCodes(['a', 'a', 'a'], 3), options)]).toEqual([2 / 3]);
    // Equal sums of unequal sizes are no equal units.
    const uneven = resampledMeans([0, 0, 0], clusterCodes(['a', 'a', null], 3), options);
    expect([uneven.length, new Set(uneven).size]).toEqual([50, 1]);
  });
});

describe('percentiles', () => {
  test('leave the same share on either side, between neighbours in proportion', () => {
    const sorted = Float64Array.of(0, 1, 2, 4, 8);
    expect(percentiles(sorted, 0.5)).toEqual([1, 4]);
    expect(percentiles(sorted, 0.8)).toEqual([expect.closeTo(0.4, 14), expect.closeTo(6.4, 14)]);
    expect(percentiles(Float64Array.of(3), 0.9)).toEqual([3, 3]);
  });

  test.each([0, 1, Number.NaN])('there is no confidence %d', (confidence) => {
    expect(() => percentiles(Float64Array.of(1), confidence)).toThrow(
      new RangeError(`a confidence must lie between 0 and 1, not ${confidence}`),
    );
  });
});

describe('the bootstrap interval', () => {
  const few = { seed, confidence: 0.95, resamples: 2 };
  const zeros = (n: number, ones: number) => Float64Array.from({ length: n }, (_, at) => (at < ones ? 1 : 0));

  test('is that of the resamples', () => {
    expect(bootstrapInterval(VALUES, null, options)).toEqual(
      percentiles(
        Float64Array.from(
          drawn(
            [
              [0, 1],
              [0.25, 1],
              [0.5, 1],
              [1, 1],
              [1, 1],
            ],
            50,
          ),
        ),
        0.9,
      ),
    );
    expect(bootstrapInterval([], null, options)).toBeNull();
  });

  test('is Wilson’s on the units where all of them agree', () => {
    expect(bootstrapInterval([0.5, 0.5], null, options)).toEqual(wilson(1, 2, 0.9));
    expect(bootstrapInterval([1, 1, 1, 1], clusterCodes(['a', 'a', 'b', 'b'], 4), options)).toEqual(wilson(2, 2, 0.9));
    expect(bootstrapInterval(zeros(20_001, 0), null, few)).toEqual(wilson(0, 20_001));
  });

  test('of more than 20,000 units is that of the normal approximation, within [0, 1]', () => {
    const values = zeros(20_001, 5_000);
    const { mean, standard_error } = meanStandardError(values);
    const half = twoSidedQuantile(0.95) * (standard_error ?? 0);
    expect(bootstrapInterval(values, null, few)).toEqual([mean - half, mean + half]);
    const alone = Int32Array.from({ length: 20_001 }, () => -1);
    alone[0] = 1;
    const [low, high] = bootstrapInterval(values, clusterCodes(alone, 20_001), few) ?? [0, 0];
    expect([low, high]).toEqual([expect.closeTo(mean - half, 12), expect.closeTo(mean + half, 12)]);
    expect(bootstrapInterval(zeros(20_001, 20_000), null, few)?.[1]).toBe(1);
    expect(bootstrapInterval(zeros(20_001, 1), null, few)?.[0]).toBe(0);
    // Two resamples of 20,000 lie closer to each other.
    const [from, to] = bootstrapInterval(zeros(20_000, 5_000), null, few) ?? [0, 0];
    expect(Math.abs(to - from - 2 * half)).toBeGreaterThan(1e-6);
  });
});

describe('the interval of a pass rate', () => {
  const given = { clusters: null, repeats: 1, confidence: 0.9, seed };

  test('is Wilson’s for single results of independent cases only', () => {
    const values = [1, 0, 1, 1];
    const resampled = bootstrapInterval(values, null, { seed, confidence: 0.9 });
    expect(passRateInterval({ ...given, values })).toEqual(wilson(3, 4, 0.9));
    expect(passRateInterval({ ...given, values, clusters: [null, null, null, null] })).toEqual(wilson(3, 4, 0.9));
    expect(passRateInterval({ ...given, values, repeats: 2 })).toEqual(resampled);
    const clusters = ['a', 'a', 'b', null];
    expect(passRateInterval({ ...given, values, clusters })).toEqual(
      bootstrapInterval(values, clusterCodes(clusters, 4), { seed, confidence: 0.9 }),
    );
    for (const at of [0, 3])
      expect(passRateInterval({ ...given, values: values.with(at, 0.5) })).toEqual(
        bootstrapInterval(values.with(at, 0.5), null, { seed, confidence: 0.9 }),
      );
    expect(passRateInterval({ ...given, values: [] })).toBeNull();
  });

  test.each([-0.1, 1.1, Number.NaN])('takes no value %d', (value) => {
    expect(() => passRateInterval({ ...given, values: [0, value] })).toThrow(
      new RangeError(`the value of case 1 is ${value}; it must lie in [0, 1]`),
    );
    expect(passRateInterval({ ...given, values: [0, 1], repeats: 2 })).not.toBeNull();
  });
});

describe('a paired difference', () => {
  const paired = (differences: readonly number[], clusters: readonly (string | null)[] | null = null) =>
    pairedDifference(differences, clusters, options);

  test('has the percentile interval and inverts it, never below the sign-flip test', () => {
    const differences = [1, 0.5, 0.25, -0.25, 1, 0.5, 0.75, 1];
    const means = resampledMeans(differences, null, options);
    const found = paired(differences);
    expect(found).toMatchObject({ units: 8, mean: 0.59375, interval: percentiles(means, 0.9) });
    const flipped = signFlipP(differences, 'unused');
    const beyond = [...means].filter((value) => value <= 0).length;
    expect(found?.p_value).toBe(Math.max(flipped, (2 * (1 + beyond)) / 51));
    const { standard_error } = meanStandardError(differences);
    expect(found?.minimal_detectable_effect).toBe(minimalDetectableEffect(standard_error ?? 0, 1 - 0.9, 0.8));
    const opposite = paired(differences.map((value) => -value));
    expect([opposite?.mean, opposite?.p_value]).toEqual([-0.59375, expect.closeTo(found?.p_value ?? 0, 1)]);
  });

  test('the bootstrap counts the resamples at or beyond 0 on its own side', () => {
    // So many that no sign-flip test stands beside it.
    const differences = Array.from({ length: 1_001 }, (_, at) => (at % 2 ? 1 : -1) + (at % 40 === 0 ? 0.9 : 0) / 1);
    const within = differences.map((value) => Math.min(1, Math.max(-1, value)));
    const ends = (sign: number) => {
      const values = within.map((value) => sign * value);
      const means = resampledMeans(values, null, options);
      const centre = values.reduce((sum, value) => sum + value, 0);
      const beyond = [...means].filter((value) => (centre >= 0 ? value <= 0 : value >= 0)).length;
      return [pairedDifference(values, null, options)?.p_value, Math.min(1, (2 * (1 + beyond)) / 51)];
    };
    for (const sign of [1, -1]) {
      const [p, expected] = ends(sign);
      expect(p).toBe(expected);
      expect(p).toBeGreaterThan(2 / 51);
      expect(p).toBeLessThan(1);
    }
  });

  test('of clusters flips whole clusters', () => {
    const clusters = ['a', 'a', 'b', 'b', 'c', null, null, null];
    const found = paired([1, 0.5, 0.25, 0.25, 1, 0.5, 0.75, 1], clusters);
    expect(found?.units).toBe(6);
    expect(found?.p_value).toBe(Math.max(2 / 51, signFlipP([1.5, 0.5, 1, 0.5, 0.75, 1], 'unused')));
    expect(found?.minimal_detectable_effect).toBeGreaterThan(0);
  });

  test('of more than 15 units flips by a seed of its own', () => {
    const differences = Array.from({ length: 16 }, (_, at) => (at % 5 === 0 ? -0.5 : 0.25));
    expect(paired(differences)?.p_value).toBe(
      Math.max(
        signFlipP(differences, `${seed.slice(24)}${seed}`),
        (2 * (1 + [...resampledMeans(differences, null, options)].filter((value) => value <= 0).length)) / 51,
      ),
    );
  });

  test('of units that agree leaves room for what so many could have missed, within [−1, 1]', () => {
    const square = twoSidedQuantile(0.9) ** 2;
    expect(paired([0, 0, 0])).toMatchObject({
      interval: [-square / (3 + square), square / (3 + square)],
      p_value: 1,
      minimal_detectable_effect: 0,
    });
    expect(paired([0.5, 0.5])?.interval).toEqual([0.5 - square / (2 + square), 1]);
    expect(paired([-0.5, -0.5])).toMatchObject({ interval: [-1, -0.5 + square / (2 + square)], p_value: 0.5 });
    expect(paired([0.5])).toMatchObject({ units: 1, p_value: 1, minimal_detectable_effect: null });
    expect(paired([])).toBeNull();
  });

  test('of more than 20,000 units is that of the normal approximation', () => {
    const differences = Array.from({ length: 20_001 }, (_, at) => (at % 100 === 0 ? 1 : 0) - (at % 110 === 0 ? 1 : 0));
    const found = paired(differences);
    const { mean, standard_error } = meanStandardError(differences);
    const half = twoSidedQuantile(0.9) * (standard_error ?? 0);
    expect(found?.interval).toEqual([mean - half, mean + half]);
    expect(found?.p_value).toBeGreaterThan(0.05);
    expect(found?.p_value).toBeLessThan(0.5);
    expect(paired(new Array(20_001).fill(0))).toMatchObject({ p_value: 1, mean: 0 });
    expect(paired(new Array(20_001).fill(0.25))?.p_value).toBe(2 ** -1074);
  });

  test.each([1.01, -1.01, Number.NaN])('there is none of %d', (difference) => {
    expect(() => paired([0, difference])).toThrow(
      new RangeError(`the difference of case 1 is ${difference}; it must lie in [-1, 1]`),
    );
    expect(paired([1, -1])?.mean).toBe(0);
  });
});

test('exact McNemar of a million differing cases neither overflows nor vanishes', () => {
  expect(exactMcNemar(500_000, 500_000)).toBe(1);
  expect(exactMcNemar(499_000, 501_000)).toBeCloseTo(0.04559, 4);
  expect(exactMcNemar(0, 1_000_000)).toBe(0);
});
