import type { ClusterCodes } from './clusters.ts';
import { twoSidedQuantile } from './normal-quantile.ts';
import { type BootstrapOptions, percentiles, resampledMeans } from './resample.ts';
import { clusteredStandardError, meanStandardError } from './standard-error.ts';
import { mean, type Numbers } from './sum.ts';
import { type Interval, wilson } from './wilson.ts';

/** From so many units on the normal approximation stands in for resampling: the two then differ by less than the resampling's own error. */
export const MOST_UNITS_RESAMPLED = 20_000;

/** Intervals narrower than this are taken for rounding of a single point. */
export const NO_WIDTH = 1e-12;

/**
 * Interval of the mean of values in [0, 1]: percentile bootstrap over units (values, or whole clusters when there are clusters), by the
 * normal approximation with (clustered) standard error above `MOST_UNITS_RESAMPLED`. Where all units agree, and the interval would
 * collapse to a point, it is Wilson's on the number of units. The order of values does not matter beyond rounding of cluster sums.
 * Null for no values.
 */
export function bootstrapInterval(
  values: Numbers,
  clusters: ClusterCodes | null,
  options: BootstrapOptions,
): Interval | null {
  if (values.length === 0) return null;
  const units = clusters?.count ?? values.length;
  const interval =
    units > MOST_UNITS_RESAMPLED
      ? normalInterval(values, clusters, options.confidence)
      : percentiles(resampledMeans(values, clusters, options), options.confidence);
  if (interval !== null && interval[1] - interval[0] > NO_WIDTH) return interval;
  return wilson(Math.min(units, mean(values) * units), units, options.confidence);
}

function normalInterval(values: Numbers, clusters: ClusterCodes | null, confidence: number): Interval | null {
  const { mean: centre, standard_error } =
    clusters === null ? meanStandardError(values) : clusteredStandardError(values, clusters.codes, clusters.count);
  if (standard_error === null) return null;
  const half = twoSidedQuantile(confidence) * standard_error;
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}
