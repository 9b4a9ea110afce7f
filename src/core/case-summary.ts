import { type Rational, RationalSum, toNumber } from '../lib/rational.ts';
import { type Aggregate, exactDimension, exactScore } from './aggregate.ts';
import { exactOf, fractionText } from './exact-number.ts';
import { isGraded, type Outcome } from './tally.ts';

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
  /** The means that no decimal number is, as fractions `n/d`; absent where there are none. */
  readonly exact?: { readonly dimensions?: Readonly<Record<string, string>>; readonly score?: string };
}

/** An outcome with the identity of its case's content. */
export interface ContentOutcome extends Outcome {
  readonly case_content: string;
}

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
  const graded = rows.filter((row) => isGraded(row.fault));
  const aggregates = graded.flatMap(({ aggregate }) => (aggregate === null ? [] : [aggregate]));
  const names = [...new Set(aggregates.flatMap((aggregate) => Object.keys(aggregate.dimensions)))].sort();
  const score = meanOf(aggregates, exactScore);
  const dimensions = names.map((name) => [name, meanOf(aggregates, (of) => exactDimension(of, name))] as const);
  const { case_id, case_content, cluster } = first;
  return {
    case_id,
    case_content,
    cluster,
    graded: graded.length,
    passed: aggregates.filter((aggregate) => aggregate.passed).length,
    score: score === null ? null : toNumber(score),
    dimensions: Object.fromEntries(dimensions.map(([name, mean]) => [name, mean === null ? 0 : toNumber(mean)])),
    ...exactParts(score, dimensions),
  };
}

/** The exact mean score of a case; null where it has none. */
export function summaryScore({ score, exact }: CaseSummary): Rational | null {
  return score === null ? null : exactOf(score, exact?.score);
}

/** A summary as one line of JSON, by position, for the artifact that a baseline is frozen in; a fraction stands as `"n/d"`. */
export function summaryLine(summary: CaseSummary): string {
  const { case_id, case_content, cluster, graded, passed, score, dimensions, exact } = summary;
  const names = Object.keys(dimensions).sort();
  const values = names.map((name) => exact?.dimensions?.[name] ?? dimensions[name]);
  return JSON.stringify([case_id, case_content, cluster, graded, passed, exact?.score ?? score, names, values]);
}

/** The summary that a line holds. */
export function summaryOf(line: string): CaseSummary {
  const [case_id, case_content, cluster, graded, passed, score, names, values] = JSON.parse(line) as [
    string,
    string,
    string | null,
    number,
    number,
    number | string | null,
    string[],
    (number | string)[],
  ];
  const read = (value: number | string) => (typeof value === 'number' ? exactOf(value, undefined) : exactOf(0, value));
  const mean = score === null ? null : read(score);
  const dimensions = names.map((name, index) => [name, read(values[index] ?? 0)] as const);
  return {
    case_id,
    case_content,
    cluster,
    graded,
    passed,
    score: mean === null ? null : toNumber(mean),
    dimensions: Object.fromEntries(dimensions.map(([name, value]) => [name, toNumber(value)])),
    ...exactParts(mean, dimensions),
  };
}

function meanOf(aggregates: readonly Aggregate[], of: (aggregate: Aggregate) => Rational | null): Rational | null {
  const sum = new RationalSum();
  for (const aggregate of aggregates) {
    const value = of(aggregate);
    if (value !== null) sum.add(value);
  }
  return sum.mean;
}

function exactParts(
  score: Rational | null,
  dimensions: readonly (readonly [string, Rational | null])[],
): Pick<CaseSummary, 'exact'> {
  const named = dimensions.flatMap(([name, value]) => {
    const text = value === null ? null : fractionText(value);
    return text === null ? [] : [[name, text] as const];
  });
  const text = score === null ? null : fractionText(score);
  if (named.length === 0 && text === null) return {};
  return {
    exact: {
      ...(named.length === 0 ? {} : { dimensions: Object.fromEntries(named) }),
      ...(text === null ? {} : { score: text }),
    },
  };
}
