import type { SeededRandom } from '../src/core/statistics/index.ts';

/** A number in [0, 1). */
export function uniform(random: SeededRandom): number {
  return random.uint32() / 2 ** 32;
}

/** How many of n tries pass at the rate p. */
export function passes(random: SeededRandom, p: number, n: number): number {
  let passed = 0;
  for (let index = 0; index < n; index += 1) if (uniform(random) < p) passed += 1;
  return passed;
}

/** The rate of one unit: beta-distributed around `rate`, so that two tries in the same unit correlate by `icc`. */
export function unitRate(random: SeededRandom, rate: number, icc: number): number {
  if (icc === 0) return rate;
  const spread = (1 - icc) / icc;
  const a = gamma(random, rate * spread);
  const b = gamma(random, (1 - rate) * spread);
  return a + b === 0 ? (uniform(random) < rate ? 1 : 0) : a / (a + b);
}

/** Marsaglia and Tsang 2000, with their boost for shapes below 1. */
function gamma(random: SeededRandom, shape: number): number {
  if (shape < 1) return gamma(random, shape + 1) * (1 - uniform(random)) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = Math.sqrt(-2 * Math.log(1 - uniform(random))) * Math.cos(2 * Math.PI * uniform(random));
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - uniform(random)) < (x * x) / 2 + d - d * v + d * Math.log(v)) return d * v;
  }
}
