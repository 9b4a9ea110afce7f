import { compare as compareExactly, fraction } from '../lib/rational.ts';
import { exactDimension } from './aggregate.ts';
import { type CaseSummary, summaryScore } from './case-summary.ts';
import { comparisonOutcome } from './comparison-outcome.ts';
import { PairedMetrics } from './paired-metrics.ts';
import type { Interval } from './statistics/index.ts';

/** The declared test of a paired comparison. */
export const PAIRED_TESTS = ['exact_mcnemar', 'paired_bootstrap'] as const;
/** How a paired comparison decides whether a difference is one. */
export type PairedTest = (typeof PAIRED_TESTS)[number];

/** What a comparison holds against what. */
export interface ComparisonPolicy {
  readonly test: PairedTest;
  /** A two-sided p-value below it is a difference. */
  readonly alpha: number;
  /** More regressed cases than this is a regression whatever the test says; null: only the test decides. */
  readonly max_regressions: number | null;
  /** Fewer paired cases are no comparison; null: all of the baseline's but the allowed faults. Absent in method 1. */
  readonly min_cases?: number | null;
  /** The share of cases that may be missing by faults; absent in method 1. */
  readonly max_infra_rate?: number;
  /** Runs that were graded differently are compared too; absent where not. */
  readonly any_grading?: true;
}

/** How the cases of the two runs stand to each other; only `paired` ones are compared. */
export interface Pairing {
  readonly baseline_cases: number;
  readonly candidate_cases: number;
  readonly paired: number;
  /** Cases that only one of the runs has. */
  readonly only_baseline: number;
  readonly only_candidate: number;
  /** The same id with another content. */
  readonly changed: number;
  /** In both, but without a graded execution in one of them (infrastructure, configuration, grader, cancelled). */
  readonly ungraded: number;
  /** Cases that passed in the baseline at least once and are not paired, by what became of them; absent in method 1. */
  readonly passes_not_shown?: { readonly lost: number; readonly changed: number; readonly ungraded: number };
}

/** One metric of both runs over the paired cases. */
export interface MetricComparison {
  /** `pass_rate`, `mean_score`, `dimension.NAME` or `tag.NAME` (the pass rate of its cases). */
  readonly metric: string;
  readonly cases: number;
  /** Independent units: cases, or clusters of them. */
  readonly units: number;
  readonly baseline: number;
  readonly candidate: number;
  /** candidate − baseline, with its interval at 1 − alpha. */
  readonly delta: number;
  readonly interval: Interval;
  readonly test: PairedTest;
  readonly p_value: number;
  /** Adjusted by Holm among the metrics of its kind (dimensions, tags); the p-value itself for the others. */
  readonly p_adjusted: number;
  /**
   * About the smallest true difference that these data would have shown with 80 % power, and never less than what the test needs at all; null
   * where that is not known (no variation) or nothing could have been shown.
   */
  readonly minimal_detectable_effect: number | null;
}

/** A metric that some paired cases have in one run only; those cases are not compared by it. */
export interface OneSided {
  readonly metric: string;
  readonly only_baseline: number;
  readonly only_candidate: number;
}

/** Two runs, paired case by case. */
export interface Comparison {
  /** Whether both runs were graded alike; null where the baseline does not say, absent in method 1. */
  readonly same_grading?: boolean | null;
  readonly policy: ComparisonPolicy;
  readonly pairing: Pairing;
  readonly improved: number;
  readonly regressed: number;
  readonly equal: number;
  readonly metrics: readonly MetricComparison[];
  /** Metrics that paired cases have in one run only; absent where there are none. */
  readonly one_sided?: readonly OneSided[];
  /** `regression` by the declared policy; `no_regression`; `not_comparable` where too little was compared to say. */
  readonly outcome: 'regression' | 'no_regression' | 'not_comparable';
  /** The rule that decided, with its numbers. */
  readonly reason: string;
}

