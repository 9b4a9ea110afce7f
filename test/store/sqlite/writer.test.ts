import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { completion, newRun, newSession, plain, planned, temporaryFolder } from '../../support/store-fixture.ts';
import { decideBy, newToolRun, prepareGateway, requestBy } from '../../support/store-gateway.ts';

it('commits the writes of one turn together', async () => {
  await using store = open(':memory:');
  const before = { ...store.statistics };
  await Promise.all(Array.from({ length: 20 }, (_, index) => store.openSession(newSession(`wse_${index}`))));
  expect([store.statistics.commits - before.commits, store.statistics.jobs - before.jobs]).toEqual([1, 20]);
});

it('a call of a tool does not wait for the turn to end, and what comes while it is recorded is committed together', async () => {
  await using store = open(':memory:');
  await prepareGateway(store);
  const commits = () => store.statistics.commits;
  const begin = () => store.beginToolRun(newToolRun(systemClock.now()), requestBy(decideBy('allow')));
  const before = commits();
  let turns = 0;
  setImmediate(() => {
    turns += 1;
  });
  await begin();
  expect([commits() - before, turns], 'before any other turn of the loop').toEqual([1, 0]);
  await begin().then(() => Promise.all(Array.from({ length: 20 }, begin)));
  expect(commits() - before, 'not one each; a slow machine cuts a group in two').toBeLessThan(8);
});

it('endings wait a moment for others to share a flush with, unless somebody stands still', async () => {
  await using store = open(':memory:');
  await store.openSession(newSession('wse_1'));
  await store.createRun(newRun('run_1'));
  await store.materialize('run_1', 0, planned(0, 4));
  const asked = { session_id: 'wse_1', run_ids: null, ahead: 0, lease_ms: 60_000, max_losses: 5 };
  const [one, two, three] = (await store.claim({ ...asked, capacity: 3 })).map((claim) => completion(claim));
  if (!one || !two || !three) throw new Error('three should have been claimed');
  const before = store.statistics.commits;
  const first = store.complete(one);
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([first, store.complete(two)]);
  expect(store.statistics.commits - before, 'both in one').toBe(1);
  let ended = false;
  const third = store.complete(three).then(() => {
    ended = true;
  });
  expect(await store.claim({ ...asked, capacity: 1 })).toHaveLength(1);
  expect(ended, 'the claim did not wait, and took the ending along').toBe(true);
  await third;
  expect(store.statistics.commits - before).toBe(2);
});

it('a write that fails does not void those that it was to be committed with', async () => {
  await using store = open(':memory:');
  await store.openSession(newSession('wse_1'));
  await store.createRun(newRun('run_1'));
  await store.materialize('run_1', 0, planned(0, 2));
  const claims = await store.claim({
    session_id: 'wse_1',
    run_ids: null,
    capacity: 2,
    lease_ms: 1_000,
    ahead: 0,
    max_losses: 5,
  });
  const [one, two] = claims.map((claim) => completion(claim));
  if (!one || !two) throw new Error('two should have been claimed');
  const [twin] = planned(2, 1);
  const answers = await Promise.allSettled([
    store.complete(one),
    store.materialize('run_9', 0, []), // fails at once
    store.createRun(newRun('run_2')),
    store.materialize('run_1', 2, twin ? [twin, twin] : []), // fails half-way, after it has written
    store.complete(two),
  ]);
  expect(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : (answer.reason as { code: string }).code)),
  ).toEqual(['written', 'not_found', { run_id: 'run_2', created: true }, 'store_failed', 'written']);
  expect(await store.rowCounts('run_1')).toMatchObject({ execution: 2, result: 2, queue: 0 });
  expect(plain(await store.invariants())).toEqual([]);
});

it('remembers no key of a row that was rolled back: another process may have taken it', async () => {
  using folder = temporaryFolder();
  const path = folder.file('proctor.db');
  await using other = open(path);
  await other.openSession(newSession('wse_1'));
  await other.openSession(newSession('wse_2'));
  // Between two commits to a shared file the writer makes a pause: there another process creates a run.
  let thief: Promise<unknown> | null = null;
  const clock: Clock = {
    ...systemClock,
    sleep: async () => {
      thief ??= other.createRun(newRun('run_other'));
      await thief;
    },
  };
  await using store = open(path, clock);
  const answers = await Promise.allSettled([
    store.touchSession('wse_1'),
    store.createRun(newRun('run_mine')),
    store.materialize('run_mine', 0, planned(0, 3)),
    store.materialize('run_none', 0, []), // fails, and the group with it: each is then committed on its own
  ]);
  expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
  expect(thief).not.toBeNull();
  expect((await other.runs({ after: null, limit: 9 })).map((run) => [run.run_id, run.materialized])).toEqual([
    ['run_mine', 3],
    ['run_other', 0],
  ]);
});

it('waits for the lock of another process without holding the event loop', async () => {
  using folder = temporaryFolder();
  const path = folder.file('proctor.db');
  await using store = open(path);
  const other = new DatabaseSync(path);
  other.exec('begin immediate');
  let written = false;
  const write = store.openSession(newSession('wse_1')).then(() => {
    written = true;
  });
  // Each try that finds the lock taken comes back at once: the loop turns between one and the next.
  const turns: number[] = [];
  for (let turn = 0; store.statistics.busy < 10; turn += 1) {
    if (turns.length < store.statistics.busy) turns.push(turn);
    await sleep(1);
  }
  expect(written).toBe(false);
  other.exec('rollback');
  other.close();
  await write;
  expect(turns).toHaveLength(new Set(turns).size);
  expect(store.statistics.longest_wait_ms).toBeGreaterThan(0);
});

it('a store that is closed finishes what was asked for and refuses more', async () => {
  using folder = temporaryFolder();
  const store = open(folder.file('proctor.db'));
  const write = store.openSession(newSession('wse_1'));
  await store.close();
  await write;
  await expect(store.openSession(newSession('wse_2'))).rejects.toMatchObject({
    code: 'store_failed',
    message: 'the store is closed',
  });
  await using again = open(folder.file('proctor.db'));
  expect((await again.sessions({ after: null, limit: 9 })).map((row) => row.session_id)).toEqual(['wse_1']);
});

function open(path: string, clock: Clock = systemClock) {
  const store = openSqliteStore({ path, clock });
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}
