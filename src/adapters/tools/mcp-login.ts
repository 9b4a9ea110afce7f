import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { unavailable } from './described.ts';
import type { McpConfig } from './mcp-config.ts';

/** What a login is made with. */
export interface LoginOptions {
  readonly name: string;
  /** Where credentials are kept, readable by their owner only. */
  readonly private_dir: string;
  readonly settings: NonNullable<McpConfig['oauth']>;
  resolve(text: string): string;
  /** Leads the user to the sign-in page; without it the source needs `proctor tool login`. */
  readonly redirect?: (url: URL) => void | Promise<void>;
}

interface Kept {
  client?: unknown;
  tokens?: unknown;
  issuer?: string;
}

/**
 * OAuth credentials of one source (RFC 6749 with PKCE, RFC 9728, RFC 8414 by the SDK): tokens are kept in a file of their own, by the
 * authorization server that issued them, and never in the store.
 */
export function loginProvider({ name, private_dir, settings, resolve, redirect }: LoginOptions): OAuthClientProvider {
  const file = path.join(private_dir, `oauth-${name}.json`);
  let verifier: string | null = null;
  const state = randomBytes(24).toString('base64url');
  const read = (): Record<string, Kept> => {
    try {
      return JSON.parse(readFileSync(file, 'utf8')) as Record<string, Kept>;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw unavailable(
        name,
        `has a login that cannot be read: ${String(error)}; sign in anew with \`proctor tool login ${name}\``,
        error,
      );
    }
  };
  const write = (all: Record<string, Kept>) => {
    mkdirSync(private_dir, { recursive: true, mode: 0o700 });
    writeFileSync(file, JSON.stringify(all), { mode: 0o600 });
    chmodSync(file, 0o600); // a file that was there before keeps its mode otherwise
  };
  const keep = (issuer: string | undefined, change: Kept) => {
    const all = read();
    const key = issuer ?? '';
    write({ ...all, [key]: { ...all[key], ...change }, last: { issuer: key } });
  };
  const kept = (issuer: string | undefined): Kept | undefined => {
    const all = read();
    return all[issuer ?? all['last']?.issuer ?? ''];
  };
  return {
    redirectUrl: `http://127.0.0.1:${settings.redirect_port}/callback`,
    ...(settings.client_metadata_url === undefined ? {} : { clientMetadataUrl: settings.client_metadata_url }),
    clientMetadata: {
      client_name: 'Proctor',
      redirect_uris: [`http://127.0.0.1:${settings.redirect_port}/callback`],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      ...(settings.scope === undefined ? {} : { scope: settings.scope }),
    },
    state: () => state,
    clientInformation: (context) => {
      if (settings.client_id !== undefined) {
        const secret = settings.client_secret === undefined ? {} : { client_secret: resolve(settings.client_secret) };
        return { client_id: settings.client_id, ...secret };
      }
      return kept(context?.issuer)?.client as never;
    },
    saveClientInformation: (client, context) => keep(context?.issuer, { client }),
    tokens: (context) => kept(context?.issuer)?.tokens as never,
    saveTokens: (tokens, context) => keep(context?.issuer, { tokens }),
    redirectToAuthorization: async (url) => {
      if (redirect === undefined) throw unavailable(name, `wants a sign-in: \`proctor tool login ${name}\``);
      await redirect(url);
    },
    saveCodeVerifier: (value) => {
      verifier = value;
    },
    codeVerifier: () => {
      if (verifier === null) throw unavailable(name, 'has no sign-in under way');
      return verifier;
    },
    invalidateCredentials: (scope) => {
      if (scope === 'all') return rmSync(file, { force: true });
      const all = read();
      for (const one of Object.values(all)) {
        if (scope === 'tokens') delete one.tokens;
        if (scope === 'client') delete one.client;
      }
      write(all);
    },
  };
}
