import type { LookupFunction } from 'node:net';
import {
  type HttpClientOptions,
  type HttpOutcome,
  type HttpRequest,
  openHttpClient,
} from '../../../src/adapters/transport/http-client.ts';

/** A look-up that finds every name on this machine. */
export const toLoopback: LookupFunction = (_hostname, options, callback) => {
  if (options.all) callback(null, [{ address: '127.0.0.1', family: 4 }]);
  else callback(null, '127.0.0.1', 4);
};

/** Sends one request by a client of its own. */
export async function request(
  target: string,
  more: Partial<HttpRequest> & { readonly client?: Partial<HttpClientOptions> } = {},
): Promise<HttpOutcome> {
  const url = new URL(target);
  const { client: options, ...rest } = more;
  const client = openHttpClient({ authored_host: url.hostname, connections: 4, ...options });
  try {
    return await client.request({
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer secret-token' },
      body: '{"a":1}',
      timeout_ms: 5_000,
      signal: new AbortController().signal,
      ...rest,
    });
  } finally {
    await client.close();
  }
}

/** What most tests compare: status and body, or code and message. */
export const brief = (outcome: HttpOutcome) =>
  outcome.type === 'response'
    ? { status: outcome.status, body: outcome.body.toString() }
    : { code: outcome.code, message: outcome.message };
