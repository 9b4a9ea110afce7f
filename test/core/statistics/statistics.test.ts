import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  averageOverCases,
  bootstrapInterval,
  clusterCodes,
  clusteredStandardError,
  meanStandardError,
  normalQuantile,
  passAtK,
  passHatK,
  passRateInterval,
  type SeededRandom,
  seededRandom,
  seedOf,
  sum,
  wilson,
} from '../../../src/core/statistics/index.ts';
import reference from './fixtures/reference.json' with { type: 'json' };

const seed = seedOf('0123456789abcdef', 'pass_rate');
const base = { clusters: null, repeats: 1, confidence: 0.95, seed };

describe('the interval of a pass rate', () => {
  test("is Wilson's over cases for one repeat without clusters", () => {
    const values = [...new Array(45).fill(1), ...new Array(5).fill(0)];
    expect(passRateInterval({ ...base, values })).toEqual(wilson(45, 50, 0.95));
    expect(passRateInterval({ ...base, values, clusters: new Array(50).fill(null) })).toEqual(wilson(45, 50, 0.95));
  });

  test('is a bootstrap for repeats, for clusters and for scores that are fractions', () => {
    const values = [1, 1, 1, 0, 0, 1, 1, 0];
    const plain = bootstrapInterval(values, null, { seed, confidence: 0.95 });
    const clusters = ['a', 'a', 'b', 'b', 'c', 'c', null, null];
    expect(passRateInterval({ ...base, values, repeats: 3 })).toEqual(plain);
    expect(passRateInterval({ ...base, values, clusters })).toEqual(
      bootstrapInterval(values, clusterCodes(clusters, 8), { seed, confidence: 0.95 }),
    );
    expect(passRateInterval({ ...base, values: [0.5, 1, 0.25] })).toEqual(
      bootstrapInterval([0.5, 1, 0.25], null, { seed, confidence: 0.95 }),
    );
  });

  test('is null for no cases', () => {
    expect(passRateInterval({ ...base, values: [] })).toBeNull();
    expect(passRateInterval({ ...base, values: [], clusters: [], repeats: 3 })).toBeNull();
    expect(wilson(0, 0)).toBeNull();
  });

  test.each([0, 1, 0.5])(
    'does not collapse when every unit is %f, resampled or by the normal approximation',
    (value) => {
      const all = (n: number) => Float64Array.from({ length: n }, () => value);
      expect(passRateInterval({ ...base, values: all(20), repeats: 2 })).toEqual(wilson(20 * value, 20));
      expect(
        passRateInterval({
          ...base,
          values: all(20),
          clusters: Int32Array.from({ length: 20 }, (_, index) => index % 4),
        }),
      ).toEqual(wilson(4 * value, 4));
      expect(passRateInterval({ ...base, values: all(30_000), repeats: 2 })).toEqual(wilson(30_000 * value, 30_000));
      expect(passRateInterval({ ...base, values: all(1), repeats: 5 })).toEqual(wilson(value, 1));
    },
  );

  test('counts a single cluster as one unit', () => {
    expect(passRateInterval({ ...base, values: [1, 0, 1, 1], clusters: ['a', 'a', 'a', 'a'] })).toEqual(
      wilson(0.75, 1),
    );
  });

  test('does not depend on the order of cases', () => {
    const values = [0, 0.5, 1, 1, 0.25, 0.75, 1];
    const clusters = ['a', 'b', 'b', null, 'c', 'c', 'a'];
    const options = { ...base, repeats: 4 };
    expect(passRateInterval({ ...options, values: values.toReversed() })).toEqual(
      passRateInterval({ ...options, values }),
    );
    expect(passRateInterval({ ...options, values: values.toReversed(), clusters: clusters.toReversed() })).toEqual(
      passRateInterval({ ...options, values, clusters }),
    );
  });

  test('takes a million cases in clusters, and names, codes and nulls mean the same', () => {
    const n = 1_000_000;
    const values = Float64Array.from({ length: n }, (_, index) => (index % 7 === 0 ? 0 : 1));
    const codes = Int32Array.from({ length: n }, (_, index) => (index % 10 === 0 ? -1 : Math.floor(index / 40)));
    const interval = passRateInterval({ ...base, values, clusters: codes });
    expect(interval?.map((bound) => bound.toFixed(12))).toEqual(reference.million.map((bound) => bound.toFixed(12)));
    const small = { ...base, values: values.subarray(0, 100) };
    const names = Array.from(codes.subarray(0, 100), (code) => (code < 0 ? null : `cluster ${code}`));
    expect(passRateInterval({ ...small, clusters: names })).toEqual(
      passRateInterval({ ...small, clusters: codes.subarray(0, 100) }),
    );
  });

  test('stands in [0, 1] around the mean, and higher confidence is never narrower', () => {
    const values = fc.array(fc.constantFrom(0, 0.25, 0.5, 1), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(values, (row) => {
        const options = { ...base, values: row, repeats: 4 };
        const [low, high] = passRateInterval(options)!;
        const [lower, higher] = passRateInterval({ ...options, confidence: 0.99 })!;
        const mean = sum(row) / row.length;
        return (
          0 <= lower && lower <= low && low <= mean + 1e-12 && mean - 1e-12 <= high && high <= higher && higher <= 1
        );
      }),
      { numRuns: 60, seed: 1 },
    );
  });

  test('has the same bits on every machine', () => {
    const values = Float64Array.from({ length: 300 }, (_, index) => ((index * 7919) % 5) / 4);
    const clusters = Int32Array.from({ length: 300 }, (_, index) => (index * 31) % 40);
    expect(passRateInterval({ ...base, values, clusters, repeats: 4 })).toEqual([
      0.39477135213521364, 0.6105654860788091,
    ]);
    expect(passRateInterval({ ...base, values, repeats: 4, confidence: 0.9 })).toEqual([0.4666666666666667, 0.5325]);
  });

  test.each([
    [{ values: [1, 2] }, 'the value of case 1 is 2; it must lie in [0, 1]'],
    [{ values: [Number.NaN] }, 'the value of case 0 is NaN; it must lie in [0, 1]'],
    [{ values: [1, 0], clusters: ['a'] }, '1 clusters stand for 2 values'],
    [{ values: [1, 0], confidence: 1 }, 'a confidence must lie between 0 and 1, not 1'],
    [{ values: [1, 0], repeats: 2, confidence: 0 }, 'a confidence must lie between 0 and 1, not 0'],
    [{ values: [1, 0], repeats: 2, seed: 'xyz' }, 'a seed must be at least 24 lower hex digits'],
  ])('refuses %o', (change, message) => {
    expect(() => passRateInterval({ ...base, ...change })).toThrow(new RangeError(message));
  });
});

