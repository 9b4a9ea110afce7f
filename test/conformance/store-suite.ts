import { describe, expect, it } from 'vitest';
import { newRun, plain, planned, workOff } from '../support/store-fixture.ts';
import { type OpenHarness, Scene } from '../support/store-harness.ts';
import { storeCancellation } from './store-cancel.ts';
import { storeEndings } from './store-endings.ts';
import { storeFences } from './store-fences.ts';
import { storeGateway } from './store-gateway.ts';
import { storeReaders } from './store-readers.ts';

const VERDICT = {
  gate_status: 'pass',
  verdict: '{"gate":"pass"}',
  content_digest: 'c'.repeat(64),
  merkle_root: 'd'.repeat(64),
} as const;

/** What every store does, whatever its dialect; `open` answers a fresh store with a clock that only the test moves. */
export function storeConformance(name: string, open: OpenHarness): void {
  describe(`${name} keeps runs:`, () => storeRuns(open));
  describe(`${name} guards with fences:`, () => storeFences(open));
  describe(`${name} ends attempts:`, () => storeEndings(open));
  describe(`${name} cancels runs:`, () => storeCancellation(open));
  describe(`${name} reads:`, () => storeReaders(open));
  describe(`${name} keeps the gateway's calls:`, () => storeGateway(open));
}

