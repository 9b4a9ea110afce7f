import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import type { Store } from '../../src/contract/store.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/store.ts';
import { FakeClock, newRun, newSession, planned, retryLater, temporaryFolder } from './store-fixture.ts';
import { decideBy, newToolRun, POLICY, POLICY_DIGEST, requestBy, WRITE } from './store-gateway.ts';
import { LEASE_MS, LOSS_BACKOFF } from './store-harness.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
export const START = Date.UTC(2026, 10, 22);
export const UP = 5 * DAY;
export const WAIT_MS = 60_000;

/** What waits for time in a store: how it comes to wait, for how long, and how to see that it is due, which may be asked again until it is. */
export interface Waiting {
  readonly ms: number;
  arrange(store: Store): Promise<unknown>;
  isDue(store: Store): Promise<boolean>;
}

export const CLAIM = {
  session_id: 'wse_1',
  run_ids: ['run_1'],
  capacity: 1,
  lease_ms: LEASE_MS,
  ahead: 0,
  max_losses: 5,
};
const TOOL_LIMIT = { id: 'few', key: 'few', window_ms: WAIT_MS, calls: 1, cost_micro_usd: null };

export const WAITINGS: Readonly<Record<string, Waiting>> = {
  'a lease': {
    ms: LEASE_MS,
    arrange: (store) => store.claim(CLAIM),
    isDue: async (store) =>
      (await store.reap({ dead_sessions: [], limit: 9, max_losses: 5, backoff: LOSS_BACKOFF })).length === 1,
  },
  'a retry': {
    ms: WAIT_MS,
    arrange: async (store) => {
      for (const claim of await store.claim({ ...CLAIM, capacity: 4 }))
        await store.fail(retryLater(claim, { delay_ms: WAIT_MS }));
    },
    isDue: async (store) => (await store.claim(CLAIM)).length === 1,
  },
  'the lease of a delivery': {
    ms: LEASE_MS,
    arrange: async (store) => {
      await store.requestCancel('run_told', 'enough');
      await store.claimDeliveries(1, LEASE_MS);
    },
    isDue: async (store) => (await store.claimDeliveries(1, LEASE_MS)).length === 1,
  },
  'the next try of a delivery': {
    ms: WAIT_MS,
    arrange: async (store) => {
      await store.requestCancel('run_told', 'enough');
      const decision = { type: 'retry' as const, wait_ms: WAIT_MS, endpoint_wait_ms: 0 };
      for (const { outbox_no, endpoint, lease_id } of await store.claimDeliveries(1, LEASE_MS))
        await store.settleDelivery({ outbox_no, endpoint, lease_id, decision, status: 500, error: 'status 500' });
    },
    isDue: async (store) => (await store.claimDeliveries(1, LEASE_MS)).length === 1,
  },
  'the share of a session that is silent': {
    ms: LEASE_MS,
    arrange: (store) => store.openSession(newSession('wse_silent')),
    // Of four slots two are its own while it counts as live.
    isDue: async (store) => {
      const claims = await store.claim({ ...CLAIM, capacity: 4 });
      for (const claim of claims) await store.release(claim);
      return claims.length === 4;
    },
  },
  'the window of a limit': {
    ms: WAIT_MS,
    arrange: (store) => call(store),
    isDue: async (store) => (await call(store)) === 'allow',
  },
};

async function call(store: Store): Promise<string | null> {
  const { run } = await store.beginToolRun(
    newToolRun(START, { source: 'notes' }),
    requestBy(decideBy('allow'), { limits: [TOOL_LIMIT] }),
  );
  return run.decision;
}

/** A store with run `run_1` of four slots and four cases, and `run_told`, whose end a webhook waits for. */
export class Place implements AsyncDisposable {
  readonly clock = new FakeClock(START, UP);
  readonly #folder: ReturnType<typeof temporaryFolder>;
  store: SqliteStore;

  private constructor(folder: ReturnType<typeof temporaryFolder>) {
    this.#folder = folder;
    this.store = this.another(this.clock);
  }

  static async open(): Promise<Place> {
    const place = new Place(temporaryFolder('/dev/shm'));
    const { store } = place;
    await store.openSession(newSession('wse_1'));
    await store.openSession({ ...newSession('wse_g1'), role: 'gateway' });
    await store.closeSession('wse_g1');
    await store.createRun(newRun('run_1', { cases: 4, repeats: 1, concurrency: 4 }));
    await store.materialize('run_1', 0, planned(0, 4, 1));
    const webhooks = [{ url: 'http://ear.example', events: ['run_cancelled'] }];
    await store.createRun(newRun('run_told', { snapshot: JSON.stringify({ profile: { webhooks } }) }));
    await store.keepPolicy(POLICY_DIGEST, POLICY);
    await store.showDefinitions('notes', [WRITE], false);
    await store.pinTool('notes', 'write', WRITE.digest, 'human:ann');
    return place;
  }

  another(clock: FakeClock): SqliteStore & AsyncDisposable {
    const store = openSqliteStore({ path: this.#folder.file('proctor.db'), clock });
    return { ...store, [Symbol.asyncDispose]: () => store.close() };
  }

  async reopen(meanwhile: () => void): Promise<void> {
    await this.store.close();
    meanwhile();
    this.store = this.another(this.clock);
  }

  alter(change: (db: DatabaseSync) => void): void {
    using db = new DatabaseSync(this.#folder.file('proctor.db'));
    change(db);
  }

  /** Not due a moment before its time has passed, and due a moment after. */
  async expectDueAfter(
    waiting: Waiting,
    alsoPass: (ms: number) => Promise<void> = async () => undefined,
  ): Promise<void> {
    const pass = async (ms: number) => {
      this.clock.advance(ms);
      await alsoPass(ms);
    };
    expect(await waiting.isDue(this.store)).toBe(false);
    await pass(waiting.ms - 100);
    expect(await waiting.isDue(this.store)).toBe(false);
    await pass(1_200); // a window of a limit forgets by the sixtieth of it
    expect(await waiting.isDue(this.store)).toBe(true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
    this.#folder[Symbol.dispose]();
  }
}
