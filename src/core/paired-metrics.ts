import { fraction, type Rational, RationalSum, rationalOf, toNumber } from '../lib/rational.ts';
import type { ComparisonPolicy, MetricComparison, OneSided } from './comparison.ts';
import { leastUnits } from './comparison-outcome.ts';
import {
  clusterCodes,
  exactMcNemar,
  holm,
  type Interval,
  meanInterval,
  type PairedDifference,
  pairedDifference,
  seedOf,
} from './statistics/index.ts';

/** One metric of the paired cases: the differences as doubles for the tests, the sums exactly for the means. */
interface Pairs {
  readonly differences: number[];
  readonly clusters: (string | null)[];
  readonly baseline: RationalSum;
  readonly candidate: RationalSum;
}

/** The metrics of paired cases: collected case by case, compared at the end. */
export class PairedMetrics {
  readonly #pairs = new Map<string, Pairs>();
  readonly #oneSided = new Map<string, { only_baseline: number; only_candidate: number }>();

  /** Takes a case's values of a metric; one that only one run has is counted and not paired. */
  add(metric: string, baseline: Rational | null, candidate: Rational | null, cluster: string | null): void {
    if (baseline === null || candidate === null) {
      const counts = this.#oneSided.get(metric) ?? { only_baseline: 0, only_candidate: 0 };
      if (baseline !== null) counts.only_baseline += 1;
      if (candidate !== null) counts.only_candidate += 1;
      this.#oneSided.set(metric, counts);
      return;
    }
    let pairs = this.#pairs.get(metric);
    if (pairs === undefined) {
      pairs = { differences: [], clusters: [], baseline: new RationalSum(), candidate: new RationalSum() };
      this.#pairs.set(metric, pairs);
    }
    pairs.differences.push(toNumber(candidate) - toNumber(baseline));
    pairs.clusters.push(cluster);
    pairs.baseline.add(baseline);
    pairs.candidate.add(candidate);
  }

  /** The metrics that paired cases have in one run only, by name, with how many cases. */
  oneSided(): OneSided[] {
    return [...this.#oneSided]
      .filter(([, { only_baseline, only_candidate }]) => only_baseline + only_candidate > 0)
      .map(([metric, counts]) => ({ metric, ...counts }))
      .sort((a, b) => (a.metric < b.metric ? -1 : 1));
  }

  /** Pass rate and mean score first, then dimensions and tags by name; p-values adjusted within each of the two kinds. */
  end(policy: ComparisonPolicy, seed: string): MetricComparison[] {
    const ofKind = (prefix: string) => [...this.#pairs.keys()].filter((name) => name.startsWith(prefix)).sort();
    const families = [['pass_rate'], ['mean_score'], ofKind('dimension.'), ofKind('tag.')];
    return families.flatMap((names) => {
      const found = names.flatMap((name) => {
        const pairs = this.#pairs.get(name);
        return pairs === undefined ? [] : [metricOf(name, pairs, policy, seed)];
      });
      const adjusted = holm(found.map(({ p_value }) => p_value));
      return found.map((metric, index) => ({ ...metric, p_adjusted: adjusted[index] ?? metric.p_value }));
    });
  }
}

function metricOf(metric: string, pairs: Pairs, policy: ComparisonPolicy, seed: string): MetricComparison {
  const { differences, clusters, baseline, candidate } = pairs;
  const confidence = 1 - policy.alpha;
  const found = pairedDifference(differences, clusters, { seed: seedOf(seed, `compare/${metric}`), confidence });
  const [before, after] = [baseline.mean, candidate.mean];
  const interval = differenceInterval(differences, clusters, confidence);
  if (found === null || interval === null || before === null || after === null)
    throw new RangeError(`no case has a value of ${metric}`);
  // McNemar's test is about single results of independent cases.
  const binary =
    policy.test === 'exact_mcnemar' &&
    isRate(metric) &&
    differences.every((value) => Number.isInteger(value)) &&
    clusters.every((cluster) => cluster === null);
  const count = (sign: number) => differences.filter((value) => value === sign).length;
  const p_value = binary ? exactMcNemar(count(1), count(-1)) : found.p_value;
  const delta = fraction(after.n * before.d - before.n * after.d, after.d * before.d);
  return {
    metric,
    cases: differences.length,
    units: found.units,
    baseline: toNumber(before),
    candidate: toNumber(after),
    delta: toNumber(delta),
    interval,
    test: binary ? 'exact_mcnemar' : 'paired_bootstrap',
    p_value,
    p_adjusted: p_value,
    minimal_detectable_effect: detectable(found, policy.alpha),
  };
}

/** The interval of the mean difference: that of (d + 1)/2, which lies in [0, 1], stretched back. */
function differenceInterval(
  differences: readonly number[],
  clusters: readonly (string | null)[],
  confidence: number,
): Interval | null {
  const coded = clusterCodes(clusters, differences.length);
  const size = coded?.count ?? differences.length;
  const sums = new Float64Array(size);
  const counts = new Float64Array(size);
  for (const [index, difference] of differences.entries()) {
    const unit = coded?.codes[index] ?? index;
    sums[unit] = sums[unit]! + (difference + 1) / 2;
    counts[unit] = counts[unit]! + 1;
  }
  const interval = meanInterval({ sums, counts }, confidence);
  return interval === null ? null : [stretched(interval[0]), stretched(interval[1])];
}

/** Back from [0, 1] to [−1, 1], at nine places as the interval is. */
function stretched(value: number): number {
  return toNumber(fraction(rationalOf(value).n * 2n - rationalOf(value).d, rationalOf(value).d));
}

/** The normal form is about many units; with few the test itself needs a share of them to differ one way. */
function detectable({ units, minimal_detectable_effect }: PairedDifference, alpha: number): number | null {
  const needed = leastUnits(alpha) / units;
  if (minimal_detectable_effect === null || minimal_detectable_effect === 0 || needed > 1) return null;
  return Math.min(1, Math.max(minimal_detectable_effect, needed));
}

function isRate(metric: string): boolean {
  return metric === 'pass_rate' || metric.startsWith('tag.');
}
