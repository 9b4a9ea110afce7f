import type { ExecutionDocument } from '../contract/documents.ts';

/** Why an execution did not pass, in one line. */
export function whyNotPassed(execution: ExecutionDocument): string {
  if (execution.status === 'cancelled') return 'not made: the run was cancelled or had stopped';
  return `${execution.beyond_stop ? 'beyond the stop, not counted: ' : ''}${why(execution)}`;
}

function why(execution: ExecutionDocument): string {
  const failed =
    execution.evaluator_results.find((result) => result.status === 'error') ??
    execution.evaluator_results.find((result) => result.status === 'failed' && result.blocking) ??
    execution.evaluator_results.find((result) => result.status === 'failed');
  if (failed) return `${failed.ref}: ${failed.reason ?? failed.status}`;
  const message = (execution.failure as { message?: unknown } | null)?.message;
  if (execution.status !== 'completed')
    return `${execution.status.replace('_', ' ')}${execution.fault === null ? '' : `, ${execution.fault}`}: ${typeof message === 'string' ? message : (execution.reason ?? 'no reason recorded')}`;
  return `score ${execution.aggregate?.score.toFixed(3) ?? 'none'} is too low`;
}
