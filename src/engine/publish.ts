import { ProctorError } from '../contract/problem.ts';
import type { ClaimedDelivery, RunRow, Store } from '../contract/store.ts';
import type { SendOutcome, Webhook, WebhookMessage, WebhookSender } from '../contract/webhook.ts';
import { type DeliveryDecision, decideDelivery } from '../core/delivery.ts';
import { instant } from '../core/instant.ts';
import type { Verdict } from '../core/verdict.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { Clock } from '../lib/clock.ts';
import { pausedOf, pausedText, type Stop } from './paused.ts';
import { readSnapshot } from './run-context.ts';

/** What a publisher works with. */
export interface PublisherDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly webhooks: WebhookSender;
}

const BATCH = 8;
const LEASE_MS = 60_000; // well above the time of one try, so that two publishers do not send at once
const POLL_MS = 1_000;

/** Sends every delivery that is due, until none is; answers how many tries were made. Any number of processes may do it. */
export async function publishDue(deps: PublisherDeps, signal: AbortSignal): Promise<number> {
  let tries = 0;
  while (!signal.aborted) {
    const claimed = await deps.store.claimDeliveries(BATCH, LEASE_MS);
    if (claimed.length === 0) break;
    tries += claimed.length;
    await Promise.all(claimed.map((delivery) => deliver(deps, delivery, signal)));
  }
  return tries;
}

/** Goes on sending what falls due until it is stopped; what goes wrong is told and does not end it. */
export async function keepPublishing(
  deps: PublisherDeps,
  signal: AbortSignal,
  failed: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    await publishDue(deps, signal).catch((error: unknown) => {
      if (!signal.aborted) failed(error);
    });
    await deps.clock.sleep(POLL_MS, signal).catch(() => undefined); // the stop ends the loop
  }
}

async function deliver(deps: PublisherDeps, delivery: ClaimedDelivery, signal: AbortSignal): Promise<void> {
  const outcome = await attempt(deps, delivery, signal);
  if (signal.aborted) return; // its lease runs out and another publisher tries; the receiver knows the id
  const decision: DeliveryDecision = decideDelivery(delivery.attempts, outcome, Math.random());
  const { outbox_no, endpoint, lease_id } = delivery;
  const status = outcome.type === 'response' ? outcome.status : null;
  const error = decision.type === 'published' ? null : told(outcome);
  await deps.store.settleDelivery({ outbox_no, endpoint, lease_id, decision, status, error });
}

async function attempt(deps: PublisherDeps, delivery: ClaimedDelivery, signal: AbortSignal): Promise<SendOutcome> {
  try {
    const run = await deps.store.run(delivery.run_id);
    if (run === null) throw new ProctorError('store_altered', `run ${delivery.run_id} is gone`);
    const { profile } = await readSnapshot(deps.store, run);
    const webhook = profile.webhooks.find(({ url }) => url === delivery.endpoint);
    if (webhook === undefined)
      throw new ProctorError('store_altered', `the profile of ${run.run_id} has no webhook \`${delivery.endpoint}\``);
    return await deps.webhooks.send(webhook, await messageOf(deps, delivery, run), signal);
  } catch (error) {
    if (!ProctorError.is(error) || ['store_failed', 'store_busy', 'store_lost'].includes(error.code)) throw error;
    return { type: 'no_response', message: error.message }; // a secret that is not set here, a URL that is none
  }
}

/**
 * The message of a delivery: built from what never changes once the run has ended or stopped, so that every try, by whatever process, carries
 * the same bytes under the same id.
 */
async function messageOf({ store }: PublisherDeps, delivery: ClaimedDelivery, run: RunRow): Promise<WebhookMessage> {
  const { profile } = await readSnapshot(store, run);
  const { name, version } = profile.agent;
  const common = {
    profile: { profile_id: profile.profile_id, profile_version: profile.profile_version },
    agent: { name, version },
  };
  const data =
    delivery.type === 'run_paused'
      ? { ...stopData(run.run_id, JSON.parse(delivery.body) as Stop), ...common }
      : { ...(JSON.parse(delivery.body) as object), ...endData(run), ...common };
  const body = canonicalJson({ type: delivery.type, timestamp: instant(delivery.created_at), data });
  return { id: delivery.dedupe_key, body };
}

function endData(run: RunRow) {
  const verdict = run.verdict === null ? null : (JSON.parse(run.verdict) as Verdict);
  return {
    run_id: run.run_id,
    status: run.status,
    gate_status: run.gate_status,
    reason: verdict?.reason ?? run.reason,
    pass_rate: verdict?.pass_rate ?? null,
    interval: verdict?.interval ?? null,
  };
}

/** What is told of a stop, as it was then: the run may have gone on, and ended, before the message is through. */
function stopData(run_id: string, stop: Stop) {
  return {
    run_id,
    status: 'running',
    gate_status: 'unknown',
    reason: pausedText(stop),
    pass_rate: null,
    interval: null,
    paused: pausedOf(stop),
  };
}

/** Sends a message that says it is a test, once; answers what the endpoint said. */
export async function sendTest(deps: PublisherDeps, webhook: Webhook, id: string): Promise<SendOutcome> {
  const body = canonicalJson({
    type: 'test',
    timestamp: instant(deps.clock.now()),
    data: { message: 'Proctor can reach you' },
  });
  return await deps.webhooks.send(webhook, { id, body }, new AbortController().signal);
}

/** An outcome in one line. */
export function told(outcome: SendOutcome): string {
  if (outcome.type === 'no_response') return outcome.message;
  const wait = outcome.retry_after_ms === null ? '' : `, Retry-After ${Math.round(outcome.retry_after_ms / 1000)} s`;
  return `status ${outcome.status}${wait}`;
}
