import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  add,
  compare,
  divide,
  fraction,
  multiply,
  ONE,
  type Rational,
  RationalSum,
  rationalOf,
  toFixed,
  toNumber,
  ZERO,
} from '../../src/lib/rational.ts';

const of = (n: number, d = 1): Rational => fraction(BigInt(n), BigInt(d));
const parsed = (text: string): Rational => {
  const [n = '', d = ''] = text.split('/');
  return fraction(BigInt(n), BigInt(d));
};
const small = fc.tuple(fc.integer({ min: -60, max: 60 }), fc.integer({ min: 1, max: 60 })).map(([n, d]) => of(n, d));

describe('a fraction', () => {
  test('stands in lowest terms, its denominator positive', () => {
    expect([of(6, 4), of(-6, 4), of(6, -4), of(-6, -4), of(0, -5), of(7, 1)]).toEqual([
      { n: 3n, d: 2n },
      { n: -3n, d: 2n },
      { n: -3n, d: 2n },
      { n: 3n, d: 2n },
      { n: 0n, d: 1n },
      { n: 7n, d: 1n },
    ]);
    expect(() => fraction(3n, 0n)).toThrow(new RangeError('3/0 is not a number'));
    expect([ZERO, ONE]).toEqual([of(0), of(1)]);
  });
});

describe('the number that a person wrote', () => {
  test.each([
    [0.8, 4, 5],
    [0.1, 1, 10],
    [-0.25, -1, 4],
    [3, 3, 1],
    [-7, -7, 1],
    [1e-7, 1, 10_000_000],
    [1.5e-7, 3, 20_000_000],
    [12.5, 25, 2],
  ])('%d is %d/%d', (value, n, d) => {
    expect(rationalOf(value)).toEqual(of(n, d));
  });

  test('of any magnitude', () => {
    expect(rationalOf(1e21)).toEqual({ n: 10n ** 21n, d: 1n });
    expect(rationalOf(1.25e22)).toEqual({ n: 125n * 10n ** 20n, d: 1n });
    expect(rationalOf(2 ** 53)).toEqual({ n: 2n ** 53n, d: 1n });
    expect(rationalOf(5e-324)).toEqual({ n: 1n, d: 2n * 10n ** 323n });
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('%d is none', (value) => {
    expect(() => rationalOf(value)).toThrow(new RangeError(`${value} is not a finite number`));
  });

  test('comes back as it was', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(toNumber(rationalOf(value))).toBe(value === 0 ? 0 : value);
      }),
    );
  });
});

describe('arithmetic', () => {
  test('by hand', () => {
    expect(add(of(1, 2), of(1, 3))).toEqual(of(5, 6));
    expect(add(of(1, 4), of(1, 4))).toEqual({ n: 1n, d: 2n });
    expect(add(of(2), of(3))).toEqual({ n: 5n, d: 1n });
    expect(multiply(of(2, 3), of(3, 4))).toEqual({ n: 1n, d: 2n });
    expect(divide(of(2, 3), of(-4, 3))).toEqual({ n: -1n, d: 2n });
    expect(() => divide(of(2, 3), ZERO)).toThrow(RangeError);
    expect([compare(of(1, 3), of(1, 2)), compare(of(1, 2), of(2, 4)), compare(of(1, 2), of(-1, 2))]).toEqual([
      -1, 0, 1,
    ]);
  });

  test('follows its laws', () => {
    fc.assert(
      fc.property(small, small, small, (a, b, c) => {
        expect(add(a, b)).toEqual(add(b, a));
        expect(multiply(a, add(b, c))).toEqual(add(multiply(a, b), multiply(a, c)));
        if (b.n !== 0n) expect(multiply(divide(a, b), b)).toEqual(a);
        expect(compare(a, b)).toBe(Math.sign(Number(a.n) / Number(a.d) - Number(b.n) / Number(b.d)));
      }),
    );
  });
});

describe('as a double', () => {
  test.each<[string, number]>([
    ['1/3', 1 / 3],
    ['-2/3', -2 / 3],
    ['5/1', 5],
    ['-5/1', -5],
    [`1/3${'0'.repeat(40)}`, 1e-40 / 3],
    [`1${'0'.repeat(40)}/3`, 1e40 / 3],
    [`1${'0'.repeat(18)}/1${'0'.repeat(17)}1`, 1],
    ['9007199254740993/18014398509481984', 9_007_199_254_740_992 / 2 ** 54],
  ])('%s is %d', (text, double) => {
    const value = parsed(text);
    expect(Math.abs(toNumber(value) / double - 1)).toBeLessThan(3e-16);
    expect(Math.sign(toNumber(value))).toBe(Math.sign(double));
  });

  test('is the nearest, for every fraction of small numbers', () => {
    fc.assert(
      fc.property(small, ({ n, d }) => {
        expect(toNumber({ n, d })).toBe(n === 0n ? 0 : Number(n) / Number(d));
      }),
    );
  });
});

describe('as a decimal', () => {
  test.each<[string, number, string]>([
    ['2/3', 4, '0.6667'],
    ['1/8', 2, '0.13'],
    ['-1/8', 2, '-0.13'],
    ['1/2', 0, '1'],
    ['-1/3', 0, '0'],
    ['-1/300', 2, '0.00'],
    ['-1/2', 0, '-1'],
    ['123/1', 2, '123.00'],
    ['1/1000', 3, '0.001'],
    ['49/1000', 2, '0.05'],
    ['44/1000', 2, '0.04'],
    ['99995/100000', 4, '1.0000'],
  ])('%s with %i places is %s', (value, places, text) => {
    expect(toFixed(parsed(value), places)).toBe(text);
  });
});

describe('a sum', () => {
  test('is exact, whatever the denominators, and knows its mean', () => {
    const sum = new RationalSum();
    expect([sum.count, sum.total, sum.mean]).toEqual([0, ZERO, null]);
    for (const value of [0.1, 0.2, 0.3, 0.1]) sum.add(rationalOf(value));
    sum.add(of(1, 3));
    expect([sum.count, sum.total, sum.mean]).toEqual([5, of(31, 30), of(31, 150)]);
  });
});
