import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { seededRandom, seedOf } from '../../../src/core/statistics/seeded-random.ts';
import { logGamma, MixtureSequence } from '../../../src/core/statistics/sequential.ts';
import { signFlipP } from '../../../src/core/statistics/sign-flip.ts';
import reference from './fixtures/reference.json' with { type: 'json' };

describe('seeded random numbers', () => {
  const { seed, uint32 } = reference.random;

  test('are those of an independent sfc32', () => {
    const random = seededRandom(seed);
    expect(uint32.map(() => random.uint32())).toEqual(uint32);
  });

  test('below a bound, one by one and many at once', () => {
    const bounded = uint32.map((value) => Math.floor((value * 1_000) / 2 ** 32));
    const random = seededRandom(seed);
    expect(uint32.map(() => random.below(1_000))).toEqual(bounded);
    const filled = new Int32Array(uint32.length);
    const other = seededRandom(seed);
    other.fillBelow(filled, 1_000);
    expect([...filled]).toEqual(bounded);
    expect(other.uint32()).toBe(random.uint32());
    expect(seededRandom(seed).below(1)).toBe(0);
  });

  test('a seed is a hash of snapshot and name', () => {
    expect(seedOf('a', 'b')).toBe(createHash('sha256').update('proctor/statistic/1\na\nb').digest('hex'));
  });

  test.each(['', 'a'.repeat(23), 'A'.repeat(24), `${'a'.repeat(24)}x`, `x${'a'.repeat(24)}`])(
    '%j is no seed',
    (text) => {
      expect(() => seededRandom(text)).toThrow(new RangeError('a seed must be at least 24 lower hex digits'));
    },
  );

  test('24 digits are enough, and all of them count', () => {
    const first = (text: string) => {
      const random = seededRandom(text);
      return [random.uint32(), random.uint32()].join();
    };
    const seeds = [0, 7, 8, 15, 16, 23].map((at) => `${'0'.repeat(at)}1${'0'.repeat(23 - at)}`);
    expect(new Set(seeds.map(first)).size).toBe(6);
  });
});

describe('the sign-flip test', () => {
  test('counts every pattern up to 15 units', () => {
    expect(signFlipP([1], 'unused')).toBe(1);
    expect(signFlipP([1, 1], 'unused')).toBe(0.5);
    expect(signFlipP([1, 1, 0.5], 'unused')).toBe(0.25);
    expect(signFlipP([1, -1], 'unused')).toBe(1);
    // ±3 ±1 ±1 reaches 3 or more in 5 of 8: 5, 3, 3 and their opposites, less none.
    expect(signFlipP([3, 1, -1], 'unused')).toBe(0.75);
    expect(signFlipP(new Array(15).fill(1), 'unused')).toBe(2 ** -14);
    expect(signFlipP([0.1, 0.2, 0.3], 'unused')).toBe(0.25);
    expect(signFlipP([], 'unused')).toBe(1);
  });

  test('draws patterns by the seed beyond, and counts the one that was found', () => {
    const seed = seedOf('a', 'b');
    expect(signFlipP(new Array(16).fill(1), seed)).toBeLessThan(5 / 10_001);
    expect(signFlipP(new Array(40).fill(1), seed)).toBe(1 / 10_001);
    expect(signFlipP(new Array(16).fill(0), seed)).toBe(1);
    expect(signFlipP(new Array(16).fill(1), seed)).toBe(drawn(new Array(16).fill(1), seed));
    const sums = Array.from({ length: 40 }, (_, unit) => (unit % 3 === 0 ? -1 : 0.75));
    expect(signFlipP(sums, seed)).toBe(drawn(sums, seed));
    expect(signFlipP(sums.slice(0, 33), seed)).toBe(drawn(sums.slice(0, 33), seed));
  });

  /** The same written down again: bit u of the words, 32 to a word, says whether unit u is flipped. */
  function drawn(sums: readonly number[], seed: string): number {
    const random = seededRandom(seed);
    const found = Math.abs(sums.reduce((total, value) => total + value, 0)) * (1 - 1e-12);
    let asFar = 1;
    for (let flip = 0; flip < 10_000; flip += 1) {
      const words = Array.from({ length: Math.ceil(sums.length / 32) }, () => BigInt(random.uint32()));
      const total = sums.reduce(
        (sum, value, unit) => sum + (((words[Math.floor(unit / 32)] ?? 0n) >> BigInt(unit % 32)) & 1n ? -value : value),
        0,
      );
      if (Math.abs(total) >= found) asFar += 1;
    }
    return asFar / 10_001;
  }
});

