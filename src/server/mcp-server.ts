import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  LOG_LEVEL_META_KEY,
  McpServer,
  MissingRequiredClientCapabilityError,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { ProctorError } from '../contract/problem.ts';
import type { CallerAbilities, JsonSchema } from '../contract/tool.ts';
import type { Call, Leg } from '../gateway/call.ts';
import type { CatalogueTool } from '../gateway/catalogue.ts';
import type { Listener } from '../gateway/conversation.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Caller } from '../gateway/ports.ts';
import { randomText } from '../lib/id.ts';
import { callResult, pendingResult, refusedResult } from './mcp-results.ts';

/** How an MCP server over the gateway behaves. */
export interface McpServerOptions {
  readonly gateway: Gateway;
  /** 32 bytes or more: seals what clients carry between the legs of a call; the same after a restart. */
  readonly state_key: Uint8Array;
  /** How long one leg of a call that waits is kept open. */
  readonly hold_ms: number;
  /** Offer the tools of this source alone, under their own names: a transparent proxy. */
  readonly raw_source: string | null;
}

/** What a client carries from leg to leg: which call, and of whom. */
interface CallState {
  readonly tool_run_id: string;
  readonly principal: string;
  /** Makes each leg's state another one. */
  readonly leg: string;
}

type Era = 'legacy' | 'modern';

type CallToolResult = ReturnType<typeof callResult>;

const STATE_SECONDS = 86_400;
const BEAT_MS = 10_000;
const LIST_TTL_MS = 5_000;
const FOREVER_MS = 2_147_000_000;
const MOST_OFFERED = 20;

/** Makes MCP servers whose tools are the gated ones; one is made for each connection or request, with its caller. */
export function mcpServerFactory(options: McpServerOptions): (caller: Caller, era: Era) => GatedMcpServer {
  const codec = createRequestStateCodec<CallState>({
    key: options.state_key,
    ttlSeconds: STATE_SECONDS,
    bind: (context) => `${context.mcpReq.method}\0${context.http?.authInfo?.clientId ?? ''}`,
  });
  return (caller, era) => {
    const gated = new GatedMcpServer(
      { name: 'proctor', title: 'Proctor tool gateway', version: '1' },
      {
        capabilities: { tools: { listChanged: false }, logging: {} },
        cacheHints: { 'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' } },
        requestState: { verify: (state, context) => codec.verify(state, context) },
        inputRequired: { maxRounds: 100 },
      },
    );
    const { server } = gated;
    server.setRequestHandler('tools/list', async (_request, context) => ({
      tools: (await offered(options, caller, context.mcpReq.signal)).map(([name, tool]) => listed(name, tool)) as never,
    }));
    server.setRequestHandler('tools/call', async (request, context) => {
      const { name, arguments: input } = request.params;
      try {
        const call = await callOf(options, caller, name, input, context);
        if ('content' in call) return call as never;
        const abilities = abilitiesOf(server, context, era);
        using heard = listener(context, abilities);
        const leg = await call.next({
          hold_ms: options.hold_ms,
          // An older client could only make the call again, which would be another call.
          ...(era === 'legacy' ? { running_ms: FOREVER_MS } : {}),
          signal: context.mcpReq.signal,
          listener: heard,
        });
        if (leg.type === 'done') {
          tellWhatIsLacking(leg, abilities, era);
          return (await inTermsOf(server, callResult(leg), options.gateway, leg)) as never;
        }
        const state = () =>
          codec.mint({ tool_run_id: call.tool_run_id, principal: caller.principal.id, leg: randomText(8) }, context);
        return (await answer(leg, call, era, options.raw_source === null, state)) as never;
      } catch (error) {
        if (!ProctorError.is(error)) throw error;
        return refusedResult(error.code, options.gateway.deps.secrets.text(error.message)) as never;
      }
    });
    return gated;
  };
}

/** An MCP server that can be told the schema of the tool it is about to be asked for: headers that repeat arguments are held against it. */
export class GatedMcpServer extends McpServer {
  asked: { readonly name: string; readonly schema: JsonSchema } | null = null;

  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return this.asked?.name === name ? this.asked.schema : undefined;
  }
}

/** The schema of the tool that a request of the newer era calls, where some of its arguments are repeated in headers. */
export async function schemaOfCalled(
  options: McpServerOptions,
  caller: Caller,
  request: Request,
): Promise<GatedMcpServer['asked']> {
  const name = request.headers.get('mcp-method') === 'tools/call' ? request.headers.get('mcp-name') : null;
  if (name === null) return null;
  const { tools } = await options.gateway.catalogue(request.signal);
  const inner = innerName(name, options.raw_source);
  const schema = tools.find(({ tool }) => tool === inner)?.definition.input_schema;
  if (schema === undefined || !JSON.stringify(schema).includes('"x-mcp-header"')) return null;
  const visible = await options.gateway.visible(caller, request.signal);
  return visible.some(({ tool }) => tool === inner) ? { name, schema } : null;
}

