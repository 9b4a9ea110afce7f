import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { App } from '../../app.ts';
import { principalIdSchema } from '../../contract/principal.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { Caller } from '../../gateway/ports.ts';
import type { GatewayApp } from '../../gateway-app.ts';
import { readRegular } from '../../lib/regular-file.ts';
import type { Command, CommandContext } from '../context.ts';
import { onInterrupt } from '../signals.ts';
import { withGateway } from '../with-gateway.ts';

interface McpOptions {
  readonly http?: string | true;
  readonly as?: string;
  readonly rawSource?: string;
  readonly holdMs: number;
  readonly openTo?: string;
  readonly anonymous?: boolean;
}

const DEFAULT_PORT = 4780;
const MOST_SECRET_BYTES = 64 * 1024;

/** `proctor mcp`: Proctor as an MCP server, on its standard streams or over HTTP, whose tools are the gated ones. */
export const mcp: Command<McpOptions> = async (context, options) =>
  await withGateway(context, async (gateway, app) => {
    const as = options.as ?? 'agent:mcp';
    if (!principalIdSchema.safeParse(as).success || !as.startsWith('agent:'))
      throw new ProctorError('usage', `--as is \`${as}\`; it must be agent:NAME, for who speaks MCP is an agent`);
    if (options.anonymous && options.http === undefined)
      throw new ProctorError('usage', '--anonymous is about callers over HTTP; give --http with it');
    if (options.rawSource !== undefined && !Object.hasOwn(gateway.loaded.project.tools, options.rawSource))
      throw new ProctorError('not_found', `there is no tool source \`${options.rawSource}\` in proctor.yaml`);
    const serving = {
      gateway: gateway.gateway,
      state_key: await stateKey(app),
      hold_ms: options.holdMs,
      raw_source: options.rawSource ?? null,
    };
    const caller: Caller = { principal: gateway.principal(as), surface: 'mcp', bound: null };
    return options.http === undefined
      ? await overStdio(context, serving, caller)
      : await overHttp(context, options, gateway, app, serving, caller);
  });

type Serving = Parameters<typeof import('../../server/mcp-server.ts').mcpServerFactory>[0];

async function overStdio({ output }: CommandContext, serving: Serving, caller: Caller): Promise<number> {
  const { mcpServerFactory } = await import('../../server/mcp-server.ts');
  const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
  const { plainMessages } = await import('../../server/plain-message.ts');
  const make = mcpServerFactory(serving);
  using interruption = onInterrupt(output, () => undefined);
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve);
    process.stdin.once('close', resolve);
    interruption.drain.addEventListener('abort', () => resolve(), { once: true });
  });
  const messages = plainMessages(process.stdin, (fault) => {
    process.stdout.write(`${JSON.stringify(fault)}\n`);
    output.note(`proctor: a message was refused: ${fault.error.message}`);
  });
  const transport = new StdioServerTransport(messages, process.stdout);
  const handle = serveStdio(({ era }) => make(caller, era), { transport });
  await ended;
  await handle.close();
  process.stdin.unpipe(messages);
  process.stdin.pause(); // whoever keeps it open does not keep this process
  return interruption.exitCode() ?? 0;
}

async function overHttp(
  { output, environment }: CommandContext,
  { http, as, openTo, anonymous = false }: McpOptions,
  gateway: GatewayApp,
  app: App,
  serving: Serving,
  local: Caller,
): Promise<number> {
  const { listen } = await import('../../server/listen.ts');
  const { Tokens } = await import('../../server/auth.ts');
  const { project } = gateway.loaded;
  const tokens = new Tokens();
  const named = project.principals.filter(({ token }) => token !== undefined);
  if (as !== undefined && named.length > 0 && !anonymous)
    throw new ProctorError(
      'usage',
      `--as says nothing here: the tokens of ${named.map(({ id }) => id).join(', ')} in proctor.yaml say who calls; leave it out`,
    );
  for (const { id, token = '' } of named)
    tokens.add(gateway.secrets.resolve(token), () => ({
      principal: gateway.principal(id),
      surface: 'mcp',
      bound: null,
    }));
  const file = path.join(privateFolder(app), 'agent-token');
  if (named.length === 0) tokens.add(await ownToken(file), () => local);
  const { hostname, port } = addressOf(http === true ? String(DEFAULT_PORT) : (http ?? ''), openTo);
  if (anonymous && !isLoopback(hostname))
    throw new ProctorError(
      'usage',
      `--anonymous lets anybody who reaches the server call tools, so it is for loopback only, and --open-to is \`${hostname}\``,
    );
  const { hosts, origins } = project.server;
  await using server = await listen(
    { ...serving, tokens: tokens.find, hosts, origins, anonymous: anonymous ? local : null },
    { hostname, port },
  );
  using interruption = onInterrupt(output, () => undefined);
  const whose =
    named.length === 0
      ? `the token in ${path.relative(environment['PWD'] ?? '.', file) || file} (${local.principal.id})`
      : `the tokens of ${named.map(({ id }) => id).join(', ')}`;
  if (anonymous)
    output.note(
      `${output.noteStyle('red', 'open')} every program of this machine may call tools as ${local.principal.id}, without a token (--anonymous)`,
    );
  output.result(
    { url: `${server.url}/mcp`, api: `${server.url}/api`, pid: process.pid },
    `MCP at ${server.url}/mcp, approvals at ${server.url}/api/approvals, with ${whose}`,
  );
  await new Promise<void>((resolve) => interruption.drain.addEventListener('abort', () => resolve(), { once: true }));
  return interruption.exitCode() ?? 0;
}

function addressOf(text: string, openTo: string | undefined): { hostname: string; port: number } {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new ProctorError('usage', `--http is \`${text}\`; it must be a port, 0 for a free one`);
  return { hostname: openTo ?? '127.0.0.1', port: Number(text) };
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '::1' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

function privateFolder(app: App): string {
  return path.join(path.dirname(app.places.store), 'private');
}

/** The key that seals what clients carry between the legs of a call; kept, so that a call goes on after a restart. */
async function stateKey(app: App): Promise<Uint8Array> {
  return Buffer.from(
    await keptSecret(path.join(privateFolder(app), 'state-key'), () => randomBytes(32).toString('base64')),
    'base64',
  );
}

async function ownToken(file: string): Promise<string> {
  return await keptSecret(file, () => `prt_${randomBytes(24).toString('base64url')}`);
}

/** A secret in a file that only its owner may read, made when it is not there; of two who make it at once, one counts. */
async function keptSecret(file: string, make: () => string): Promise<string> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  if (!existsSync(file))
    await writeFile(file, make(), { mode: 0o600, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  await chmod(file, 0o600);
  return (await readRegular(file, MOST_SECRET_BYTES)).toString('utf8').trim();
}
