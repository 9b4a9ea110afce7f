import type { Fault } from '../../contract/state.ts';
import type { CaseSummary, ContentOutcome } from '../case-summary.ts';

const OUTSIDE: ReadonlySet<Fault | null> = new Set<Fault | null>(['infrastructure', 'grader', 'cancelled']);

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

function average(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
