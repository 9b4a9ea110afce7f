import type { GateCondition } from '../contract/gate.ts';
import type { Profile } from '../contract/profile.ts';
import type { Snapshot } from '../contract/snapshot.ts';
import type { Fault, GateStatus } from '../contract/state.ts';
import { compare, fraction, type Rational, rationalOf, toNumber } from '../lib/rational.ts';
import type { Comparison } from './comparison.ts';
import { holds, type SequentialCondition, type StopDecision } from './early-stop.ts';
import { valueNumber, within } from './exact-number.ts';
import { dueCases, lessFaults } from './least-cases.ts';
import { type Interval, MixtureSequence, meanInterval } from './statistics/index.ts';
import { type Outcome, Tally } from './tally.ts';
import { againstBaseline, conditionText, decidedEarly, tooFewText } from './verdict-reasons.ts';

/** A gate condition with the value it was held against. */
export interface ConditionResult extends GateCondition {
  /** The point value or the interval's bound; null when there was too little to compute it. */
  readonly value: number | null;
  readonly holds: boolean | null;
  /** The cases that the value stands on, and the fewest that the condition asks for; absent in verdicts of method 1. */
  readonly cases?: number;
  readonly least_cases?: number;
  /** The same in executions; absent where the condition says how many cases it needs, and where executions are not what counts. */
  readonly executions?: number;
  readonly least_executions?: number;
}

/** How the interval of the pass rate came about; the bootstraps and Wilson's belong to method 1. */
export type IntervalMethod = 'gaffke' | 'beta_mixture' | 'wilson' | 'cluster_bootstrap' | 'bootstrap';

/** The verdict: the gate with its statistics, derived from the frozen snapshot and the evidence's content alone. */
export interface Verdict {
  readonly snapshot_digest: string;
  readonly content_digest: string;
  /** The method that computed it (`method.ts`); absent in verdicts of method 1. */
  readonly method?: 2;
  readonly gate_status: Exclude<GateStatus, 'unknown'>;
  /** The rule that decided, with its numbers, in one sentence. */
  readonly reason: string;
  readonly conditions: readonly ConditionResult[];
  readonly cases: number;
  readonly repeats: number;
  readonly executions: {
    readonly total: number;
    readonly completed: number;
    readonly failed: number;
    readonly timed_out: number;
    readonly cancelled: number;
  };
  /** Without `configuration` in verdicts of method 1. */
  readonly faults: Readonly<Record<Exclude<Fault, 'configuration'>, number>> & { readonly configuration?: number };
  /** Executions in the denominator: all without infrastructure, configuration, grader and cancelled. */
  readonly graded: number;
  readonly passed: number;
  readonly pass_rate: number | null;
  /** passed / all. */
  readonly pass_rate_strict: number | null;
  readonly interval: readonly [number, number] | null;
  readonly interval_method: IntervalMethod | null;
  readonly mean_score: number | null;
  readonly scores: Readonly<Record<string, number>>;
  /** The paired comparison with the baseline; null when none was blessed; absent when the gate names none. */
  readonly baseline?: BaselineResult | null;
  /** Where the gate was decided before the plan was through; null when it was not; absent unless the profile asks for it. */
  readonly early_stop?: EarlyStopResult | null;
}

/** Where the gate was decided, and by which method. What ended beyond it is not told: that depends on timing, the verdict does not. */
export interface EarlyStopResult extends StopDecision {
  readonly method: 'beta_mixture';
}

/** What the verdict takes besides the outcomes. */
export interface VerdictParts {
  readonly baseline?: BaselineResult | null;
  readonly decision?: StopDecision | null;
  /** Grades of the outcomes were corrected by hand since the run ended. */
  readonly corrected?: boolean;
  /** Executions of the plan that were never made: a budget was spent. */
  readonly left_out?: number;
}

/** What the comparison with the baseline came to; `content_digest` says which baseline. */
export interface BaselineResult extends Comparison {
  readonly content_digest: string;
}

const CONFIDENCE = 0.95; // two-sided, unless a condition says otherwise (CONTRACTS, statistics)

/** A condition with its exact value, for the sentence that tells it. */
export interface HeldCondition extends ConditionResult {
  readonly exact: Rational | null;
}

type Frozen = Pick<Snapshot, 'profile' | 'group_cases'>;

/** What the prefix of a run that stopped comes to; with corrections it may decide nothing any more. */
export type PrefixDecision = Omit<StopDecision, 'outcome'> & {
  readonly outcome: StopDecision['outcome'] | 'undecided';
};

