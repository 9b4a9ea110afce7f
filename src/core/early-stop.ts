import type { GateCondition } from '../contract/gate.ts';
import type { CaseSummary } from './case-summary.ts';
import { dueCases, lessFaults, type Planned } from './least-cases.ts';
import { type Interval, MixtureSequence } from './statistics/index.ts';

/** One gate condition as the prefix of the run decides it. */
export interface SequentialCondition {
  readonly metric: string;
  readonly min: number | null;
  readonly max: number | null;
  readonly cases: number;
  readonly mean: number | null;
  /** The always-valid interval at the condition's confidence, shared out over the conditions. */
  readonly interval: Interval;
  readonly holds: boolean | null;
}

/** Where a run may stop, and why. */
export interface StopDecision {
  /** Cases of the prefix, in plan order, that decided. */
  readonly after_cases: number;
  readonly outcome: 'pass' | 'fail';
  /** The pass rate's always-valid interval at 95 %. */
  readonly interval: Interval;
  readonly conditions: readonly SequentialCondition[];
}

interface Watched {
  readonly condition: GateCondition;
  readonly sequence: MixtureSequence;
  /** The share of the plan's cases that could have the metric. */
  readonly share: number;
}

/** Metrics that an always-valid interval is known for. */
export const SEQUENTIAL_METRICS = /^(pass_rate|mean_score|dimension\..+)$/;

/**
 * Early stop by the completed prefix in plan order (CONTRACTS): the run may stop as soon as one condition of the gate is beyond its bound
 * on the wrong side, or all of them on the right side, by the beta-binomial mixture's always-valid interval. With m conditions each is held
 * at 1 − (1 − confidence)/m, so that the chance of a wrong stop over the whole run stays below 1 − confidence. Never before
 * `gate.min_cases` graded cases and the cases that each condition asks for, nor while more than `gate.max_infra_rate` of the prefix is broken.
 */
export class EarlyStop {
  readonly #watched: readonly Watched[];
  readonly #least: number;
  readonly #repeats: number;
  readonly #mostBroken: number;
  /** The pass rate at the usual confidence, for showing. */
  readonly #rate = new MixtureSequence(0.95);
  #cases = 0;
  #graded = 0;
  #broken = 0;
  #decision: StopDecision | null = null;

  constructor(planned: Planned) {
    const { gate, repeats } = planned.profile;
    const all = planned.group_cases?.reduce((sum, cases) => sum + cases, 0) ?? 0;
    this.#repeats = repeats;
    this.#mostBroken = gate.max_infra_rate;
    this.#least = gate.min_cases;
    this.#watched = gate.all.map((condition) => ({
      condition,
      sequence: new MixtureSequence(1 - (1 - condition.confidence) / gate.all.length),
      share: all === 0 ? 1 : dueCases(planned, condition) / all,
    }));
  }

  /** The decision, once there is one; what comes later does not change it. */
  get decision(): StopDecision | null {
    return this.#decision;
  }

  /** Takes the next case of the prefix; answers the decision that it brought, if it did. */
  add(summary: CaseSummary): StopDecision | null {
    if (this.#decision !== null) return null;
    this.#cases += 1;
    this.#broken += this.#repeats - summary.graded; // of a prefix without cancelled executions: infrastructure, configuration and grader
    if (summary.graded === 0) return null;
    this.#rate.add(summary.passed / summary.graded);
    this.#graded += 1;
    for (const { condition, sequence } of this.#watched) {
      const value = metricValue(condition.metric, summary);
      if (value !== null) sequence.add(value);
    }
    // A prefix that the gate would call inconclusive decides nothing.
    if (this.#graded < this.#least || this.#broken > this.#mostBroken * this.#cases * this.#repeats) return null;
    const held = this.#watched.map((watched) => (this.#stands(watched) ? holds(watched) : null));
    const failed = held.includes(false);
    if (held.length === 0 || (!failed && !held.every((value) => value === true))) return null;
    this.#decision = {
      after_cases: this.#cases,
      outcome: failed ? 'fail' : 'pass',
      interval: this.#rate.interval(),
      conditions: this.#watched.map(({ condition, sequence }, index) => ({
        metric: condition.metric,
        min: condition.min,
        max: condition.max,
        cases: sequence.n,
        mean: sequence.mean,
        interval: sequence.interval(),
        holds: held[index] ?? null,
      })),
    };
    return this.#decision;
  }

  /**
   * Whether the prefix has the cases that the condition asks for: its `min_cases`, else those of the prefix that could have the metric, less the
   * allowed faults. Where only some groups have it, the prefix is a random draw of the plan: three standard errors fewer will do.
   */
  #stands({ condition, sequence, share }: Watched): boolean {
    if (condition.min_cases != null) return sequence.n >= condition.min_cases;
    const due = Math.floor(this.#cases * share - 3 * Math.sqrt(this.#cases * share * (1 - share)));
    return sequence.n >= lessFaults(Math.max(0, due), this.#mostBroken);
  }
}

/** True or false once the interval lies beyond the bounds; null while it does not. */
export function holds({ condition, sequence }: Pick<Watched, 'condition' | 'sequence'>): boolean | null {
  const { min, max } = condition;
  const low = min === null ? 'above' : sequence.beyond(min);
  const high = max === null ? 'below' : sequence.beyond(max);
  if (low === 'below' || high === 'above') return false;
  return low === 'above' && high === 'below' ? true : null;
}

function metricValue(metric: string, summary: CaseSummary): number | null {
  if (metric === 'pass_rate') return summary.passed / summary.graded;
  if (metric === 'mean_score') return summary.score;
  return summary.dimensions[metric.slice('dimension.'.length)] ?? null;
}
