import { describe, expect, test } from 'vitest';
import { exactMcNemar, naturalExp, pairedDifference, seedOf } from '../../../src/core/statistics/index.ts';

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
