import { z } from 'zod';

const count = z.number().int().positive();
const unit = z.number().min(0).max(1);

/** One condition of the gate: a metric, at a point or by an interval bound, with its minimum or maximum. */
export const gateConditionSchema = z
  .strictObject({
    metric: z
      .string()
      .regex(/^(pass_rate|pass_rate_strict|pass_hat_k|pass_at_k|mean_score|infra_rate|dimension\..+)$/, {
        error: 'must be pass_rate, pass_rate_strict, mean_score, infra_rate, pass_at_k, pass_hat_k or dimension.NAME',
      }),
    k: count.nullable().default(null),
    bound: z.enum(['point', 'lower', 'upper']).default('point'),
    confidence: z
      .number()
      .gt(0)
      .max(0.999999, { error: 'must be at most 0.999999: beyond, a bound says nothing that could be checked' })
      .default(0.95),
    min: unit.nullable().default(null),
    max: unit.nullable().default(null),
    min_cases: z
      .number()
      .int()
      .nonnegative()
      .nullable()
      .default(null)
      .describe(
        'Standing on fewer cases the condition is inconclusive; null: on all that could have the metric, less the allowed faults',
      ),
  })
  .refine((condition) => condition.min !== null || condition.max !== null, { error: 'needs `min` or `max`' })
  .refine(({ min, max }) => min === null || max === null || min <= max, {
    error: '`min` is above `max`: no value lies between them',
  })
  .refine((condition) => !/^pass_(hat|at)_k$/.test(condition.metric) || condition.k !== null, {
    error: 'pass_at_k and pass_hat_k need `k`',
  });
export type GateCondition = z.output<typeof gateConditionSchema>;

/** The gate, as a profile writes it. */
export const gateSchema = z.strictObject({
  min_cases: z.number().int().nonnegative().default(0).describe('Fewer graded cases: inconclusive'),
  max_infra_rate: unit
    .default(0.05)
    .describe('A larger share of infrastructure, configuration or grader faults: inconclusive'),
  all: z
    .array(gateConditionSchema)
    .default([])
    .describe('Every condition must hold; none given: no blocking failure and pass rate 1'),
  baseline: z
    .strictObject({
      run: z.string().min(1).default('blessed').describe('`blessed` (proctor bless RUN), a run id or a run key'),
      max_regressions: z
        .number()
        .int()
        .nonnegative()
        .nullable()
        .default(null)
        .describe('More regressed cases than this fail the gate, whatever the test says; null: only the test decides'),
      min_cases: z
        .number()
        .int()
        .nonnegative()
        .nullable()
        .default(null)
        .describe('Fewer paired cases are inconclusive; null: all of the baseline, less the allowed faults'),
      test: z
        .enum(['exact_mcnemar', 'paired_bootstrap'])
        .nullable()
        .default(null)
        .describe('null: exact_mcnemar for one repeat, else paired_bootstrap'),
      alpha: z
        .number()
        .gt(0)
        .max(0.5)
        .default(0.05)
        .describe('A fall with a two-sided p-value below it fails the gate'),
    })
    .nullable()
    .default(null)
    .describe('The run that this one is compared with, case by case'),
});
/** The run's verdict by policy. */
export type GatePolicy = z.output<typeof gateSchema>;
