import { MOST_UNITS_RESAMPLED, NO_WIDTH } from './bootstrap-interval.ts';
import { type ClusterCodes, type Clusters, clusterCodes } from './clusters.ts';
import { normalQuantile, twoSidedQuantile } from './normal-quantile.ts';
import { twoSidedP } from './normal-tail.ts';
import { type BootstrapOptions, percentiles, resampledMeans } from './resample.ts';
import { signFlipP } from './sign-flip.ts';
import { clusteredStandardError, meanStandardError } from './standard-error.ts';
import { mean, type Numbers } from './sum.ts';
import type { Interval } from './wilson.ts';

/** The mean difference between two runs over the same cases, with what can be said of it. */
export interface PairedDifference {
  /** Units: cases, or clusters of them. */
  readonly units: number;
  readonly mean: number;
  readonly interval: Interval;
  /** Two-sided, that the mean difference is 0. */
  readonly p_value: number;
  /** The smallest true difference that these data would have shown at 80 % power; null where the error is not known. */
  readonly minimal_detectable_effect: number | null;
}

const POWER = 0.8;
const MOST_FLIPPED = 1_000; // units; beyond, the bootstrap holds its level

/**
 * Paired comparison of values in [0, 1]: `differences` are new − old, one a case. Percentile bootstrap over cases (or clusters); above
 * `MOST_UNITS_RESAMPLED` units by the normal approximation. The p-value inverts the percentile interval, 2·(1 + resamples at or beyond
 * 0)/(resamples + 1); up to 1,000 units it is never below that of the sign-flip test, because a bootstrap of few units finds too much,
 * and never below 2^(1−units). Where all units agree the interval leaves room for the share of other units that so many could have
 * missed (Wilson's upper bound of 0 in n). Null for no cases.
 */
export function pairedDifference(
  differences: Numbers,
  clusters: Clusters,
  options: BootstrapOptions,
): PairedDifference | null {
  const n = differences.length;
  if (n === 0) return null;
  for (let index = 0; index < n; index += 1)
    if (!(Math.abs(differences[index]!) <= 1))
      throw new RangeError(`the difference of case ${index} is ${differences[index]}; it must lie in [-1, 1]`);
  const coded = clusterCodes(clusters, n);
  const units = coded?.count ?? n;
  const { standard_error } =
    coded === null ? meanStandardError(differences) : clusteredStandardError(differences, coded.codes, coded.count);
  const centre = mean(differences);
  const floor = 2 ** Math.max(-1074, 1 - units);
  let interval: Interval;
  let p_value: number;
  if (units > MOST_UNITS_RESAMPLED && standard_error !== null && standard_error > 0) {
    const half = twoSidedQuantile(options.confidence) * standard_error;
    interval = [centre - half, centre + half];
    p_value = twoSidedP(centre / standard_error);
  } else {
    const means = resampledMeans(differences, coded, options);
    interval = percentiles(means, options.confidence);
    p_value = means.length === 1 ? (centre === 0 ? 1 : floor) : inverted(means, centre);
    if (units <= MOST_FLIPPED)
      p_value = Math.max(p_value, signFlipP(unitSums(differences, coded), `${options.seed.slice(24)}${options.seed}`));
  }
  if (interval[1] - interval[0] <= NO_WIDTH) {
    const square = twoSidedQuantile(options.confidence) ** 2;
    const missed = square / (units + square);
    interval = [centre - missed, centre + missed];
  }
  return {
    units,
    mean: centre,
    interval: [Math.max(-1, interval[0]), Math.min(1, interval[1])],
    p_value: Math.min(1, Math.max(p_value, floor)),
    minimal_detectable_effect:
      standard_error === null ? null : minimalDetectableEffect(standard_error, 1 - options.confidence, POWER),
  };
}

/**
 * The smallest difference that a two-sided test at `alpha` finds with the power given, (z(1 − α/2) + z(power))·SE (Bloom 1995, normal
 * form). In the unit of the standard error.
 */
export function minimalDetectableEffect(standardError: number, alpha: number, power: number): number {
  return (twoSidedQuantile(1 - alpha) + normalQuantile(power)) * standardError;
}

/** The sum of the differences of every unit. */
function unitSums(differences: Numbers, coded: ClusterCodes | null): number[] {
  if (coded === null) return [...differences];
  const sums = new Array<number>(coded.count).fill(0);
  for (let index = 0; index < differences.length; index += 1) sums[coded.codes[index]!]! += differences[index]!;
  return sums;
}

function inverted(sorted: Float64Array, centre: number): number {
  let beyond = 0;
  for (const value of sorted) if (centre >= 0 ? value <= 0 : value >= 0) beyond += 1;
  return (2 * (1 + beyond)) / (sorted.length + 1);
}
