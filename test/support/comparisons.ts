import type { CaseSummary } from '../../src/core/case-summary.ts';
import type { CaseChange, Comparison, ComparisonPolicy } from '../../src/core/comparison.ts';
import { methodOf } from '../../src/core/method.ts';

/** A case with one graded execution, but for what is given. */
export function summaryOf(case_id: string, passed: number, more: Partial<CaseSummary> = {}): CaseSummary {
  return { case_id, case_content: 'same', cluster: null, graded: 1, passed, score: passed, dimensions: {}, ...more };
}

/** A case of both runs, or of one of them, with its tags. */
export type Paired = readonly [CaseSummary | null, CaseSummary | null, (readonly string[])?];

/** Two runs compared by one of the methods, and what became of each case. */
export function compared(
  method: 1 | 2,
  rows: readonly Paired[],
  policy: Partial<ComparisonPolicy> = {},
): Comparison & { readonly changes: CaseChange['change'][] } {
  const whole: ComparisonPolicy = { test: 'exact_mcnemar', alpha: 0.05, max_regressions: null, ...policy };
  const more = method === 1 ? {} : { min_cases: 0, max_infra_rate: 0 };
  const builder = methodOf({ method }).comparison({ policy: { ...more, ...whole }, seed: 'seed', same_grading: true });
  const changes = rows.map((row) => builder.add(...row).change);
  return { ...builder.end(), changes };
}

/** The metrics as rows: name, cases, units, both means, difference, interval, test, p-value, adjusted, detectable. */
export function metricRows({ metrics }: Comparison): unknown[][] {
  return metrics.map((one) => [
    one.metric,
    [one.cases, one.units],
    [one.baseline, one.candidate, one.delta],
    one.interval,
    one.test,
    [one.p_value, one.p_adjusted, one.minimal_detectable_effect],
  ]);
}
