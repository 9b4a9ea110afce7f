import { describe, expect, test } from 'vitest';
import { exactOf, fractionText, valueNumber, valueText, within } from '../../src/core/exact-number.ts';
import { fraction, rationalOf } from '../../src/lib/rational.ts';

const third = fraction(1n, 3n);
const limits = (min: number | null, max: number | null = null) => ({ min, max });

describe('a stored number', () => {
  test('is a fraction where no double is it, and comes back', () => {
    expect([third, fraction(-2n, 6n), rationalOf(0.1), rationalOf(3)].map(fractionText)).toEqual([
      '1/3',
      '-1/3',
      null,
      null,
    ]);
    expect(exactOf(0.33, '1/3')).toEqual(third);
    expect(exactOf(0.1, undefined)).toEqual({ n: 1n, d: 10n });
  });
});

test('a value lies within its limits, ends included', () => {
  const half = rationalOf(0.5);
  const found = [limits(0.5), limits(0.51), limits(null, 0.5), limits(null, 0.49), limits(null), limits(0.4, 0.6)];
  expect(found.map((one) => within(half, one))).toEqual([true, false, true, false, true, true]);
  expect(within(half, limits(0.6, 0.7))).toBe(false);
  expect(within(half, limits(0.3, 0.4))).toBe(false);
});

describe('a value for people', () => {
  test.each<[string, ReturnType<typeof limits>, string]>([
    ['1/3', limits(null), '0.3333'],
    ['1/3', limits(0.3333), '0.33333'],
    ['1/3', limits(null, 0.3333), '0.33333'],
    ['1/3', limits(0.3), '0.3333'],
    ['2/3', limits(0.6667), '0.66667'],
    ['2/3', limits(0.6667, 0.666667), '0.6666667'],
    ['8/10', limits(0.8), '0.8000'],
    ['80001/100000', limits(0.8), '0.80001'],
    ['-1/2', limits(-0.5), '-0.5000'],
    [`1/1${'0'.repeat(40)}`, limits(0), `0.${'0'.repeat(39)}1`],
    [`1/1${'0'.repeat(41)}`, limits(0), `1/1${'0'.repeat(41)}`],
  ])('%s within %j is %s', (value, within, text) => {
    expect(valueText(exactOf(0, value), within)).toBe(text);
  });
});

describe('a value for programs', () => {
  test('is the double next to it', () => {
    expect(valueNumber(third, limits(null))).toBe(1 / 3);
    expect(valueNumber(rationalOf(0.8), limits(0.8))).toBe(0.8);
  });

  test('on the side of the limit where the value lies', () => {
    const ulp = 2 ** -54;
    // 0.3333333333333333 is the double of ⅓ in decimal; the value itself lies above it.
    expect(valueNumber(third, limits(null, 0.3333333333333333))).toBe(0.3333333333333333 + ulp);
    // 0.6666666666666666 is that of ⅔, which lies above it too; 0.8333333333333334 is that of 5/6, which lies below.
    expect(valueNumber(fraction(5n, 6n), limits(0.8333333333333334))).toBe(0.8333333333333334 - 2 * ulp);
    expect(valueNumber(third, limits(0.3333333333333333))).toBe(0.3333333333333333);
  });
});
