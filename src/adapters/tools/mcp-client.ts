import { AsyncLocalStorage } from 'node:async_hooks';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Transport } from '@modelcontextprotocol/client';
import { ProctorError } from '../../contract/problem.ts';
import type { ToolConversation } from '../../contract/tool.ts';
import { commandEnvironment, findProgram } from '../transport/command-environment.ts';
import { type GuardedFetch, openGuardedFetch } from '../transport/guarded-fetch.ts';
import { unavailable } from './described.ts';
import type { McpConfig } from './mcp-config.ts';

/** What a connection to a server needs from its source. */
export interface McpConnectOptions {
  readonly name: string;
  readonly config: McpConfig;
  readonly base_dir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Capabilities whose questions are handed to the caller. */
  readonly relay: readonly string[];
  /** Credentials of a login, for servers over HTTP. */
  readonly auth: object | null;
  resolve(text: string): string;
  note(text: string): void;
  changed(): void;
  closed(): void;
}

/** One connection: the SDK's client, the raw tools of its last listing, and whose call is being made. */
export interface McpConnection {
  readonly client: Client;
  readonly relay: readonly string[];
  /** Takes the raw `tools` of the listing that was made since it was asked last. */
  takeRaw(): unknown[];
  /** The conversation of the call that a question of the server belongs to. */
  readonly calls: AsyncLocalStorage<ToolConversation>;
  readonly active: Set<ToolConversation>;
  /** Resolves when the server sent a message that is longer than any may be: the connection is of no use from then on. */
  readonly overflow: Promise<void>;
  /** Whether it did. */
  readonly overflowed: () => boolean;
  /** Whether anything still comes through to the server and back: any answer will do. */
  responds(): Promise<boolean>;
  close(): Promise<void>;
}

/** A line of a server, and an answer of one, is not longer than this. */
export const MOST_MESSAGE_BYTES = 8 * 1024 * 1024;
const PROBE_MS = 2_000;
const MOST_ENDING_MS = 6_000;
const ENDING_POLL_MS = 50;
const MOST_STDERR = 64 * 1024;
const RELAYED = { elicitation: 'elicitation/create', sampling: 'sampling/createMessage', roots: 'roots/list' } as const;

