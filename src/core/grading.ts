import type { Snapshot } from '../contract/snapshot.ts';
import { digest } from '../lib/canonical-json.ts';

/**
 * The identity of how a run was graded: groups, evaluators with their code, aggregation and what passes. Two runs with the same one were graded
 * alike, and only those are compared. Severity and time limits decide nothing and stay out.
 */
export function gradingDigest({ profile, code }: Pick<Snapshot, 'profile' | 'code'>): string {
  const { case_groups, defaults } = profile;
  const files = new Set(case_groups.flatMap(({ evaluators }) => evaluators.map(({ ref }) => fileOf(ref))));
  return digest('proctor/grading/1', {
    case_groups: case_groups.map(({ evaluators, ...group }) => ({
      ...group,
      evaluators: evaluators.map(({ timeout_ms: _timeout, severity: _severity, ...evaluator }) => evaluator),
    })),
    code: code.filter(({ path }) => files.has(path)),
    fail_on_any_blocking_failure: defaults.fail_on_any_blocking_failure,
    min_execution_score: defaults.min_execution_score,
  });
}

/** The file of an evaluator of one's own: `module:PATH#EXPORT` or `command:PATH`; null for any other. */
function fileOf(ref: string): string | null {
  return /^(?:module|command):([^#]+)/.exec(ref)?.[1] ?? null;
}
