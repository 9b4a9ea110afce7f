import { describe, expect, test } from 'vitest';
import { holm } from '../../../src/core/statistics/holm.ts';
import { krippendorffAlpha } from '../../../src/core/statistics/krippendorff.ts';
import { exactMcNemar } from '../../../src/core/statistics/mcnemar.ts';
import { averageOverCases, passAtK, passHatK } from '../../../src/core/statistics/pass-at-k.ts';
import { binomial, quotient } from './exact.ts';

describe('pass@k and pass^k', () => {
  test('are the shares of draws, for every count up to eight tries', () => {
    for (let n = 1; n <= 8; n += 1)
      for (let c = 0; c <= n; c += 1)
        for (let k = 1; k <= n; k += 1) {
          expect(passHatK(n, c, k)).toBeCloseTo(quotient(binomial(c, k), binomial(n, k)), 14);
          expect(passAtK(n, c, k)).toBeCloseTo(1 - quotient(binomial(n - c, k), binomial(n, k)), 14);
        }
  });

  test('are unknown with fewer tries than k, and exactly 0 with fewer passes', () => {
    expect([passAtK(2, 2, 3), passHatK(2, 2, 3)]).toEqual([null, null]);
    expect([passHatK(3, 1, 2), passAtK(3, 2, 2)]).toEqual([0, 1]);
    expect(passHatK(3, 1, 3)).toBe(0);
  });

  test.each([
    [1, 2, 1, '2 passes of 1 tries are no counts'],
    [3, -1, 1, '-1 passes of 3 tries are no counts'],
    [3.5, 1, 1, '1 passes of 3.5 tries are no counts'],
    [3, 0.5, 1, '0.5 passes of 3 tries are no counts'],
    [3, 1, 0, 'k must be a positive integer, not 0'],
    [3, 1, 1.5, 'k must be a positive integer, not 1.5'],
  ])('refuse n = %d, c = %d, k = %d', (n, c, k, message) => {
    expect(() => passAtK(n, c, k)).toThrow(new RangeError(message));
    expect(() => passHatK(n, c, k)).toThrow(new RangeError(message));
  });

  test('average over the cases that have enough tries', () => {
    expect(averageOverCases(passHatK, { tries: [2, 3, 3, 1], passed: [2, 3, 2, 1] }, 2)).toEqual({
      value: (1 + 1 + 1 / 3) / 3,
      cases: 3,
      per_case: Float64Array.of(1, 1, 1 / 3),
    });
    expect(averageOverCases(passAtK, { tries: Int32Array.of(1), passed: Int32Array.of(1) }, 2)).toEqual({
      value: null,
      cases: 0,
      per_case: Float64Array.of(),
    });
    expect(() => averageOverCases(passAtK, { tries: [1, 1], passed: [1] }, 1)).toThrow(
      new RangeError('1 counts of passes stand for 2 cases'),
    );
  });
});

describe('exact McNemar', () => {
  const exact = (improved: number, regressed: number) => {
    const n = improved + regressed;
    let tail = 0n;
    for (let i = 0; i <= Math.min(improved, regressed); i += 1) tail += binomial(n, i);
    return Math.min(1, 2 * quotient(tail, 2n ** BigInt(n)));
  };

  test('is the binomial tail, both ways, for all counts up to 24', () => {
    for (let improved = 0; improved <= 24; improved += 1)
      for (let regressed = 0; regressed <= 24 - improved; regressed += 1) {
        const p = exactMcNemar(improved, regressed);
        expect(Math.abs(p / exact(improved, regressed) - 1)).toBeLessThan(1e-12);
        expect(exactMcNemar(regressed, improved)).toBe(p);
      }
  });

  test('is 1 where nothing differs, and small without vanishing', () => {
    expect(exactMcNemar(0, 0)).toBe(1);
    expect(exactMcNemar(5, 5)).toBe(1);
    expect(exactMcNemar(0, 60)).toBe(2 ** -59);
    expect(Math.abs(exactMcNemar(300, 400) / exact(300, 400) - 1)).toBeLessThan(1e-10);
    expect(Math.abs(exactMcNemar(1_000, 50) / 2.08e-246)).toBeGreaterThan(0);
    expect(exactMcNemar(0, 2_000)).toBe(0);
  });

  test.each([
    [-1, 2],
    [2, 1.5],
    [Number.NaN, 1],
    [0, 2 ** 53],
  ])('refuses %d and %d', (improved, regressed) => {
    const wrong = Number.isSafeInteger(improved) && improved >= 0 ? regressed : improved;
    expect(() => exactMcNemar(improved, regressed)).toThrow(new RangeError(`${wrong} is no count of cases`));
  });
});