describe('the logarithm of the gamma function', () => {
  test('is that of factorials', () => {
    let factorial = 1;
    for (let n = 1; n <= 60; n += 1) {
      expect(Math.abs(logGamma(n) - Math.log(factorial))).toBeLessThan(2e-12);
      factorial *= n;
    }
    expect(Math.abs(logGamma(0.5) - Math.log(Math.PI) / 2)).toBeLessThan(1e-12);
    expect(Math.abs(logGamma(1.5) - Math.log(Math.sqrt(Math.PI) / 2))).toBeLessThan(1e-12);
    expect(Math.abs(logGamma(0.001) - 6.907178885383853)).toBeLessThan(1e-11);
  });

  // mpmath 1.3.
  test.each([
    [11, 15.104412573075516],
    [12, 17.502307845873887],
    [12.5, 18.734347511936445],
    [12.75, 19.35823122022436],
    [20, 39.339884187199495],
    [100, 359.1342053695754],
  ])('of %d is right to the last bits, where the series is shortest', (x, expected) => {
    expect(Math.abs(logGamma(x) / expected - 1)).toBeLessThan(5e-16);
  });

  test.each([0, -1, 1e300, Number.NaN])('is not defined of %d', (x) => {
    expect(() => logGamma(x)).toThrow(
      new RangeError(`the logarithm of the gamma function of ${x} is not defined here`),
    );
  });
});

describe('the always-valid interval', () => {
  const of = (confidence: number, ...values: readonly number[]) => {
    const sequence = new MixtureSequence(confidence);
    for (const value of values) sequence.add(value);
    return sequence;
  };
  /** ln of B(1 + s, 1 + n − s)/(p^s·(1 − p)^(n − s)), for whole s. */
  const evidence = (s: number, n: number, p: number) => {
    let beta = 1 / (n + 1);
    for (let i = 1; i <= s; i += 1) beta *= i / (n - s + i);
    return Math.log(beta) - s * Math.log(p) - (n - s) * Math.log(1 - p);
  };

  test('before the first value', () => {
    const empty = of(0.95);
    expect([empty.n, empty.mean, empty.interval(), empty.beyond(0.5)]).toEqual([0, null, [0, 1], null]);
  });

  test('counts and averages', () => {
    const some = of(0.95, 1, 0.5, 0);
    expect([some.n, some.mean]).toEqual([3, 0.5]);
  });

  test('ends where the evidence against a rate reaches its limit', () => {
    for (const [s, n] of [
      [3, 5],
      [1, 9],
      [18, 20],
    ] as const)
      for (const confidence of [0.8, 0.95]) {
        const sequence = of(confidence, ...new Array(s).fill(1), ...new Array(n - s).fill(0));
        const [low, high] = sequence.interval();
        const limit = -Math.log(1 - confidence);
        expect(evidence(s, n, low)).toBeCloseTo(limit, 9);
        expect(evidence(s, n, high)).toBeCloseTo(limit, 9);
        expect(low).toBeLessThan(s / n);
        expect(high).toBeGreaterThan(s / n);
        expect([sequence.beyond(low * 0.999), sequence.beyond(low * 1.001)]).toEqual(['above', null]);
        expect([sequence.beyond(high * 1.001), sequence.beyond(high * 0.999)]).toEqual(['below', null]);
      }
  });

  test('reaches an end that was always seen, and no rate beyond it is possible', () => {
    const all = of(0.95, 1, 1, 1);
    // (1/4)/p³ = 20
    expect(all.interval()).toEqual([expect.closeTo((1 / 80) ** (1 / 3), 12), 1]);
    const none = of(0.95, 0, 0, 0);
    expect(none.interval()).toEqual([0, expect.closeTo(1 - (1 / 80) ** (1 / 3), 12)]);
    expect([all.beyond(0), none.beyond(1), all.beyond(1), none.beyond(0)]).toEqual(['above', 'below', null, null]);
    const mixed = of(0.95, 1, 0);
    expect([mixed.beyond(0), mixed.beyond(1)]).toEqual(['above', 'below']);
  });

  test('one value decides against what is unlikely enough', () => {
    // (1/2)/p = 20 at p = 0.025.
    expect([of(0.95, 1).beyond(0.0249), of(0.95, 1).beyond(0.0251)]).toEqual(['above', null]);
    expect([of(0.95, 0).beyond(0.9751), of(0.95, 0).beyond(0.9749)]).toEqual(['below', null]);
  });

  test('halves eighty times: an edge below 2^−80 of the mean is 0', () => {
    // By mpmath 1.3 the evidence against 0.0648·2^−79.518 and against 0.064·2^−80.528 is ln 20.
    expect(of(0.95, 0.0648).interval()[0]).toBe(0.0648 * 2 ** -80);
    expect(of(0.95, 0.064).interval()[0]).toBe(0);
  });

  test.each([0, 1, Number.NaN])('there is no confidence %d', (confidence) => {
    expect(() => new MixtureSequence(confidence)).toThrow(
      new RangeError(`a confidence must lie between 0 and 1, not ${confidence}`),
    );
  });

  test.each([-0.1, 1.1, Number.NaN])('there is no value %d', (value) => {
    expect(() => of(0.95, value)).toThrow(new RangeError(`the value ${value} does not lie in [0, 1]`));
  });
});
