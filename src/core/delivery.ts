import type { SendOutcome } from '../contract/webhook.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Waits before the second and later tries of a delivery (the example schedule of Standard Webhooks, with five seconds first). */
export const DELIVERY_WAITS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

const THROTTLED: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const GONE = 410;

/** The key of what a run publishes: an end is one for all, a stop has the number of its event. */
export function dedupeKey(runId: string, type: string, seq: number): string {
  return type === 'run_paused' ? `run:${runId}:paused:${seq}` : `run:${runId}:final`;
}

/** What follows a try of a delivery. */
export type DeliveryDecision =
  | { readonly type: 'published' }
  /** Tried again after the wait; `endpoint_wait_ms`: no other delivery goes to the endpoint before that either. */
  | { readonly type: 'retry'; readonly wait_ms: number; readonly endpoint_wait_ms: number }
  /** Given up: listed, and sent again only by hand. `endpoint_gone`: so are all that wait for the endpoint. */
  | { readonly type: 'dead'; readonly endpoint_gone: boolean };

/**
 * Decides after the try number `attempts` (from 1): 2xx is published, 410 disables the endpoint, 429, 502, 503 and 504 make the endpoint
 * wait as long as it asks, everything else is tried again by the table ±10 % until it is spent. `u` in [0, 1) spreads the waits.
 */
export function decideDelivery(attempts: number, outcome: SendOutcome, u: number): DeliveryDecision {
  const status = outcome.type === 'response' ? outcome.status : 0;
  if (status >= 200 && status < 300) return { type: 'published' };
  if (status === GONE) return { type: 'dead', endpoint_gone: true };
  const planned = DELIVERY_WAITS[attempts - 1];
  if (planned === undefined) return { type: 'dead', endpoint_gone: false };
  const asked = outcome.type === 'response' ? Math.min(outcome.retry_after_ms ?? 0, 24 * HOUR) : 0;
  const wait_ms = Math.max(Math.round(planned * (0.9 + 0.2 * u)), asked);
  return { type: 'retry', wait_ms, endpoint_wait_ms: THROTTLED.has(status) ? Math.max(asked, SECOND) : 0 };
}
