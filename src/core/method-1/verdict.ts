import type { GateCondition } from '../../contract/gate.ts';
import type { Profile } from '../../contract/profile.ts';
import type { SequentialCondition, StopDecision } from '../early-stop.ts';
import { type Interval, passRateInterval, seedOf, wilson } from '../statistics/index.ts';
import type { Outcome } from '../tally.ts';
import type { BaselineResult, ConditionResult, EarlyStopResult, Verdict, VerdictParts } from '../verdict.ts';
import { Tally } from './tally.ts';

const CONFIDENCE = 0.95; // two-sided, unless a condition says otherwise (CONTRACTS, statistics)

/** Collects outcomes in (case_id, repeat) order and ends in a verdict; the same inputs give the same bytes. */
export class VerdictBuilder {
  readonly #profile: Profile;
  readonly #snapshotDigest: string;
  readonly #tally: Tally;

  constructor(profile: Profile, snapshotDigest: string) {
    this.#profile = profile;
    this.#snapshotDigest = snapshotDigest;
    const conditions = profile.gate.all;
    const intervals = conditions
      .filter((condition) => condition.bound !== 'point')
      .map((condition) => condition.metric);
    const wanted = new Set(['pass_rate', ...intervals.filter((metric) => /^(mean_score|dimension\.)/.test(metric))]);
    this.#tally = new Tally([...wanted], [...new Set(conditions.flatMap((condition) => condition.k ?? []))]);
  }

  add(outcome: Outcome): void {
    this.#tally.add(outcome);
  }

  end(contentDigest: string, { baseline = null, decision = null, left_out = 0 }: VerdictParts = {}): Verdict {
    const tally = this.#tally;
    tally.end(left_out);
    const { graded, passed, counts } = tally;
    const conditions = this.#profile.gate.all.map((condition, index) =>
      this.#hold(condition, decision?.conditions[index]),
    );
    const [gate_status, reason] = this.#decide(conditions, baseline, decision);
    const interval = decision === null ? this.#interval('pass_rate', CONFIDENCE) : decision.interval;
    return {
      snapshot_digest: this.#snapshotDigest,
      content_digest: contentDigest,
      gate_status,
      reason,
      conditions,
      cases: tally.cases,
      repeats: this.#profile.repeats,
      executions: { ...counts },
      faults: { ...tally.faults },
      graded,
      passed,
      pass_rate: ratio(passed, graded),
      pass_rate_strict: ratio(passed, counts.total),
      interval,
      interval_method: interval === null ? null : decision === null ? this.#method() : 'beta_mixture',
      mean_score: tally.mean('mean_score'),
      scores: tally.scores(),
      ...(this.#profile.gate.baseline === null ? {} : { baseline }),
      ...(this.#profile.early_stop === 'off' ? {} : { early_stop: stopped(decision) }),
    };
  }

  #decide(
    conditions: readonly ConditionResult[],
    baseline: BaselineResult | null,
    decision: StopDecision | null,
  ): [Verdict['gate_status'], string] {
    const { gate } = this.#profile;
    const { counts, faults, graded, passed, cases } = this.#tally;
    const broken = faults.infrastructure + faults.grader;
    if (counts.total === 0) return ['inconclusive', 'the run has no executions'];
    if (counts.cancelled > 0)
      return [
        'inconclusive',
        `a budget of the run is spent: ${counts.cancelled} of ${counts.total} executions were not made`,
      ];
    if (broken / counts.total > gate.max_infra_rate) {
      return [
        'inconclusive',
        `${broken} of ${counts.total} executions ended by infrastructure or grader faults, above max_infra_rate ${gate.max_infra_rate}`,
      ];
    }
    if (graded === 0) return ['inconclusive', 'no execution was graded'];
    if (cases < gate.min_cases)
      return ['inconclusive', `${cases} graded cases, fewer than min_cases ${gate.min_cases}`];
    if (decision !== null) return decidedEarly(decision);
    if (gate.all.length === 0 && gate.baseline === null) {
      return passed === graded
        ? ['pass', `all ${graded} graded executions passed`]
        : ['fail', `${graded - passed} of ${graded} graded executions did not pass`];
    }
    const failed = conditions.find((condition) => condition.holds === false);
    if (failed) return ['fail', describe(failed)];
    const compared = gate.baseline === null ? null : againstBaseline(baseline);
    if (compared?.[0] === 'fail') return compared;
    const unknown = conditions.find((condition) => condition.holds === null);
    if (unknown) return ['inconclusive', `${nameOf(unknown)} could not be computed: too few cases or repeats`];
    if (compared?.[0] === 'inconclusive') return compared;
    return ['pass', [...conditions.map(describe), ...(compared === null ? [] : [compared[1]])].join('; ')];
  }

