import type { Fault, TerminalStatus } from '../contract/state.ts';
import { fraction, type Rational, RationalSum, rationalOf, toNumber } from '../lib/rational.ts';
import { type Aggregate, exactDimension, exactScore } from './aggregate.ts';
import { clusterCodes, type Units } from './statistics/index.ts';

/** One ended execution, as the verdict sees it. */
export interface Outcome {
  readonly case_id: string;
  readonly repeat: number;
  readonly cluster: string | null;
  readonly status: TerminalStatus;
  readonly fault: Fault | null;
  readonly aggregate: Aggregate | null;
}

/** A metric reduced to one value a case (the mean over its repeats), with the clusters of the cases. */
export interface CaseValues {
  readonly values: number[];
  readonly clusters: (string | null)[];
}

const OUTSIDE: ReadonlySet<Fault | null> = new Set<Fault | null>([
  'infrastructure',
  'configuration',
  'grader',
  'cancelled',
]);

/** Whether an execution with this fault counts in the denominator. */
export function isGraded(fault: Fault | null): boolean {
  return !OUTSIDE.has(fault);
}

/** What was added up of one metric: its exact mean, over how many cases, and their values where an interval is needed. */
interface Metric {
  readonly sum: RationalSum;
  cases: number;
  /** A sum and a count a case, and the case's cluster; null where no interval is asked for. */
  readonly units: { readonly sums: number[]; readonly counts: number[]; readonly clusters: (string | null)[] } | null;
}

/**
 * Adds up outcomes in the order (case_id, repeat). Sums are exact; beside them it holds two numbers a case and metric that an interval was
 * asked for, nothing else a case.
 */
export class Tally {
  readonly counts = { total: 0, completed: 0, failed: 0, timed_out: 0, cancelled: 0 };
  readonly faults: Record<Fault, number> = {
    infrastructure: 0,
    configuration: 0,
    agent: 0,
    grader: 0,
    policy: 0,
    cancelled: 0,
  };
  passed = 0;
  graded = 0;
  cases = 0;
  /** Graded executions with a failed blocking evaluator or dimension. */
  blocked = 0;
  clustered = false;
  readonly #wanted: ReadonlySet<string>;
  readonly #metrics = new Map<string, Metric>();
  /** Cases by how many tries they had and how many passed. */
  readonly #tries = new Map<number, Map<number, number>>();
  #current: { case_id: string; cluster: string | null; rows: Outcome[] } | null = null;

  /** `wanted`: metrics whose interval is needed. */
  constructor(wanted: readonly string[]) {
    this.#wanted = new Set(wanted);
  }

  add(outcome: Outcome): void {
    this.counts.total += 1;
    this.counts[outcome.status] += 1;
    if (outcome.fault !== null) this.faults[outcome.fault] += 1;
    if (outcome.cluster !== null) this.clustered = true;
    if (this.#current?.case_id !== outcome.case_id) {
      this.#closeCase();
      this.#current = { case_id: outcome.case_id, cluster: outcome.cluster, rows: [] };
    }
    if (!isGraded(outcome.fault)) return;
    this.graded += 1;
    if (outcome.aggregate?.passed) this.passed += 1;
    if ((outcome.aggregate?.blocking_failures.length ?? 0) > 0) this.blocked += 1;
    this.#current.rows.push(outcome);
  }

  /** Closes the last case; call once, after the last outcome. `leftOut`: executions that were never made, as good as cancelled. */
  end(leftOut = 0): void {
    this.counts.total += leftOut;
    this.counts.cancelled += leftOut;
    this.faults.cancelled += leftOut;
    this.#closeCase();
    this.#current = null;
  }

  /** The exact mean of `pass_rate`, `mean_score` or `dimension.NAME` over graded executions; null when nothing was counted. */
  mean(metric: string): Rational | null {
    return this.#metrics.get(metric)?.sum.mean ?? null;
  }

  /** The cases that a metric stands on. */
  casesOf(metric: string): number {
    return this.#metrics.get(metric)?.cases ?? 0;
  }