/** Connects to a server; `source_unavailable` when it cannot be. */
export async function connectMcp(options: McpConnectOptions): Promise<McpConnection> {
  const { name, config, relay } = options;
  const { Client } = await import('@modelcontextprotocol/client');
  const client = new Client(
    { name: 'proctor', version: '1' },
    {
      capabilities: capabilities(relay),
      versionNegotiation: {
        mode:
          config.protocol === 'auto' ? 'auto' : config.protocol === '2025-11-25' ? 'legacy' : { pin: config.protocol },
      },
      // A server's schemas are checked by the gateway, in a thread with a time budget: here they could hold up everything for hours.
      jsonSchemaValidator: {
        getValidator: () => (input: unknown) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
      listChanged: { tools: { autoRefresh: false, onChanged: () => options.changed() } },
    },
  );
  const calls = new AsyncLocalStorage<ToolConversation>();
  const active = new Set<ToolConversation>();
  const conversation = () => calls.getStore() ?? (active.size === 1 ? [...active][0] : undefined);
  for (const [capability, method] of Object.entries(RELAYED)) {
    if (!relay.includes(capability)) continue;
    client.setRequestHandler(
      method,
      async (request: { params?: unknown }, context: { mcpReq: { signal: AbortSignal } }) => {
        const whose = conversation();
        if (whose === undefined) throw new Error('it cannot be told which call this question belongs to');
        return (await whose.ask(method, request.params ?? {}, context.mcpReq.signal)) as never;
      },
    );
  }
  client.setNotificationHandler(
    'notifications/message',
    ({ params }: { params: { level: string; data?: unknown; logger?: string | undefined } }) => {
      // Of several calls at once it cannot always be told whose line it is: nobody hears those of another's.
      conversation()?.log(params.level, params.data, params.logger ?? null);
    },
  );
  const { transport, close } = await openTransport(options);
  try {
    await client.connect(transport, { timeout: config.connect_timeout_ms });
  } catch (error) {
    await close();
    if (ProctorError.is(error)) throw error;
    throw unavailable(
      name,
      `does not answer as an MCP server: ${error instanceof Error ? error.message : String(error)}`,
      error,
    );
  }
  client.onclose = options.closed;
  const overflow = Promise.withResolvers<void>();
  let overflowed = false;
  client.onerror = ({ message }) => {
    if (!message.includes('exceeded maximum size')) return; // what else goes wrong with a call is that call's error
    overflowed = true;
    overflow.resolve();
    options.closed();
  };
  const { pid = null } = transport as { pid?: number | null };
  let raw: unknown[] = [];
  tap(transport, (tools) => raw.push(...tools));
  return {
    client,
    relay,
    calls,
    active,
    overflow: overflow.promise,
    overflowed: () => overflowed,
    responds: () => answersAnything(client),
    takeRaw: () => {
      const taken = raw;
      raw = [];
      return taken;
    },
    close: async () => {
      client.onclose = undefined as never;
      await client.close().catch(() => undefined); // it may be gone already
      await close();
      if (pid !== null) await ended(pid);
    },
  };
}

/** Waits for the end of a server's process: the transport ends it, by force after some seconds, but only while this process lives. */
async function ended(pid: number): Promise<void> {
  for (let waited = 0; waited < MOST_ENDING_MS; waited += ENDING_POLL_MS) {
    try {
      process.kill(pid, 0);
    } catch {
      return; // there is no such process any more
    }
    await sleep(ENDING_POLL_MS);
  }
}

async function answersAnything(client: Client): Promise<boolean> {
  const probe = client.getProtocolEra() === 'modern' ? client.discover : client.ping;
  try {
    await probe.call(client, { timeout: PROBE_MS });
    return true;
  } catch (error) {
    return typeof (error as { code?: unknown }).code === 'number'; // an error of the server's own is an answer too
  }
}

function capabilities(relay: readonly string[]) {
  return {
    ...(relay.includes('elicitation') ? { elicitation: { form: { applyDefaults: true }, url: {} } } : {}),
    ...(relay.includes('sampling') ? { sampling: {} } : {}),
    ...(relay.includes('roots') ? { roots: {} } : {}),
  };
}

/** Sees the raw tools of `tools/list` before the SDK drops what it does not know: a pin is over all that the server said. */
function tap(transport: Transport, found: (tools: readonly unknown[]) => void): void {
  const inner = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const { tools } = ((message as { result?: unknown }).result ?? {}) as { tools?: unknown };
    if (Array.isArray(tools)) found(structuredClone(tools));
    inner?.call(transport, message, extra);
  };
}

async function openTransport(options: McpConnectOptions): Promise<{ transport: Transport; close(): Promise<void> }> {
  const { config, resolve } = options;
  if (config.command !== undefined)
    return { transport: await stdio(options, config.command), close: async () => undefined };
  const url = new URL(resolve(config.url ?? ''));
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const guarded = await guardedFetchOf(config, url);
  const headers = Object.fromEntries(Object.entries(config.headers).map(([key, value]) => [key, resolve(value)]));
  const transport = new StreamableHTTPClientTransport(url, {
    fetch: guarded.fetch,
    requestInit: { headers },
    ...(options.auth === null ? {} : { authProvider: options.auth as never }),
  });
  return { transport, close: () => guarded.close() };
}

/** The fetch for everything that is asked on behalf of a server over HTTP, its authorization servers too. */
export async function guardedFetchOf({ private_addresses }: McpConfig, url: URL): Promise<GuardedFetch> {
  return await openGuardedFetch({
    authored_host: url.hostname,
    private_addresses,
    max_body_bytes: MOST_MESSAGE_BYTES,
  });
}

async function stdio(
  { name, config, base_dir, environment, resolve, note }: McpConnectOptions,
  command: readonly string[],
): Promise<Transport> {
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const added = Object.fromEntries(Object.entries(config.env).map(([key, value]) => [key, resolve(value)]));
  const env = commandEnvironment(environment, added);
  const program = await findProgram(command[0] ?? '', base_dir, env);
  if (program === null) throw unavailable(name, `cannot be started: the program \`${command[0]}\` is not there`);
  const transport = new StdioClientTransport({
    command: program,
    args: command.slice(1),
    env,
    cwd: path.resolve(base_dir, config.cwd),
    stderr: 'pipe',
    maxBufferSize: MOST_MESSAGE_BYTES,
  });
  let left = MOST_STDERR;
  transport.stderr?.on('data', (chunk: Buffer) => {
    if (left <= 0) return;
    note(`${name}: ${chunk.subarray(0, left).toString()}`);
    left -= chunk.length;
  });
  return transport;
}
