import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { newRun, newSession, planned, temporaryFolder } from '../../support/store-fixture.ts';

it('a number that no JavaScript number holds is the store altered, not a bug', async () => {
  using folder = temporaryFolder();
  const path = folder.file('proctor.db');
  const store = openSqliteStore({ path });
  await store.createRun(newRun('run_1'));
  await store.materialize('run_1', 0, planned(0, 1));
  alter(path, 'update run_stat set n = 9223372036854775807');
  await expect(store.progress('run_1')).rejects.toMatchObject({
    code: 'store_altered',
    message: expect.stringMatching(/holds a number that Proctor never writes .*restore a backup/),
  });
  await store.close();
});

it('the invariants name a lease whose session is not the one of its attempt', async () => {
  using folder = temporaryFolder();
  const path = folder.file('proctor.db');
  const store = openSqliteStore({ path });
  for (const id of ['wse_1', 'wse_2']) await store.openSession(newSession(id));
  await store.createRun(newRun('run_1'));
  await store.materialize('run_1', 0, planned(0, 1));
  await store.claim({ session_id: 'wse_1', run_ids: null, capacity: 1, ahead: 0, lease_ms: 60_000, max_losses: 5 });
  expect(await store.invariants()).toEqual([]);
  alter(path, 'update queue set session_no = (select max(session_no) from worker_session)');
  expect(await store.invariants()).toMatchObject([
    { invariant: expect.stringContaining('held by the same session'), count: 1, example: '1/0' },
  ]);
  await store.close();
});

function alter(path: string, statement: string): void {
  const db = new DatabaseSync(path);
  db.exec(statement);
  db.close();
}