/** What became of one case. */
export interface CaseChange {
  readonly case_id: string;
  readonly change: 'improved' | 'regressed' | 'equal' | 'only_baseline' | 'only_candidate' | 'changed' | 'ungraded';
  readonly baseline: { readonly graded: number; readonly passed: number } | null;
  readonly candidate: { readonly graded: number; readonly passed: number } | null;
}

/** What two runs are compared by: the policy, a seed that names what is compared, and whether both were graded alike. */
export interface ComparisonOptions {
  readonly policy: ComparisonPolicy;
  readonly seed: string;
  readonly same_grading: boolean | null;
}

/**
 * Compares two runs case by case. Cases come in the same order from both (by case_id); a comparison is a pure function of the two
 * rows of summaries, the policy and the seed.
 */
export class ComparisonBuilder {
  readonly #options: ComparisonOptions;
  readonly #metrics = new PairedMetrics();
  readonly #pairing = {
    baseline_cases: 0,
    candidate_cases: 0,
    paired: 0,
    only_baseline: 0,
    only_candidate: 0,
    changed: 0,
    ungraded: 0,
  };
  readonly #notShown = { lost: 0, changed: 0, ungraded: 0 };
  #improved = 0;
  #regressed = 0;

  constructor(options: ComparisonOptions) {
    this.#options = options;
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
    if (baseline === null) {
      pairing.only_candidate += 1;
      return 'only_candidate';
    }
    const passed = baseline.passed > 0 ? 1 : 0;
    if (candidate === null) {
      pairing.only_baseline += 1;
      this.#notShown.lost += passed;
      return 'only_baseline';
    }
    if (baseline.case_content !== candidate.case_content) {
      pairing.changed += 1;
      this.#notShown.changed += passed;
      return 'changed';
    }
    if (baseline.graded === 0 || candidate.graded === 0) {
      pairing.ungraded += 1;
      this.#notShown.ungraded += passed;
      return 'ungraded';
    }
    pairing.paired += 1;
    return this.#pairCase(baseline, candidate, tags);
  }

  #pairCase(baseline: CaseSummary, candidate: CaseSummary, tags: readonly string[]): CaseChange['change'] {
    const before = fraction(BigInt(baseline.passed), BigInt(baseline.graded));
    const after = fraction(BigInt(candidate.passed), BigInt(candidate.graded));
    for (const metric of ['pass_rate', ...tags.map((tag) => `tag.${tag}`)])
      this.#metrics.add(metric, before, after, candidate.cluster);
    this.#metrics.add('mean_score', summaryScore(baseline), summaryScore(candidate), candidate.cluster);
    for (const name of Object.keys({ ...baseline.dimensions, ...candidate.dimensions }))
      this.#metrics.add(
        `dimension.${name}`,
        exactDimension(baseline, name),
        exactDimension(candidate, name),
        candidate.cluster,
      );
    const sign = compareExactly(after, before);
    if (sign > 0) this.#improved += 1;
    if (sign < 0) this.#regressed += 1;
    return sign > 0 ? 'improved' : sign < 0 ? 'regressed' : 'equal';
  }

  end(): Comparison {
    const { policy, same_grading } = this.#options;
    const metrics = this.#metrics.end(policy, this.#options.seed);
    const one_sided = this.#metrics.oneSided();
    const pairing: Pairing = { ...this.#pairing, passes_not_shown: { ...this.#notShown } };
    const [outcome, reason] = comparisonOutcome({
      policy,
      pairing,
      same_grading,
      improved: this.#improved,
      regressed: this.#regressed,
      rate: metrics.find(({ metric }) => metric === 'pass_rate'),
    });
    return {
      same_grading,
      policy,
      pairing,
      improved: this.#improved,
      regressed: this.#regressed,
      equal: pairing.paired - this.#improved - this.#regressed,
      metrics,
      ...(one_sided.length === 0 ? {} : { one_sided }),
      outcome,
      reason,
    };
  }
}
