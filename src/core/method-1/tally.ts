import type { Fault } from '../../contract/state.ts';
import { passAtK, passHatK } from '../statistics/index.ts';
import type { CaseValues, Outcome } from '../tally.ts';

const OUTSIDE: ReadonlySet<Fault | null> = new Set<Fault | null>(['infrastructure', 'grader', 'cancelled']);

/**
 * Adds up outcomes in the order (case_id, repeat), which fixes every sum to the last bit. Holds one number a case and metric
 * that an interval was asked for, nothing else a case.
 */
export class Tally {
  readonly counts = { total: 0, completed: 0, failed: 0, timed_out: 0, cancelled: 0 };
  readonly faults: Record<Exclude<Fault, 'configuration'>, number> = {
    infrastructure: 0,
    agent: 0,
    grader: 0,
    policy: 0,
    cancelled: 0,
  };
  passed = 0;
  graded = 0;
  cases = 0;
  clustered = false;
  readonly #sums = new Map<string, { sum: number; count: number }>();
  readonly #wanted: readonly string[];
  readonly #perCase = new Map<string, CaseValues>();
  readonly #ks: readonly number[];
  readonly #k = new Map<string, { sum: number; count: number }>();
  #current: { case_id: string; cluster: string | null; rows: Outcome[] } | null = null;

  /** `wanted`: metrics whose interval is needed; `ks`: the k of pass@k and pass^k that are needed. */
  constructor(wanted: readonly string[], ks: readonly number[]) {
    this.#wanted = wanted;
    this.#ks = ks;
    for (const metric of wanted) this.#perCase.set(metric, { values: [], clusters: [] });
  }

  add(outcome: Outcome): void {
    this.counts.total += 1;
    this.counts[outcome.status] += 1;
    // Configuration faults were booked as infrastructure then.
    if (outcome.fault !== null) this.faults[outcome.fault === 'configuration' ? 'infrastructure' : outcome.fault] += 1;
    if (outcome.cluster !== null) this.clustered = true;
    if (this.#current?.case_id !== outcome.case_id) {
      this.#closeCase();
      this.#current = { case_id: outcome.case_id, cluster: outcome.cluster, rows: [] };
    }
    if (OUTSIDE.has(outcome.fault)) return;
    this.graded += 1;
    if (outcome.aggregate?.passed) this.passed += 1;
    this.#current.rows.push(outcome);
    if (outcome.aggregate === null) return;
    this.#addTo(this.#sums, 'mean_score', outcome.aggregate.score);
    for (const [name, score] of Object.entries(outcome.aggregate.dimensions))
      this.#addTo(this.#sums, `dimension.${name}`, score);
  }

  /** Closes the last case; call once, after the last outcome. `leftOut`: executions that were never made, as good as cancelled. */
  end(leftOut: number): void {
    this.counts.total += leftOut;
    this.counts.cancelled += leftOut;
    this.faults.cancelled += leftOut;
    this.#closeCase();
    this.#current = null;
  }

  /** The mean of `mean_score`, `dimension.NAME`, or `pass_at_k/K`, `pass_hat_k/K`; null when nothing was counted. */
  mean(metric: string): number | null {
    const entry = this.#sums.get(metric) ?? this.#k.get(metric);
    return entry === undefined ? null : entry.sum / entry.count;
  }

  /** Mean score of every dimension. */
  scores(): Record<string, number> {
    const names = [...this.#sums.keys()].filter((key) => key.startsWith('dimension.')).sort();
    return Object.fromEntries(names.map((key) => [key.slice('dimension.'.length), this.mean(key) ?? 0]));
  }

  /** One value a case of a wanted metric. */
  perCase(metric: string): CaseValues {
    return this.#perCase.get(metric) ?? { values: [], clusters: [] };
  }

  #closeCase(): void {
    if (this.#current === null || this.#current.rows.length === 0) return;
    const { rows, cluster } = this.#current;
    this.cases += 1;
    for (const metric of this.#wanted) {
      const values = rows.map((row) => metricOf(metric, row)).filter((value) => value !== null);
      if (values.length === 0) continue;
      const into = this.perCase(metric);
      into.values.push(values.reduce((sum, value) => sum + value, 0) / values.length);
      into.clusters.push(cluster);
    }
    const correct = rows.filter((row) => row.aggregate?.passed === true).length;
    for (const k of this.#ks) {
      this.#addTo(this.#k, `pass_at_k/${k}`, passAtK(rows.length, correct, k));
      this.#addTo(this.#k, `pass_hat_k/${k}`, passHatK(rows.length, correct, k));
    }
  }

  #addTo(into: Map<string, { sum: number; count: number }>, key: string, value: number | null): void {
    if (value === null) return;
    const entry = into.get(key);
    if (entry === undefined) into.set(key, { sum: value, count: 1 });
    else {
      entry.sum += value;
      entry.count += 1;
    }
  }
}

function metricOf(metric: string, row: Outcome): number | null {
  if (metric === 'pass_rate') return row.aggregate?.passed === true ? 1 : 0;
  if (metric === 'mean_score') return row.aggregate?.score ?? null;
  return row.aggregate?.dimensions[metric.slice('dimension.'.length)] ?? null;
}
