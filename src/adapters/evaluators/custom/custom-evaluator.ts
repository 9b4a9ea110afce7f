import type { Evaluator, EvaluatorInput } from '../../../contract/evaluator.ts';
import { type Finding, findingSchema } from '../../../contract/evaluator.ts';
import type { Environment } from '../../transport/command-environment.ts';

/** What an own evaluator gets to be opened; `config` is the evaluator's `config` in the profile. */
export interface CustomEvaluatorContext {
  readonly base_dir: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly timeout_ms: number;
  /** Memory that a command with all its processes, or a module, may take. */
  readonly memory_mb: number;
  /** Whether the exit code of a command is the grade; else its finding is. */
  readonly grade_by: 'finding' | 'exit_code';
  resolve(text: string): string;
  /** The text without the secrets that this process knows, for what is cut before it is recorded. */
  redact(text: string): string;
  readonly concurrency: number;
  readonly environment: Environment;
}

/** An evaluator that the user wrote, found by its ref: the files it consists of, relative to the profile, and how to open it. */
export interface CustomEvaluator {
  readonly code: readonly string[];
  open(context: CustomEvaluatorContext): Promise<Evaluator>;
}

/** The document that an own evaluator gets: the case with `expected`, the envelope, ids, latency, and its config. */
export function evaluatorDocument(input: EvaluatorInput, config: unknown): Record<string, unknown> {
  const { envelope, latency_ms, run_id, execution_id, attempt_id, repeat } = input;
  return { case: input.case, envelope, latency_ms, run_id, execution_id, attempt_id, repeat, config };
}

/** Reads a finding, or says what is wrong with it. */
export function readFinding(answer: unknown): Finding | string {
  const parsed = findingSchema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const place = issue === undefined || issue.path.length === 0 ? 'the answer' : `\`${issue.path.join('.')}\``;
  return `${place}: ${issue?.message ?? 'invalid'}`;
}

/** Reads a finding; throws an Error that says what is wrong with it (the engine records it as the evaluator's error). */
export function parseFinding(answer: unknown, who: string): Finding {
  const read = readFinding(answer);
  if (typeof read !== 'string') return read;
  throw new Error(
    `\`${who}\` gave no finding: ${read}; answer {"status": "passed" | "failed", "score": 0…1, "reason": "…"}`,
  );
}