describe('Holm', () => {
  test('steps down, never below the one before and never above 1, in the order given', () => {
    expect(holm([0.01, 0.04, 0.03])).toEqual([0.03, 0.06, 0.06]);
    expect(holm([0.5, 0.9, 0.2])).toEqual([1, 1, 0.6000000000000001]);
    expect(holm([0.02, 0.02])).toEqual([0.04, 0.04]);
    expect(holm([0, 1])).toEqual([0, 1]);
    expect(holm([])).toEqual([]);
  });

  test('a test that was not made counts as none', () => {
    expect(holm([null, 0.02, null, 0.5])).toEqual([null, 0.04, null, 0.5]);
  });

  test.each([-0.1, 1.1, Number.NaN])('%d is no p-value', (p) => {
    expect(() => holm([0.5, p])).toThrow(new RangeError(`${p} is no p-value`));
  });
});

describe("Krippendorff's alpha", () => {
  // Two raters and three units, by hand: 0 0 | 0 1 | 1 1.
  const units = [
    [0, 0],
    [0, 1],
    [1, 1],
  ];

  test('by hand', () => {
    // Expected: 18 of 30 ordered pairs differ; observed: 2 of 6.
    expect(krippendorffAlpha(units, 'nominal')).toBeCloseTo(1 - 2 / 6 / (18 / 30), 14);
    expect(krippendorffAlpha(units, 'interval')).toBeCloseTo(1 - 2 / 6 / (18 / 30), 14);
    const distant = [
      [0, 0],
      [0, 2],
      [5, 4],
    ];
    // Interval: all ordered pairs of 0 0 0 2 5 4 differ by 298 in squares; within units by 2·4 + 2·1.
    const all = [0, 0, 0, 2, 5, 4];
    const expected = all.flatMap((a) => all.map((b) => (a - b) ** 2)).reduce((sum, one) => sum + one, 0) / 30;
    expect(krippendorffAlpha(distant, 'interval')).toBeCloseTo(1 - (8 + 2) / 6 / expected, 14);
  });

  test('three raters weigh by their pairs, missing ratings say nothing', () => {
    const three = [
      [1, 1, 2],
      [2, 2, null],
      [null, 5, null],
      [3, 1, null],
    ];
    // 1 1 2 | 2 2 | 3 1: seven ratings; observed (4/2 + 0/1 + 2/1)/7.
    const all = [1, 1, 2, 2, 2, 3, 1];
    const differing = all.flatMap((a) => all.map((b) => Number(a !== b))).reduce((sum, one) => sum + one, 0) / 42;
    expect(krippendorffAlpha(three, 'nominal')).toBeCloseTo(1 - (4 / 2 + 2) / 7 / differing, 14);
  });

  test('is not defined without two ratings of a unit, or where all are the same', () => {
    expect(krippendorffAlpha([], 'nominal')).toBeNull();
    expect(
      krippendorffAlpha(
        [
          [1, null],
          [null, 2],
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
    expect(
      krippendorffAlpha(
        [
          [1, 1],
          [1, 1],
        ],
        'interval',
      ),
    ).toBeNull();
    expect(
      krippendorffAlpha(
        [
          [1, 1],
          [2, 2],
        ],
        'nominal',
      ),
    ).toBe(1);
  });
});
