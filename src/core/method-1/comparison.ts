import type { Profile } from '../../contract/profile.ts';
import type { CaseSummary } from '../case-summary.ts';
import type { CaseChange, Comparison, ComparisonPolicy, MetricComparison } from '../comparison.ts';
import { exactMcNemar, holm, type PairedDifference, pairedDifference, seedOf } from '../statistics/index.ts';

interface Pairs {
  readonly baseline: number[];
  readonly candidate: number[];
  readonly clusters: (string | null)[];
}

/**
 * Compares two runs case by case. Cases come in the same order from both (by case_id); a comparison is a pure function of the two
 * rows of summaries, the policy and the seed.
 */
export class ComparisonBuilder {
  readonly #policy: ComparisonPolicy;
  readonly #seed: string;
  readonly #pairs = new Map<string, Pairs>();
  readonly #pairing = {
    baseline_cases: 0,
    candidate_cases: 0,
    paired: 0,
    only_baseline: 0,
    only_candidate: 0,
    changed: 0,
    ungraded: 0,
  };
  #improved = 0;
  #regressed = 0;

  /** `seed` names what is compared, such as the digests of both runs. */
  constructor(policy: ComparisonPolicy, seed: string) {
    this.#policy = policy;
    this.#seed = seed;
  }

  /** Takes one case of either run or of both; `tags` of the case add a metric each. Answers what became of it. */
  add(baseline: CaseSummary | null, candidate: CaseSummary | null, tags: readonly string[] = []): CaseChange {
    const change = this.#change(baseline, candidate, tags);
    const counted = (summary: CaseSummary | null) =>
      summary === null ? null : { graded: summary.graded, passed: summary.passed };
    return {
      case_id: (candidate ?? baseline)?.case_id ?? '',
      change,
      baseline: counted(baseline),
      candidate: counted(candidate),
    };
  }

  #change(baseline: CaseSummary | null, candidate: CaseSummary | null, tags: readonly string[]): CaseChange['change'] {
    const pairing = this.#pairing;
    if (baseline !== null) pairing.baseline_cases += 1;
    if (candidate !== null) pairing.candidate_cases += 1;
    if (baseline === null || candidate === null) {
      const lone = baseline === null ? 'only_candidate' : 'only_baseline';
      pairing[lone] += 1;
      return lone;
    }
    if (baseline.case_content !== candidate.case_content) {
      pairing.changed += 1;
      return 'changed';
    }
    if (baseline.graded === 0 || candidate.graded === 0) {
      pairing.ungraded += 1;
      return 'ungraded';
    }
    pairing.paired += 1;
    const before = baseline.passed / baseline.graded;
    const after = candidate.passed / candidate.graded;
    for (const metric of ['pass_rate', ...tags.map((tag) => `tag.${tag}`)])
      this.#pair(metric, before, after, candidate.cluster);
    if (baseline.score !== null && candidate.score !== null)
      this.#pair('mean_score', baseline.score, candidate.score, candidate.cluster);
    for (const [name, score] of Object.entries(candidate.dimensions)) {
      const old = baseline.dimensions[name];
      if (old !== undefined) this.#pair(`dimension.${name}`, old, score, candidate.cluster);
    }
    if (after > before) this.#improved += 1;
    if (after < before) this.#regressed += 1;
    return after > before ? 'improved' : after < before ? 'regressed' : 'equal';
  }

  end(): Comparison {
    const metrics = this.#metrics();
    const paired = this.#pairing.paired;
    const [outcome, reason] = this.#decide(metrics.find(({ metric }) => metric === 'pass_rate'));
    return {
      policy: this.#policy,
      pairing: { ...this.#pairing },
      improved: this.#improved,
      regressed: this.#regressed,
      equal: paired - this.#improved - this.#regressed,
      metrics,
      outcome,
      reason,
    };
  }

  #pair(metric: string, baseline: number, candidate: number, cluster: string | null): void {
    let pairs = this.#pairs.get(metric);
    if (pairs === undefined) {
      pairs = { baseline: [], candidate: [], clusters: [] };
      this.#pairs.set(metric, pairs);
    }
    pairs.baseline.push(baseline);
    pairs.candidate.push(candidate);
    pairs.clusters.push(cluster);
  }

  /** Pass rate and mean score first, then dimensions and tags by name; p-values adjusted within each of the two kinds. */
  #metrics(): MetricComparison[] {
    const ofKind = (prefix: string) => [...this.#pairs.keys()].filter((name) => name.startsWith(prefix)).sort();
    const single = ['pass_rate', 'mean_score'].filter((name) => this.#pairs.has(name));
    const families = [...single.map((name) => [name]), ofKind('dimension.'), ofKind('tag.')];
    return families.flatMap((names) => {
      const found = names.map((name) => this.#metric(name));
      const adjusted = holm(found.map(({ p_value }) => p_value));
      return found.map((metric, index) => ({ ...metric, p_adjusted: adjusted[index] ?? metric.p_value }));
    });
  }

  #metric(metric: string): MetricComparison {
    const pairs = this.#pairs.get(metric) ?? { baseline: [], candidate: [], clusters: [] };
    const differences = pairs.candidate.map((value, index) => value - (pairs.baseline[index] ?? 0));
    const found = pairedDifference(differences, pairs.clusters, {
      seed: seedOf(this.#seed, `compare/${metric}`),
      confidence: 1 - this.#policy.alpha,
    });
    if (found === null) throw new RangeError(`no case has a value of ${metric}`);
    // McNemar's test is about single results of independent cases.
    const binary =
      this.#policy.test === 'exact_mcnemar' &&
      isRate(metric) &&
      differences.every((value) => Number.isInteger(value)) &&
      pairs.clusters.every((cluster) => cluster === null);
    const count = (sign: number) => differences.filter((value) => value === sign).length;
    const p_value = binary ? exactMcNemar(count(1), count(-1)) : found.p_value;
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    return {
      metric,
      cases: differences.length,
      units: found.units,
      baseline: mean(pairs.baseline),
      candidate: mean(pairs.candidate),
      delta: found.mean,
      interval: found.interval,
      test: binary ? 'exact_mcnemar' : 'paired_bootstrap',
      p_value,
      p_adjusted: p_value,
      minimal_detectable_effect: detectable(found, this.#policy.alpha),
    };
  }

  #decide(rate: MetricComparison | undefined): [Comparison['outcome'], string] {
    const { alpha, max_regressions } = this.#policy;
    if (rate === undefined) return ['not_comparable', 'no case was graded in both runs'];
    const regressed = `${this.#regressed} of ${rate.cases} cases regressed, ${this.#improved} improved`;
    if (max_regressions !== null && this.#regressed > max_regressions)
      return ['regression', `${regressed}; at most ${max_regressions} may regress`];
    // A test that could not have found anything is no comfort: unless a count decides, too few units are no comparison.
    if (max_regressions === null && rate.units < leastUnits(alpha))
      return [
        'not_comparable',
        `${regressed}; ${rate.units} cases or clusters cannot show a regression at alpha ${alpha}, which takes ${leastUnits(alpha)}`,
      ];
    const test = `${rate.test} p = ${rate.p_value.toPrecision(3)}`;
    if (rate.delta < 0 && rate.p_value < alpha)
      return ['regression', `${regressed}; the pass rate fell by ${(-rate.delta).toFixed(4)}, ${test} below ${alpha}`];
    const told = rate.delta < 0 ? `${test}, not below ${alpha}` : `the pass rate did not fall`;
    return ['no_regression', `${regressed}; ${told}`];
  }
}

/** The normal form is about many units; with few the test itself needs a share of them to differ one way. */
function detectable({ units, minimal_detectable_effect }: PairedDifference, alpha: number): number | null {
  const needed = leastUnits(alpha) / units;
  if (minimal_detectable_effect === null || minimal_detectable_effect === 0 || needed > 1) return null;
  return Math.min(1, Math.max(minimal_detectable_effect, needed));
}

/** The fewest units that could show a difference at all: with n that all fall, an exact test comes to 2^(1 − n). */
function leastUnits(alpha: number): number {
  let units = 1;
  while (2 ** (1 - units) >= alpha) units += 1;
  return units;
}

function isRate(metric: string): boolean {
  return metric === 'pass_rate' || metric.startsWith('tag.');
}

/** What the gate's baseline declares, with the test that follows from the repeats where it names none; null without a baseline. */
export function comparisonPolicy({ gate, repeats }: Pick<Profile, 'gate' | 'repeats'>): ComparisonPolicy | null {
  if (gate.baseline === null) return null;
  const { test, alpha, max_regressions } = gate.baseline;
  return { test: test ?? (repeats === 1 ? 'exact_mcnemar' : 'paired_bootstrap'), alpha, max_regressions };
}
