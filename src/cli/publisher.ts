import type { App } from '../app.ts';
import type { DeliveryRow } from '../contract/store.ts';
import { keepPublishing, publishDue } from '../engine/publish.ts';
import { counted } from './format.ts';
import type { Output } from './output.ts';

const LAST_TRIES_MS = 20_000;

/** Sends webhooks while a command works; leaving its scope stops it. */
export function startPublisher(app: App, output: Output): AsyncDisposable {
  const stop = new AbortController();
  const publishing = keepPublishing(app, stop.signal, (error) =>
    output.note(`proctor: webhooks wait: ${error instanceof Error ? error.message : String(error)}`),
  );
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('the command ends'));
      await publishing;
    },
  };
}

/**
 * The first try of what a run's end or stop is told to, within some seconds; what is not through is left to later publishers, and said. The
 * verdict stands whatever becomes of it.
 */
export async function publishEnd(app: App, output: Output, runId: string): Promise<void> {
  const until = app.clock.monotonic() + LAST_TRIES_MS;
  try {
    const untried = ({ attempts, last_error, next_at }: DeliveryRow) =>
      next_at <= app.clock.now() && (attempts === 0 || last_error === null);
    while ((await waiting(app, runId)).some(untried)) {
      if (app.clock.monotonic() > until) break;
      if ((await publishDue(app, AbortSignal.timeout(LAST_TRIES_MS))) === 0) await app.clock.sleep(50); // another holds it
    }
  } catch (error) {
    output.note(`proctor: webhooks wait: ${error instanceof Error ? error.message : String(error)}`);
  }
  const [first, ...others] = await waiting(app, runId);
  if (first === undefined) return;
  output.note(
    `proctor: ${counted(others.length + 1, 'webhook delivery', 'webhook deliveries')} not through yet (${first.endpoint}: ${first.last_error ?? 'no try yet'}); a worker or \`proctor webhooks deliver\` goes on with it`,
  );
}

async function waiting(app: App, runId: string): Promise<DeliveryRow[]> {
  const rows = await app.store.deliveries({ run_id: runId }, { after: null, limit: 100 });
  return rows.filter(({ status }) => status !== 'published');
}
