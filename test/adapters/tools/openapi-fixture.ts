import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { openapiTools } from '../../../src/adapters/tools/openapi.ts';
import { openapiConfigSchema } from '../../../src/adapters/tools/openapi-config.ts';
import { type CompileRequest, compile } from '../../../src/adapters/tools/openapi-entry.ts';
import type { ToolAnswer, ToolDefinition, ToolInvocation, ToolSource } from '../../../src/contract/tool.ts';
import { Secrets } from '../../../src/core/redaction/secrets.ts';
import { temporaryFolder } from '../../support/cli.ts';

/** One request as the API saw it. */
export interface SeenRequest {
  readonly method: string;
  /** As it stood in the request line. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An HTTP API on loopback that remembers what it was asked. */
export interface Api extends AsyncDisposable {
  readonly url: string;
  readonly seen: SeenRequest[];
}

/** Starts an API; without an answer of its own it says what it was asked, as JSON. */
export async function startApi(
  answer: (request: SeenRequest, response: ServerResponse) => void = (request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ target: request.target }));
  },
): Promise<Api> {
  const seen: SeenRequest[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url: target = '', headers } = request;
    const one = { method, target, headers, body: await text(request) };
    seen.push(one);
    answer(one, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A source as the catalogue opens it, with what its notes said. */
export async function openSource(
  base_dir: string,
  members: Readonly<Record<string, unknown>>,
  secrets: Readonly<Record<string, string>> = {},
): Promise<ToolSource & AsyncDisposable> {
  const keeper = new Secrets((kind, name) => {
    const value = secrets[name];
    if (value === undefined) throw new Error(`the ${kind} ${name} is not set`);
    return value;
  });
  const source = await openapiTools.open({
    name: 'api',
    config: openapiConfigSchema.parse(members),
    relay: [],
    base_dir,
    private_dir: base_dir,
    resolve: (template) => keeper.resolve(template),
    environment: {},
    note: (line) => process.stderr.write(line),
    changed: () => undefined,
  });
  const opened = {
    ...source,
    listTools: async (signal: AbortSignal) => {
      const listing = await source.listTools(signal);
      lastListed.set(opened, listing.tools);
      return listing;
    },
    [Symbol.asyncDispose]: () => source.close(),
  };
  return opened;
}

/** What a source listed last: the definitions that calls are decided on. */
const lastListed = new WeakMap<ToolSource, readonly ToolDefinition[]>();

/** Calls a tool of a source. */
export async function invoke(
  source: ToolSource,
  name: string,
  input: Readonly<Record<string, unknown>> = {},
  more: Partial<ToolInvocation> = {},
): Promise<ToolAnswer> {
  const invoked = source['invokeTool'].bind(source);
  const tools = lastListed.get(source) ?? (await source.listTools(staying())).tools;
  return await invoked({
    name,
    raw: tools.find((tool) => tool.name === name)?.raw,
    arguments: input,
    idempotency_key: 'trn_1',
    timeout_ms: 5_000,
    max_output_bytes: 1024 * 1024,
    signal: new AbortController().signal,
    redact: (text) => text,
    conversation: {
      abilities: { capabilities: {}, log_level: null },
      progress() {},
      log() {},
      ask: () => Promise.reject(new Error('nobody is there')),
    },
    ...more,
  });
}

/** The signal of a caller who stays. */
export const staying = () => new AbortController().signal;

/** Compiles a document of the given paths and schemas, as the thread does. */
export async function compiled(
  document: Readonly<Record<string, unknown>> | string,
  more: Partial<CompileRequest> = {},
) {
  const whole =
    typeof document === 'string'
      ? document
      : JSON.stringify({
          openapi: '3.0.3',
          info: { title: 'T', version: '1' },
          servers: [{ url: 'https://api.example/v1' }],
          ...document,
        });
  return await compile({
    text: whole,
    where: { document: null, server: null },
    supplied: { headers: [], query: [] },
    operations: null,
    check_output: true,
    ...more,
  });
}

/** A GET operation of the given id. */
export function get(operationId: string, more: Readonly<Record<string, unknown>> = {}) {
  return { get: { operationId, responses: {}, ...more } };
}

/** A parameter of a document: a string unless said otherwise. */
export function parameter(name: string, place: string, more: object = {}) {
  return { name, in: place, required: place === 'path', schema: { type: 'string' }, ...more };
}

/** A folder with a document of the given paths as `api.json`; 3.0, no server. */
export async function folderOf(paths: object, more: object = {}) {
  const folder = await temporaryFolder();
  await writeFile(path.join(folder.path, 'api.json'), JSON.stringify({ openapi: '3.0.3', paths, ...more }));
  return folder;
}
