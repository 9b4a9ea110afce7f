import { expect, it } from 'vitest';
import type { Completion } from '../../src/contract/store.ts';
import { executionContent } from '../../src/core/evidence.ts';
import { completion, envelope, failureRow, fenceOf, finding, plain, retryLater } from '../support/store-fixture.ts';
import { LEASE_MS, type OpenHarness, Scene } from '../support/store-harness.ts';

/** How attempts and executions end: completed, failed, given back, set aside, taken, cancelled. */
export function storeEndings(open: OpenHarness): void {
  it('a completion is written once; the same call again is a duplicate', async () => {
    await using scene = await Scene.open(open);
    const { store, harness } = scene;
    const write = completion(await scene.claimOne());
    expect(await store.complete(write)).toBe('written');
    expect(await store.complete(write)).toBe('duplicate');
    const [row] = plain(await store.executionsAt('run_1', [0]));
    expect(row).toMatchObject({
      status: 'completed',
      attempt: 1,
      fault: null,
      aggregate: write.aggregate,
      content: write.content,
      finished_at: harness.now(),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await scene.attempt(0, 1)).toEqual({ status: 'completed', reason: null, fault: null, evidence_count: 2 });
    expect(await store.progress('run_1')).toMatchObject({
      pending: 3,
      running: 0,
      completed: 1,
      passed: 1,
      attempts: 1,
    });
    expect(await scene.eventTypes()).toEqual(['run_created', 'run_started', 'attempt_started', 'execution_finished']);
    expect(await store.lateEvidence('run_1', { after: null, limit: 9 })).toEqual([]);
  });

  it.each<readonly [Completion['status'], Partial<Completion>]>([
    ['failed', { attempt_status: 'failed_agent_call', status: 'failed', fault: 'agent', reason: 'http_500' }],
    ['timed_out', { attempt_status: 'timed_out', status: 'timed_out', fault: 'agent', reason: 'timeout' }],
    ['failed', { attempt_status: 'failed_evaluation', status: 'failed', fault: 'grader', reason: 'evaluator_error' }],
    ['cancelled', { attempt_status: 'cancelled', status: 'cancelled', fault: 'cancelled', reason: 'run_cancelled' }],
  ])('an execution ends %s as its last attempt says', async (status, change) => {
    await using scene = await Scene.open(open);
    const write = completion(await scene.claimOne(), {
      ...change,
      aggregate: null,
      passed: false,
      evidence: [failureRow('why')],
    });
    expect(await scene.store.complete(write)).toBe('written');
    expect(await scene.status(0)).toBe(status);
    expect(await scene.attempt(0, 1)).toEqual({
      status: write.attempt_status,
      reason: write.reason,
      fault: write.fault,
      evidence_count: 1,
    });
    expect(await scene.store.progress('run_1')).toMatchObject({ [status]: 1, passed: 0 });
  });

  it.each(['infrastructure', 'agent', 'grader'] as const)(
    'a failure by %s is retried after its delay and charged to that budget alone',
    async (fault) => {
      await using scene = await Scene.open(open, { cases: 1, repeats: 1 }, 1);
      const { store, harness } = scene;
      expect(await store.fail(retryLater(await scene.claimOne(), { fault, delay_ms: 700 }))).toBe('written');
      expect(await scene.status(0)).toBe('retry_scheduled');
      expect(await scene.attempt(0, 1)).toEqual({
        status: 'failed_agent_call',
        reason: 'connection_refused',
        fault,
        evidence_count: 1,
      });
      harness.advance(699);
      expect(await scene.claim()).toEqual([]);
      harness.advance(1);
      const again = await scene.claimOne();
      expect(again).toMatchObject({
        attempt: 2,
        failures: { agent: 0, infrastructure: 0, grader: 0, lease: 0, [fault]: 1 },
      });
      expect((await scene.eventTypes()).slice(2)).toEqual(['attempt_started', 'attempt_finished', 'attempt_started']);
    },
  );

  it('after a failed evaluation the envelope and the results are kept for the next attempt, the failures are not', async () => {
    await using scene = await Scene.open(open, { cases: 1, repeats: 1 }, 1);
    const { store } = scene;
    const first = await scene.claimOne();
    const rows = [envelope('answer'), finding('passed')];
    await store.appendEvidence(first, rows);
    await store.fail(
      retryLater(first, {
        attempt_status: 'failed_evaluation',
        fault: 'grader',
        delay_ms: 0,
        evidence: [failureRow('judge away')],
      }),
    );
    const second = await scene.claimOne();
    expect(plain(second.kept)).toEqual(rows);
    await store.release(second);
    expect(plain((await scene.claimOne()).kept)).toEqual(rows);
  });

  it('after a failed call nothing is kept', async () => {
    await using scene = await Scene.open(open, { cases: 1, repeats: 1 }, 1);
    const first = await scene.claimOne();
    await scene.store.fail(retryLater(first, { delay_ms: 0, evidence: [envelope('half'), failureRow('reset')] }));
    expect((await scene.claimOne()).kept).toEqual([]);
  });

  it('a released execution is ready at once and charged to nobody', async () => {
    await using scene = await Scene.open(open, { cases: 1, repeats: 1 }, 1);
    const { store } = scene;
    const claim = await scene.claimOne();
    expect(await store.release(claim)).toBe('written');
    expect(await store.release(claim)).toBe('fenced');
    expect(await scene.attempt(0, 1)).toEqual({
      status: 'cancelled',
      reason: 'released',
      fault: 'cancelled',
      evidence_count: 0,
    });
    expect(await scene.claimOne()).toMatchObject({
      attempt: 2,
      failures: { agent: 0, infrastructure: 0, grader: 0, lease: 0 },
    });
  });

  it('a suspended execution waits without a lease and is neither claimed nor taken', async () => {
    await using scene = await Scene.open(open, { cases: 1, repeats: 1 }, 1);
    const { store, harness } = scene;
    const claim = await scene.claimOne();
    expect(await store.suspend(claim, harness.now() + 60_000)).toBe('written');
    expect(await store.suspend(claim, harness.now() + 60_000)).toBe('fenced');
    expect([await scene.status(0), (await scene.attempt(0, 1))?.status]).toEqual(['waiting', 'suspended']);
    harness.advance(120_000);
    expect([await scene.reap(['wse_1']), await scene.claim(), await store.beginFinalize('run_1')]).toEqual([
      [],
      [],
      false,
    ]);
    expect(await store.progress('run_1')).toMatchObject({ waiting: 1, running: 0 });
    expect(await store.complete(completion(claim))).toBe('fenced');
  });

  it('leases that ran out are taken: attempt stale, execution ready, the loss counted apart', async () => {
    await using scene = await Scene.open(open, { cases: 1, repeats: 1 }, 1);
    const { store, harness } = scene;
    const claim = await scene.claimOne();
    harness.advance(LEASE_MS);
    expect(await scene.reap()).toEqual([]);
    harness.advance(1);
    expect(plain(await scene.reap())).toEqual([{ ...fenceOf(claim), session_id: 'wse_1', ended: false }]);
    expect(await scene.reap()).toEqual([]);
    expect(await scene.attempt(0, 1)).toEqual({
      status: 'stale',
      reason: 'lease_lost',
      fault: 'infrastructure',
      evidence_count: 0,
    });
    expect(await store.progress('run_1')).toMatchObject({
      stale: 1,
      retry_scheduled: 1,
      next_retry_reason: 'lease_lost',
    });
    // The first loss waits for 50 to 100 ms.
    harness.advance(49);
    expect(await scene.claim()).toEqual([]);
    harness.advance(51);
    expect(await scene.claimOne()).toMatchObject({
      attempt: 2,
      failures: { agent: 0, infrastructure: 0, grader: 0, lease: 1 },
    });
  });

  it('leases of a session that is known dead are taken at once, those of others are not', async () => {
    await using scene = await Scene.open(open);
    const [a, b] = await scene.claim({ capacity: 2 });
    expect(await scene.reap(['wse_9'])).toEqual([]);
    expect((await scene.reap(['wse_1'], 5, 1)).length).toBe(1);
    expect((await scene.reap(['wse_1'], 5, 9)).length).toBe(1);
    expect([a?.ordinal, b?.ordinal]).toEqual([0, 1]);
    expect(await scene.store.progress('run_1')).toMatchObject({ running: 0, retry_scheduled: 2, stale: 2 });
  });

  it('what comes after the lease was taken is kept apart and never becomes the result', async () => {
    await using scene = await Scene.open(open);
    const { store, harness } = scene;
    const lost = await scene.claimOne();
    await scene.reap(['wse_1']);
    harness.advance(100);
    const now = await scene.claimOne();
    expect(now).toMatchObject({ ordinal: lost.ordinal, attempt: 2 });
    const late = completion(lost, { evidence: [envelope('late')], content: 'late' });
    expect(await store.complete(late)).toBe('fenced');
    expect(await store.complete(completion(now))).toBe('written');
    expect(await store.complete(late)).toBe('fenced');
    const [row] = await store.executionsAt('run_1', [lost.ordinal]);
    expect(row).toMatchObject({ attempt: 2, content: completion(now).content });
    const kept = plain(await store.lateEvidence('run_1', { after: null, limit: 9 }));
    const { ordinal, attempt, lease_id } = lost;
    const expected = {
      ordinal,
      attempt,
      lease_id,
      verb: 'complete',
      body: JSON.stringify([{ artifact: null, body: envelope('late').body, kind: 'envelope' }]),
      received_at: harness.now(),
    };
    expect(kept.map(({ hash: _hash, ...rest }) => rest)).toEqual([
      { late_seq: 1, ...expected },
      { late_seq: 2, ...expected },
    ]);
    expect((await scene.eventTypes()).filter((type) => type === 'late_evidence')).toHaveLength(2);
  });

  it('an execution that spent its losses ends failed, fault infrastructure', async () => {
    await using scene = await Scene.open(open, { cases: 1, repeats: 1 }, 1);
    for (let losses = 1; losses <= 2; losses += 1) {
      await scene.claimOne();
      expect((await scene.reap(['wse_1'], 2)).map((one) => one.ended)).toEqual([false]);
      scene.harness.advance(200);
    }
    await scene.claimOne();
    expect((await scene.reap(['wse_1'], 2)).map((one) => one.ended)).toEqual([true]);
    const content = executionContent({
      status: 'failed',
      fault: 'infrastructure',
      envelope: null,
      evaluator_results: [],
      aggregate: null,
    });
    expect((await scene.store.executionsAt('run_1', [0]))[0]).toMatchObject({
      status: 'failed',
      fault: 'infrastructure',
      attempt: 3,
      content,
    });
    expect(await scene.store.beginFinalize('run_1')).toBe(true);
  });

  it('a failure that comes after its lease was taken for the last time is kept as late, not taken for what was written', async () => {
    await using scene = await Scene.open(open, { cases: 1, repeats: 1 }, 1);
    const claim = await scene.claimOne();
    await scene.reap(['wse_1'], 0);
    // The worker ends its attempt in the very words of the reaper: failed, infrastructure, nothing to show.
    const content = (await scene.store.executionsAt('run_1', [0]))[0]?.content ?? '';
    const write = completion(claim, {
      attempt_status: 'failed_agent_call',
      status: 'failed',
      fault: 'infrastructure',
      aggregate: null,
      passed: false,
      content,
      evidence: [failureRow('reset')],
    });
    expect(await scene.store.complete(write)).toBe('fenced');
    expect(await scene.store.lateEvidence('run_1', { after: null, limit: 9 })).toHaveLength(1);
  });
}
