import type { Fault } from '../contract/state.ts';
import type { Outcome } from './tally.ts';

/** One case of a run, reduced over its repeats: what a paired comparison looks at. */
export interface CaseSummary {
  readonly case_id: string;
  /** Digest of the case's content; the same id with another content is another case. */
  readonly case_content: string;
  readonly cluster: string | null;
  /** Executions in the denominator, and how many of them passed; `graded` 0: nothing to compare. */
  readonly graded: number;
  readonly passed: number;
  /** Mean score and mean of every dimension over the graded executions that have an aggregate. */
  readonly score: number | null;
  readonly dimensions: Readonly<Record<string, number>>;
}

/** An outcome with the identity of its case's content. */
export interface ContentOutcome extends Outcome {
  readonly case_content: string;
}

const OUTSIDE: ReadonlySet<Fault | null> = new Set<Fault | null>([
  'infrastructure',
  'configuration',
  'grader',
  'cancelled',
]);

/** Reduces outcomes in (case_id, repeat) order to one summary a case, handed on as soon as its last repeat was seen. */
export class CaseSummaries {
  readonly #summarize: (rows: readonly ContentOutcome[]) => CaseSummary;
  readonly #take: (summary: CaseSummary) => void;
  #rows: ContentOutcome[] = [];

  constructor(summarized: (rows: readonly ContentOutcome[]) => CaseSummary, take: (summary: CaseSummary) => void) {
    this.#summarize = summarized;
    this.#take = take;
  }

  add(row: ContentOutcome): void {
    if (this.#rows.length > 0 && this.#rows[0]?.case_id !== row.case_id) this.end();
    this.#rows.push(row);
  }

  /** Hands on the last case; call once, after the last outcome. */
  end(): void {
    if (this.#rows.length === 0) return;
    this.#take(this.#summarize(this.#rows));
    this.#rows = [];
  }
}

/** The summary of a case from its outcomes, at least one. */
export function summarize(rows: readonly ContentOutcome[]): CaseSummary {
  const [first] = rows;
  if (first === undefined) throw new RangeError('no outcomes make no case');
  const graded = rows.filter((row) => !OUTSIDE.has(row.fault));
  const aggregates = graded.flatMap(({ aggregate }) => (aggregate === null ? [] : [aggregate]));
  const names = [...new Set(aggregates.flatMap((aggregate) => Object.keys(aggregate.dimensions)))].sort();
  const { case_id, case_content, cluster } = first;
  return {
    case_id,
    case_content,
    cluster,
    graded: graded.length,
    passed: aggregates.filter((aggregate) => aggregate.passed).length,
    score: average(aggregates.map((aggregate) => aggregate.score)),
    dimensions: Object.fromEntries(
      names.map((name) => [name, average(aggregates.flatMap((aggregate) => aggregate.dimensions[name] ?? [])) ?? 0]),
    ),
  };
}

/** A summary as one line of canonical JSON, by position, for the artifact that a baseline is frozen in. */
export function summaryLine(summary: CaseSummary): string {
  const { case_id, case_content, cluster, graded, passed, score, dimensions } = summary;
  const names = Object.keys(dimensions).sort();
  return JSON.stringify([
    case_id,
    case_content,
    cluster,
    graded,
    passed,
    score,
    names,
    names.map((n) => dimensions[n]),
  ]);
}

/** The summary that a line holds. */
export function summaryOf(line: string): CaseSummary {
  const [case_id, case_content, cluster, graded, passed, score, names, values] = JSON.parse(line) as [
    string,
    string,
    string | null,
    number,
    number,
    number | null,
    string[],
    number[],
  ];
  const dimensions = Object.fromEntries(names.map((name, index) => [name, values[index] ?? 0]));
  return { case_id, case_content, cluster, graded, passed, score, dimensions };
}

function average(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
