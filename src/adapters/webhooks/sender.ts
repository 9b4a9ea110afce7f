import { ProctorError } from '../../contract/problem.ts';
import type { SendOutcome, Webhook, WebhookSender } from '../../contract/webhook.ts';
import type { Clock } from '../../lib/clock.ts';
import { namesLoopback } from '../transport/address-policy.ts';
import { type HttpClient, openHttpClient } from '../transport/http-client.ts';
import { retryAfterMs } from '../transport/retry-after.ts';
import { signatureHeaders, signingKey } from './signature.ts';

const TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 64 * 1024; // nothing in the answer's body matters
const CONNECTIONS = 4;

/** A sender over HTTP: POST, no redirects, 15 seconds, addresses by the policy of the webhook, signed at the moment of the try. */
export function openWebhookSender(deps: { readonly clock: Clock; resolve(text: string): string }): WebhookSender {
  const clients = new Map<string, HttpClient>();
  const clientOf = (webhook: Webhook, url: URL) => {
    const key = `${webhook.private_addresses} ${url.origin}`;
    let client = clients.get(key);
    if (client === undefined) {
      client = openHttpClient({
        authored_host: url.hostname,
        connections: CONNECTIONS,
        private_addresses: webhook.private_addresses,
      });
      clients.set(key, client);
    }
    return client;
  };
  const keyOf = (webhook: Webhook) => signingKey(deps.resolve(webhook.secret), webhook.secret);
  return {
    check: (webhook) => {
      webhookUrl(webhook.url);
      keyOf(webhook);
    },
    async send(webhook, message, signal): Promise<SendOutcome> {
      const url = webhookUrl(webhook.url);
      const outcome = await clientOf(webhook, url).request({
        url,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'proctor-webhooks',
          ...signatureHeaders(keyOf(webhook), message, deps.clock.now()),
        },
        body: message.body,
        timeout_ms: TIMEOUT_MS,
        max_body_bytes: MAX_ANSWER_BYTES,
        signal,
      });
      if (outcome.type === 'response' || outcome.status !== null) {
        const { status, headers } = outcome;
        const retry_after_ms = retryAfterMs(headers['retry-after'], deps.clock.now());
        return { type: 'response', status: status ?? 0, retry_after_ms };
      }
      return { type: 'no_response', message: `${outcome.code}: ${outcome.message}` };
    },
    close: async () => {
      for (const client of clients.values()) await client.close();
    },
  };
}

/** The endpoint's URL; `invalid_profile` for what is none, carries credentials, or would go unencrypted through a network. */
export function webhookUrl(text: string): URL {
  const refuse = (why: string) => new ProctorError('invalid_profile', `the webhook \`${text}\` ${why}`);
  if (!URL.canParse(text)) throw refuse('is not a URL');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw refuse('holds credentials; the signature is what proves who sent');
  if (url.protocol === 'https:' || (url.protocol === 'http:' && namesLoopback(url.hostname))) return url;
  throw refuse('would be told unencrypted; use https (http is for this machine only)');
}
