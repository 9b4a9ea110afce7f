import { expect, it } from 'vitest';
import { completion, planned, retryLater } from '../support/store-fixture.ts';
import { type OpenHarness, Scene } from '../support/store-harness.ts';

/** How a run is cancelled: what nobody holds is swept, the last lease ends it. */
export function storeCancellation(open: OpenHarness): void {
  it('a cancelled run ends with its last lease; what nobody holds is swept, what was never queued stays so', async () => {
    await using scene = await Scene.open(open, { cases: 4 }, 5);
    const { store, harness } = scene;
    const [held, failed] = await scene.claim({ capacity: 2 });
    if (!held || !failed) throw new Error('two should have been claimed');
    await store.fail(retryLater(failed));
    expect(await store.requestCancel('run_1', 'enough')).toBe(true);
    expect(await store.requestCancel('run_1', 'again')).toBe(true);
    expect(await store.run('run_1')).toMatchObject({
      status: 'running',
      cancel_requested_at: harness.now(),
      reason: 'enough',
    });
    expect(await scene.claim()).toEqual([]);
    expect(await store.materialize('run_1', 5, planned(5, 1))).toBe(5);
    expect([
      await store.sweepCancelled('run_1', 2),
      await store.sweepCancelled('run_1', 9),
      await store.sweepCancelled('run_1', 9),
    ]).toEqual([2, 2, 0]);
    expect(await store.run('run_1')).toMatchObject({ status: 'running' });
    expect(await store.complete(completion(held))).toBe('written');
    expect(await store.beginFinalize('run_1')).toBe(false);
    expect(await store.sweepCancelled('run_1', 9)).toBe(0);
    expect(await store.run('run_1')).toMatchObject({
      status: 'cancelled',
      gate_status: 'unknown',
      finished_at: harness.now(),
      materialized: 5,
    });
    expect(await store.progress('run_1')).toMatchObject({ completed: 1, cancelled: 4, pending: 3, attempts: 2 });
    expect((await scene.eventTypes()).at(-1)).toBe('run_cancelled');
  });

  it('a run of which nothing is queued is cancelled at once', async () => {
    await using scene = await Scene.open(open, {}, 0);
    expect(await scene.store.requestCancel('run_1', 'never mind')).toBe(true);
    expect(await scene.store.run('run_1')).toMatchObject({ status: 'cancelled', reason: 'never mind' });
    expect(await scene.store.materialize('run_1', 0, planned(0, 2))).toBe(0);
  });

  it('a suspended attempt ends with its execution when the run is cancelled', async () => {
    await using scene = await Scene.open(open, { cases: 1, repeats: 1 }, 1);
    const { store, harness } = scene;
    await store.suspend(await scene.claimOne(), harness.now() + 60_000);
    await store.requestCancel('run_1', 'enough');
    expect(await store.sweepCancelled('run_1', 9)).toBe(1);
    expect(await scene.attempt(0, 1)).toEqual({
      status: 'cancelled',
      reason: 'run_cancelled',
      fault: 'cancelled',
      evidence_count: 0,
    });
    expect(await store.run('run_1')).toMatchObject({ status: 'cancelled' });
  });

  it('leases of a cancelled run that are taken are swept, not tried again', async () => {
    await using scene = await Scene.open(open, { cases: 1, repeats: 1 }, 1);
    const { store } = scene;
    await scene.claimOne();
    await store.requestCancel('run_1', 'enough');
    expect(await store.sweepCancelled('run_1', 9)).toBe(0);
    expect((await scene.reap(['wse_1'])).map((one) => one.ended)).toEqual([false]);
    expect(await store.sweepCancelled('run_1', 9)).toBe(1);
    expect([await scene.status(0), (await store.run('run_1'))?.status]).toEqual(['cancelled', 'cancelled']);
  });
}
