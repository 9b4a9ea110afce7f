import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { serve } from '@hono/node-server';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';

/** An MCP server behind OAuth with its own authorization server, as far as a sign-in needs one. */
export interface ProtectedServer extends AsyncDisposable {
  readonly url: string;
  /** The access tokens that are valid; taking one out makes the client come with its refresh token. */
  readonly valid: Set<string>;
  /** What the token endpoint was asked for, in order. */
  readonly grants: string[];
  /** From now on the person says no. */
  refuse: boolean;
}

/** Starts it: one tool, let in with a token of the scope `tools`; every page of it is signed in already. */
export async function protectedServer(): Promise<ProtectedServer> {
  const valid = new Set<string>();
  const refreshable = new Set<string>();
  const codes = new Map<string, { challenge: string; redirect: string }>();
  const grants: string[] = [];
  let base = '';
  const mcp = createMcpHandler(() => {
    const server = new Server({ name: 'protected', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'whoami', description: 'Says who you are.', inputSchema: { type: 'object' } }],
    }));
    server.setRequestHandler('tools/call', () => ({ content: [{ type: 'text', text: 'you' }] }));
    return server;
  });
  const tokens = (scope: string) => {
    const access_token = `at-${randomUUID()}`;
    const refresh_token = `rt-${randomUUID()}`;
    valid.add(access_token);
    refreshable.add(refresh_token);
    return Response.json({ access_token, refresh_token, token_type: 'Bearer', expires_in: 3_600, scope });
  };
  const routes: Readonly<Record<string, (request: Request, url: URL) => Promise<Response> | Response>> = {
    '/.well-known/oauth-protected-resource/mcp': () =>
      Response.json({ resource: `${base}/mcp`, authorization_servers: [base], scopes_supported: ['tools'] }),
    '/.well-known/oauth-authorization-server': () =>
      Response.json({
        issuer: base,
        authorization_endpoint: `${base}/authorize`,
        token_endpoint: `${base}/token`,
        registration_endpoint: `${base}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        authorization_response_iss_parameter_supported: true,
      }),
    '/register': async (request) =>
      Response.json({ ...((await request.json()) as object), client_id: randomUUID() }, { status: 201 }),
    '/authorize': (_request, { searchParams: asked }) => {
      const back = new URL(asked.get('redirect_uri') ?? '');
      back.searchParams.set('state', asked.get('state') ?? '');
      back.searchParams.set('iss', base);
      if (server.refuse) {
        back.searchParams.set('error', 'access_denied');
        back.searchParams.set('error_description', 'the person said no');
        return Response.redirect(back.href, 302);
      }
      const code = randomUUID();
      codes.set(code, { challenge: asked.get('code_challenge') ?? '', redirect: asked.get('redirect_uri') ?? '' });
      back.searchParams.set('code', code);
      return Response.redirect(back.href, 302);
    },
    '/token': async (request) => {
      const asked = new URLSearchParams(await request.text());
      const grant = asked.get('grant_type') ?? '';
      grants.push(grant);
      if (grant === 'refresh_token')
        return refreshable.delete(asked.get('refresh_token') ?? '')
          ? tokens('tools')
          : Response.json({ error: 'invalid_grant' }, { status: 400 });
      const code = codes.get(asked.get('code') ?? '');
      codes.delete(asked.get('code') ?? '');
      const proof = createHash('sha256')
        .update(asked.get('code_verifier') ?? '')
        .digest('base64url');
      return code?.challenge === proof && code.redirect === asked.get('redirect_uri')
        ? tokens('tools')
        : Response.json({ error: 'invalid_grant' }, { status: 400 });
    },
    '/mcp': async (request) => {
      const token = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1] ?? '';
      if (valid.has(token)) return await mcp.fetch(request);
      const challenge = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp", scope="tools"`;
      return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } });
    },
  };
  const listener = serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const url = new URL(request.url);
      return (await routes[url.pathname]?.(request, url)) ?? new Response(null, { status: 404 });
    },
  });
  await once(listener, 'listening');
  const address = listener.address();
  if (typeof address !== 'object' || address === null) throw new Error('the protected server has no address');
  base = `http://127.0.0.1:${address.port}`;
  const server: ProtectedServer = {
    url: `${base}/mcp`,
    valid,
    grants,
    refuse: false,
    [Symbol.asyncDispose]: async () => {
      if ('closeAllConnections' in listener) listener.closeAllConnections();
      await new Promise<void>((closed) => {
        listener.close(() => closed());
      });
    },
  };
  return server;
}
