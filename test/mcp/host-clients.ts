import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as FirstStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as FirstHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { builtPackage } from '../support/built-package.ts';

/** The tool that they call. */
export const TOOL = 'speaker__set_volume';
/** How long everything may take. */
export const WITHIN_MS = 60_000;

/** A result as a host sees it. */
export interface Result {
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
  readonly content?: readonly { readonly type: string; readonly text?: string }[];
}

/** A client as a host has it: made when it is needed, and made anew when its connection is lost. */
export interface HostClient extends AsyncDisposable {
  call(volume: number): Promise<Result>;
}
/** Connects a client to the server of a project. */
export type Connect = (where: {
  readonly folder: string;
  readonly url: string;
  readonly token: string;
}) => Promise<HostClient>;

/** A client of the older era does not see that its server is gone: it finds out when its patience ends. */
const PATIENCE_MS = { legacy: 10_000, auto: WITHIN_MS } as const;

/** The SDK's client over a transport. */
export async function sdkClient(
  mode: 'legacy' | 'auto',
  transport: StreamableHTTPClientTransport | StdioClientTransport,
) {
  const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  const call = async (volume: number) =>
    (await client.callTool({ name: TOOL, arguments: { volume } }, { timeout: PATIENCE_MS[mode] })) as Result;
  return { call, [Symbol.asyncDispose]: () => client.close() };
}

/** The header that says who calls. */
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
/** The gateway as a program of a host. */
export const program = (folder: string) => ({
  command: process.execPath,
  args: ['--disable-warning=ExperimentalWarning', builtPackage().main, 'mcp', '--hold-ms', '3000'],
  cwd: folder,
});

/** The SDK's client over HTTP. */
export const sdkOverHttp =
  (mode: 'legacy' | 'auto'): Connect =>
  async ({ url, token }) =>
    await sdkClient(mode, new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: bearer(token) } }));
/** The SDK's client over standard streams. */
export const sdkOverStdio =
  (mode: 'legacy' | 'auto'): Connect =>
  async ({ folder }) =>
    await sdkClient(mode, new StdioClientTransport({ ...program(folder), stderr: 'ignore' }));

/** The SDK's first major version, which most hosts have: it holds structured content against the tool's schema, errors too. */
async function firstSdkClient(transport: FirstHttpTransport | FirstStdioTransport) {
  const client = new FirstClient({ name: 'host', version: '1' });
  await client.connect(transport as never);
  await client.listTools(); // it learns the schemas by it
  const call = async (volume: number) =>
    (await client.callTool({ name: TOOL, arguments: { volume } }, undefined, {
      timeout: PATIENCE_MS.legacy,
    })) as Result;
  return { call, [Symbol.asyncDispose]: () => client.close() };
}

/** The SDK's first major version over HTTP. */
export const firstSdkOverHttp: Connect = async ({ url, token }) =>
  await firstSdkClient(new FirstHttpTransport(new URL(url), { requestInit: { headers: bearer(token) } }));

async function aiClient(
  mode: 'legacy' | 'auto',
  transport: Parameters<typeof createMCPClient>[0]['transport'],
): Promise<HostClient> {
  const client = await createMCPClient({ transport, protocolVersionDiscovery: mode === 'auto' });
  const tools = await client.tools();
  const call = async (volume: number) => {
    const tool = tools[TOOL];
    if (tool === undefined) throw new Error(`the AI SDK sees no ${TOOL}`);
    const abortSignal = AbortSignal.timeout(PATIENCE_MS[mode]);
    return (await tool.execute({ volume }, { toolCallId: 'call_1', messages: [], abortSignal } as never)) as Result;
  };
  return { call, [Symbol.asyncDispose]: () => client.close() };
}

/** All clients over HTTP. */
export const OVER_HTTP: readonly (readonly [string, Connect])[] = [
  ['the SDK’s, 2026-07-28', sdkOverHttp('auto')],
  ['the SDK’s, 2025-11-25', sdkOverHttp('legacy')],
  ['the SDK’s first version', firstSdkOverHttp],
  ['the AI SDK’s, 2026-07-28', ({ url, token }) => aiClient('auto', { type: 'http', url, headers: bearer(token) })],
  ['the AI SDK’s, 2025-11-25', ({ url, token }) => aiClient('legacy', { type: 'http', url, headers: bearer(token) })],
];
/** All clients over standard streams. */
export const OVER_STDIO: readonly (readonly [string, Connect])[] = [
  ['the SDK’s, 2026-07-28', sdkOverStdio('auto')],
  ['the SDK’s, 2025-11-25', sdkOverStdio('legacy')],
  [
    'the SDK’s first version',
    ({ folder }) => firstSdkClient(new FirstStdioTransport({ ...program(folder), stderr: 'ignore' })),
  ],
  [
    'the AI SDK’s',
    ({ folder }) => aiClient('auto', new Experimental_StdioMCPTransport({ ...program(folder), stderr: 'ignore' })),
  ],
];
