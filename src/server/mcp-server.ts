import { createRequestStateCodec, inputRequired, Server, type ServerContext } from '@modelcontextprotocol/server';
import { ProctorError } from '../contract/problem.ts';
import type { Call, Leg } from '../gateway/call.ts';
import type { CatalogueTool } from '../gateway/catalogue.ts';
import type { Listener } from '../gateway/conversation.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Caller } from '../gateway/ports.ts';
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
}

type CallToolResult = ReturnType<typeof callResult>;

const STATE_SECONDS = 86_400;
const BEAT_MS = 10_000;
const LIST_TTL_MS = 5_000;

/** Makes MCP servers whose tools are the gated ones; one is made for each connection or request, with its caller. */
export function mcpServerFactory(options: McpServerOptions): (caller: Caller, era: 'legacy' | 'modern') => Server {
  const codec = createRequestStateCodec<CallState>({
    key: options.state_key,
    ttlSeconds: STATE_SECONDS,
    bind: (context) => `${context.mcpReq.method}\0${context.http?.authInfo?.clientId ?? ''}`,
  });
  return (caller, era) => {
    const server = new Server(
      { name: 'proctor', title: 'Proctor tool gateway', version: '1' },
      {
        capabilities: { tools: { listChanged: false }, logging: {} },
        cacheHints: { 'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' } },
        requestState: { verify: (state, context) => codec.verify(state, context) },
        inputRequired: { maxRounds: 100 },
      },
    );
    server.setRequestHandler('tools/list', async (_request, context) => ({
      tools: (await offered(options, caller, context.mcpReq.signal)).map(([name, tool]) => listed(name, tool)) as never,
    }));
    server.setRequestHandler('tools/call', async (request, context) => {
      const { name, arguments: input } = request.params;
      try {
        const call = await callOf(options, caller, name, input, context);
        if ('content' in call) return call as never;
        const leg = await call.next({
          hold_ms: options.hold_ms,
          signal: context.mcpReq.signal,
          listener: listener(context),
        });
        return (await answer(leg, call, era, () =>
          codec.mint({ tool_run_id: call.tool_run_id, principal: caller.principal.id }, context),
        )) as never;
      } catch (error) {
        if (!ProctorError.is(error)) throw error;
        return refusedResult(error.code, error.message) as never;
      }
    });
    return server;
  };
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
  if (state === undefined) {
    const meta = (context.mcpReq._meta ?? {}) as Record<string, unknown>;
    const text = (key: string) => (typeof meta[key] === 'string' ? meta[key].slice(0, 200) : null);
    return await gateway.start(
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
  }
  if (state.principal !== caller.principal.id)
    return refusedResult('not_found', 'there is no such call of this caller');
  const call = await gateway.attach(state.tool_run_id, caller);
  for (const [id, value] of Object.entries(context.mcpReq.inputResponses ?? {})) call.answer(id, value);
  return call;
}

async function answer(leg: Leg, call: Call, era: 'legacy' | 'modern', mint: () => Promise<string>): Promise<unknown> {
  if (leg.type === 'done') return callResult(leg);
  if (leg.type === 'questions')
    return inputRequired({
      inputRequests: Object.fromEntries(
        leg.questions.map(({ id, method, params }) => [id, { method, params }]),
      ) as never,
      requestState: await mint(),
    });
  // A client of the newer era comes back by itself; an older one is told, and joins the call by making it again.
  return era === 'modern' ? inputRequired({ requestState: await mint() }) : pendingResult(leg, call.tool_run_id);
}

/** What a tool tells goes to the client as its request wants it; while a person is waited for, a sign of life every ten seconds. */
function listener(context: ServerContext): Listener & Disposable {
  const { progressToken } = (context.mcpReq._meta ?? {}) as { progressToken?: string | number };
  const notify = (progress: number, total: number | null, message: string | null) => {
    if (progressToken === undefined) return;
    const params = {
      progressToken,
      progress,
      ...(total === null ? {} : { total }),
      ...(message === null ? {} : { message }),
    };
    context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined); // who went away hears nothing
  };
  let beats = 0;
  const timer = setInterval(() => {
    beats += 1e-6; // progress has to grow, and must not get in the way of the tool's own
    notify(beats, null, 'waiting');
  }, BEAT_MS);
  context.mcpReq.signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  timer.unref();
  return {
    progress: (progress, total, message) => {
      beats = progress;
      notify(progress, total, message);
    },
    log: (level, data, logger) => {
      context.mcpReq.log(level as never, data, logger ?? undefined).catch(() => undefined);
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
