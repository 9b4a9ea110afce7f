import { randomBytes } from 'node:crypto';
import type { App } from './app.ts';
import type { ToolCall } from './contract/agent.ts';
import type { DoorRequest, GatedCalls, OpenDoor, ToolDoors } from './contract/gateway-profile.ts';
import type { ToolRunRow } from './contract/store.ts';
import type { ToolOutput } from './contract/tool.ts';
import { deniedByPolicy } from './core/denials.ts';
import type { Policy } from './core/policy/compile.ts';
import { simulatedOperator } from './core/simulated-operator.ts';
import type { Gateway } from './gateway/gateway.ts';
import type { Caller } from './gateway/ports.ts';
import type { GatewayApp } from './gateway-app.ts';
import { Lru } from './lib/lru.ts';
import type { Tokens } from './server/auth.ts';
import type { Listening } from './server/listen.ts';

interface Opened {
  readonly gateway: GatewayApp;
  readonly tokens: Tokens;
  readonly server: Listening;
}

const HOLD_MS = 45_000;

/** Doors to the gateway for the attempts of this process: one server on loopback, started with the first door, and a token for each attempt. */
export function openToolDoors(
  app: App,
  context: {
    readonly environment: Readonly<Record<string, string | undefined>>;
    readonly output: { note(text: string): void };
  },
): ToolDoors & AsyncDisposable {
  let opened: Promise<Opened> | null = null;
  const policies = new Lru<string, Promise<Policy>>(20);
  const start = async (): Promise<Opened> => {
    const { openGatewayApp } = await import('./gateway-app.ts');
    const { listen } = await import('./server/listen.ts');
    const { Tokens } = await import('./server/auth.ts');
    const gateway = await openGatewayApp(app, {
      environment: context.environment,
      note: (text) => context.output.note(`proctor: ${text.trimEnd()}`),
    });
    const tokens = new Tokens();
    const server = await listen({
      gateway: gateway.gateway,
      state_key: randomBytes(32), // a door does not outlive its process
      hold_ms: HOLD_MS,
      raw_source: null,
      tokens: tokens.find,
      hosts: [],
      origins: [],
      anonymous: null,
    });
    return { gateway, tokens, server };
  };
  return {
    async open(request) {
      opened ??= start();
      const { gateway, tokens, server } = await opened;
      const { frozen } = request;
      const policy = await policies.get(frozen.policy_digest, () => gateway.ready(frozen.policy));
      const caller = callerOf(gateway, request, policy);
      const token = `prt_${randomBytes(24).toString('base64url')}`;
      const forget = tokens.add(token, () => caller);
      return door(app, gateway, request, { mcp_url: `${server.url}/mcp`, token, forget });
    },
    async [Symbol.asyncDispose]() {
      if (opened === null) return;
      const { gateway, server } = await opened;
      await server[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

function callerOf({ principal }: GatewayApp, request: DoorRequest, policy: Policy): Caller {
  const { fence, agent, frozen, tools, operator, seed } = request;
  return {
    principal: principal(`agent:${agent.replaceAll(/[^A-Za-z0-9_.@-]/g, '_').slice(0, 120)}`),
    surface: 'evaluation',
    bound: {
      ...fence,
      agent,
      policy,
      tools,
      definitions: new Map(frozen.tools.map(({ tool, definition_digest }) => [tool, definition_digest])),
      operator: simulatedOperator(operator, { seed, ordinal: fence.ordinal }),
    },
  };
}

function door(
  app: App,
  { gateway }: GatewayApp,
  { fence }: DoorRequest,
  { mcp_url, token, forget }: { mcp_url: string; token: string; forget(): void },
): OpenDoor {
  return {
    mcp_url,
    token,
    async close() {
      forget();
      await gateway.closeAttempt(fence);
      const rows = await app.store.toolRunsOf(fence.run_id, fence.ordinal, fence.attempt);
      return await gatedCalls(gateway, rows);
    },
  };
}

async function gatedCalls(gateway: Gateway, rows: readonly ToolRunRow[]): Promise<GatedCalls> {
  const { shownOutput } = await import('./gateway/output.ts');
  const calls: ToolCall[] = [];
  for (const row of rows) {
    const output = await shownOutput(row, gateway.deps);
    calls.push({
      arguments: JSON.parse(row.arguments),
      name: `${row.source}.${row.name}`,
      result: resultOf(row, output) as ToolCall['result'],
      source: 'gated',
      status: row.status,
    });
  }
  const trace = rows.map(({ tool_run_id, status, output_digest }) => ({
    type: 'tool_run' as const,
    tool_run_id,
    status,
    output_digest,
  }));
  const denied = rows.filter(deniedByPolicy).map(({ source, name }) => `${source}.${name}`);
  return { calls, trace, denied: [...new Set(denied)] };
}

/** What the agent got: data where the tool gave data, the text otherwise; for a call that was not carried out, why not. */
function resultOf(row: ToolRunRow, output: ToolOutput | null): unknown {
  if (row.status !== 'ok') {
    const { code, message } = (row.error === null ? {} : JSON.parse(row.error)) as { code?: string; message?: string };
    return { error: { code: code ?? row.reason, message: message ?? null } };
  }
  if (output === null) return null;
  if (output.structured !== null) return output.structured;
  return output.content.flatMap((block) => (typeof block['text'] === 'string' ? [block['text']] : [])).join('\n');
}
