import { expect, it } from 'vitest';
import type { EventRow, ExecutionKey, ExecutionRow, LateRow, RunRow, SessionRow } from '../../src/contract/store.ts';
import { completion, fenceOf, newRun, newSession, pages, plain, workOff } from '../support/store-fixture.ts';
import { type OpenHarness, Scene } from '../support/store-harness.ts';

const VERDICT = {
  gate_status: 'pass',
  verdict: '{"gate":"pass"}',
  content_digest: 'c'.repeat(64),
  merkle_root: 'd'.repeat(64),
} as const;

/** What every reader answers, and that a backup answers the same. */
export function storeReaders(open: OpenHarness): void {
  it('readers give the same rows whatever the size of the page', async () => {
    await using scene = await Scene.open(open, { cases: 5 }, 10);
    const { store } = scene;
    const claims = await scene.claim({ capacity: 4 });
    for (const claim of claims)
      await store.fail({
        ...fenceOf(claim),
        attempt_status: 'failed_agent_call',
        fault: 'agent',
        reason: 'no',
        delay_ms: 0,
        evidence: [],
      });
    for (const claim of claims) await store.appendEvidence(claim, []);
    for (let index = 2; index < 9; index += 1) {
      await store.createRun(newRun(`run_${index}`));
      await store.openSession(newSession(`wse_${index}`));
    }
    for (const limit of [1, 2, 3, 100]) {
      expect(
        (
          await pages<ExecutionRow, ExecutionKey>(
            (page) => store.executions('run_1', page),
            ({ case_id, repeat }) => ({ case_id, repeat }),
            limit,
          )
        ).map((row) => row.ordinal),
      ).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      const events = await pages<EventRow, number>(
        (page) => store.events('run_1', page),
        (row) => row.seq,
        limit,
      );
      expect(events.map((row) => row.seq)).toEqual(events.map((_, index) => index + 1));
      expect(events).toHaveLength(2 + 4 + 4 + 4);
      expect(
        (
          await pages<LateRow, number>(
            (page) => store.lateEvidence('run_1', page),
            (row) => row.late_seq,
            limit,
          )
        ).map((row) => row.late_seq),
      ).toEqual([1, 2, 3, 4]);
      expect(
        (
          await pages<RunRow, string>(
            (page) => store.runs(page),
            (row) => row.run_id,
            limit,
          )
        ).map((row) => row.run_id),
      ).toEqual([8, 7, 6, 5, 4, 3, 2, 1].map((n) => `run_${n}`));
      expect(
        (
          await pages<SessionRow, string>(
            (page) => store.sessions(page),
            (row) => row.session_id,
            limit,
          )
        ).map((row) => row.session_id),
      ).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => `wse_${n}`));
    }
    expect((await store.attempts('run_1', [3, 0])).map((row) => [row.ordinal, row.attempt])).toEqual([
      [0, 1],
      [3, 1],
    ]);
    expect((await store.executionsAt('run_1', [7, 2])).map((row) => row.ordinal)).toEqual([2, 7]);
  });

  it('executions that ended without passing are found by themselves', async () => {
    await using scene = await Scene.open(open, { cases: 4 }, 8);
    const { store } = scene;
    for (const claim of await scene.claim({ capacity: 6 }))
      await store.complete(completion(claim, { passed: claim.ordinal % 2 === 0 }));
    const rows = await pages<ExecutionRow, number>(
      (page) => store.executionsNotPassed('run_1', page),
      (row) => row.ordinal,
      2,
    );
    expect(rows.map((row) => [row.ordinal, row.passed])).toEqual([
      [1, 0],
      [3, 0],
      [5, 0],
    ]);
    const all = await store.executions('run_1', { after: null, limit: 99 });
    expect(all.map((row) => row.passed)).toEqual([1, 0, 1, 0, 1, 0, null, null]);
  });

  it('row counts are those of the run alone', async () => {
    await using scene = await Scene.open(open);
    const { store } = scene;
    await store.createRun(newRun('run_2'));
    await workOff(store, 'run_2', 'wse_1');
    await workOff(store, 'run_1', 'wse_1');
    await store.beginFinalize('run_1');
    await store.finalize('run_1', VERDICT);
    expect(await store.rowCounts('run_1')).toEqual({
      execution: 4,
      queue: 0,
      attempt: 4,
      evidence: 8,
      result: 4,
      event: 12,
      late_evidence: 0,
      outbox: 1,
    });
  });

  it('sessions open, are seen and end', async () => {
    await using scene = await Scene.open(open);
    const { store, harness } = scene;
    const started = harness.now();
    await store.openSession(newSession('wse_2'));
    harness.advance(500);
    await store.touchSession('wse_2');
    expect((await store.liveSessions(harness.now())).map((row) => row.session_id)).toEqual(['wse_2']);
    await store.closeSession('wse_2');
    expect((await store.liveSessions(0)).map((row) => row.session_id)).toEqual(['wse_1']);
    const ended = harness.now();
    harness.advance(500);
    await store.closeSession('wse_2');
    expect(plain(await store.sessions({ after: 'wse_1', limit: 5 }))).toEqual([
      { ...newSession('wse_2'), role: 'worker', started_at: started, last_seen_at: ended, ended_at: ended },
    ]);
  });

  it('instants never go back', async () => {
    await using scene = await Scene.open(open);
    const { store, harness } = scene;
    const before = harness.now();
    harness.advance(-5_000);
    await workOff(store, 'run_1', 'wse_1');
    expect(new Set((await store.events('run_1', { after: null, limit: 100 })).map((event) => event.at))).toEqual(
      new Set([before]),
    );
  });

  it('a backup opens and is the same store', async () => {
    await using scene = await Scene.open(open);
    const { store, harness } = scene;
    const [claim] = await scene.claim();
    await workOff(store, 'run_1', 'wse_1');
    const copy = await harness.openBackup();
    const shown = async (of: typeof store) =>
      plain([
        await of.runs({ after: null, limit: 9 }),
        await of.executions('run_1', { after: null, limit: 9 }),
        await of.attempts('run_1', [0, 1, 2, 3]),
        await of.evidence('run_1', [0, 1, 2, 3]),
        await of.events('run_1', { after: null, limit: 99 }),
        await of.progress('run_1'),
        await of.sessions({ after: null, limit: 9 }),
      ]);
    try {
      expect(await shown(copy)).toEqual(await shown(store));
      expect(plain(await copy.invariants())).toEqual([]);
      // It is a store of its own: a write to one is not in the other.
      await copy.release(fenceOf(claim ?? { run_id: '', ordinal: 0, attempt: 0, lease_id: '' }));
      expect(await copy.eventHead('run_1')).not.toEqual(await store.eventHead('run_1'));
    } finally {
      await copy.close();
    }
  });
}