  /** Before the plan was through the always-valid interval decides, whatever bound is asked for. */
  #hold(condition: GateCondition, early?: SequentialCondition): ConditionResult {
    if (early !== undefined) return { ...condition, value: early.mean, holds: early.holds };
    const value = condition.bound === 'point' ? this.#point(condition) : this.#bound(condition);
    if (value === null) return { ...condition, value, holds: null };
    const holds =
      (condition.min === null || value >= condition.min) && (condition.max === null || value <= condition.max);
    return { ...condition, value, holds };
  }

  #point({ metric, k }: GateCondition): number | null {
    const { passed, graded, counts, faults } = this.#tally;
    if (metric === 'pass_rate') return ratio(passed, graded);
    if (metric === 'pass_rate_strict') return ratio(passed, counts.total);
    if (metric === 'infra_rate') return ratio(faults.infrastructure + faults.grader, counts.total);
    return this.#tally.mean(k === null ? metric : `${metric}/${k}`);
  }

  #bound(condition: GateCondition): number | null {
    const interval = this.#interval(condition.metric, condition.confidence);
    return interval === null ? null : condition.bound === 'lower' ? interval[0] : interval[1];
  }

  /** One repeat and no clusters: Wilson over cases; else values reduced per case and a seeded bootstrap over units. */
  #interval(metric: string, confidence: number): Interval | null {
    if (metric === 'pass_rate' && this.#method() === 'wilson') {
      return this.#tally.graded === 0 ? null : wilson(this.#tally.passed, this.#tally.graded, confidence);
    }
    if (metric !== 'pass_rate' && metric !== 'mean_score' && !metric.startsWith('dimension.')) return null;
    const { values, clusters } = this.#tally.perCase(metric);
    const seed = seedOf(this.#snapshotDigest, `${metric}/${confidence}`);
    return passRateInterval({
      values,
      clusters: this.#tally.clustered ? clusters : null,
      repeats: this.#profile.repeats,
      confidence,
      seed,
    });
  }

  #method(): 'wilson' | 'cluster_bootstrap' | 'bootstrap' {
    if (this.#tally.clustered) return 'cluster_bootstrap';
    return this.#profile.repeats === 1 ? 'wilson' : 'bootstrap';
  }
}

function stopped(decision: StopDecision | null): EarlyStopResult | null {
  return decision === null ? null : { ...decision, method: 'beta_mixture' };
}

/** The rule that decided before the plan was through. */
function decidedEarly({ after_cases, outcome, conditions }: StopDecision): [Verdict['gate_status'], string] {
  const deciding = outcome === 'fail' ? conditions.filter(({ holds }) => holds === false).slice(0, 1) : conditions;
  const told = deciding.map(({ metric, mean, interval, min, max }) => {
    const wanted = [min === null ? null : `≥ ${min}`, max === null ? null : `≤ ${max}`].filter((text) => text !== null);
    const range = `[${interval[0].toFixed(4)}, ${interval[1].toFixed(4)}]`;
    return `${metric} is ${mean?.toFixed(4)} in ${range}, ${outcome === 'fail' ? 'wanted' : 'as wanted'} ${wanted.join(' and ')}`;
  });
  return [outcome, `decided after ${after_cases} cases by an always-valid interval: ${told.join('; ')}`];
}

function againstBaseline(baseline: BaselineResult | null): [Verdict['gate_status'], string] {
  if (baseline === null)
    return ['inconclusive', 'no run of this profile is blessed yet; `proctor bless RUN` makes one the baseline'];
  const reason = `against the baseline ${baseline.reason}`;
  if (baseline.outcome === 'not_comparable') return ['inconclusive', reason];
  return [baseline.outcome === 'regression' ? 'fail' : 'pass', reason];
}

function nameOf(condition: GateCondition): string {
  const metric = condition.k === null ? condition.metric : `${condition.metric} (k=${condition.k})`;
  return condition.bound === 'point'
    ? metric
    : `the ${condition.bound} ${condition.confidence * 100}% bound of ${metric}`;
}

function describe(condition: ConditionResult): string {
  const wanted = [
    condition.min === null ? null : `≥ ${condition.min}`,
    condition.max === null ? null : `≤ ${condition.max}`,
  ]
    .filter((text) => text !== null)
    .join(' and ');
  return `${nameOf(condition)} is ${condition.value?.toFixed(4) ?? 'unknown'}, ${condition.holds ? 'as wanted' : 'wanted'} ${wanted}`;
}

function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
