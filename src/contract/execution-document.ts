import { z } from 'zod';
import { toolCallSchema, turnAnswerSchema, usageSchema } from './agent.ts';
import { EVALUATOR_STATUSES, SEVERITIES } from './evaluator.ts';
import { evaluatorReferenceSchema } from './profile.ts';
import { ATTEMPT_STATUSES, EXECUTION_STATUSES, FAULTS } from './state.ts';
import { toolRunDocumentSchema } from './tool-documents.ts';

const count = z.number().int().nonnegative();
const grade = {
  index: count,
  status: z.enum(EVALUATOR_STATUSES),
  score: z.number().nullable(),
  reason: z.string().nullable(),
};

const resultSchema = z.object({
  ...grade,
  ...evaluatorReferenceSchema.pick({ ref: true, dimension: true, blocking: true, weight: true }).shape,
  severity: z.enum(SEVERITIES),
  evidence: z.json(),
});

const outputSchema = z.object({
  text: z.string().nullable(),
  structured: z.json(),
  raw: z.json(),
  metadata: z.record(z.string(), z.json()),
});

/** One attempt at an execution, and what came of it. */
const attemptSchema = z.object({
  attempt_id: z.string(),
  attempt: count,
  status: z.enum(ATTEMPT_STATUSES),
  fault: z.enum(FAULTS).nullable(),
  /** Code of what ended it, or null. */
  reason: z.string().nullable(),
  /** It decided the execution: its answer and results stand in the document itself. */
  decides: z.boolean(),
  /** Who worked on it; names are empty in a bundle. */
  worker: z.object({ session_id: z.string(), name: z.string(), host: z.string(), pid: count }),
  started_at: z.string(),
  ended_at: z.string().nullable(),
  duration_ms: z.number().int().nullable(),
  /** What came in place of an answer: a status with its body, a traceback, what stood on stderr. */
  failure: z.json(),
  /** Its answer, where it does not decide and one was kept. */
  output: outputSchema.nullable(),
  /** Its results, where it does not decide. */
  evaluator_results: z.array(resultSchema),
});
export type AttemptDocument = z.output<typeof attemptSchema>;

/** All that is stored of one execution: what `show RUN --case ID --json` and `show RUN --executions --json` print, a line each. */
export const executionDocumentSchema = z
  .object({
    run_id: z.string(),
    execution_id: z.string(),
    case_id: z.string(),
    repeat: z.number().int(),
    /** The revision of the verdict that grades and aggregate are told by; 0 is the run's own. */
    revision: count,
    status: z.enum(EXECUTION_STATUSES),
    fault: z.enum(FAULTS).nullable(),
    /** Code of the failure that ended the execution, or null. */
    reason: z.string().nullable(),
    aggregate: z
      .object({
        passed: z.boolean(),
        score: z.number(),
        dimensions: z.record(z.string(), z.number()),
        blocking_failures: z.array(z.string()),
      })
      .nullable(),
    /** The gate was decided before it in the plan's order: kept as evidence, not counted by the verdict. */
    beyond_stop: z.boolean(),
    /** The case as it was planned; the agent saw its input, context and tags, and the metadata that the profile names. */
    case: z.object({
      task_type: z.string(),
      case_group: z.string(),
      input: z.json(),
      expected: z.json(),
      context: z.json(),
      tags: z.array(z.string()),
      metadata: z.record(z.string(), z.json()),
      cluster: z.string().nullable(),
    }),
    /** What the agent answered; null without an answer, or where the profile keeps none. */
    output: outputSchema.nullable(),
    /** The calls of tools that the answer tells of; `source` says which of them went through the gateway. */
    tool_calls: z.array(toolCallSchema),
    /** The calls that went through the gateway, of every attempt. */
    tool_runs: z.array(toolRunDocumentSchema),
    trace: z.array(z.json()),
    usage: usageSchema.nullable(),
    /** Every turn of a session by itself; null for a single question. */
    turns: z.array(turnAnswerSchema).nullable(),
    /** How long the agent took for the answer that was graded; null without one. */
    latency_ms: count.nullable(),
    evaluator_results: z.array(resultSchema),
    /** What the evaluators found where people corrected it; the results above are by the corrections. Null while there are none. */
    corrected: z
      .object({
        corrected_by: z.string(),
        own: z.object({ passed: z.boolean(), score: z.number(), results: z.array(z.object(grade)) }),
      })
      .nullable(),
    /** What came in place of an answer in the attempt that decided, or null. */
    failure: z.json(),
    /** Every attempt, in order. */
    attempts: z.array(attemptSchema),
    /** What the profile's `persistence` did not keep. */
    not_kept: z.array(z.enum(['output', 'raw', 'trace', 'evaluator_evidence'])),
    /** Parts of the answer that a secret was taken out of: they were graded as they came. */
    redacted: z.array(z.string()),
  })
  .meta({
    id: 'execution_document',
    description: 'One execution: what show RUN --case ID --json prints, and show RUN --executions --json, a line each',
  });
export type ExecutionDocument = z.output<typeof executionDocumentSchema>;