describe('coverage', () => {
  test("Wilson's 95 % interval holds the true rate in 95 % of samples, on average over rates", () => {
    const random = seededRandom(seedOf('coverage', 'wilson'));
    const covered = simulate(4000, () => {
      const rate = 0.05 + 0.9 * uniform(random);
      const passed = count(40, () => uniform(random) < rate);
      return inside(wilson(passed, 40), rate);
    });
    // Binomial error of 4,000 samples: 4 standard errors are 0.0138.
    expect(Math.abs(covered - 0.95)).toBeLessThan(0.0138 + 0.005);
  });

  test('the clustered bootstrap covers far better than ignoring clusters does', () => {
    const random = seededRandom(seedOf('coverage', 'clustered'));
    const clusters = Int32Array.from({ length: 60 * 5 }, (_, index) => Math.floor(index / 5));
    let naive = 0;
    const covered = simulate(400, (sample) => {
      // Every cluster has its own rate, 0.4 or 1; the true mean is 0.7.
      const rates = Array.from({ length: 60 }, () => (uniform(random) < 0.5 ? 0.4 : 1));
      const values = Float64Array.from(clusters, (code) => (uniform(random) < rates[code]! ? 1 : 0));
      naive += inside(wilson(sum(values), values.length), 0.7) ? 1 : 0;
      const interval = bootstrapInterval(values, clusterCodes(clusters, 300), {
        seed: seedOf('coverage', `sample ${sample}`),
        confidence: 0.95,
        resamples: 600,
      });
      return inside(interval, 0.7);
    });
    // 4 standard errors of 400 samples are 0.044; the percentile bootstrap on 60 units runs about 0.01 under its level.
    expect(covered).toBeGreaterThan(0.95 - 0.044 - 0.01);
    expect(covered).toBeLessThan(0.95 + 0.044);
    expect(naive / 400).toBeLessThan(covered - 0.05);
  });
});

