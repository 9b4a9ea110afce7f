import { expect } from 'vitest';
import type { Claim, ClaimRequest, NewRun, Store } from '../../src/contract/store.ts';
import { newRun, newSession, plain, planned } from './store-fixture.ts';
import { differences } from './store-recompute.ts';

/** A fresh store with a clock that moves only when told to. */
export interface StoreHarness extends AsyncDisposable {
  readonly store: Store;
  now(): number;
  advance(ms: number): void;
  /** Makes a backup and opens it. */
  openBackup(): Promise<Store>;
}

export type OpenHarness = () => Promise<StoreHarness>;

export const LEASE_MS = 1_000;

/** What a lost lease waits for in the scenes: 50 to 100 ms, doubling. */
export const LOSS_BACKOFF = { base_ms: 100, cap_ms: 1_000 };

/** A store with session `wse_1` and run `run_1`, of which `queued` executions are materialized; its invariants are checked at the end. */
export class Scene implements AsyncDisposable {
  readonly harness: StoreHarness;
  readonly store: Store;

  constructor(harness: StoreHarness) {
    this.harness = harness;
    this.store = harness.store;
  }

  static async open(open: OpenHarness, run: Partial<NewRun> = {}, queued = 4): Promise<Scene> {
    const scene = new Scene(await open());
    await scene.store.openSession(newSession('wse_1'));
    await scene.store.createRun(newRun('run_1', run));
    if (queued > 0) await scene.store.materialize('run_1', 0, planned(0, queued, run.repeats));
    return scene;
  }

  claim(change: Partial<ClaimRequest> = {}): Promise<Claim[]> {
    const request = { session_id: 'wse_1', run_ids: null, capacity: 64, lease_ms: LEASE_MS, ahead: 0, max_losses: 5 };
    return this.store.claim({ ...request, ...change });
  }

  /** Claims exactly one execution. */
  async claimOne(change: Partial<ClaimRequest> = {}): Promise<Claim> {
    const [claim, ...more] = await this.claim({ capacity: 1, ...change });
    if (claim === undefined || more.length > 0) throw new Error('one execution should have been claimed');
    return claim;
  }

  async status(ordinal: number): Promise<string> {
    const [row] = await this.store.executionsAt('run_1', [ordinal]);
    return row?.status ?? 'absent';
  }

  async eventTypes(): Promise<string[]> {
    return (await this.store.events('run_1', { after: null, limit: 1_000 })).map((event) => event.type);
  }

  async attempt(ordinal: number, attempt: number) {
    const row = plain(await this.store.attempts('run_1', [ordinal])).find((one) => one.attempt === attempt);
    return row && { status: row.status, reason: row.reason, fault: row.fault, evidence_count: row.evidence_count };
  }

  /** Reaps with nobody known dead. */
  reap(dead_sessions: readonly string[] = [], max_losses = 5, limit = 100) {
    return this.store.reap({ dead_sessions, limit, max_losses, backoff: LOSS_BACKOFF });
  }

  /** Every scenario ends here: nothing is out of order, everything recomputes. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      expect(plain(await this.store.invariants())).toEqual([]);
      for (const run of await this.store.runs({ after: null, limit: 100 }))
        expect(await differences(this.store, run.run_id)).toEqual([]);
    } finally {
      await this.harness[Symbol.asyncDispose]();
    }
  }
}
