import {
  createMcpHandler,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { ERROR_CODES, ProctorError, problemOf } from '../contract/problem.ts';
import type { Caller } from '../gateway/ports.ts';
import { approvalRoutes } from './approval-routes.ts';
import { bearerToken, type TokenBook } from './auth.ts';
import { type McpServerOptions, mcpServerFactory, schemaOfCalled } from './mcp-server.ts';
import { messageFault } from './plain-message.ts';
import { LegacySessions } from './sessions.ts';
import { toolRunRoutes } from './tool-run-routes.ts';

/** What the server is made of. */
export interface ServerOptions extends McpServerOptions {
  readonly tokens: TokenBook;
  /** Names under which the server may be asked, and hosts of pages that may ask it, besides localhost. */
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** Who asks without a token; null: nobody does. */
  readonly anonymous: Caller | null;
}

/** What a route finds in its context. */
export interface ServerEnv {
  Variables: { caller: Caller };
}

const MOST_BODY = 4 * 1024 * 1024;
const TOO_LARGE = `a body has ${MOST_BODY} bytes at most`;
const tooLarge = { jsonrpc: '2.0', id: null, error: { code: -32_600, message: TOO_LARGE } };

/** The gateway over HTTP: MCP in both eras, tool runs, approvals. Every request names itself by a token; pages of other origins are refused. */
export function serverApp(options: ServerOptions): {
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
} {
  const { gateway, tokens, anonymous } = options;
  const make = mcpServerFactory(options);
  const modern = createMcpHandler(
    async ({ authInfo, requestInfo }) => {
      const caller = callerIn(authInfo);
      const server = make(caller, 'modern');
      if (requestInfo !== undefined) server.asked = await schemaOfCalled(options, caller, requestInfo);
      return server;
    },
    { legacy: 'reject', maxRequestBodySize: MOST_BODY },
  );
  const legacy = new LegacySessions(gateway.deps.clock, (caller) => make(caller, 'legacy'));
  const hosts = [...localhostAllowedHostnames(), ...options.hosts];
  const origins = [...localhostAllowedOrigins(), ...options.origins];
  const app = new Hono<ServerEnv>();

  app.onError((error, context) => {
    const { code, ...problem } = gateway.deps.secrets.json(problemOf(error));
    if (!ProctorError.is(error)) gateway.deps.note(`a request failed: ${error.stack ?? error.message}`);
    return context.json({ ...problem, code }, ERROR_CODES[code].status as 500, {
      'content-type': 'application/problem+json',
    });
  });
  app.notFound((context) => {
    const { code, ...problem } = problemOf(new ProctorError('not_found', `there is nothing at ${context.req.path}`));
    return context.json({ ...problem, code }, 404, { 'content-type': 'application/problem+json' });
  });
  app.use(async (context, next) => {
    const refused =
      hostHeaderValidationResponse(context.req.raw, hosts) ?? originValidationResponse(context.req.raw, origins);
    if (refused !== undefined && context.req.path === '/mcp') return refused;
    if (refused !== undefined)
      throw new ProctorError('forbidden', 'this server does not answer requests with that `Host` or `Origin`');
    const token = bearerToken(context.req.header('authorization'));
    const caller = token === null ? anonymous : tokens(token);
    if (caller === null) {
      context.header('www-authenticate', 'Bearer realm="proctor"');
      if (context.req.path !== '/mcp')
        throw new ProctorError('unauthorized', 'this server wants the bearer token of a principal');
      return context.json(
        { error: 'invalid_token', error_description: 'this server wants the bearer token of a principal' },
        401,
      );
    }
    context.set('caller', caller);
    context.header('cache-control', 'no-store');
    return await next();
  });
  app.use('/api/*', async (context, next) => {
    const { principal, bound } = context.get('caller');
    if (bound !== null)
      throw new ProctorError('forbidden', `${principal.id} is examined here: an attempt calls its tools over MCP only`);
    return await next();
  });
  app.use(
    '/api/*',
    bodyLimit({
      maxSize: MOST_BODY,
      onError: () => {
        throw new ProctorError('body_too_large', TOO_LARGE);
      },
    }),
  );
  app.use('/mcp', bodyLimit({ maxSize: MOST_BODY, onError: () => Response.json(tooLarge, { status: 413 }) }));
  app.all('/mcp', async (context) => {
    const caller = context.get('caller');
    const authInfo = { token: '', clientId: caller.principal.id, scopes: [], extra: { caller } };
    const request = await plainRequest(context.req.raw);
    if (request instanceof Response) return request;
    if (await isLegacyRequest(request, undefined, { maxRequestBodySize: MOST_BODY } as never))
      return await legacy.handle(request, caller, authInfo);
    return await modern.fetch(request, { authInfo });
  });
  app.route('/api/tool_runs', toolRunRoutes(gateway));
  app.route('/api/approvals', approvalRoutes(gateway));
  return {
    fetch: async (request) => await app.fetch(request),
    close: async () => {
      await legacy.close();
      await modern.close();
    },
  };
}

/** The request with its body read and found to be plain JSON, or the answer to one that is not. */
async function plainRequest(request: Request): Promise<Request | Response> {
  if (request.method !== 'POST') return request;
  const body = await request.text();
  const fault = messageFault(body);
  if (fault !== null) return Response.json(fault, { status: 400 });
  const { url, method, headers, signal } = request;
  return new Request(url, { method, headers, body, signal });
}

function callerIn(authInfo: { extra?: Record<string, unknown> } | undefined): Caller {
  const caller = authInfo?.extra?.['caller'];
  if (caller === undefined) throw new ProctorError('forbidden', 'a request reached the gateway without a caller');
  return caller as Caller;
}
