import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { SignIn } from '../../contract/tool.ts';
import { linkedSignal, untilAborted } from '../../lib/abort.ts';
import { unavailable } from './described.ts';
import { guardedFetchOf } from './mcp-client.ts';
import type { McpConfig } from './mcp-config.ts';
import { CredentialFile } from './mcp-credentials.ts';
import { type LoginOptions, loginProvider, redirectUrlOf } from './mcp-login.ts';

const REQUEST_MS = 30_000;

/** What comes back with the person's browser. */
interface Callback {
  readonly code: string;
  readonly iss: string | undefined;
}

/**
 * Signs a person in at a source (authorization code with PKCE): shows the page, listens on loopback for what comes back, exchanges it.
 * `provoke` makes a request that the server refuses for want of a sign-in, if it wants one.
 */
export async function signInToMcp(
  options: LoginOptions & { readonly config: McpConfig },
  { show, signal, timeout_ms }: SignIn,
  provoke: () => Promise<void>,
): Promise<'signed_in' | 'not_needed'> {
  const { name, settings, config, resolve } = options;
  const file = new CredentialFile(options);
  if (file.wanted === null) {
    try {
      await provoke();
      return 'not_needed';
    } catch (error) {
      if (file.wanted === null) throw error;
    }
  }
  const { scope = null, resource_metadata_url = null } = file.wanted ?? {};
  const serverUrl = new URL(resolve(config.url ?? ''));
  const guarded = await guardedFetchOf(config, serverUrl);
  using limit = linkedSignal(signal, timeout_ms, () =>
    unavailable(name, `was not signed in to within ${Math.round(timeout_ms / 1_000)} s`),
  );
  const state = randomBytes(24).toString('base64url');
  try {
    await using callback = await listenForCallback(name, redirectUrlOf(settings), state);
    const { auth } = await import('@modelcontextprotocol/client');
    const provider = loginProvider(options, { state, show: (url) => show(url.href) });
    const request = {
      serverUrl,
      ...(scope === null ? {} : { scope }),
      ...(resource_metadata_url === null ? {} : { resourceMetadataUrl: new URL(resource_metadata_url) }),
      fetchFn: (input: string | URL, init?: RequestInit) =>
        guarded.fetch(input, { ...init, signal: AbortSignal.timeout(REQUEST_MS) }),
    };
    const begun = await untilAborted(auth(provider, { ...request, forceReauthorization: true }), limit.signal);
    if (begun === 'AUTHORIZED') return 'signed_in';
    const { code, iss } = await untilAborted(callback.received, limit.signal);
    await untilAborted(
      auth(provider, { ...request, authorizationCode: code, ...(iss === undefined ? {} : { iss }) }),
      limit.signal,
    );
    return 'signed_in';
  } catch (error) {
    if (limit.signal.aborted) throw limit.signal.reason;
    throw unavailable(
      name,
      `could not be signed in to: ${error instanceof Error ? error.message : String(error)}`,
      error,
    );
  } finally {
    await guarded.close();
  }
}

interface CallbackListener extends AsyncDisposable {
  readonly received: Promise<Callback>;
}

/** Listens on loopback for the one callback that carries the state of this sign-in; any other is refused and waited past. */
async function listenForCallback(name: string, redirectUrl: string, state: string): Promise<CallbackListener> {
  const { hostname, port, pathname } = new URL(redirectUrl);
  const { promise: received, resolve, reject } = Promise.withResolvers<Callback>();
  received.catch(() => undefined); // who waits for it hears of it
  const server = createServer((request, response) => {
    const say = (status: number, text: string) =>
      response
        .writeHead(status, {
          'content-type': 'text/plain; charset=utf-8',
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
          connection: 'close',
        })
        .end(`${text}\n`);
    const url = URL.parse(request.url ?? '', redirectUrl);
    if (url?.pathname !== pathname || request.method !== 'GET') return say(404, 'There is nothing here.');
    const given = (parameter: string) => url.searchParams.get(parameter);
    if (given('state') !== state) return say(400, 'This does not belong to the sign-in that is under way.');
    const code = given('code');
    if (code !== null) {
      resolve({ code, iss: given('iss') ?? undefined });
      return say(200, `Proctor has what it needs for ${name}; you may close this page.`);
    }
    const why = [given('error'), given('error_description')].filter((part) => part !== null).join(': ');
    reject(new Error(`the authorization server refused it (${why === '' ? 'it sent no code' : why.slice(0, 500)})`));
    return say(200, 'The sign-in was refused; you may close this page.');
  });
  await listening(server, hostname, Number(port)).catch((error: NodeJS.ErrnoException) => {
    throw new Error(
      `port ${port}, where the sign-in comes back to, cannot be listened on (${error.code}); \`oauth.redirect_port\` names another`,
      { cause: error },
    );
  });
  return {
    received,
    [Symbol.asyncDispose]: async () => {
      await new Promise<void>((closed) => {
        server.close(() => closed());
      });
    },
  };
}

function listening(server: Server, hostname: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, hostname, () => resolve());
  });
}
