import { z } from 'zod';
import { principalIdSchema } from './principal.ts';
import { RISK_CLASSES, type ToolSource } from './tool.ts';

const glob = z.string().min(1).max(100);
const risk = z.enum(RISK_CLASSES);
const perTool = <Schema extends z.ZodType>(value: Schema) => z.union([value, z.record(glob, value)]);

/** What the operator says of a source's tools, whatever its kind; globs are on names within the source, the last that matches counts. */
export const sourceOptionsSchema = z.object({
  kind: z.string().min(1),
  risk: perTool(risk).optional().describe('the class of all tools, or by glob; unsaid: execute_gated'),
  open_world: perTool(z.boolean())
    .optional()
    .describe('whether what they return may come from anybody; unsaid: it may, unless they are the operator’s own'),
  cost_usd: perTool(z.number().nonnegative().max(1_000)).optional().describe('what one call costs'),
  timeout_ms: perTool(z.number().int().positive().max(86_400_000)).optional().describe('60,000 unless said'),
  max_output_bytes: z
    .number()
    .int()
    .positive()
    .max(16_777_216)
    .default(65_536)
    .describe('what callers get; the whole is kept as an artifact'),
  trusted: z
    .boolean()
    .default(false)
    .describe('believe what the source says of risk (readOnlyHint, destructiveHint, openWorldHint)'),
  pin: z
    .enum(['approve', 'own'])
    .optional()
    .describe(
      'approve: new and changed definitions wait for `proctor tool pin`; own: they are the operator’s own. Unsaid: own for modules, commands and documents of the project',
    ),
  secrets: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/))
    .default([])
    .describe(`secrets that arguments may refer to as \${secret:NAME}`),
  only: z.array(glob).optional().describe('leave out all tools but these'),
  relay: z
    .array(z.enum(['elicitation', 'sampling', 'roots']))
    .default([])
    .describe('questions of an MCP server that are handed to the caller'),
});
export type SourceOptions = z.output<typeof sourceOptionsSchema>;

/** Members of a source that every kind has; the rest are the kind's own. */
export const SOURCE_BASE_MEMBERS: readonly string[] = Object.keys(sourceOptionsSchema.shape);

/** The project file, `proctor.yaml`: tool sources, the policy, and who may do what. */
export const projectSchema = z
  .strictObject({
    version: z.literal(1),
    policy: z.string().min(1).default('policy.yaml').describe('the policy, relative to this file'),
    local_commands: z
      .boolean()
      .default(false)
      .describe('whether `command` tools may run on this machine, outside of any sandbox'),
    principals: z
      .array(
        z.strictObject({
          id: principalIdSchema,
          roles: z.array(z.string().regex(/^[A-Za-z0-9_.-]{1,80}$/)).default([]),
          token: z.string().min(1).optional().describe(`the bearer token over HTTP, as \${secret:NAME}`),
        }),
      )
      .max(1_000)
      .default([]),
    tools: z
      .record(
        z
          .string()
          .regex(/^[A-Za-z][A-Za-z0-9_-]{0,39}$/, 'must begin with a letter: letters, digits, _ and -, at most 40'),
        sourceOptionsSchema.loose(),
      )
      .default({}),
    server: z
      .strictObject({
        hosts: z.array(z.string()).default([]).describe('names under which the server may be asked, besides localhost'),
        origins: z.array(z.string()).default([]).describe('hosts of web pages that may ask it, besides localhost'),
      })
      .prefault({}),
  })
  .meta({ id: 'project', description: 'The project file: tool sources, policy, principals' });
export type Project = z.output<typeof projectSchema>;
export type ProjectSource = Project['tools'][string];
/** A source of the project, ready to be opened. */
export interface DeclaredSource {
  readonly name: string;
  readonly options: SourceOptions;
  /** Whether its definitions are the operator's own, so that they wait for nobody's approval. */
  readonly own: boolean;
  /** `changed` is called when the source says that its tools are others now. */
  open(changed: () => void): Promise<ToolSource>;
}
