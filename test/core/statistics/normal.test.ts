import { describe, expect, test } from 'vitest';
import { naturalExp } from '../../../src/core/statistics/natural-exp.ts';
import { naturalLog } from '../../../src/core/statistics/natural-log.ts';
import { normalQuantile, twoSidedQuantile } from '../../../src/core/statistics/normal-quantile.ts';
import { normalTail, twoSidedP } from '../../../src/core/statistics/normal-tail.ts';
import { wilson } from '../../../src/core/statistics/wilson.ts';
import reference from './fixtures/reference.json' with { type: 'json' };

/** How far apart two numbers are, by the smaller difference that doubles can tell. */
const far = (actual: number, expected: number) => (actual === expected ? 0 : Math.abs(actual / expected - 1));

describe('the exponential', () => {
  test('agrees with the engine’s to the last bits over its range', () => {
    for (let x = -707; x <= 700; x += 0.73) expect(far(naturalExp(x), Math.exp(x))).toBeLessThan(2e-15);
    expect([naturalExp(0), naturalExp(-0)]).toEqual([1, 1]);
    expect(far(naturalExp(700), Math.exp(700))).toBeLessThan(2e-15);
    expect(naturalExp(-745)).toBe(Math.exp(-745));
  });

  test('is 0 below −745 and not defined above 700', () => {
    expect([naturalExp(-745.2), naturalExp(Number.NEGATIVE_INFINITY)]).toEqual([0, 0]);
    for (const x of [700.0001, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => naturalExp(x)).toThrow(new RangeError(`the exponential of ${x} is not defined here`));
  });
});

describe('the logarithm', () => {
  test('agrees with the engine’s to the last bits over its range', () => {
    for (let exponent = -1022; exponent <= 1023; exponent += 7)
      for (const mantissa of [1, 1.2, 1.41, 1.42, 1.7, 1.999999]) {
        const x = mantissa * 2 ** exponent;
        expect(Math.abs(naturalLog(x) - Math.log(x))).toBeLessThanOrEqual(1e-15 * Math.max(1, Math.abs(Math.log(x))));
      }
    for (const near of [1 + 2 ** -40, 1 - 2 ** -40, 1.0001])
      expect(far(naturalLog(near), Math.log(near))).toBeLessThan(1e-15);
    expect(naturalLog(1)).toBe(0);
    expect(naturalLog(2 ** -1022)).toBe(Math.log(2 ** -1022));
  });

  test.each([0, -1, 2 ** -1023, Number.NaN, Number.POSITIVE_INFINITY])('is not defined of %d', (x) => {
    expect(() => naturalLog(x)).toThrow(new RangeError(`the logarithm of ${x} is not defined here`));
  });
});

describe('the normal quantile', () => {
  test('agrees with SciPy’s to the last bits, in the centre, the shoulders and the tails', () => {
    for (const [probability = 0, quantile = 0] of reference.normal_quantile)
      expect(Math.abs(normalQuantile(probability) - quantile)).toBeLessThanOrEqual(
        2e-15 * Math.max(1, Math.abs(quantile)),
      );
  });

  test('is the inverse of the tail, and the same on both sides', () => {
    for (let z = 0.05; z < 8; z += 0.11) {
      expect(Math.abs(-normalQuantile(normalTail(z)) / z - 1)).toBeLessThan(3e-11);
      expect(normalQuantile(normalTail(z))).toBeLessThan(0);
    }
    for (const p of [0.01, 0.0749, 0.0751, 0.25, 0.4999])
      expect(normalQuantile(1 - p)).toBeCloseTo(-normalQuantile(p), 13);
    expect(normalQuantile(0.5)).toBe(0);
  });

  test.each([0, 1, -1, Number.NaN])('there is none of %d', (p) => {
    expect(() => normalQuantile(p)).toThrow(new RangeError(`a probability must lie between 0 and 1, not ${p}`));
    expect(() => twoSidedQuantile(p)).toThrow(new RangeError(`a confidence must lie between 0 and 1, not ${p}`));
  });

  test('two-sided', () => {
    expect(twoSidedQuantile(0.95)).toBeCloseTo(1.959963984540054, 14);
    expect(twoSidedQuantile(0.5)).toBeCloseTo(0.6744897501960817, 14);
  });
});

describe('the normal tail', () => {
  test('agrees with SciPy’s', () => {
    for (const [z = 0, tail = 0] of reference.normal_tail) expect(far(normalTail(z), tail)).toBeLessThan(2e-11);
  });

  test('is ½ in the middle and its opposite on the other side, without a step where the method changes', () => {
    expect(normalTail(0)).toBe(0.5);
    for (const z of [0.3, 1, 2.5, 3.9, 4, 5]) expect(normalTail(-z)).toBe(1 - normalTail(z));
    expect(far(normalTail(4 - 1e-9), normalTail(4))).toBeLessThan(1e-8);
    expect(far(normalTail(4), 3.167124183311992e-5)).toBeLessThan(1e-13);
    expect(far(normalTail(10), 7.61985302416052e-24)).toBeLessThan(1e-13);
    expect(() => normalTail(Number.NaN)).toThrow(new RangeError('the tail beyond no number is not defined'));
  });

  test('a two-sided p-value', () => {
    expect([twoSidedP(0), twoSidedP(-2), twoSidedP(2)]).toEqual([1, 2 * normalTail(2), 2 * normalTail(2)]);
  });
});

describe("Wilson's interval", () => {
  const byHand = (passed: number, n: number, z: number) => {
    const p = passed / n;
    const centre = (p + (z * z) / (2 * n)) / (1 + (z * z) / n);
    const half = (z / (1 + (z * z) / n)) * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
    return [centre - half, centre + half] as const;
  };

  test('by the formula', () => {
    for (const [passed, n] of [
      [1, 2],
      [45, 50],
      [0.5, 3],
      [299, 300],
    ] as const)
      for (const confidence of [0.8, 0.95, 0.999]) {
        const [low, high] = wilson(passed, n, confidence)!;
        const [from, to] = byHand(passed, n, twoSidedQuantile(confidence));
        expect(low).toBeCloseTo(from, 14);
        expect(high).toBeCloseTo(to, 14);
      }
    expect(wilson(3, 7)).toEqual(wilson(3, 7, 0.95));
  });

  test('ends exactly at 0 and at 1', () => {
    const square = twoSidedQuantile(0.95) ** 2;
    expect(wilson(0, 10)).toEqual([0, expect.closeTo(square / (10 + square), 14)]);
    expect(wilson(10, 10)).toEqual([expect.closeTo(10 / (10 + square), 14), 1]);
    expect(wilson(0, 0)).toBeNull();
    for (let n = 1; n <= 60; n += 1) expect([wilson(0, n)?.[0], wilson(n, n)?.[1]]).toEqual([0, 1]);
    // The closed form would come out at 1 + 2⁻⁵².
    expect(wilson(6 - 2 ** -50, 6, 0.5)?.[1]).toBe(1);
  });

  test.each([
    [-1, 2],
    [3, 2],
    [1, 1.5],
    [0, -1],
    [Number.NaN, 1],
  ])('%d of %d is no proportion', (passed, n) => {
    expect(() => wilson(passed, n)).toThrow(new RangeError(`${passed} of ${n} is no proportion`));
  });
});