/** Collects outcomes in (case_id, repeat) order and ends in a verdict; the same inputs give the same bytes. */
export class VerdictBuilder {
  readonly #profile: Profile;
  readonly #planned: Frozen;
  readonly #snapshotDigest: string;
  readonly #tally: Tally;

  constructor(planned: Frozen, snapshotDigest: string) {
    const { profile } = planned;
    this.#profile = profile;
    this.#planned = planned;
    this.#snapshotDigest = snapshotDigest;
    const bounded = profile.gate.all.filter(({ bound }) => bound !== 'point' || profile.early_stop !== 'off');
    this.#tally = new Tally(['pass_rate', ...bounded.map(({ metric }) => metric)]);
  }

  add(outcome: Outcome): void {
    this.#tally.add(outcome);
  }

  end(contentDigest: string, parts: VerdictParts = {}): Verdict {
    const { baseline = null, left_out = 0, corrected = false } = parts;
    const tally = this.#tally;
    tally.end(left_out);
    const stop = parts.decision ?? null;
    const decision = stop === null || !corrected ? stop : this.#anew(stop);
    const { graded, passed, counts } = tally;
    const held = this.#profile.gate.all.map((condition, index) => this.#hold(condition, decision?.conditions[index]));
    const [gate_status, reason] = this.#decide(held, baseline, decision);
    const interval = decision === null ? this.#interval('pass_rate', CONFIDENCE) : decision.interval;
    const mean = tally.mean('mean_score');
    return {
      snapshot_digest: this.#snapshotDigest,
      content_digest: contentDigest,
      method: 2,
      gate_status,
      reason,
      conditions: held.map(({ exact: _exact, ...condition }) => condition),
      cases: tally.cases,
      repeats: this.#profile.repeats,
      executions: { ...counts },
      faults: { ...tally.faults },
      graded,
      passed,
      pass_rate: graded === 0 ? null : passed / graded,
      pass_rate_strict: counts.total === 0 ? null : passed / counts.total,
      interval,
      interval_method: interval === null ? null : this.#sequential ? 'beta_mixture' : 'gaffke',
      mean_score: mean === null ? null : toNumber(mean),
      scores: tally.scores(),
      ...(this.#profile.gate.baseline === null ? {} : { baseline }),
      ...(this.#profile.early_stop === 'off'
        ? {}
        : { early_stop: stop === null ? null : { ...stop, method: 'beta_mixture' } }),
    };
  }

  #decide(
    conditions: readonly HeldCondition[],
    baseline: BaselineResult | null,
    decision: PrefixDecision | null,
  ): [Verdict['gate_status'], string] {
    const inconclusive = this.#whyInconclusive();
    if (inconclusive !== null) return ['inconclusive', inconclusive];
    if (decision !== null) return decidedEarly(decision);
    const { gate } = this.#profile;
    if (gate.all.length === 0 && gate.baseline === null) return this.#withoutGate();
    const failed = conditions.find((condition) => condition.holds === false);
    if (failed) return ['fail', conditionText(failed)];
    const compared = gate.baseline === null ? null : againstBaseline(baseline);
    if (compared?.[0] === 'fail') return compared;
    const unknown = conditions.find((condition) => condition.holds === null);
    if (unknown) return ['inconclusive', tooFewText(unknown)];
    if (compared?.[0] === 'inconclusive') return compared;
    return ['pass', [...conditions.map(conditionText), ...(compared === null ? [] : [compared[1]])].join('; ')];
  }

