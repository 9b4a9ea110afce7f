import type { EvaluatorReference } from '../contract/profile.ts';
import type { Snapshot } from '../contract/snapshot.ts';
import { digest } from '../lib/canonical-json.ts';

/**
 * The identity of how a run was graded: groups, evaluators with their code, aggregation and what passes. Two runs with the same one were graded
 * alike, and only those are compared. Severity and limits of time and memory decide nothing and stay out.
 */
export function gradingDigest({ profile, code }: Pick<Snapshot, 'profile' | 'code'>): string {
  const { case_groups, defaults } = profile;
  const files = new Set(case_groups.flatMap(({ evaluators }) => evaluators.map(({ ref }) => fileOf(ref))));
  return digest('proctor/grading/1', {
    case_groups: case_groups.map(({ evaluators, ...group }) => ({
      ...group,
      evaluators: evaluators.map(gradingPart),
    })),
    code: code.filter(({ path }) => files.has(path)),
    fail_on_any_blocking_failure: defaults.fail_on_any_blocking_failure,
    min_execution_score: defaults.min_execution_score,
  });
}

/** What of a reference decides; `grade_by: finding` is what is meant where nothing is written. */
function gradingPart(reference: EvaluatorReference) {
  const { timeout_ms: _time, memory_mb: _memory, severity: _severity, grade_by, ...evaluator } = reference;
  return grade_by === 'exit_code' ? { ...evaluator, grade_by } : evaluator;
}

/** The file of an evaluator of one's own: `module:PATH#EXPORT` or `command:PATH`; null for any other. */
function fileOf(ref: string): string | null {
  return /^(?:module|command):([^#]+)/.exec(ref)?.[1] ?? null;
}