  /** The executions that a metric stands on. */
  executionsOf(metric: string): number {
    return this.#metrics.get(metric)?.sum.count ?? 0;
  }

  /** pass@k or pass^k averaged over the cases with at least k tries, and how many they are. */
  passK(metric: 'pass_at_k' | 'pass_hat_k', k: number): { readonly value: Rational | null; readonly cases: number } {
    const sum = new RationalSum();
    let cases = 0;
    for (const [n, byPassed] of this.#tries) {
      if (n < k) continue;
      for (const [c, times] of byPassed) {
        const drawn = metric === 'pass_hat_k' ? draws(c, k) : draws(n, k) - draws(n - c, k);
        sum.add(fraction(drawn * BigInt(times), draws(n, k)));
        cases += times;
      }
    }
    return { value: cases === 0 ? null : fraction(sum.total.n, sum.total.d * BigInt(cases)), cases };
  }

  /** Mean score of every dimension. */
  scores(): Record<string, number> {
    const names = [...this.#metrics.keys()].filter((key) => key.startsWith('dimension.')).sort();
    return Object.fromEntries(
      names.map((key) => [key.slice('dimension.'.length), toNumber(this.mean(key) ?? rationalOf(0))]),
    );
  }

  /** The values of a wanted metric by unit: by case, or by cluster where cases have one. */
  units(metric: string): Units {
    const units = this.#metrics.get(metric)?.units;
    if (!units) return { sums: [], counts: [] };
    const coded = this.clustered ? clusterCodes(units.clusters, units.sums.length) : null;
    if (coded === null) return units;
    const sums = new Float64Array(coded.count);
    const counts = new Float64Array(coded.count);
    for (const [index, code] of coded.codes.entries()) {
      sums[code] = sums[code]! + units.sums[index]!;
      counts[code] = counts[code]! + units.counts[index]!;
    }
    return { sums, counts };
  }

  #closeCase(): void {
    if (this.#current === null || this.#current.rows.length === 0) return;
    const { rows, cluster } = this.#current;
    this.cases += 1;
    const passed = rows.filter((row) => row.aggregate?.passed === true).length;
    this.#addCase(
      'pass_rate',
      rows.map((row) => (row.aggregate?.passed === true ? ONE : NOUGHT)),
      cluster,
    );
    const aggregates = rows.flatMap(({ aggregate }) => aggregate ?? []);
    this.#addCase('mean_score', aggregates.map(exactScore), cluster);
    for (const name of new Set(aggregates.flatMap(({ dimensions }) => Object.keys(dimensions))))
      this.#addCase(
        `dimension.${name}`,
        aggregates.flatMap((of) => exactDimension(of, name) ?? []),
        cluster,
      );
    const byPassed = this.#tries.get(rows.length) ?? new Map<number, number>();
    this.#tries.set(rows.length, byPassed.set(passed, (byPassed.get(passed) ?? 0) + 1));
  }

  #addCase(name: string, values: readonly Rational[], cluster: string | null): void {
    if (values.length === 0) return;
    let metric = this.#metrics.get(name);
    if (metric === undefined) {
      const units = this.#wanted.has(name) ? { sums: [], counts: [], clusters: [] } : null;
      metric = { sum: new RationalSum(), cases: 0, units };
      this.#metrics.set(name, metric);
    }
    metric.cases += 1;
    for (const value of values) metric.sum.add(value);
    if (metric.units === null) return;
    metric.units.sums.push(values.reduce((sum, value) => sum + toNumber(value), 0));
    metric.units.counts.push(values.length);
    metric.units.clusters.push(cluster);
  }
}

const ONE = rationalOf(1);
const NOUGHT = rationalOf(0);

/** C(n, k): in how many ways k can be drawn from n. */
function draws(n: number, k: number): bigint {
  if (n < k) return 0n;
  let ways = 1n;
  for (let drawn = 1n; drawn <= BigInt(k); drawn += 1n) ways = (ways * (BigInt(n - k) + drawn)) / drawn;
  return ways;
}