function storeRuns(open: OpenHarness): void {
  it('a run starts pending, with its snapshot and its event', async () => {
    await using scene = await Scene.open(open, { run_key: 'nightly' }, 0);
    const { store } = scene;
    const row = await store.run('run_1');
    expect(row && plain(row)).toMatchObject({
      run_key: 'nightly',
      status: 'pending',
      gate_status: 'unknown',
      total: 4,
      materialized: 0,
      created_at: scene.harness.now(),
      started_at: null,
      verdict: null,
    });
    expect(plain(await store.runByKey('nightly'))).toEqual(plain(row));
    expect(await store.snapshot(row?.snapshot_digest ?? '')).toBe('{"snapshot":1}');
    expect(await scene.eventTypes()).toEqual(['run_created']);
  });

  it('the same run key with the same snapshot attaches, with another it is a conflict', async () => {
    await using scene = await Scene.open(open, { run_key: 'nightly' }, 0);
    const { store } = scene;
    expect(await store.createRun(newRun('run_2', { run_key: 'nightly' }))).toEqual({ run_id: 'run_1', created: false });
    const other = newRun('run_2', { run_key: 'nightly', snapshot: '{"snapshot":2}' });
    await expect(store.createRun(other)).rejects.toMatchObject({
      code: 'run_key_conflict',
      message: expect.stringContaining('run_1'),
    });
    expect(await store.run('run_2')).toBeNull();
    expect(await store.createRun(newRun('run_3'))).toEqual({ run_id: 'run_3', created: true });
  });

  it('many creators with one run key make one run', async () => {
    await using scene = await Scene.open(open, {}, 0);
    const ids = Array.from({ length: 8 }, (_, index) => `run_k${index}`);
    const answers = await Promise.all(ids.map((id) => scene.store.createRun(newRun(id, { run_key: 'one' }))));
    expect(answers.filter((answer) => answer.created)).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.run_id)).size).toBe(1);
  });

  it('what does not exist is `not_found`, and null when it is looked up', async () => {
    await using scene = await Scene.open(open);
    const { store } = scene;
    expect([await store.run('run_9'), await store.runByKey('none'), await store.snapshot('none')]).toEqual([
      null,
      null,
      null,
    ]);
    for (const ask of [
      () => store.progress('run_9'),
      () => store.materialize('run_9', 0, []),
      () => store.release({ run_id: 'run_9', ordinal: 0, attempt: 1, lease_id: 'x' }),
      () => scene.claim({ session_id: 'wse_9' }),
    ])
      await expect(ask()).rejects.toMatchObject({ code: 'not_found' });
    expect(await store.executionsAt('run_1', [99])).toEqual([]);
  });

  it('windows are materialized in turn; one that was added already adds nothing', async () => {
    await using scene = await Scene.open(open, {}, 0);
    const { store, harness } = scene;
    expect(await store.materialize('run_1', 0, planned(0, 3))).toBe(3);
    expect(await store.materialize('run_1', 0, planned(0, 3))).toBe(3);
    expect(await store.materialize('run_1', 1, planned(1, 3))).toBe(3);
    expect(await store.materialize('run_1', 4, [])).toBe(3);
    expect(await store.run('run_1')).toMatchObject({ status: 'running', started_at: harness.now(), materialized: 3 });
    expect(await store.materialize('run_1', 3, planned(3, 1))).toBe(4);
    expect(
      (await store.executions('run_1', { after: null, limit: 10 })).map((row) => [
        row.ordinal,
        row.case_id,
        row.repeat,
        row.status,
      ]),
    ).toEqual([
      [0, 'case-0000', 1, 'pending'],
      [1, 'case-0000', 2, 'pending'],
      [2, 'case-0001', 1, 'pending'],
      [3, 'case-0001', 2, 'pending'],
    ]);
    expect(await scene.eventTypes()).toEqual(['run_created', 'run_started']);
  });

  it('racing materializers of one window add it once', async () => {
    await using scene = await Scene.open(open, {}, 0);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => scene.store.materialize('run_1', 0, planned(0, 4))),
    );
    expect(answers).toEqual([4, 4, 4, 4, 4]);
    expect(await scene.store.progress('run_1')).toMatchObject({ total: 4, pending: 4 });
  });

  it('finalizing waits for every execution and happens once, however many finalizers there are', async () => {
    await using scene = await Scene.open(open, {}, 2);
    const { store, harness } = scene;
    expect(await store.beginFinalize('run_1')).toBe(false);
    expect(await store.finalize('run_1', VERDICT)).toBe(false);
    await workOff(store, 'run_1', 'wse_1');
    expect(await Promise.all(Array.from({ length: 4 }, () => store.beginFinalize('run_1')))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(await store.run('run_1')).toMatchObject({ status: 'finalizing', verdict: null, finished_at: null });
    const answers = await Promise.all(Array.from({ length: 8 }, () => store.finalize('run_1', VERDICT)));
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(await store.run('run_1')).toMatchObject({
      ...VERDICT,
      status: 'completed',
      finished_at: harness.now(),
      evidence_root: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const root = (await store.run('run_1'))?.evidence_root;
    const body = JSON.stringify({
      content_digest: VERDICT.content_digest,
      evidence_root: root,
      gate_status: 'pass',
      run_id: 'run_1',
    });
    expect(plain(await store.outbox('run_1'))).toEqual([
      {
        outbox_no: 1,
        run_id: 'run_1',
        dedupe_key: 'run:run_1:final',
        type: 'run_completed',
        body,
        created_at: harness.now(),
      },
    ]);
    expect((await scene.eventTypes()).slice(-2)).toEqual(['run_finalizing', 'run_completed']);
    expect(await store.beginFinalize('run_1')).toBe(false);
    expect(await store.failRun('run_1', 'too late')).toBe(false);
    expect(await store.requestCancel('run_1', 'too late')).toBe(false);
    expect(await store.activeRuns()).toEqual([]);
  });

  it('a run that was never started starts and fails: it cannot hang on a plan that is gone', async () => {
    await using scene = await Scene.open(open);
    const { store } = scene;
    await store.createRun(newRun('run_2'));
    expect(await store.failRun('run_2', 'the plan is gone')).toBe(true);
    const types = (await store.events('run_2', { after: 0, limit: 9 })).map((event) => event.type);
    expect(types).toEqual(['run_created', 'run_started', 'run_failed']);
  });

  it('a run fails by its own fault from running and from finalizing, once', async () => {
    await using scene = await Scene.open(open);
    const { store, harness } = scene;
    expect(await store.failRun('run_1', 'snapshot unreadable')).toBe(true);
    expect(await store.failRun('run_1', 'again')).toBe(false);
    expect(await store.run('run_1')).toMatchObject({
      status: 'failed',
      gate_status: 'unknown',
      reason: 'snapshot unreadable',
      finished_at: harness.now(),
    });
    await store.createRun(newRun('run_2'));
    await workOff(store, 'run_2', 'wse_1');
    await store.beginFinalize('run_2');
    expect(await store.failRun('run_2', 'artifact missing')).toBe(true);
    expect(await store.finalize('run_2', VERDICT)).toBe(false);
    expect(await scene.claim()).toEqual([]);
  });
}
