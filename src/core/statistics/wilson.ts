import { twoSidedQuantile } from './normal-quantile.ts';

/** Lower and upper bound of a two-sided confidence interval. */
export type Interval = readonly [low: number, high: number];

/**
 * Wilson's score interval of a proportion (Wilson 1927): (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n). `passed` may be a fraction
 * (a sum of scores in [0, 1]): their variance is at most p(1−p), so the interval is then wider than needed. Null for n = 0.
 */
export function wilson(passed: number, n: number, confidence = 0.95): Interval | null {
  if (!(Number.isInteger(n) && passed >= 0 && passed <= n)) throw new RangeError(`${passed} of ${n} is no proportion`);
  const z = twoSidedQuantile(confidence);
  if (n === 0) return null;
  const share = passed / n;
  const square = z * z;
  const centre = share + square / (2 * n);
  const half = z * Math.sqrt((share * (1 - share)) / n + square / (4 * n * n));
  const scale = 1 + square / n;
  // At the ends the closed form is exact; rounding would leave 1e-17.
  return [
    passed === 0 ? 0 : Math.max(0, (centre - half) / scale),
    passed === n ? 1 : Math.min(1, (centre + half) / scale),
  ];
}
