import { z } from 'zod';
import { TOOL_RUN_STATUSES } from './state.ts';

/** One call of a tool that the agent made; `gated` went through the gateway, `reported` is only told of. */
export const toolCallSchema = z.object({
  arguments: z.json().default(null),
  name: z.string(),
  result: z.json().default(null),
  source: z.enum(['gated', 'reported']).default('reported'),
  /** How a gated call ended; absent for what the agent tells of. */
  status: z.enum(TOOL_RUN_STATUSES).optional(),
});
export type ToolCall = z.output<typeof toolCallSchema>;

/** What the agent used: tokens and money (integer micro-USD). */
export const usageSchema = z.object({
  cost_micro_usd: z.number().int().nonnegative().nullable().default(null),
  input_tokens: z.number().int().nonnegative().nullable().default(null),
  output_tokens: z.number().int().nonnegative().nullable().default(null),
  total_tokens: z.number().int().nonnegative().nullable().default(null),
});
export type Usage = z.output<typeof usageSchema>;

/** The answer of one turn of a session. */
export const turnAnswerSchema = z.object({
  latency_ms: z.number().int().nonnegative(),
  structured: z.json(),
  text: z.string().nullable(),
  tool_calls: z.array(toolCallSchema),
  usage: usageSchema.nullable(),
});
export type TurnAnswer = z.output<typeof turnAnswerSchema>;

/**
 * The envelope: an agent's output in one shape. Absent values are null or empty, never missing. Members stand in the order
 * of canonical JSON, so that recording one sorts nothing.
 */
export const envelopeSchema = z
  .object({
    metadata: z.record(z.string(), z.json()).default({}),
    raw: z.json().default(null),
    structured: z.json().default(null),
    text: z.string().nullable().default(null),
    tool_calls: z.array(toolCallSchema).default([]),
    trace: z.array(z.json()).default([]),
    /** Every turn of a session by itself; absent for a single answer. */
    turns: z.array(turnAnswerSchema).optional(),
    usage: usageSchema.nullable().default(null),
  })
  .meta({ id: 'envelope', description: "An agent's output in one shape" });
export type Envelope = z.output<typeof envelopeSchema>;

/** The one JSON document that an agent gets. `expected` and the rest of the case never reach it. */
export interface AgentRequest {
  readonly run_id: string;
  readonly execution_id: string;
  readonly attempt_id: string;
  readonly attempt_number: number;
  readonly agent: { readonly name: string; readonly version: string; readonly provider: string | null };
  readonly case: {
    readonly case_id: string;
    readonly task_type: string;
    readonly input: unknown;
    readonly context: unknown;
    readonly tags: readonly string[];
    readonly metadata: Readonly<Record<string, unknown>>;
  };
  /** Where the agent finds its gated tools (MCP over HTTP) and the token of this attempt; absent where the profile has no gateway. */
  readonly gateway?: { readonly mcp_url: string; readonly token: string };
  /** Of a case that is a session: which turn this is, and what was said before; absent for single questions. */
  readonly session?: {
    readonly session_id: string;
    readonly turn: number;
    readonly turns: number;
    readonly history: readonly {
      readonly input: unknown;
      readonly text: string | null;
      readonly structured: unknown;
    }[];
  };
}

/** A call of the agent that gave no envelope: whose fault, a stable code, what happened, and what to keep as evidence. */
export interface AgentFailure {
  readonly type: 'failure';
  readonly fault: 'infrastructure' | 'configuration' | 'agent' | 'policy';
  /** snake_case, stable: `connection_refused`, `http_status`, `invalid_body`, `oversize_body`, `timeout`, … */
  readonly code: string;
  readonly message: string;
  /** True when the agent was given its whole time and did not answer: the execution ends `timed_out`. */
  readonly timed_out: boolean;
  /** From `Retry-After`, in milliseconds; null when the agent named none. */
  readonly retry_after_ms: number | null;
  /** What failures of the same reason share, for the breaker of the run (`http_401`); the code where it is left out. */
  readonly class?: string;
  /** A fault of configuration instead where every call has it: a route that does not exist. */
  readonly suspect?: boolean;
  /** The agent is there and asks to be called less often: that never stops a run. */
  readonly throttled?: boolean;
  /** Small JSON for a person: status, headers that matter, the first bytes of the body. */
  readonly evidence: unknown;
}

/** What one call of an agent comes to: an envelope, or a failure that says whose fault it is. */
export type AgentAnswer = { readonly type: 'envelope'; readonly envelope: Envelope } | AgentFailure;

/** How one call is made: its abort signal, its time limit, and which repeat of the case it is (a replay needs it, the agent does not). */
export interface InvokeOptions {
  readonly signal: AbortSignal;
  readonly timeout_ms: number;
  readonly repeat: number;
}

/** An opened agent. `invoke` never throws for what the agent does: it answers a failure. It settles soon after `signal` aborts. */
export interface Agent {
  invoke(request: AgentRequest, options: InvokeOptions): Promise<AgentAnswer>;
  close(): Promise<void>;
}

/** What an agent kind gets to open an agent. */
export interface AgentContext<Config> {
  readonly config: Config;
  /** Folder that relative paths in the profile start from. */
  readonly base_dir: string;
  /** Resolves `${secret:NAME}` and `${env:NAME}` in a text at the last moment; throws `secret_missing`. */
  resolve(text: string): string;
  /** The text without the secrets that this process knows: for what is cut before it is recorded, so that no half of one is left at the edge. */
  redact(text: string): string;
  /** Most calls at once that this process will make. */
  readonly concurrency: number;
  /** The environment of this process, from which child processes get the variables they are allowed. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** An agent kind: one file and one line in the registry. */
export interface AgentKind<Schema extends z.ZodType = z.ZodType> {
  readonly kind: string;
  /** Parses the kind's own members of the profile's `agent` (`endpoint`, `command`, …). */
  readonly config: Schema;
  /** Files whose bytes are frozen with the run, relative to the profile; a worker whose files differ does not claim. */
  code(config: z.output<Schema>, baseDir: string): readonly string[];
  open(context: AgentContext<z.output<Schema>>): Promise<Agent>;
}

/** A failure with the usual defaults. */
export function agentFailure(
  fault: AgentFailure['fault'],
  code: string,
  message: string,
  more: Partial<AgentFailure> = {},
): AgentFailure {
  return { timed_out: false, retry_after_ms: null, evidence: null, ...more, type: 'failure', fault, code, message };
}

/** An envelope with the members given; the rest absent. */
export function envelope(members: Partial<Envelope>): Envelope {
  return { metadata: {}, raw: null, structured: null, text: null, tool_calls: [], trace: [], usage: null, ...members };
}
