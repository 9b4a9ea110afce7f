import { describe, expect, test } from 'vitest';
import { exactMcNemar, naturalExp, pairedDifference, seedOf } from '../../../src/core/statistics/index.ts';
import { percentiles, resampledMeans } from '../../../src/core/statistics/resample.ts';

const options = { seed: seedOf('0123456789abcdef', 'compare/pass_rate'), confidence: 0.95 };

describe('a paired difference', () => {
  test('of cases that all agree keeps room for what so many could have missed', () => {
    const found = pairedDifference(new Array(100).fill(0), null, options);
    expect(found).toMatchObject({ mean: 0, p_value: 1, minimal_detectable_effect: 0 });
    // Wilson's upper bound of 0 in 100: z²/(n + z²)
    expect(found?.interval[1]).toBeCloseTo(3.841459 / 103.841459, 6);
    expect(found?.interval[0]).toBe(-(found?.interval[1] ?? 0));
  });

  test('of few cases is never surer than a test that flips their signs could be', () => {
    expect(pairedDifference([1, 1], null, options)?.p_value).toBe(0.5);
    expect(pairedDifference([1, 1, 0.5], null, options)?.p_value).toBe(0.25);
    expect(pairedDifference([-1], null, options)).toMatchObject({ p_value: 1, minimal_detectable_effect: null });
  });

  test('of more than 20,000 cases is by the normal approximation, within the error of resampling', () => {
    const values = Array.from({ length: 20_001 }, (_, index) => (index % 10 === 0 ? 1 : index % 11 === 0 ? -1 : 0));
    const normal = pairedDifference(values, null, options);
    const resampled = pairedDifference(values.slice(1), null, options);
    expect(normal?.interval[0]).toBeCloseTo(resampled?.interval[0] ?? 9, 3);
    expect(normal?.interval[1]).toBeCloseTo(resampled?.interval[1] ?? 9, 3);
    expect(normal?.p_value).toBeLessThan(1e-6);
  });

  test('of clusters has the error of clusters', () => {
    // Deviations of the clusters from the mean 0.25: 1, 0.5, −0.5, −1; √(4/3·2.5)/8, as CR1 has it.
    const values = [0.75, 0.75, 0.75, 0.25, 0, 0, -0.25, -0.25];
    const found = pairedDifference(values, ['a', 'a', 'b', 'b', 'c', 'c', 'd', 'd'], options);
    expect(found).toMatchObject({ units: 4, mean: 0.25 });
    const z = 1.959963984540054 + 0.8416212335729143;
    expect(found?.minimal_detectable_effect).toBeCloseTo((z * Math.sqrt((4 / 3) * 2.5)) / 8, 12);
  });

  test('flips every unit, the first too', () => {
    // ±1 ±1 ±1 ±½ ±¼ reach the 2¼ that was found where the first three have one sign: 8 patterns of 32.
    const clusters = ['a', 'a', 'b', 'b', 'c', 'c', 'd', 'e'];
    const found = pairedDifference([0.5, 0.5, 0.75, 0.25, 0.25, 0.75, -0.5, -0.25], clusters, options);
    expect(found?.p_value).toBe(0.25);
  });

  const few = { ...options, resamples: 50 };
  const row = (n: number, ...counts: readonly (readonly [count: number, value: number])[]) => {
    const values = counts.flatMap(([count, value]) => Array<number>(count).fill(value));
    return [...values, ...Array<number>(n - values.length).fill(0)];
  };

  test('of up to 20,000 cases is resampled', () => {
    const values = row(20_000, [300, 1]);
    expect(pairedDifference(values, null, few)?.interval).toEqual(percentiles(resampledMeans(values, null, few), 0.95));
  });

  test('of up to 1,000 cases is flipped: six that differ one way have 2·2⁻⁶', () => {
    const p = (n: number) => pairedDifference(row(n, [6, 1]), null, { ...options, resamples: 300 })?.p_value;
    expect(Math.abs((p(1_000) ?? 1) - 2 ** -5)).toBeLessThan(0.006);
    expect(p(1_001)).toBeLessThan(0.02);
  });

  // More than 1,000 cases, so that nothing but the bootstrap counts; a mean of 0 counts the resamples from 0 down.
  test.each([
    ['better', row(1_001, [3, 1], [1, -1])],
    ['worse', row(1_001, [1, 1], [3, -1])],
    ['the same', row(1_002, [334, -1], [668, 0.5])],
  ])('counts resamples at 0 too: %s', (what, values) => {
    const means = resampledMeans(values, null, few);
    const beyond = means.filter((value) => (what === 'worse' ? value >= 0 : value <= 0));
    const expected = (2 * (1 + beyond.length)) / 51;
    expect(expected).toBeLessThan(1);
    expect(pairedDifference(values, null, few)?.p_value).toBe(expected);
  });

  test('refuses what is no difference of values in [0, 1], and is null of nothing', () => {
    expect(pairedDifference([], null, options)).toBeNull();
    expect(() => pairedDifference([1.5], null, options)).toThrow('[-1, 1]');
    expect(() => exactMcNemar(-1, 2)).toThrow('no count');
  });
});

test('the exponential agrees with the engine’s to 1e-15 of its value, and underflows to 0', () => {
  for (let x = -708; x <= 700; x += 3.37) expect(Math.abs(naturalExp(x) / Math.exp(x) - 1)).toBeLessThan(2e-15);
  expect(naturalExp(-746)).toBe(0);
  expect(naturalExp(0)).toBe(1);
});
