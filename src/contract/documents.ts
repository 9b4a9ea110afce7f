import { z } from 'zod';
import { FAULTS, GATE_STATUSES, RUN_STATUSES } from './state.ts';

export { type ExecutionDocument, executionDocumentSchema } from './execution-document.ts';

const count = z.number().int().nonnegative();
const instant = z.string().nullable();

/** One document about one run: what `run --json` and `show RUN --json` print. Absent values are null, never missing. */
export const runDocumentSchema = z
  .object({
    run_id: z.string(),
    run_key: z.string().nullable(),
    /** The run whose kept answers this one grades anew, or null. */
    regrade_of: z.string().nullable(),
    status: z.enum(RUN_STATUSES),
    gate_status: z.enum(GATE_STATUSES),
    /** The rule that decided the gate, or why the run ended without one. */
    reason: z.string().nullable(),
    profile: z.object({ profile_id: z.string(), profile_version: z.string() }),
    agent: z.object({ kind: z.string(), name: z.string(), version: z.string(), provider: z.string().nullable() }),
    dataset: z.object({ dataset_id: z.string(), dataset_version: z.string().nullable(), cases: count }),
    repeats: count,
    executions: z.object({
      total: count,
      completed: count,
      failed: count,
      timed_out: count,
      cancelled: count,
      pending: count,
      running: count,
      retry_scheduled: count,
      waiting: count,
      /** Never begun because the run stopped before its plan was through. */
      left_out: count,
    }),
    faults: z.record(z.enum(FAULTS), count).nullable(),
    graded: count.nullable(),
    passed: count,
    pass_rate: z.number().nullable(),
    pass_rate_strict: z.number().nullable(),
    interval: z.tuple([z.number(), z.number()]).nullable(),
    interval_method: z.string().nullable(),
    mean_score: z.number().nullable(),
    scores: z.record(z.string(), z.number()),
    conditions: z.array(z.json()),
    /** The paired comparison with the gate's baseline; null without one. */
    baseline: z.json(),
    /** Why the run stopped before its plan was through, or null. */
    stopped: z.object({ reason: z.enum(['budget', 'early_stop']), after_cases: count.nullable() }).nullable(),
    /** The run's breaker stopped it, because its first calls all failed the same way: `resume` tries again; null while it goes on. */
    paused: z
      .object({
        side: z.enum(['agent', 'evaluators']),
        class: z.string(),
        failures: count,
        reason: z.string(),
        cure: z.string(),
      })
      .nullable(),
    /** What the executions are known to have taken. */
    spent: z.object({ cost_micro_usd: count, tokens: count, tool_calls: count }),
    /**
     * The run's budgets. `spent` is `known` and `assumed`: `untold` attempts ended without telling what they took, and each counts as `reserve`,
     * which is what each execution in flight holds back too.
     */
    budgets: z.array(
      z.object({
        kind: z.string(),
        cap: count,
        spent: count,
        known: count,
        assumed: count,
        untold: count,
        reserve: count,
      }),
    ),
    /** Which verdict the members above tell, where people corrected grades; null while there are no corrections. */
    revision: z
      .object({
        /** How many corrections the verdict takes in; 0 is the run's own. */
        number: count,
        latest: count,
        /** Of the last correction that it takes in; null for the run's own verdict. */
        corrected_by: z.string().nullable(),
        corrected_at: instant,
        /** What `verify --expect` takes to prove this revision. */
        revision_root: z.string(),
        /** The run's own verdict. */
        own: z.object({
          gate_status: z.enum(GATE_STATUSES),
          reason: z.string(),
          passed: count,
          pass_rate: z.number().nullable(),
          content_digest: z.string(),
        }),
      })
      .nullable(),
    attempts: count,
    stale_attempts: count,
    created_at: instant,
    started_at: instant,
    finished_at: instant,
    duration_ms: count.nullable(),
    snapshot_digest: z.string(),
    content_digest: z.string().nullable(),
    evidence_root: z.string().nullable(),
  })
  .meta({ id: 'run_document', description: 'One run: what run --json and show RUN --json print' });
export type RunDocument = z.output<typeof runDocumentSchema>;
