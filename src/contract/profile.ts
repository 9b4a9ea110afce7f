import { z } from 'zod';
import { SEVERITIES } from './evaluator.ts';
import { gateSchema } from './gate.ts';
import { gatewayProfileSchema } from './gateway-profile.ts';
import { webhookSchema } from './webhook.ts';

const count = z.number().int().positive();
const milliseconds = z
  .number()
  .int()
  .positive()
  .max(2_000_000_000, { error: 'must be at most 2000000000 ms (23 days): a longer timer does not wait at all' });
const unit = z.number().min(0).max(1);
const name = z.string().min(1).max(200);

/** Accepts `x_secs` or `x_minutes` beside `x_ms` on input (CONTRACTS, spelling); the frozen profile holds `_ms` only. */
function withDurations(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const record = { ...value } as Record<string, unknown>;
  for (const [suffix, factor] of [
    ['_secs', 1000],
    ['_minutes', 60_000],
  ] as const) {
    for (const key of Object.keys(record)) {
      const amount = record[key];
      if (!key.endsWith(suffix) || typeof amount !== 'number') continue;
      delete record[key];
      record[`${key.slice(0, -suffix.length)}_ms`] = Math.round(amount * factor);
    }
  }
  return record;
}

/** Which cases of the dataset a run takes, as a profile writes it. */
export const selectSchema = z
  .strictObject({
    tags_any: z.array(z.string()).default([]).describe('Only cases with at least one of these tags'),
    cases: z.array(z.string()).default([]).describe('Only these case ids'),
    limit: count.nullable().default(null).describe('Only the first so many of the selected cases'),
  })
  .prefault({});
/** Which cases of the dataset a run takes. */
export type Select = z.output<typeof selectSchema>;

const datasetReferenceSchema = z.strictObject({
  path: z.string().min(1).describe('File, relative to the profile: .yaml, .json, .jsonl(.gz), .csv'),
  fields: z.record(z.string(), z.string()).default({}).describe('Case field → JSON pointer into the row'),
  select: selectSchema,
});

/** The members that every agent has; each kind adds its own (`endpoint`, `command`, `module`, `replay`). */
export const agentBaseSchema = z.looseObject({
  kind: z.string().min(1).describe('http | command | module | replay | echo'),
  name: name.describe('The agent’s name, as the verdict shows it'),
  version: z.string().min(1).max(200).describe('The version under test'),
  provider: z.string().nullable().default(null),
  agent_metadata: z.array(z.string()).default([]).describe('Metadata keys that the agent may see; default none'),
  price: z
    .strictObject({ input_per_mtok_usd: z.number().nonnegative(), output_per_mtok_usd: z.number().nonnegative() })
    .nullable()
    .default(null)
    .describe('USD per million tokens'),
});
/** Names of the members that every agent has; the others belong to its kind. */
export const AGENT_BASE_MEMBERS: readonly string[] = Object.keys(agentBaseSchema.shape);

const defaultsSchema = z.preprocess(
  withDurations,
  z.strictObject({
    max_attempts: count
      .max(100)
      .nullable()
      .default(null)
      .describe('Attempts of an execution, whatever they fail by; null: the budgets under `retry` alone bound them'),
    request_timeout_ms: milliseconds
      .default(60_000)
      .describe('Time for one call of the agent (request_timeout_secs is accepted)'),
    fail_on_any_blocking_failure: z.boolean().default(true),
    min_execution_score: unit
      .nullable()
      .default(null)
      .describe('An execution passes from this score on; null: when no evaluator failed'),
  }),
);

const limitsSchema = z.preprocess(
  withDurations,
  z.strictObject({
    concurrency: count.max(10_000).default(10).describe('Executions in flight, over all workers of the run'),
    unpriced: z
      .enum(['refuse', 'allow'])
      .default('refuse')
      .describe('A cost limit without agent.price: refused, unless the agent is known to report what it costs'),
    rate_per_s: z.number().positive().nullable().default(null).describe('Agent calls a second, over all workers'),
    execution: z
      .preprocess(
        withDurations,
        z.strictObject({
          time_ms: milliseconds.nullable().default(null).describe('Time for one attempt, agent and evaluators'),
          tokens: count.nullable().default(null),
          cost_usd: z
            .number()
            .positive()
            .nullable()
            .default(null)
            .describe('USD for one answer; also what is held back of the run’s budget'),
          tool_calls: z.number().int().nonnegative().nullable().default(null),
        }),
      )
      .prefault({}),
    run: z
      .preprocess(
        withDurations,
        z.strictObject({
          time_ms: milliseconds
            .nullable()
            .default(null)
            .describe('Time in which the run is worked on, without stops and pauses; what is left then is cancelled'),
          cost_usd: z.number().positive().nullable().default(null).describe('USD for the whole run'),
          tokens: count.nullable().default(null),
          tool_calls: count.nullable().default(null),
        }),
      )
      .prefault({}),
  }),
);

