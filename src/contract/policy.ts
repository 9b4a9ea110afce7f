import { z } from 'zod';
import { conditionSchema, globs } from './matcher.ts';
import { PRINCIPAL_KINDS } from './principal.ts';
import { RISK_CLASSES } from './tool.ts';

const duration = z.number().int().positive().max(31_536_000_000);

/** What a condition may look at besides `args` and `args.PATH`. */
export const CONDITION_SUBJECTS = [
  'agent',
  'pinned',
  'principal',
  'principal.kind',
  'principal.role',
  'risk',
  'run.bound',
  'run.tainted',
  'source',
  'surface',
] as const;
export type ConditionSubject = (typeof CONDITION_SUBJECTS)[number];

const approver = z.string().regex(/^(role:[A-Za-z0-9_.-]+|(human|service):[A-Za-z0-9_.@-]+)$/, {
  error: 'must be role:NAME, human:NAME or service:NAME; an agent never approves',
});

const askSchema = z.strictObject({
  approvers: z.array(approver).min(1).max(100).optional().describe('who may answer; one of them does'),
  expires_ms: duration.optional().describe('an answer after it counts for nothing'),
  self_approval: z.boolean().optional().describe('whether who asked may also answer'),
  edit: z.boolean().default(false).describe('whether the approver may change the arguments'),
  execute: z
    .enum(['attended', 'on_approval'])
    .optional()
    .describe(
      'attended: only while the caller waits or comes back for it; on_approval: by the approver’s command, if nobody waits. Unless said: on_approval for calls from the command line, attended for the others',
    ),
  reason: z.string().max(500).optional(),
});

const obligationsSchema = z.strictObject({
  timeout_ms: duration.optional().describe('the tool’s time limit for this call'),
  max_output_bytes: z
    .number()
    .int()
    .positive()
    .optional()
    .describe('more output than this is cut, the whole kept as an artifact'),
});

const effectSchema = z.union([
  z.enum(['allow', 'ask', 'deny']),
  z.strictObject({ allow: obligationsSchema }),
  z.strictObject({ ask: askSchema }),
  z.strictObject({ deny: z.strictObject({ reason: z.string().max(500).optional() }) }),
]);

/** One rule: for which tools, under which conditions, what follows. */
export const ruleSchema = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9_.-]{1,80}$/),
  description: z.string().max(500).optional(),
  tools: globs.default(['*']).describe('globs on `source.tool`'),
  when: z.record(z.string().min(1).max(300), conditionSchema).default({}),
  effect: effectSchema,
});
export type Rule = z.output<typeof ruleSchema>;

/** A cap on calls: so many in all, or so many in any window, counted by what `per` names. */
export const limitSchema = z
  .strictObject({
    id: z.string().regex(/^[A-Za-z0-9_.-]{1,80}$/),
    tools: globs.default(['*']),
    per: z
      .array(z.enum(['gateway', 'principal', 'session', 'run', 'execution', 'source', 'tool']))
      .min(1)
      .default(['principal']),
    calls: z.number().int().nonnegative().max(1_000_000_000).optional(),
    window_ms: duration.optional().describe('count only calls of the last so many milliseconds'),
    cost_usd: z.number().nonnegative().max(1_000_000).optional().describe('of what the tools are said to cost a call'),
  })
  .refine((limit) => limit.calls !== undefined || limit.cost_usd !== undefined, 'names neither `calls` nor `cost_usd`');
export type Limit = z.output<typeof limitSchema>;

/** A policy: rules that answer allow, ask or deny. Deny beats ask, ask beats allow; what no rule matches gets `default`. */
export const policySchema = z
  .strictObject({
    version: z.literal(1),
    default: z.enum(['deny', 'ask']).default('deny'),
    approvals: z
      .strictObject({
        expires_ms: duration.default(1_800_000),
        approvers: z.array(approver).min(1).max(100).default(['role:operator']),
        self_approval: z.boolean().default(false),
        max_pending: z
          .number()
          .int()
          .positive()
          .max(10_000)
          .default(20)
          .describe('pending approvals of one principal in one run; a call beyond is denied'),
      })
      .prefault({}),
    taint_ms: duration
      .default(3_600_000)
      .describe('how long, outside of a run, a principal counts as tainted after a tool of the open world answered'),
    rules: z.array(ruleSchema).max(10_000).default([]),
    limits: z.array(limitSchema).max(1_000).default([]),
  })
  .meta({ id: 'policy', description: 'Which tool calls are allowed, asked for, or denied' });
export type PolicyDocument = z.output<typeof policySchema>;

const expected = z.enum(['allow', 'ask', 'deny']);
/** A table of calls with the decision that each must get. */
export const policyTestSchema = z
  .strictObject({
    policy: z.string().optional().describe('the policy, relative to this file; the project’s unless said'),
    cases: z
      .array(
        z.strictObject({
          name: z.string().min(1).max(200).optional(),
          tool: z.string().min(1).max(200),
          args: z.record(z.string(), z.json()).default({}),
          principal: z.string().max(200).default('agent:test'),
          kind: z.enum(PRINCIPAL_KINDS).optional(),
          roles: z.array(z.string()).default([]),
          risk: z.enum(RISK_CLASSES).optional().describe('the tool’s class; the project’s unless said'),
          pinned: z.boolean().default(true),
          tainted: z.boolean().default(false),
          bound: z.boolean().default(false).describe('whether the call belongs to an evaluation'),
          agent: z.string().nullable().default(null),
          surface: z.enum(['cli', 'mcp', 'api', 'evaluation']).default('mcp'),
          expect: expected,
          rules: z.array(z.string()).optional().describe('the ids of the rules that decide'),
        }),
      )
      .min(1)
      .max(10_000),
  })
  .meta({ id: 'policy_test', description: 'Calls with the decision that a policy must give each' });
export type PolicyTest = z.output<typeof policyTestSchema>;
