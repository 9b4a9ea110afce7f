import type { ClusterCodes } from './clusters.ts';
import { seededRandom } from './seeded-random.ts';
import { mean, type Numbers } from './sum.ts';
import type { Interval } from './wilson.ts';

/** What a bootstrap is made with: the seed (`seedOf`), the confidence, and how many resamples. */
export interface BootstrapOptions {
  readonly seed: string;
  readonly confidence: number;
  readonly resamples?: number;
}

/**
 * The means of resamples of the values (or of whole clusters), sorted; a single one when all units agree, because every resample
 * would give it. The order of values does not matter beyond rounding of cluster sums.
 */
export function resampledMeans(
  values: Numbers,
  clusters: ClusterCodes | null,
  options: BootstrapOptions,
): Float64Array {
  const { sums, sizes } =
    clusters === null ? { sums: Float64Array.from(values).sort(), sizes: null } : clusterTotals(values, clusters);
  if (sums.length === 1 || (sizes === null && sums[0] === sums.at(-1))) return Float64Array.of(mean(values));
  const random = seededRandom(options.seed);
  const picks = new Int32Array(sums.length);
  const means = new Float64Array(options.resamples ?? 10_000);
  for (let resample = 0; resample < means.length; resample += 1) {
    random.fillBelow(picks, sums.length);
    let total = 0;
    let size = 0;
    for (let draw = 0; draw < picks.length; draw += 1) total += sums[picks[draw]!]!;
    if (sizes === null) size = picks.length;
    else for (let draw = 0; draw < picks.length; draw += 1) size += sizes[picks[draw]!]!;
    means[resample] = total / size;
  }
  return means.sort();
}

/** Sum and size of every cluster, ordered by both, so that the order in which clusters appear does not matter. */
function clusterTotals(
  values: Numbers,
  { codes, count }: ClusterCodes,
): { readonly sums: Float64Array; readonly sizes: Int32Array } {
  const sums = new Float64Array(count);
  const sizes = new Int32Array(count);
  for (let index = 0; index < values.length; index += 1) {
    const code = codes[index]!;
    sums[code] = sums[code]! + values[index]!;
    sizes[code] = sizes[code]! + 1;
  }
  const order = Int32Array.from(sums.keys()).sort(
    (left, right) => sums[left]! - sums[right]! || sizes[left]! - sizes[right]!,
  );
  return {
    sums: Float64Array.from(order, (code) => sums[code]!),
    sizes: Int32Array.from(order, (code) => sizes[code]!),
  };
}

/** The two percentiles that leave (1 − confidence)/2 on either side, interpolated linearly between neighbours (Hyndman and Fan, type 7). */
export function percentiles(sorted: Float64Array, confidence: number): Interval {
  if (!(confidence > 0 && confidence < 1))
    throw new RangeError(`a confidence must lie between 0 and 1, not ${confidence}`);
  const tail = (1 - confidence) / 2;
  return [percentile(sorted, tail), percentile(sorted, 1 - tail)];
}

function percentile(sorted: Float64Array, share: number): number {
  const position = (sorted.length - 1) * share;
  const below = Math.floor(position);
  const low = sorted[below]!;
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return low + (position - below) * (high - low);
}
