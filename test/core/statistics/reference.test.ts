import { describe, expect, test } from 'vitest';
import {
  bootstrapInterval,
  clusterCodes,
  clusteredStandardError,
  exactMcNemar,
  holm,
  krippendorffAlpha,
  MixtureSequence,
  meanStandardError,
  minimalDetectableEffect,
  normalQuantile,
  normalTail,
  pairedDifference,
  passAtK,
  passHatK,
  seededRandom,
  seedOf,
  wilson,
} from '../../../src/core/statistics/index.ts';
import reference from './fixtures/reference.json' with { type: 'json' };

/** Largest error of a closed form, relative above 1 and absolute below. */
function error(actual: number, expected: number): number {
  return Math.abs(actual - expected) / Math.max(1, Math.abs(expected));
}

describe('statistics agree with SciPy, statsmodels and exact fractions', () => {
  test('the normal quantile agrees to 1e-13 of its value from 1e-300 to 1 − 1e-12', () => {
    const errors = reference.normal_quantile.map(([probability = 0, quantile = 0]) => {
      const actual = normalQuantile(probability);
      return quantile === 0 ? Math.abs(actual) : Math.abs(actual / quantile - 1);
    });
    expect(errors).toHaveLength(32);
    expect(Math.max(...errors)).toBeLessThan(1e-13);
  });

  test("Wilson's interval agrees to 1e-12", () => {
    const errors = reference.wilson.flatMap(([passed = 0, n = 0, confidence = 0, low = 0, high = 0]) => {
      const interval = wilson(passed, n, confidence);
      return interval === null ? [1] : [error(interval[0], low), error(interval[1], high)];
    });
    expect(errors).toHaveLength(132);
    expect(Math.max(...errors)).toBeLessThan(1e-12);
  });

  test('means and their standard errors, plain and clustered, agree to 1e-12', () => {
    expect(reference.standard_error).toHaveLength(4);
    for (const row of reference.standard_error) {
      const coded = clusterCodes(Int32Array.from(row.clusters), row.values.length);
      const plain = meanStandardError(row.values);
      const clustered = clusteredStandardError(row.values, coded!.codes, coded!.count);
      expect(error(plain.mean, row.mean)).toBeLessThan(1e-12);
      expect(error(plain.standard_error ?? -1, row.standard_error)).toBeLessThan(1e-12);
      expect(error(clustered.standard_error ?? -1, row.clustered_standard_error)).toBeLessThan(1e-12);
    }
  });

  test('pass@k and pass^k agree with exact fractions to 1e-12', () => {
    const errors = reference.pass_at_k.flatMap(([n = 0, c = 0, k = 0, at = 0, hat = 0]) => [
      error(passAtK(n, c, k) ?? -1, at),
      error(passHatK(n, c, k) ?? -1, hat),
    ]);
    expect(errors).toHaveLength(20);
    expect(Math.max(...errors)).toBeLessThan(1e-12);
  });

  test('the seed and the random numbers are bit for bit those of an independent sfc32', () => {
    const { seed, uint32 } = reference.random;
    const random = seededRandom(seed);
    expect(seedOf('00ff', 'pass_rate')).toBe(seed);
    expect(uint32.map(() => random.uint32())).toEqual(uint32);
  });

  test('the bootstrap interval is that of an independent implementation on the same random numbers', () => {
    expect(reference.bootstrap).toHaveLength(4);
    for (const { values, clusters, seed, confidence, low, high } of reference.bootstrap) {
      const interval = bootstrapInterval(values, clusterCodes(clusters, values.length), { seed, confidence });
      expect(error(interval?.[0] ?? -1, low)).toBeLessThan(1e-12);
      expect(error(interval?.[1] ?? -1, high)).toBeLessThan(1e-12);
    }
  });

  test('exact McNemar agrees to 1e-9 of its value, up to a million differing cases', () => {
    const errors = reference.mcnemar.map(([improved = 0, regressed = 0, p = 0]) =>
      Math.abs(exactMcNemar(improved, regressed) / p - 1),
    );
    expect(errors).toHaveLength(15);
    expect(Math.max(...errors)).toBeLessThan(1e-9);
  });

  test("Holm's adjusted p-values agree to 1e-12, and a test that was not made counts as none", () => {
    for (const [p = [], adjusted = []] of reference.holm)
      holm(p).forEach((value, index) => void expect(error(value ?? -1, adjusted[index] ?? -2)).toBeLessThan(1e-12));
    expect(holm([0.01, null, 0.04])).toEqual([0.02, null, 0.04]);
  });

  test('the tail of the normal distribution agrees to 1e-10 of its value', () => {
    const errors = reference.normal_tail.map(([z = 0, tail = 0]) => Math.abs(normalTail(z) / tail - 1));
    expect(errors).toHaveLength(16);
    expect(Math.max(...errors)).toBeLessThan(1e-10);
  });

  test('the minimal detectable effect agrees to 1e-12', () => {
    for (const [standardError = 0, alpha = 0, power = 0, effect = 0] of reference.minimal_detectable_effect)
      expect(error(minimalDetectableEffect(standardError, alpha, power), effect)).toBeLessThan(1e-12);
  });

  test('the paired difference is that of an independent implementation on the same random numbers', () => {
    expect(reference.paired_difference).toHaveLength(2);
    for (const { differences, clusters, seed, mean, low, high, p } of reference.paired_difference) {
      const found = pairedDifference(differences, clusters, { seed, confidence: 0.95 });
      expect(error(found?.mean ?? -9, mean)).toBeLessThan(1e-12);
      expect(error(found?.interval[0] ?? -9, low)).toBeLessThan(1e-12);
      expect(error(found?.interval[1] ?? -9, high)).toBeLessThan(1e-12);
      expect(error(found?.p_value ?? -9, p)).toBeLessThan(1e-12);
    }
  });

  test('the always-valid interval agrees to 1e-9', () => {
    const errors = reference.mixture_sequence.flatMap(([n = 0, total = 0, confidence = 0, low = 0, high = 0]) => {
      const sequence = new MixtureSequence(confidence);
      let left = total;
      for (let index = 0; index < n; index += 1) {
        const value = Math.min(1, left);
        sequence.add(value);
        left -= value;
      }
      const [from, to] = sequence.interval();
      return [error(from, low), error(to, high)];
    });
    expect(errors).toHaveLength(42);
    expect(Math.max(...errors)).toBeLessThan(1e-9);
  });

  test("Krippendorff's alpha agrees to 1e-9, with missing ratings too; without a second rating it is not defined", () => {
    expect(reference.krippendorff_alpha).toHaveLength(3);
    for (const { units, interval, nominal } of reference.krippendorff_alpha) {
      expect(error(krippendorffAlpha(units, 'interval') ?? -9, interval)).toBeLessThan(1e-9);
      expect(error(krippendorffAlpha(units, 'nominal') ?? -9, nominal)).toBeLessThan(1e-9);
    }
    expect(
      krippendorffAlpha(
        [
          [1, null],
          [null, 0.5],
        ],
        'interval',
      ),
    ).toBeNull();
    expect(
      krippendorffAlpha(
        [
          [1, 1],
          [1, 1],
        ],
        'nominal',
      ),
    ).toBeNull();
  });
});
