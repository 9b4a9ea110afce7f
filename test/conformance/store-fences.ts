import { expect, it } from 'vitest';
import type { Claim, EvidenceRow } from '../../src/contract/store.ts';
import {
  completion,
  envelope,
  fenceOf,
  finding,
  newRun,
  newSession,
  plain,
  planned,
  retryLater,
} from '../support/store-fixture.ts';
import { LEASE_MS, type OpenHarness, Scene } from '../support/store-harness.ts';

/** Claims, leases, heartbeats and what a worker may write under a fence. */
export function storeFences(open: OpenHarness): void {
  it('claims follow the plan, up to the capacity, under one fresh lease', async () => {
    await using scene = await Scene.open(open);
    const { store, harness } = scene;
    const first = await scene.claim({ capacity: 3 });
    const lease_id = first[0]?.lease_id ?? '';
    const failures = { agent: 0, infrastructure: 0, grader: 0, lease: 0 };
    const places = [
      ['case-0000', 1],
      ['case-0000', 2],
      ['case-0001', 1],
    ] as const;
    expect(plain(first)).toEqual(
      places.map(([case_id, repeat], ordinal) => ({
        run_id: 'run_1',
        ordinal,
        attempt: 1,
        lease_id,
        case_id,
        repeat,
        failures,
        kept: [],
      })),
    );
    const [last, ...none] = await scene.claim({ capacity: 3 });
    expect([last?.ordinal, none]).toEqual([3, []]);
    expect(last?.lease_id).not.toBe(lease_id);
    expect(await scene.claim()).toEqual([]);
    expect(plain(await store.holders('run_1'))).toEqual([
      {
        session_id: 'wse_1',
        worker: 'worker wse_1',
        host: 'host',
        pid: 4711,
        held: 4,
        last_seen_at: harness.now(),
        lease_until: harness.now() + LEASE_MS,
      },
    ]);
    expect(await store.progress('run_1')).toMatchObject({ pending: 0, running: 4, attempts: 4 });
  });

  it('a claim takes only from the runs that were asked for, and from those that are behind first', async () => {
    await using scene = await Scene.open(open);
    await scene.store.createRun(newRun('run_2'));
    await scene.store.materialize('run_2', 0, planned(0, 4));
    expect((await scene.claim({ run_ids: ['run_2'], capacity: 1 })).map((claim) => claim.run_id)).toEqual(['run_2']);
    expect(await scene.claim({ run_ids: [] })).toEqual([]);
    // run_1 stands at its first execution, run_2 at its second.
    expect((await scene.claimOne()).run_id).toBe('run_1');
    expect(await scene.claim({ capacity: 64 })).toHaveLength(6);
  });

  it("a run's concurrency is a limit over all sessions, shared out among the live ones", async () => {
    await using scene = await Scene.open(open, { cases: 5, concurrency: 5 }, 10);
    const { store, harness } = scene;
    await store.openSession(newSession('wse_2'));
    expect(await scene.claim()).toHaveLength(3);
    expect(await scene.claim()).toHaveLength(0);
    expect(await scene.claim({ session_id: 'wse_2' })).toHaveLength(2);
    expect(await scene.claim({ session_id: 'wse_2' })).toHaveLength(0);
    // A session that was not seen for a lease, or has ended, takes no share.
    harness.advance(LEASE_MS);
    await store.touchSession('wse_1');
    for (const holder of (await store.attempts('run_1', [3, 4])).map((row) => ({ ...row, run_id: 'run_1' })))
      await store.complete(completion(holder));
    expect(await scene.claim()).toHaveLength(2);
  });

  it('a session that is alone may hold more than the concurrency, to have it at hand; a second one ends that', async () => {
    await using scene = await Scene.open(open, { cases: 9, repeats: 1, concurrency: 4 }, 9);
    const { store } = scene;
    expect(await scene.claim({ ahead: 2 })).toHaveLength(6);
    expect(await scene.claim({ ahead: 2 })).toHaveLength(0);
    await store.openSession(newSession('wse_2'));
    expect(await scene.claim({ ahead: 2, session_id: 'wse_2' })).toHaveLength(0);
    for (const held of await store.attempts('run_1', [0, 1, 2, 3]))
      await store.complete(completion({ ...held, run_id: 'run_1' }));
    expect(await scene.claim({ ahead: 2, session_id: 'wse_2' })).toHaveLength(2);
    expect(await scene.claim({ ahead: 2 })).toHaveLength(0);
  });

  it('a session that is known dead gives its share back', async () => {
    await using scene = await Scene.open(open, { cases: 5, concurrency: 4 }, 10);
    await scene.store.openSession(newSession('wse_2'));
    expect(await scene.claim()).toHaveLength(2);
    expect(await scene.claim({ session_id: 'wse_2' })).toHaveLength(2);
    await scene.reap(['wse_2']);
    expect(await scene.claim()).toHaveLength(2);
  });

  it('a retry that was due stays due when the wall clock is set back', async () => {
    await using scene = await Scene.open(open, { cases: 1, repeats: 1 }, 1);
    await scene.store.fail(retryLater(await scene.claimOne(), { delay_ms: 100 }));
    scene.harness.advance(100);
    await scene.store.touchSession('wse_1');
    scene.harness.advance(-50);
    expect(await scene.claim()).toHaveLength(1);
  });

  it('an execution on its last try has a session to itself, and busy sessions run dry for it after a lease', async () => {
    await using scene = await Scene.open(open, { cases: 4, repeats: 1, concurrency: 4 }, 4);
    const { store, harness } = scene;
    const lose = async (claims: readonly Claim[]) => {
      expect(await scene.reap(['wse_lost'], 2)).toHaveLength(claims.length);
      harness.advance(200);
    };
    await store.openSession(newSession('wse_lost'));
    const lost = { session_id: 'wse_lost', max_losses: 2, capacity: 2 };
    await lose(await scene.claim(lost));
    await lose(await scene.claim(lost));
    // Two are on their last try; a session that holds something takes neither, nor is it kept from other work at first.
    const busy = { capacity: 1, max_losses: 2 };
    const [first] = await scene.claim({ ...busy, session_id: 'wse_1' });
    expect(first?.failures.lease).toBe(2);
    expect(await scene.claim(busy)).toEqual([]);
    await store.openSession(newSession('wse_2'));
    const idle = { ...busy, session_id: 'wse_2' };
    const [second] = await scene.claim({ ...idle, run_ids: [] });
    expect(second).toBeUndefined();
    const [last] = await scene.claim({ ...idle, capacity: 4 });
    expect(last?.failures.lease).toBe(2);
    if (!first || !last) throw new Error('both should have been claimed');
    await store.complete(completion(first));
    expect((await scene.claim({ ...busy, capacity: 4 })).map((claim) => claim.failures.lease)).toEqual([0, 0]);
    await store.complete(completion(last));
  });

  it('a busy session takes other work while a last try waits, but for one lease only', async () => {
    await using scene = await Scene.open(open, { cases: 4, repeats: 1, concurrency: 4 }, 4);
    const { store, harness } = scene;
    const one = { capacity: 1, max_losses: 1 };
    await store.openSession(newSession('wse_lost'));
    const [held] = await scene.claim(one);
    await scene.claim({ ...one, session_id: 'wse_lost' });
    await scene.reap(['wse_lost'], 1);
    harness.advance(100);
    expect((await scene.claim(one)).map((claim) => claim.failures.lease)).toEqual([0]);
    harness.advance(LEASE_MS);
    expect(await scene.claim(one)).toEqual([]);
    for (const holder of await store.attempts('run_1', [held?.ordinal ?? 0, 2]))
      if (holder.status === 'running') await store.complete(completion({ ...holder, run_id: 'run_1' }));
    expect((await scene.claim({ ...one, capacity: 4 })).map((claim) => claim.failures.lease)).toEqual([1]);
  });

  it('retries that are due come first, in the order they became due', async () => {
    await using scene = await Scene.open(open);
    const { store, harness } = scene;
    const [a, b] = await scene.claim({ capacity: 2 });
    if (!a || !b) throw new Error('two should have been claimed');
    await store.fail(retryLater(a, { delay_ms: 200 }));
    await store.fail(retryLater(b, { delay_ms: 100 }));
    expect(await store.progress('run_1')).toMatchObject({
      retry_scheduled: 2,
      next_retry_at: harness.now() + 100,
      next_retry_reason: 'connection_refused',
    });
    harness.advance(99);
    expect((await scene.claimOne()).ordinal).toBe(2);
    harness.advance(1);
    expect(await scene.claimOne()).toMatchObject({ ordinal: 1, attempt: 2 });
    harness.advance(1_000);
    expect((await scene.claim()).map((claim) => [claim.ordinal, claim.attempt])).toEqual([
      [0, 2],
      [3, 1],
    ]);
  });

  it('a heartbeat extends what is held and names what is lost and which runs are to be cancelled', async () => {
    await using scene = await Scene.open(open);
    const { store, harness } = scene;
    const held = await scene.claimOne();
    const ended = await scene.claimOne();
    await store.complete(completion(ended));
    harness.advance(LEASE_MS - 1);
    const strange = [{ ...fenceOf(held), lease_id: ended.lease_id }, { ...fenceOf(held), attempt: 2 }, fenceOf(ended)];
    expect(plain(await store.heartbeat('wse_1', LEASE_MS, [fenceOf(held), ...strange]))).toEqual({
      lost: strange,
      cancelled_runs: [],
    });
    harness.advance(LEASE_MS);
    expect(await scene.reap()).toEqual([]);
    expect((await store.liveSessions(harness.now() - LEASE_MS)).map((row) => row.session_id)).toEqual(['wse_1']);
    await store.requestCancel('run_1', 'enough');
    expect(plain(await store.heartbeat('wse_1', LEASE_MS, []))).toEqual({ lost: [], cancelled_runs: ['run_1'] });
    harness.advance(LEASE_MS + 1);
    expect(await scene.reap()).toHaveLength(1);
  });

  it('evidence is chained in order; the same rows sent again are a duplicate', async () => {
    await using scene = await Scene.open(open);
    const { store } = scene;
    const claim = await scene.claimOne();
    const rows = [envelope('answer'), finding('one')];
    expect(await store.appendEvidence(claim, rows)).toBe('written');
    expect(await store.appendEvidence(claim, rows)).toBe('duplicate');
    expect(await store.appendEvidence(claim, [])).toBe('written');
    expect(await store.appendEvidence(claim, [finding('two')])).toBe('written');
    const shown = plain(await store.evidence('run_1', [claim.ordinal])).map(({ seq, kind, body }) => ({
      seq,
      kind,
      body,
    }));
    expect(shown).toEqual([...rows, finding('two')].map(({ kind, body }, index) => ({ seq: index + 1, kind, body })));
  });

  it.each<readonly [string, readonly EvidenceRow[], readonly EvidenceRow[]]>([
    ['end alike', [finding('last')], [finding('more'), finding('last')]],
    ['stand in different artifacts', [large('a')], [large('b')]],
    ['are fewer than those that stand', [finding('one'), finding('two'), finding('one')], [finding('two')]],
  ])('rows that only %s are not a duplicate', async (_name, first, second) => {
    await using scene = await Scene.open(open);
    const claim = await scene.claimOne();
    expect(await scene.store.appendEvidence(claim, first)).toBe('written');
    expect(await scene.store.appendEvidence(claim, second)).toBe('written');
    const shown = plain(await scene.store.evidence('run_1', [claim.ordinal]));
    expect(shown.map(({ kind, body, artifact }) => ({ kind, body, artifact }))).toEqual([...first, ...second]);
  });

  it('a completion carries rows in artifacts after rows in artifacts', async () => {
    await using scene = await Scene.open(open);
    const claim = await scene.claimOne();
    await scene.store.appendEvidence(claim, [envelope('answer'), large('a')]);
    expect(await scene.store.complete(completion(claim, { evidence: [large('b')] }))).toBe('written');
    expect((await scene.store.evidence('run_1', [claim.ordinal])).map((row) => row.artifact)).toEqual([
      null,
      'a'.repeat(64),
      'b'.repeat(64),
    ]);
  });

  it.each(['attempt', 'lease_id', 'ordinal'] as const)(
    'no verb writes under a fence whose %s is wrong',
    async (part) => {
      await using scene = await Scene.open(open);
      const { store, harness } = scene;
      const claim = await scene.claimOne();
      const other = await scene.claimOne();
      const before = plain([await store.attempts('run_1', [0, 1]), await store.progress('run_1')]);
      const wrong = { ...fenceOf(claim), ...(part === 'attempt' ? { attempt: 2 } : { [part]: other[part] }) };
      expect(await store.appendEvidence(wrong, [finding('stray')])).toBe('fenced');
      expect(await store.complete(completion(wrong))).toBe('fenced');
      expect(await store.fail(retryLater(wrong))).toBe('fenced');
      expect(await store.release(wrong)).toBe('fenced');
      expect(await store.suspend(wrong, harness.now())).toBe('fenced');
      expect((await store.heartbeat('wse_1', LEASE_MS, [wrong])).lost).toEqual([wrong]);
      expect(plain([await store.attempts('run_1', [0, 1]), await store.progress('run_1')])).toEqual(before);
      expect((await store.lateEvidence('run_1', { after: null, limit: 9 })).map((row) => row.verb)).toEqual([
        'append_evidence',
        'complete',
        'fail',
      ]);
    },
  );

  it('a lease that ran out still holds until it is taken', async () => {
    await using scene = await Scene.open(open);
    const claim = await scene.claimOne();
    scene.harness.advance(LEASE_MS * 100);
    expect(await scene.store.complete(completion(claim))).toBe('written');
  });
}

function large(digit: string): EvidenceRow {
  return { kind: 'evaluator_result', body: '', artifact: digit.repeat(64) };
}
