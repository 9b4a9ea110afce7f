import { describe, expect, test } from 'vitest';
import { type Bracket, bisect, falsePosition } from '../../../src/core/statistics/false-position.ts';

const unit = { low: 0, high: 1 };
/** The root, and where the function was looked at. */
function found(f: (x: number) => number, bracket: Bracket, guesses: readonly number[] = []) {
  const looks: number[] = [];
  const root = falsePosition(
    (x) => {
      looks.push(x);
      return f(x);
    },
    bracket,
    guesses,
  );
  return { root, looks };
}
const ninth = (x: number) => x ** 9 - 0.5;
const NINTH = { ...unit, atLow: -0.5, atHigh: 0.5 };
const STEP = (x: number) => (x < 0.7 ? -1 : 1);

describe('the root of a growing function', () => {
  // So few looks it takes; one more is slower for every interval of every verdict.
  test.each<[string, (x: number) => number, Bracket, number, number]>([
    ['a line', (x) => x - 0.3, { ...unit, atLow: -0.3, atHigh: 0.7 }, 0.3, 1],
    ['a line whose ends are not known', (x) => x - 0.3, { ...unit, atLow: -0.01, atHigh: 0.99 }, 0.3, 5],
    ['flat below', (x) => x ** 3 - 0.001, { ...unit, atLow: -0.001, atHigh: 0.999 }, 0.1, 17],
    ['flat above', (x) => 0.001 - (1 - x) ** 3, { ...unit, atLow: -0.999, atHigh: 0.001 }, 0.9, 16],
    ['flat, then steep', ninth, NINTH, 0.5 ** (1 / 9), 16],
    ['a step', STEP, { ...unit, atLow: -1, atHigh: 1 }, 0.7, 46],
    ['far away', (x) => x - 1_234_567.1, { low: 0, high: 2 ** 40, atLow: -1, atHigh: 1 }, 1_234_567.1, 3],
  ])('%s', (_, f, bracket, root, looks) => {
    const at = found(f, bracket);
    expect(Math.abs(at.root - root)).toBeLessThan(1e-12);
    expect(at.looks).toHaveLength(looks);
    expect(at.looks.every((x) => x > bracket.low && x < bracket.high)).toBe(true);
  });

  test('the first looks, and the end that was kept twice counts half', () => {
    expect(found(ninth, NINTH).looks.slice(0, 3)).toEqual([
      0.5,
      // Half of ½ at 1 counts: 0.5 + 0.5·f/(f + ½).
      (0.5 * 0.5 - 1 * (0.5 ** 9 - 0.5)) / (0.5 - (0.5 ** 9 - 0.5)),
      expect.closeTo(0.9072749717365953, 14),
    ]);
    expect(found(STEP, { ...unit, atLow: -1, atHigh: 1 }).looks.slice(0, 4)).toEqual([0.5, 0.75, 0.625, 0.6875]);
  });

  test('guesses inside the bracket are looked at first, others not at all', () => {
    const inside = found(ninth, NINTH, [0.95, 0.9]);
    expect(inside.looks.slice(0, 2)).toEqual([0.95, 0.9]);
    expect(inside.looks).toHaveLength(10);
    const outside = found(ninth, { ...NINTH, low: 0.2, high: 0.95 }, [0.2, 0.1, 0.95, 1]);
    expect(outside.looks[0]).toBe(0.575);
    expect(outside.looks).toHaveLength(11);
    // A guess makes the ones beyond it useless.
    expect(found(ninth, NINTH, [0.9, 0.5, 0.95, 0.99]).looks.slice(0, 3)).toEqual([
      0.9,
      0.95,
      expect.closeTo(0.923, 3),
    ]);
  });

  test('is the point where the function is 0, and the middle of ends that are near', () => {
    expect(found((x) => x - 0.25, { ...unit, atLow: -0.25, atHigh: 0.75 })).toEqual({ root: 0.25, looks: [0.25] });
    const near = { low: 0.5, high: 0.5 + 2 ** -41, atLow: -1, atHigh: 1 };
    expect(found(STEP, near)).toEqual({ root: 0.5 + 2 ** -42, looks: [] });
  });

  test('is given up after 200 looks at a function that no secant fits', () => {
    const { root, looks } = found((x) => (x < 0.7 ? -1e-9 : 1), { ...unit, atLow: -1e-9, atHigh: 1 });
    expect(looks).toHaveLength(200);
    expect(Math.abs(root - 0.7)).toBeLessThan(1e-4);
  });
});

test('bisection comes to the last bits', () => {
  let looks = 0;
  const edge = (top: number, at: number) =>
    bisect(top, (x) => {
      looks += 1;
      return x < at;
    });
  expect(edge(1, 0.3)).toBeCloseTo(0.3, 15);
  expect(looks).toBe(60);
  expect(edge(8, 5.5)).toBeCloseTo(5.5, 14);
  expect([edge(1, 0), edge(1, 2)]).toEqual([2 ** -61, 1]);
});
