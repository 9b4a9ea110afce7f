import { z } from 'zod';
import { REFERENCE_ONLY } from './secret-reference.ts';

/** What is published of a run: one end, and each time that its breaker stopped it. */
export const WEBHOOK_EVENTS = ['run_completed', 'run_failed', 'run_cancelled', 'run_paused'] as const;
/** The type of a published event, as the webhook's body has it. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** One endpoint that is told how a run ended or that it stopped, as a profile writes it. */
export const webhookSchema = z.strictObject({
  url: z.string().min(1).describe('https (http only on this machine); one entry an endpoint'),
  secret: z
    .string()
    .regex(REFERENCE_ONLY, {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is shown as one writes it
      error: 'must be a reference such as ${secret:HOOK}; a profile never holds the secret itself',
    })
    .describe('Signs by Standard Webhooks: whsec_… (base64 of 24 to 64 bytes) or any text of 16 characters or more'),
  events: z.array(z.enum(WEBHOOK_EVENTS)).min(1).default(['run_completed']),
  private_addresses: z
    .enum(['allow', 'deny', 'named'])
    .default('named')
    .describe('named: only when the URL itself names a private host'),
});
/** One endpoint of a profile. */
export type Webhook = z.output<typeof webhookSchema>;

/** A message as it is signed and sent: the same id and bytes at every try. */
export interface WebhookMessage {
  readonly id: string;
  readonly body: string;
}

/** What became of one try. */
export type SendOutcome =
  | { readonly type: 'response'; readonly status: number; readonly retry_after_ms: number | null }
  /** No answer: refused, timed out, an address that is not allowed. */
  | { readonly type: 'no_response'; readonly message: string };

/** Sends signed messages; never rejects for what the endpoint does. */
export interface WebhookSender {
  send(webhook: Webhook, message: WebhookMessage, signal: AbortSignal): Promise<SendOutcome>;
  /** Throws what would keep every try from being made: a secret that is not set or cannot sign, a URL that is none. */
  check(webhook: Webhook): void;
  close(): Promise<void>;
}
