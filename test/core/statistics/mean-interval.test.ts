import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { meanInterval } from '../../../src/core/statistics/index.ts';

const ones = (passed: number, n: number) => ({
  sums: [...Array<number>(passed).fill(1), ...Array<number>(n - passed).fill(0)],
  counts: Array<number>(n).fill(1),
});
const units = (sums: number[], count: number) => ({ sums, counts: sums.map(() => count) });

describe('the interval of a mean', () => {
  // scipy.stats.beta.ppf of SciPy 1.17: Clopper and Pearson.
  it.each([
    [15, 15, 0.7819806390894659, 1],
    [14, 15, 0.6805154334216966, 0.9983135697586473],
    [16, 16, 0.025 ** (1 / 16), 1],
    [64, 64, 0.025 ** (1 / 64), 1],
    [1, 2, 0.01257911709342505, 0.9874208829065749],
    [20, 40, 0.33801781373723455, 0.6619821862627655],
    [39, 40, 0.8684141415172343, 0.9993672550679505],
    [100, 200, 0.4286584309068322, 0.5713415690931678],
    [900, 1_000, 0.8797120634813074, 0.91789466564442],
    [50_000, 100_000, 0.4968960624918004, 0.5031039375081996],
    [0, 3, 0, 0.7075982261787133],
  ])('of %i in %i ones is Clopper and Pearson’s', (passed, n, low, high) => {
    const [lower, upper] = meanInterval(ones(passed, n), 0.95) ?? [Number.NaN, Number.NaN];
    expect(lower).toBeCloseTo(low, 8);
    expect(upper).toBeCloseTo(high, 8);
  });

  // The quantile of x·ΣE/(ΣE + E₀), a beta variable with the parameters n and 1, in closed form.
  it.each([1, 2, 3, 8, 16, 33, 64])('of %i equal values x is x·error^(1/n), and mirrors', (n) => {
    for (const confidence of [0.5, 0.8, 0.95, 0.999])
      for (const mean of [1, 0.5, 0.125]) {
        const [low, high] = meanInterval(units(Array<number>(n).fill(mean), 1), confidence) ?? [0, 1];
        const share = ((1 - confidence) / 2) ** (1 / n);
        expect(low).toBeCloseTo(mean * share, 8);
        expect(high).toBeCloseTo(1 - (1 - mean) * share, 8);
      }
  });

  it('goes by how counts stand to each other, not by how large they are', () => {
    const [sums, counts] = [
      [1, 0.5, 3, 0, 1.75],
      [2, 1, 3, 1, 4],
    ];
    const eighths = (list: number[]) => list.map((value) => value / 8);
    expect(meanInterval({ sums: eighths(sums), counts: eighths(counts) }, 0.9)).toEqual(
      meanInterval({ sums, counts }, 0.9),
    );
  });

  it('takes a sum that rounding put above its count', () => {
    expect(meanInterval({ sums: [1 * (1 + 1e-12)], counts: [1] }, 0.95)).toEqual([0.025, 1]);
    expect(() => meanInterval({ sums: [1 + 2e-12], counts: [1] }, 0.95)).toThrow('cannot add up');
  });

  it('puts the pairs of runs in the right order: one failure more never raises the lower bound', () => {
    const low = (sums: number[], count: number) => meanInterval(units(sums, count), 0.95)?.[0] ?? Number.NaN;
    const all = (n: number, value: number) => Array<number>(n).fill(value);
    expect(low(all(15, 3), 3)).toBe(0.781980639);
    expect(low([...all(14, 3), 2], 3)).toBe(0.761126051);
    expect(low([...all(39, 3), 2], 3)).toBeLessThan(low(all(40, 3), 3));
    expect(low([20, 19], 20)).toBeLessThan(low([20, 20], 20));
    expect(low([...all(14, 1), 0.99], 1)).toBeLessThan(low(all(15, 1), 1));
  });

  it('is null of nothing, and refuses what cannot be', () => {
    expect(meanInterval({ sums: [], counts: [] }, 0.95)).toBeNull();
    expect(() => meanInterval({ sums: [1], counts: [1] }, 1)).toThrow('a confidence must lie between 0 and 1, not 1');
    expect(() => meanInterval({ sums: [1], counts: [1] }, 0)).toThrow('between 0 and 1');
    expect(() => meanInterval({ sums: [1], counts: [] }, 0.95)).toThrow('1 sums stand beside 0 counts');
    expect(() => meanInterval({ sums: [2], counts: [1] }, 0.95)).toThrow(
      'unit 0: 1 values in [0, 1] cannot add up to 2',
    );
    expect(() => meanInterval({ sums: [-1], counts: [1] }, 0.95)).toThrow('cannot add up to -1');
    expect(() => meanInterval({ sums: [0], counts: [0] }, 0.95)).toThrow('unit 0: 0 values');
  });

  it('does not depend on the order of units, and mirrors: the upper bound is 1 − the lower one of 1 − x', () => {
    fc.assert(
      fc.property(someUnits, fc.nat(), ({ sums, counts }, turn) => {
        const found = meanInterval({ sums, counts }, 0.9);
        const at = turn % sums.length;
        const turned = <T>(list: T[]) => [...list.slice(at), ...list.slice(0, at)];
        expect(meanInterval({ sums: turned(sums), counts: turned(counts) }, 0.9)).toEqual(found);
        const mirrored = meanInterval({ sums: sums.map((sum, i) => (counts[i] ?? 0) - sum), counts }, 0.9);
        expect(mirrored?.[0]).toBeCloseTo(1 - (found?.[1] ?? Number.NaN), 8);
      }),
      { numRuns: 60 },
    );
  });

  it('never rises when a value gets worse, and holds the mean', () => {
    fc.assert(
      fc.property(someUnits, fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), ({ sums, counts }, which, share) => {
        const at = which % sums.length;
        const before = meanInterval({ sums, counts }, 0.95);
        const after = meanInterval({ sums: sums.with(at, (sums[at] ?? 0) * share), counts }, 0.95);
        expect(after?.[0]).toBeLessThanOrEqual((before?.[0] ?? Number.NaN) + 1e-9);
        expect(after?.[1]).toBeLessThanOrEqual((before?.[1] ?? Number.NaN) + 1e-9);
        const mean = sums.reduce((sum, value) => sum + value, 0) / counts.reduce((sum, value) => sum + value, 0);
        expect(before?.[0]).toBeLessThanOrEqual(mean + 1e-9);
        expect(before?.[1]).toBeGreaterThanOrEqual(mean - 1e-9);
      }),
      { numRuns: 120 },
    );
  });

  it('is wider with more confidence, down to one in ten thousand', () => {
    const intervals = [0.5, 0.8, 0.95, 0.999, 0.9999].map((confidence) =>
      meanInterval(units([3, 2, 3, 1, 3], 3), confidence),
    );
    for (const [index, interval] of intervals.entries()) {
      if (index === 0) continue;
      expect(interval?.[0]).toBeLessThan(intervals[index - 1]?.[0] ?? 0);
      expect(interval?.[1]).toBeGreaterThan(intervals[index - 1]?.[1] ?? 1);
    }
  });

  it('takes unequal units by their size: one large cluster among single cases tells little', () => {
    const lone = meanInterval(
      { sums: [100, ...Array<number>(100).fill(1)], counts: [100, ...Array<number>(100).fill(1)] },
      0.95,
    );
    const even = meanInterval({ sums: Array<number>(101).fill(1), counts: Array<number>(101).fill(1) }, 0.95);
    expect(lone?.[0]).toBeLessThan(0.5);
    expect(even?.[0]).toBeGreaterThan(0.96);
  });

  it('from 2,049 units on takes means in 5,040 steps, below for the lower bound and above for the upper one', () => {
    const of = (n: number, mean: number) => meanInterval(units(Array<number>(n).fill(mean), 1), 0.95) ?? [0, 1];
    const below = Math.floor(0.1234 * 5_040) / 5_040;
    expect(of(2_049, 0.1234)[0]).toBe(of(2_049, below)[0]);
    expect(of(2_049, 0.1234)[1]).toBe(of(2_049, below + 1 / 5_040)[1]);
    expect(of(2_048, 0.1234)[0]).toBeGreaterThan(of(2_048, below)[0]);
    expect(of(2_048, 0.1234)[1]).toBeLessThan(of(2_048, below + 1 / 5_040)[1]);
    // A step that rounding missed by a hair is the step.
    expect(of(2_049, 3 / 7)).toEqual(of(2_049, 2_160 / 5_040));
  });

  it('of more than 2,048 units is rounded outwards, and stays close to the exact one', () => {
    const many = ones(2_700, 3_000);
    const [low, high] = meanInterval(many, 0.95) ?? [0, 1];
    expect(low).toBeCloseTo(0.888704936, 8);
    expect(high).toBeCloseTo(0.910507866, 8);
    const scores = {
      sums: Array.from({ length: 3_000 }, (_, i) => (i % 997) / 997),
      counts: Array<number>(3_000).fill(1),
    };
    const [below, above] = meanInterval(scores, 0.95) ?? [0, 1];
    const mean = scores.sums.reduce((sum, value) => sum + value, 0) / 3_000;
    expect(mean - below).toBeGreaterThan(0.0099);
    expect(mean - below).toBeLessThan(0.0115);
    expect(above - mean).toBeGreaterThan(0.0099);
    expect(above - mean).toBeLessThan(0.0115);
  });
});

const someUnits = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.double({ min: 0, max: 1, noNaN: true })), {
    minLength: 1,
    maxLength: 30,
  })
  .map((list) => ({ sums: list.map(([count, mean]) => count * mean), counts: list.map(([count]) => count) }));
