import { z } from 'zod';

/** How much a tool can do, set by the operator and never taken from a server that is not trusted (spec 002, decisions). */
export const RISK_CLASSES = ['read_only', 'write', 'execute_gated', 'privileged'] as const;
export type RiskClass = (typeof RISK_CLASSES)[number];

/** A JSON Schema as a source gives it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a tool says of itself; hints, believed only of sources that the operator trusts. Null when it says nothing. */
export interface ToolHints {
  readonly read_only: boolean | null;
  readonly destructive: boolean | null;
  readonly idempotent: boolean | null;
  readonly open_world: boolean | null;
}

/** A tool as its source describes it. */
export interface ToolDefinition {
  /** The name within its source: ASCII letters, digits, `_`, `-`, `.`; at most 64 characters. */
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly input_schema: JsonSchema;
  readonly output_schema: JsonSchema | null;
  readonly hints: ToolHints;
  /** What the pin's digest is taken over: everything the source said of the tool, as it said it. */
  readonly raw: unknown;
  /** The tool's own members for MCP clients, passed through as they came (`annotations`, `icons`, `_meta`); null when there are none. */
  readonly passed: Readonly<Record<string, unknown>> | null;
}

/** What a source lists: its tools, and what it said that is refused, a sentence each. */
export interface ListedTools {
  readonly tools: readonly ToolDefinition[];
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

/** One block of a tool's output, in the form of MCP: `{type: "text", text}`, `image`, `audio`, `resource`, `resource_link`. */
export type ContentBlock = Readonly<Record<string, unknown>> & { readonly type: string };

/** What a tool gives back. */
export interface ToolOutput {
  readonly content: readonly ContentBlock[];
  /** The output as data; null when the tool gives only content. */
  readonly structured: unknown;
}

/** How one invocation ended; a source never throws for what its tool does. */
export type ToolAnswer =
  | { readonly type: 'ok'; readonly output: ToolOutput }
  /** The tool says that it failed (`isError`), or could not be reached; `sent` is false when certainly nothing was done. */
  | {
      readonly type: 'error';
      readonly code: string;
      readonly message: string;
      readonly output: ToolOutput | null;
      readonly sent: boolean;
    }
  | { readonly type: 'timeout'; readonly message: string }
  | { readonly type: 'cancelled'; readonly message: string };

/** What the caller of a tool says that it can answer and wants to hear. */
export interface CallerAbilities {
  /** Capabilities of MCP clients that it declared: `elicitation`, `sampling`, `roots`. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** The least severe log lines that it wants; null: none. */
  readonly log_level: string | null;
}

/** A question that the caller cannot answer, for it has not declared the capability that it takes. */
export class LackingCapability extends Error {
  readonly capability: string;
  constructor(capability: string, method: string) {
    super(`the tool asks \`${method}\`, which its caller cannot answer: it has not declared \`${capability}\``);
    this.capability = capability;
  }
}

/** What a tool may tell or ask while it runs: progress, log lines, questions to the caller's person. */
export interface ToolConversation {
  readonly abilities: CallerAbilities;
  progress(progress: number, total: number | null, message: string | null): void;
  log(level: string, data: unknown, logger: string | null): void;
  /**
   * A request of an MCP server to its client (`elicitation/create`), under the name that the server gave it, if it did; rejects where the
   * caller cannot answer.
   */
  ask(method: string, params: unknown, signal: AbortSignal, name?: string): Promise<unknown>;
}

/** One invocation of a tool, with the arguments in their final form (secrets in place). */
export interface ToolInvocation {
  readonly name: string;
  /** The definition that was decided on, as the source gave it: what it would give now may be another. */
  readonly raw: unknown;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The tool run's id: the same for every effort at the same call. */
  readonly idempotency_key: string;
  readonly timeout_ms: number;
  /** More output than this ends the invocation. */
  readonly max_output_bytes: number;
  readonly signal: AbortSignal;
  readonly conversation: ToolConversation;
  /** The text without the secrets that this process knows, for what is cut before it is handed on. */
  redact(text: string): string;
}

/** How a person is led through a sign-in. */
export interface SignIn {
  /** Shows the page to sign in at. */
  show(url: string): void;
  readonly signal: AbortSignal;
  readonly timeout_ms: number;
}

/** An opened tool source. Only the gateway calls `invokeTool` (an architecture test holds it to that). */
export interface ToolSource {
  /** The tools now; throws a ProctorError when the source cannot be asked. */
  listTools(signal: AbortSignal): Promise<ListedTools>;
  invokeTool(invocation: ToolInvocation): Promise<ToolAnswer>;
  /** Signs a person in, where the source has sign-ins: `not_needed` when it answers as it is. */
  signIn?(how: SignIn): Promise<'signed_in' | 'not_needed'>;
  close(): Promise<void>;
}

/** What a source kind gets to open a source. */
export interface ToolSourceContext<Config> {
  /** The name the operator gave it: what stands before the dot of its tools' names. */
  readonly name: string;
  readonly config: Config;
  /** Questions of the source that are handed to its callers. */
  readonly relay: readonly ('elicitation' | 'sampling' | 'roots')[];
  /** Folder that relative paths start from. */
  readonly base_dir: string;
  /** A folder of the project that only its owner may read, for what a login leaves. */
  readonly private_dir: string;
  /** Resolves `${secret:NAME}` and `${env:NAME}` at the last moment; throws `secret_missing`. */
  resolve(text: string): string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Something to tell the operator: a server's stderr. */
  note(text: string): void;
  /** The source says that its tools are others now. */
  changed(): void;
}

/** A kind of tool source: one file and one line in the registry. */
export interface ToolSourceKind<Schema extends z.ZodType = z.ZodType> {
  readonly kind: string;
  readonly config: Schema;
  /** True when what it lists is the operator's own (code and documents of the project), so that its definitions need no approval. */
  readonly own: boolean | ((config: z.output<Schema>) => boolean);
  open(context: ToolSourceContext<z.output<Schema>>): Promise<ToolSource>;
}

/** Hints of a tool that gives none. */
export const NO_HINTS: ToolHints = { read_only: null, destructive: null, idempotent: null, open_world: null };

/** The output that is one text. */
export function textOutput(text: string, structured: unknown = null): ToolOutput {
  return { content: [{ type: 'text', text }], structured };
}

/** A failed invocation. */
export function toolFailure(
  code: string,
  message: string,
  more: { output?: ToolOutput | null; sent?: boolean } = {},
): ToolAnswer {
  return { type: 'error', code, message, output: more.output ?? null, sent: more.sent ?? true };
}

/** A tool's name within its source. */
export const toolNameSchema = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/);

/** Checks values by JSON Schemas that may be hostile; never throws and never takes longer than its budget. */
export interface SchemaCheck {
  /** What does not fit, a sentence each; `refused` when the schema cannot be used. `own`: the schema is the operator's. */
  faults(
    key: string,
    schema: JsonSchema,
    value: unknown,
    own: boolean,
  ): Promise<
    | { readonly type: 'checked'; readonly faults: readonly string[] }
    | { readonly type: 'refused'; readonly message: string }
  >;
}
