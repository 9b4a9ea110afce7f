import { seededRandom } from './seeded-random.ts';

const MOST_EXACT = 15; // units: 2^15 ways to flip them
const FLIPS = 10_000;

/**
 * The sign-flip test of paired differences (Fisher's randomization test): under the null a unit's difference is as likely as its
 * opposite, so the two-sided p-value is the share of sign patterns whose sum is at least as far from 0. All patterns up to 15 units, else
 * 10,000 seeded ones and the one that was found. Exact in any sample, which a bootstrap of few units is not.
 */
export function signFlipP(sums: readonly number[], seed: string): number {
  const found = Math.abs(sums.reduce((total, value) => total + value, 0)) * (1 - 1e-12); // equal sums by another order count
  return sums.length <= MOST_EXACT ? exact(sums, found) : sampled(sums, found, seed);
}

function exact(sums: readonly number[], found: number): number {
  const patterns = 2 ** sums.length;
  let asFar = 0;
  for (let pattern = 0; pattern < patterns; pattern += 1) {
    let total = 0;
    for (let unit = 0; unit < sums.length; unit += 1) total += (pattern >> unit) & 1 ? -sums[unit]! : sums[unit]!;
    if (Math.abs(total) >= found) asFar += 1;
  }
  return asFar / patterns;
}

function sampled(sums: readonly number[], found: number, seed: string): number {
  const random = seededRandom(seed);
  let asFar = 1;
  for (let flip = 0; flip < FLIPS; flip += 1) {
    let total = 0;
    let bits = 0;
    for (let unit = 0; unit < sums.length; unit += 1) {
      if (unit % 32 === 0) bits = random.uint32();
      total += (bits >>> (unit % 32)) & 1 ? -sums[unit]! : sums[unit]!;
    }
    if (Math.abs(total) >= found) asFar += 1;
  }
  return asFar / (FLIPS + 1);
}