/** The call that a request is about: a new one, or the one whose leg this is, with the answers that came along. */
async function callOf(
  { gateway, raw_source }: McpServerOptions,
  caller: Caller,
  name: string,
  input: unknown,
  context: ServerContext,
): Promise<Call | CallToolResult> {
  const state = context.mcpReq.requestState<CallState>();
  const answers = Object.entries(context.mcpReq.inputResponses ?? {});
  if (state === undefined) {
    const meta = (context.mcpReq._meta ?? {}) as Record<string, unknown>;
    const text = (key: string) => (typeof meta[key] === 'string' ? meta[key].slice(0, 200) : null);
    const call = await gateway.start(
      caller,
      {
        tool: innerName(name, raw_source),
        arguments: input ?? {},
        request_id: text('io.proctor/request_id'),
        caused_by: text('io.proctor/caused_by'),
        trace_id: /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(text('traceparent') ?? '')?.[1] ?? null,
        idempotency_key: text('io.proctor/idempotency_key'),
      },
      context.mcpReq.signal,
    );
    for (const [name, value] of answers.slice(0, MOST_OFFERED)) call.offer(name, value);
    return call;
  }
  if (state.principal !== caller.principal.id) return refusedResult('not_found', 'this caller made no such call');
  const call = await gateway.attach(state.tool_run_id, caller);
  for (const [id, value] of answers) call.answer(id, value);
  return call;
}

async function answer(
  leg: Exclude<Leg, { type: 'done' }>,
  call: Call,
  era: Era,
  labelled: boolean,
  mint: () => Promise<string>,
): Promise<unknown> {
  if (leg.type === 'questions') {
    const asked = leg.questions.map(({ id, method, params }) => [
      id,
      { method, params: labelled ? withSource(method, params, leg.run.source) : params },
    ]);
    return inputRequired({ inputRequests: Object.fromEntries(asked) as never, requestState: await mint() });
  }
  // A client of the newer era comes back by itself; an older one is told, and joins the call by making it again.
  return era === 'modern' ? inputRequired({ requestState: await mint() }) : pendingResult(leg, call.tool_run_id);
}

/** A result in the words of the client's era: the older one has no structured output but objects. */
async function inTermsOf(
  server: Server,
  result: CallToolResult,
  gateway: Gateway,
  { run }: Leg,
): Promise<CallToolResult> {
  if (result.isError === true || result.structuredContent === undefined) return result;
  const { tools } = await gateway.catalogue(new AbortController().signal);
  const schema = tools.find(({ tool }) => tool === `${run.source}.${run.name}`)?.definition.output_schema;
  return server.projectCallToolResult(result as never, schema ?? undefined) as CallToolResult;
}

/** Who asks a person something has to be seen: it is the server behind, not the gateway. */
function withSource(method: string, params: unknown, source: string): unknown {
  const { message } = (params ?? {}) as { message?: unknown };
  return method === 'elicitation/create' && typeof message === 'string'
    ? { ...(params as object), message: `${source} asks: ${message}` }
    : params;
}

/** What this client says of itself: with every request in the newer era, once for its session in the older one. */
function abilitiesOf(server: Server, { mcpReq }: ServerContext, era: Era): CallerAbilities {
  if (era === 'legacy') return { capabilities: { ...server.getClientCapabilities() }, log_level: 'debug' };
  const envelope = (mcpReq.envelope ?? {}) as Readonly<Record<string, unknown>>;
  const log_level = envelope[LOG_LEVEL_META_KEY];
  return {
    capabilities: { ...(envelope[CLIENT_CAPABILITIES_META_KEY] as object) },
    log_level: typeof log_level === 'string' ? log_level : null,
  };
}

/** A tool that wanted an answer of a kind that this client cannot give: the newer era has an error for it, from which a client can learn. */
function tellWhatIsLacking({ run }: Leg & { type: 'done' }, { capabilities }: CallerAbilities, era: Era): void {
  const lacking = /^lacks_([a-z]+)$/.exec(run.reason ?? '')?.[1];
  if (lacking === undefined || era === 'legacy' || Object.hasOwn(capabilities, lacking)) return;
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { [lacking]: {} } });
}

/** What a tool tells goes to the client as its request wants it; while a person is waited for, a sign of life every ten seconds. */
function listener({ mcpReq }: ServerContext, abilities: CallerAbilities): Listener & Disposable {
  const { progressToken } = (mcpReq._meta ?? {}) as { progressToken?: string | number };
  let last = -1;
  const notify = (progress: number, total: number | null, message: string | null) => {
    if (progressToken === undefined || progress <= last) return; // it has to grow
    last = progress;
    const params = {
      progressToken,
      progress,
      ...(total === null ? {} : { total }),
      ...(message === null ? {} : { message }),
    };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined); // who went away hears nothing
  };
  // So small a step does not get in the way of the tool's own.
  const timer = setInterval(() => notify(Math.max(last, 0) + 1e-6, null, 'waiting'), BEAT_MS);
  timer.unref();
  return {
    abilities,
    progress: notify,
    log: (level, data, logger) => {
      mcpReq.log(level as never, data, logger ?? undefined).catch(() => undefined);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** `source__tool` over MCP is `source.tool` inside; a transparent proxy has the source's own names. */
function innerName(name: string, rawSource: string | null): string {
  return rawSource === null ? name.replace('__', '.') : `${rawSource}.${name}`;
}

async function offered(
  { gateway, raw_source }: McpServerOptions,
  caller: Caller,
  signal: AbortSignal,
): Promise<(readonly [string, CatalogueTool])[]> {
  const tools = await gateway.visible(caller, signal);
  return tools
    .filter(({ source }) => raw_source === null || source.name === raw_source)
    .map((tool) => [raw_source === null ? tool.tool.replace('.', '__') : tool.definition.name, tool] as const);
}

function listed(name: string, { definition }: CatalogueTool): Record<string, unknown> {
  const { title, description, input_schema, output_schema, passed } = definition;
  return {
    name,
    ...(title === null ? {} : { title }),
    description,
    inputSchema: { type: 'object', ...input_schema },
    ...(output_schema === null ? {} : { outputSchema: output_schema }),
    ...passed,
  };
}
