import { bootstrapInterval } from './bootstrap-interval.ts';
import { type Clusters, clusterCodes } from './clusters.ts';
import { type Numbers, sum } from './sum.ts';
import { type Interval, wilson } from './wilson.ts';

/** What an interval of a mean over cases needs. */
export interface CaseValues {
  /** One value in [0, 1] per case, in plan order: 1 or 0 for one repeat, else the mean of the case's repeats; or a score. */
  readonly values: Numbers;
  readonly clusters: Clusters;
  /** How many repeats each value stands for; more than one rules out Wilson's interval. */
  readonly repeats: number;
  readonly confidence: number;
  /** `seedOf(snapshot digest, statistic name)`. */
  readonly seed: string;
}

/**
 * The interval of a mean over cases by the contract: one repeat, no clusters and only 0 and 1: Wilson over cases; else the seeded
 * bootstrap over cases, or clusters where there are any. Null for no cases. Throws a RangeError for a value outside [0, 1].
 */
export function passRateInterval({ values, clusters, repeats, confidence, seed }: CaseValues): Interval | null {
  const binary = checkValues(values);
  const coded = clusterCodes(clusters, values.length);
  if (repeats === 1 && coded === null && binary) return wilson(sum(values), values.length, confidence);
  return bootstrapInterval(values, coded, { seed, confidence });
}

/** True when every value is 0 or 1. */
function checkValues(values: Numbers): boolean {
  let binary = true;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index]!;
    if (!(value >= 0 && value <= 1))
      throw new RangeError(`the value of case ${index} is ${value}; it must lie in [0, 1]`);
    if (value !== 0 && value !== 1) binary = false;
  }
  return binary;
}