describe('random numbers', () => {
  test('filling an array gives what single draws give', () => {
    const filled = new Int32Array(50);
    seededRandom(seed).fillBelow(filled, 20_000);
    const single = seededRandom(seed);
    expect([...filled]).toEqual(Array.from({ length: 50 }, () => single.below(20_000)));
  });

  test('draws below a bound are uniform by a chi-square test', () => {
    const counts = new Float64Array(100);
    const draws = new Int32Array(100_000);
    seededRandom(seed).fillBelow(draws, 100);
    for (const draw of draws) counts[draw] = counts[draw]! + 1;
    const square = counts.reduce((total, seen) => total + (seen - 1000) ** 2 / 1000, 0);
    // 99 degrees of freedom: the 1e-6 quantiles are 47.0 and 178.6.
    expect(square).toBeGreaterThan(47);
    expect(square).toBeLessThan(178.6);
  });

  test('another statistic or another snapshot has another seed', () => {
    expect(new Set([seedOf('a', 'b'), seedOf('a', 'c'), seedOf('b', 'b'), seedOf('a\nb', '')]).size).toBe(4);
  });
});

describe('pass@k and pass^k', () => {
  test('are null with fewer tries than k, and such cases leave the average', () => {
    expect([passAtK(2, 1, 3), passHatK(2, 1, 3)]).toEqual([null, null]);
    const average = averageOverCases(passHatK, { tries: [3, 2, 3, 3], passed: [3, 2, 0, 2] }, 3);
    expect(average).toEqual({ value: 1 / 3, cases: 3, per_case: Float64Array.of(1, 0, 0) });
    expect(averageOverCases(passAtK, { tries: [1], passed: [1] }, 2)).toEqual({
      value: null,
      cases: 0,
      per_case: Float64Array.of(),
    });
  });

  test('equal the share of all draws of k tries', () => {
    const pairs = [
      [1, 1],
      [1, 0],
      [1, 0],
      [1, 0],
      [1, 0],
      [0, 0],
    ];
    expect(passAtK(4, 2, 2)).toBeCloseTo(pairs.filter((pair) => pair.includes(1)).length / 6, 15);
    expect(passHatK(4, 2, 2)).toBeCloseTo(pairs.filter((pair) => !pair.includes(0)).length / 6, 15);
  });

  test('are exact for many tries, where binomial coefficients overflow', () => {
    expect(passHatK(1_000_000, 999_999, 1000)).toBeCloseTo(0.999, 12);
    expect(passAtK(1_000_000, 1, 1000)).toBeCloseTo(0.001, 12);
  });

  test.each([
    [1, 2, 1, '2 passes of 1 tries are no counts'],
    [3, -1, 1, '-1 passes of 3 tries are no counts'],
    [3, 1, 0, 'k must be a positive integer, not 0'],
    [3, 1, 1.5, 'k must be a positive integer, not 1.5'],
  ])('refuse n = %d, c = %d, k = %d', (n, c, k, message) => {
    expect(() => passAtK(n, c, k)).toThrow(new RangeError(message));
    expect(() => passHatK(n, c, k)).toThrow(new RangeError(message));
  });
});

describe('means and standard errors', () => {
  test('are unknown, not zero, where the data do not say them', () => {
    expect(meanStandardError([0.5])).toEqual({ mean: 0.5, standard_error: null });
    expect(clusteredStandardError([0, 1], Int32Array.of(0, 0), 1)).toEqual({ mean: 0.5, standard_error: null });
    expect(() => meanStandardError([])).toThrow(RangeError);
  });

  test('clustered by single cases equal the plain ones', () => {
    const values = [0, 0.25, 1, 1, 0.5];
    const clustered = clusteredStandardError(values, Int32Array.of(0, 1, 2, 3, 4), 5);
    expect(clustered.standard_error).toBeCloseTo(meanStandardError(values).standard_error ?? -1, 14);
  });

  test('sums keep what plain addition loses', () => {
    expect(sum([1, 1e100, 1, -1e100])).toBe(2);
    expect(sum(new Float64Array(1_000_000).fill(0.1))).toBe(100_000);
  });

  test.each([0, 1, -1, Number.NaN])('there is no normal quantile of %d', (probability) => {
    expect(() => normalQuantile(probability)).toThrow(
      new RangeError(`a probability must lie between 0 and 1, not ${probability}`),
    );
  });
});

function uniform(random: SeededRandom): number {
  return random.uint32() / 2 ** 32;
}

function count(n: number, hit: () => boolean): number {
  let hits = 0;
  for (let index = 0; index < n; index += 1) if (hit()) hits += 1;
  return hits;
}

function simulate(samples: number, covers: (sample: number) => boolean): number {
  return Array.from({ length: samples }, (_, sample) => covers(sample)).filter(Boolean).length / samples;
}

function inside(interval: readonly [number, number] | null, truth: number): boolean {
  return interval !== null && interval[0] <= truth && truth <= interval[1];
}