  /** Why the gate cannot be decided whatever the conditions say; null when it can. */
  #whyInconclusive(): string | null {
    const { gate } = this.#profile;
    const { counts, faults, graded, cases } = this.#tally;
    const broken = faults.infrastructure + faults.configuration + faults.grader;
    if (counts.total === 0) return 'the run has no executions';
    if (counts.cancelled > 0)
      return `a budget of the run is spent: ${counts.cancelled} of ${counts.total} executions were not made`;
    if (compare(share(broken, counts.total), rationalOf(gate.max_infra_rate)) > 0)
      return `${broken} of ${counts.total} executions ended by infrastructure, configuration or grader faults, above max_infra_rate ${gate.max_infra_rate}`;
    if (graded === 0) return 'no execution was graded';
    if (cases < gate.min_cases) return `${cases} graded cases, fewer than min_cases ${gate.min_cases}`;
    return null;
  }

  /** No gate given: nothing may be blocked, and every graded execution must pass. */
  #withoutGate(): [Verdict['gate_status'], string] {
    const { graded, passed, blocked } = this.#tally;
    if (passed < graded) return ['fail', `${graded - passed} of ${graded} graded executions did not pass`];
    if (blocked > 0)
      return ['fail', `${blocked} of ${graded} graded executions have a failed blocking evaluator or dimension`];
    return ['pass', `all ${graded} graded executions passed`];
  }

  /** Before the plan was through the always-valid interval decides, whatever bound is asked for. */
  #hold(condition: GateCondition, early?: SequentialCondition): HeldCondition {
    if (early !== undefined) {
      const exact = early.mean === null ? null : rationalOf(early.mean);
      const cases = { cases: early.cases, least_cases: 0 };
      return { ...condition, value: early.mean, holds: early.holds, ...cases, exact };
    }
    const { value: exact, cases } = condition.bound === 'point' ? this.#point(condition) : this.#bound(condition);
    const least = this.#least(condition);
    const executions = this.#tally.executionsOf(condition.metric);
    const enough = cases >= least.cases && executions >= least.executions;
    return {
      ...condition,
      value: exact === null ? null : valueNumber(exact, condition),
      holds: exact === null || !enough ? null : within(exact, condition),
      cases,
      least_cases: least.cases,
      ...(least.executions > 0 ? { executions, least_executions: least.executions } : {}),
      exact,
    };
  }

  #point({ metric, k }: GateCondition): { readonly value: Rational | null; readonly cases: number } {
    const tally = this.#tally;
    const { passed, counts, faults, cases } = tally;
    if (metric === 'pass_rate_strict') return { value: share(passed, counts.total), cases };
    if (metric === 'infra_rate')
      return { value: share(faults.infrastructure + faults.configuration + faults.grader, counts.total), cases };
    if (metric === 'pass_at_k' || metric === 'pass_hat_k') return tally.passK(metric, k ?? 1);
    return { value: tally.mean(metric), cases: tally.casesOf(metric) };
  }

  #bound({ metric, bound, confidence }: GateCondition): { readonly value: Rational | null; readonly cases: number } {
    const conditions = this.#profile.gate.all.length;
    const interval = this.#interval(metric, this.#sequential ? 1 - (1 - confidence) / conditions : confidence);
    const value = interval === null ? null : rationalOf(bound === 'lower' ? interval[0] : interval[1]);
    return { value, cases: this.#tally.casesOf(metric) };
  }

  /**
   * The fewest cases and executions that a condition may stand on: as many cases as it says, else all that could have its metric but for the
   * share of faults that the gate allows.
   */
  #least(condition: GateCondition): { readonly cases: number; readonly executions: number } {
    if (condition.min_cases != null) return { cases: condition.min_cases, executions: 0 };
    const { gate, repeats } = this.#profile;
    const due = dueCases(this.#planned, condition);
    const executions = /^(pass_rate|mean_score|dimension\..+)$/.test(condition.metric) ? due * repeats : 0;
    return {
      cases: lessFaults(due, gate.max_infra_rate),
      executions: lessFaults(executions, gate.max_infra_rate),
    };
  }

  /** The decision that the prefix comes to with its corrections: it was made without them. */
  #anew(stop: StopDecision): PrefixDecision {
    const { all } = this.#profile.gate;
    const conditions = all.map((condition) => {
      const { metric, min, max, confidence } = condition;
      const sequence = this.#sequence(metric, 1 - (1 - confidence) / all.length);
      const interval = sequence.interval();
      return {
        metric,
        min,
        max,
        cases: sequence.n,
        mean: sequence.mean,
        interval,
        holds: holds({ condition, sequence }),
      };
    });
    const held = conditions.map((condition) => condition.holds);
    const outcome = held.includes(false) ? 'fail' : held.includes(null) ? 'undecided' : 'pass';
    const interval = this.#sequence('pass_rate', CONFIDENCE).interval();
    return { after_cases: stop.after_cases, outcome, interval, conditions };
  }

  #sequence(metric: string, confidence: number): MixtureSequence {
    const { sums, counts } = this.#tally.units(metric);
    const sequence = new MixtureSequence(confidence);
    for (let index = 0; index < sums.length; index += 1) sequence.add(Math.min(1, sums[index]! / counts[index]!));
    return sequence;
  }

  /** A profile that may stop early is judged by the always-valid interval also where it did not: the gate was looked at after every case. */
  get #sequential(): boolean {
    return this.#profile.early_stop !== 'off';
  }

  #interval(metric: string, confidence: number): Interval | null {
    const units = this.#tally.units(metric);
    if (!this.#sequential) return meanInterval(units, confidence);
    return units.sums.length === 0 ? null : this.#sequence(metric, confidence).interval();
  }
}

function share(part: number, whole: number): Rational {
  return fraction(BigInt(part), BigInt(whole));
}
