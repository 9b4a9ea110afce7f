import { ProctorError } from '../contract/problem.ts';
import type { Store } from '../contract/store.ts';
import type { Clock } from '../lib/clock.ts';
import { isDead } from '../lib/host.ts';

const TICK_MS = 1_000;
const TOUCH_EVERY = 5;
/** A session elsewhere that was silent for so long carries nothing out any more. */
const SILENT_MS = 60_000;
const BATCH = 200;

/** What looking after the gateway needs. */
export interface KeepDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly session_id: string;
}

/** Ends what dead processes left: approvals that nobody answered in time, calls whose outcome nobody will ever tell. */
export async function settleLeftovers({ store, clock, session_id }: KeepDeps): Promise<void> {
  await store.expireApprovals(BATCH);
  const silent = clock.now() - SILENT_MS;
  const dead = (await store.liveSessions(0)).filter(
    (session) => session.session_id !== session_id && (session.last_seen_at < silent || isDead(session)),
  );
  await store.reapToolRuns(
    dead.map((session) => session.session_id),
    BATCH,
  );
}

/** Keeps a gateway's session alive and settles leftovers, once a second, until stopped. A store that is lost ends it. */
export async function keepGateway(
  deps: KeepDeps,
  options: { readonly signal: AbortSignal; touch(): boolean; tick(): void; failed(error: unknown): void },
): Promise<void> {
  for (let tick = 1; !options.signal.aborted; tick += 1) {
    await deps.clock.sleep(TICK_MS, options.signal).catch(() => undefined); // the stop ends the loop
    if (options.signal.aborted) return;
    try {
      if (options.touch() && tick % TOUCH_EVERY === 0) await deps.store.touchSession(deps.session_id);
      await settleLeftovers(deps);
      options.tick();
    } catch (error) {
      options.failed(error);
      if (!ProctorError.is(error) || error.code !== 'store_busy') return;
    }
  }
}