const retrySchema = z.strictObject({
  infrastructure: z
    .number()
    .int()
    .nonnegative()
    .max(100)
    .default(5)
    .describe('Retries of infrastructure faults, per execution'),
  agent_errors: z
    .boolean()
    .default(false)
    .describe('Retry agent faults, up to defaults.max_attempts (2 where it is null); every attempt stays visible'),
  grader: z
    .number()
    .int()
    .nonnegative()
    .max(100)
    .default(2)
    .describe('Retries of evaluators that erred, on the kept envelope'),
  backoff: z.strictObject({ base_ms: milliseconds.default(2_000), cap_ms: milliseconds.default(300_000) }).prefault({}),
});

const persistenceSchema = z.strictObject({
  mode: z.enum(['full', 'summary']).default('full'),
  persist_raw_outputs: z.enum(['all', 'failures_only', 'none']).default('all'),
  persist_evaluator_evidence: z.boolean().default(true),
});

/** One evaluator of a case group. */
export const evaluatorReferenceSchema = z.strictObject({
  ref: z.string().min(1).describe('name@version, module:PATH#EXPORT, command:PATH or https://…'),
  dimension: name.default('correctness').describe('The aspect that is scored'),
  blocking: z.boolean().default(false).describe('A failure fails the execution'),
  weight: z.number().nonnegative().default(1),
  severity: z
    .enum(SEVERITIES)
    .optional()
    .describe('What a failure of it means, where the evaluator does not say; informs and filters'),
  turns: z
    .enum(['each', 'last', 'whole'])
    .default('each')
    .describe('Of a session: each turn that expects something, the last one, or the session as a whole'),
  timeout_ms: milliseconds.default(60_000),
  memory_mb: count
    .min(64)
    .max(1_048_576)
    .optional()
    .describe('Memory that a module, or a command with all its processes, may take; 1024 unless said'),
  grade_by: z
    .enum(['finding', 'exit_code'])
    .optional()
    .describe('Of a command: the finding that it prints (the default), or its exit code, 0 passed and 1 failed'),
  config: z.record(z.string(), z.json()).default({}),
});
export type EvaluatorReference = z.output<typeof evaluatorReferenceSchema>;

const dimensionSchema = z.strictObject({
  method: z.enum(['min_score', 'weighted_mean']).default('weighted_mean'),
  blocking: z.boolean().default(false),
  weight: z.number().nonnegative().default(1),
  min: unit.default(1).describe('A blocking dimension below this score fails the execution'),
});
/** How one dimension is aggregated. */
export type DimensionPolicy = z.output<typeof dimensionSchema>;

/** Selects cases and says how they are graded. */
export const caseGroupSchema = z.strictObject({
  id: name,
  applies_to: z
    .strictObject({
      task_type: z.string().nullable().default(null),
      tags_any: z.array(z.string()).default([]),
      tags_all: z.array(z.string()).default([]),
    })
    .prefault({}),
  session: z
    .boolean()
    .default(false)
    .describe('Its cases are sessions: `input.turns` are asked one after another, `expected.turns` of each'),
  evaluators: z.array(evaluatorReferenceSchema).min(1),
  aggregation: z.strictObject({ dimensions: z.record(z.string(), dimensionSchema).default({}) }).prefault({}),
});
export type CaseGroup = z.output<typeof caseGroupSchema>;

/** The agent kind that an import writes for an agent that it could not carry over: nothing runs it. */
export const PLACEHOLDER_AGENT = 'to_fill_in';

const unfinishedSchema = z
  .array(z.string().min(1))
  .superRefine((items, context) => {
    for (const [index, item] of items.entries())
      context.addIssue({ code: 'custom', path: [index], message: `not settled yet: ${item}` });
  })
  .optional()
  .describe('What an import left out, a sentence each; nothing runs until each is settled and its line deleted');

/** A profile: what to run and how to judge it. */
export const profileSchema = z
  .strictObject({
    unfinished: unfinishedSchema,
    profile_id: name,
    profile_version: z.string().min(1).default('1'),
    description: z.string().nullable().default(null),
    dataset: datasetReferenceSchema.nullable().default(null),
    agent: agentBaseSchema,
    defaults: defaultsSchema.prefault({}),
    repeats: count.max(1000).default(1),
    seed: z.number().int().nonnegative().default(0),
    limits: limitsSchema.prefault({}),
    retry: retrySchema.prefault({}),
    persistence: persistenceSchema.prefault({}),
    case_groups: z.array(caseGroupSchema).min(1),
    gate: gateSchema.prefault({}),
    early_stop: z.enum(['off', 'decided']).default('off'),
    gateway: gatewayProfileSchema
      .optional()
      .describe('Gated tools for the agent, by PROCTOR_MCP_URL and a token of its attempt'),
    webhooks: z
      .array(webhookSchema)
      .default([])
      .describe('Who is told how a run ended or that it stopped, signed by Standard Webhooks'),
  })
  .meta({ id: 'profile', title: 'Proctor profile', description: 'What to run and how to judge it' });
export type Profile = z.output<typeof profileSchema>;
