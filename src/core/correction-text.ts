import type { ExecutionDocument } from '../contract/documents.ts';

/** Who corrected an execution and why, in one line; null where nobody did. */
export function correctionText({ corrected, evaluator_results, aggregate }: ExecutionDocument): string | null {
  if (corrected === null) return null;
  const reasons = corrected.own.results.flatMap(({ index }) => evaluator_results[index]?.reason ?? []);
  const now = aggregate?.passed === true ? 'passed' : 'not passed';
  return [`corrected to ${now} by ${corrected.corrected_by}`, ...reasons].join(': ');
}
