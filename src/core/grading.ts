import type { Snapshot } from '../contract/snapshot.ts';
import { digest } from '../lib/canonical-json.ts';

/**
 * The identity of how a run was graded: groups, evaluators with their code, aggregation and what passes. Two runs with the same one were graded
 * alike, and only those are compared.
 */
export function gradingDigest({ profile, code }: Pick<Snapshot, 'profile' | 'code'>): string {
  const { case_groups, defaults } = profile;
  const refs = case_groups.flatMap(({ evaluators }) => evaluators.map(({ ref }) => ref));
  return digest('proctor/grading/1', {
    case_groups: case_groups.map(({ evaluators, ...group }) => ({
      ...group,
      evaluators: evaluators.map(({ timeout_ms: _timeout, ...evaluator }) => evaluator),
    })),
    code: code.filter(({ path }) => refs.some((ref) => ref.includes(path))),
    fail_on_any_blocking_failure: defaults.fail_on_any_blocking_failure,
    min_execution_score: defaults.min_execution_score,
  });
}
