import { createHmac } from 'node:crypto';
import { ProctorError } from '../../contract/problem.ts';

const PREFIX = 'whsec_';
const LEAST_BYTES = 16;

/** The key that a secret stands for: the bytes after `whsec_` in base64, or the text itself. `invalid_input` when it is too short. */
export function signingKey(secret: string, name: string): Buffer {
  const key = secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret);
  if (key.length >= LEAST_BYTES) return key;
  throw new ProctorError(
    'invalid_input',
    `the webhook secret ${name} has ${key.length} bytes; it needs at least ${LEAST_BYTES}: \`echo whsec_$(openssl rand -base64 32)\` makes one`,
  );
}

/** The headers of Standard Webhooks 1.0: id, timestamp in seconds, `v1,` and HMAC-SHA-256 over `id.timestamp.body` in base64. */
export function signatureHeaders(
  key: Buffer,
  message: { readonly id: string; readonly body: string },
  nowMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signature = createHmac('sha256', key).update(`${message.id}.${timestamp}.${message.body}`).digest('base64');
  return { 'webhook-id': message.id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
