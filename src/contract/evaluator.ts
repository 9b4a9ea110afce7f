import { z } from 'zod';
import type { Envelope } from './agent.ts';

/** How bad a finding is; it informs and filters, and decides nothing by itself. */
export const SEVERITIES = ['none', 'low', 'medium', 'high', 'critical'] as const;
export const EVALUATOR_STATUSES = ['passed', 'failed', 'error', 'skipped'] as const;

/** What an evaluator found. Without a score, passed counts 1 and failed 0; `error` is the evaluator's own failure. */
export const findingSchema = z.object({
  status: z.enum(EVALUATOR_STATUSES),
  severity: z.enum(SEVERITIES).default('none'),
  score: z.number().min(0).max(1).nullable().default(null),
  /** One sentence for a person: why it passed, failed or erred. */
  reason: z.string().nullable().default(null),
  evidence: z.json().default(null),
  /** Of an error: the evaluator was set up wrongly or cannot read what it is given, so that trying again is of no use. */
  fault: z.literal('configuration').optional(),
});
export type Finding = z.output<typeof findingSchema>;

/** An evaluator result: a finding with the identity of the evaluator that made it, as it is recorded. */
export interface EvaluatorResult extends Finding {
  /** Position in the case group's list, from 0. */
  readonly index: number;
  readonly ref: string;
  readonly dimension: string;
  readonly blocking: boolean;
  readonly weight: number;
}

/** What an evaluator sees: the whole case, the envelope, how long the agent took, and the ids. */
export interface EvaluatorInput {
  readonly case: {
    readonly case_id: string;
    readonly task_type: string;
    readonly input: unknown;
    readonly expected: unknown;
    readonly context: unknown;
    readonly tags: readonly string[];
    readonly metadata: Readonly<Record<string, unknown>>;
  };
  readonly envelope: Envelope;
  /** Milliseconds that the agent call took. */
  readonly latency_ms: number;
  readonly run_id: string;
  readonly execution_id: string;
  readonly attempt_id: string;
  readonly repeat: number;
}

/** An opened evaluator. A throw counts as status `error`. */
export interface Evaluator {
  /** True when evaluating leaves this process or takes long, so that the envelope is made durable first. */
  readonly external: boolean;
  evaluate(input: EvaluatorInput, options: { readonly signal: AbortSignal }): Finding | Promise<Finding>;
  close(): Promise<void>;
}

/** What an evaluator kind gets to open an evaluator. */
export interface EvaluatorContext<Config> {
  readonly config: Config;
  readonly base_dir: string;
  resolve(text: string): string;
  readonly concurrency: number;
}

/** A built-in evaluator: `name@version`, its config, and how to open it; one file and one line in the registry. */
export interface EvaluatorKind<Schema extends z.ZodType = z.ZodType> {
  readonly name: string;
  /** Raised whenever the same input could be graded differently. */
  readonly version: number;
  readonly summary: string;
  readonly config: Schema;
  /**
   * Why no answer at all could be graded by what is expected, or null. Asked for every case before a run exists, so it is pure and cheap;
   * left out by evaluators that expect nothing of a case.
   */
  ungradable?(config: z.output<Schema>, expected: unknown): string | null;
  open(context: EvaluatorContext<z.output<Schema>>): Evaluator | Promise<Evaluator>;
}

/** A finding with the usual defaults. */
export function finding(status: Finding['status'], reason: string | null, more: Partial<Finding> = {}): Finding {
  return { severity: 'none', score: null, evidence: null, ...more, status, reason };
}
