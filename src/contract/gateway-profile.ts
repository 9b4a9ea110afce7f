import { z } from 'zod';
import type { ToolCall } from './agent.ts';
import type { PolicyDocument } from './policy.ts';
import type { Fence } from './store-requests.ts';

const glob = z.string().min(1).max(200);
const delay = z.number().int().nonnegative().max(3_600_000);

/** Who answers in an evaluation what policy asks, so that what the agent does after a denial is scored like anything else. */
export const simulatedOperatorSchema = z.strictObject({
  default: z
    .enum(['approve', 'deny', 'ignore'])
    .default('deny')
    .describe('ignore: nobody answers, and the approval expires'),
  delay_ms: delay.default(0),
  comment: z.string().max(500).nullable().default(null).describe('told to the agent with a denial'),
  script: z
    .array(
      z.strictObject({
        tools: z.union([glob.transform((one) => [one]), z.array(glob).min(1)]).default(['*']),
        arguments: z
          .record(z.string(), z.json())
          .optional()
          .describe('arguments that the call must have, each equal to this'),
        answer: z.enum(['approve', 'deny', 'ignore']),
        delay_ms: delay.optional(),
        comment: z.string().max(500).optional(),
        share: z
          .number()
          .gt(0)
          .max(1)
          .default(1)
          .describe('answers this share of the calls, drawn by the seed; the others go on to the next entry'),
        times: z.number().int().positive().optional().describe('only so many calls of an execution'),
      }),
    )
    .max(100)
    .default([])
    .describe('the first entry that fits a call answers it'),
});
export type SimulatedOperatorSettings = z.output<typeof simulatedOperatorSchema>;

/** The gateway in a profile: which tools the agent may use, by which policy, and who answers what it asks. */
export const gatewayProfileSchema = z.strictObject({
  tools: z
    .array(glob)
    .optional()
    .describe('globs on `source.tool`; unsaid: all that policy allows the agent, []: none'),
  policy: z.string().min(1).optional().describe('relative to the profile; unsaid: the project’s'),
  operator: simulatedOperatorSchema.prefault({}),
});

/** The gateway of a run, frozen with it: the policy that decides, and the definitions that may be called. */
export interface FrozenGateway {
  readonly policy_digest: string;
  readonly policy: PolicyDocument;
  readonly tools: readonly { readonly tool: string; readonly definition_digest: string }[];
}

/** The attempt that a door is opened for. */
export interface DoorRequest {
  readonly fence: Fence;
  readonly agent: string;
  readonly frozen: FrozenGateway;
  readonly tools: readonly string[] | null;
  readonly operator: SimulatedOperatorSettings;
  readonly seed: number;
}

/** An open door: where the agent of one attempt finds its tools, and by which token. */
export interface OpenDoor {
  readonly mcp_url: string;
  readonly token: string;
  /** Shuts it: the token is worth nothing any more, what runs is stopped. Answers the calls that were made, in their order. */
  close(): Promise<GatedCalls>;
}

/** The calls of an attempt: for the envelope, and what proves them. */
export interface GatedCalls {
  readonly calls: readonly ToolCall[];
  readonly trace: readonly {
    readonly type: 'tool_run';
    readonly tool_run_id: string;
    readonly status: string;
    readonly output_digest: string | null;
  }[];
  /** Tools that declared policy denied, in the order of the calls. */
  readonly denied: readonly string[];
}

/** Opens doors to the gateway for attempts: the engine knows the gateway by this port only. */
export interface ToolDoors {
  open(request: DoorRequest): Promise<OpenDoor>;
}
