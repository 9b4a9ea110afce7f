import { randomBytes } from 'node:crypto';
import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/client';
import { unavailable } from './described.ts';
import type { McpConfig } from './mcp-config.ts';
import { CredentialFile } from './mcp-credentials.ts';

/** What the credentials of a source are looked after with. */
export interface LoginOptions {
  readonly name: string;
  /** Where credentials are kept, readable by their owner only. */
  readonly private_dir: string;
  readonly settings: NonNullable<McpConfig['oauth']>;
  resolve(text: string): string;
}

/** A sign-in under way: the page is shown to a person, and `state` tells its callback from any other. */
export interface SignInUnderWay {
  readonly state: string;
  show(url: URL): void;
}

/**
 * OAuth credentials of one source (RFC 6749 with PKCE, RFC 9728, RFC 8414, by the SDK): kept by the authorization server that issued
 * them, and never shown to another. Without a person to show a page to, a source that wants a sign-in says so and keeps what it wants.
 */
export function loginProvider(options: LoginOptions, underWay: SignInUnderWay | null): OAuthClientProvider {
  const { name, settings, resolve } = options;
  const file = new CredentialFile(options);
  const redirectUrl = redirectUrlOf(settings);
  // What belongs to one sign-in lives as long as this process: a sign-in is not carried on by another.
  let verifier: string | null = null;
  let discovered: OAuthDiscoveryState | undefined;
  let exchanging = false;
  return {
    redirectUrl,
    ...(settings.client_metadata_url === undefined ? {} : { clientMetadataUrl: settings.client_metadata_url }),
    clientMetadata: {
      client_name: 'Proctor',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      ...(settings.scope === undefined ? {} : { scope: settings.scope }),
    },
    state: () => underWay?.state ?? randomBytes(24).toString('base64url'),
    clientInformation: (context) => {
      const kept = file.read(context?.issuer);
      if (settings.client_id === undefined) return kept?.client as never;
      const secret = settings.client_secret === undefined ? {} : { client_secret: resolve(settings.client_secret) };
      // It was registered with one server; which one that is, is known after the first sign-in.
      const issuer = file.registeredAt;
      return { client_id: settings.client_id, ...secret, ...(issuer === undefined ? {} : { issuer }) };
    },
    saveClientInformation: (client, context) => {
      if (settings.client_id === undefined) file.keep(context?.issuer, { client });
      else if (client.client_id !== settings.client_id)
        throw unavailable(
          name,
          `is now under the authorization server ${context?.issuer}, where the client \`${settings.client_id}\` was not registered; it was at ${file.registeredAt}`,
        );
    },
    tokens: (context) => file.read(context?.issuer)?.tokens as never,
    saveTokens: (tokens, context) => {
      file.keep(context?.issuer, { tokens }, settings.client_id !== undefined);
    },
    redirectToAuthorization: (url) => {
      if (underWay !== null) {
        exchanging = true;
        return underWay.show(url);
      }
      file.want({
        scope: url.searchParams.get('scope'),
        resource_metadata_url: discovered?.resourceMetadataUrl ?? null,
      });
      throw unavailable(name, `wants a sign-in: \`proctor tool login ${name}\``);
    },
    saveCodeVerifier: (value) => {
      verifier = value;
    },
    codeVerifier: () => {
      if (verifier === null) throw unavailable(name, 'has no sign-in under way');
      return verifier;
    },
    // A server may move to another authorization server: it is asked anew, but for the second half of one sign-in.
    discoveryState: () => (exchanging ? discovered : undefined),
    saveDiscoveryState: (state) => {
      discovered = state;
    },
    invalidateCredentials: (scope) => {
      if (scope === 'all' || scope === 'client' || scope === 'tokens') file.forget(scope);
    },
  };
}

/** Where the authorization server sends the person's browser back to. */
export function redirectUrlOf({ redirect_port }: LoginOptions['settings']): string {
  return `http://127.0.0.1:${redirect_port}/callback`;
}
