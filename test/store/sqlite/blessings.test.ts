import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Store } from '../../../src/contract/store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { newRun, newSession, temporaryFolder, workOff } from '../../support/store-fixture.ts';

let folder: ReturnType<typeof temporaryFolder>;
let file: string;

beforeEach(async () => {
  folder = temporaryFolder();
  file = folder.file('store.db');
  await inStore(async (store) => {
    await store.openSession(newSession('wse_1'));
    for (const id of ['run_1', 'run_2']) {
      await store.createRun(newRun(id));
      await workOff(store, id, 'wse_1');
      await store.beginFinalize(id);
      const digests = { content_digest: 'c'.repeat(64), merkle_root: 'd'.repeat(64) };
      await store.finalize(id, { gate_status: 'pass', verdict: '{"gate":"pass"}', ...digests });
    }
    await store.bless('mine', 'run_1', 'human:ann');
    await store.bless('mine', 'run_2', 'human:ann');
  });
});

afterEach(() => folder[Symbol.dispose]());

it('a blessing that the journal tells of is used', async () => {
  await inStore(async (store) => {
    expect(await store.blessed('mine')).toBe('run_2');
    expect(await store.blessed('another')).toBeNull();
    expect(await store.bless('mine', 'run_2', 'human:bob')).toBe(false);
  });
});

it.each([
  "insert into blessing (profile_id, run_no, blessed_by, blessed_at) values ('mine', 1, 'human:eve', 0)",
  "insert into blessing (blessing_no, profile_id, run_no, blessed_by, blessed_at) values (99, 'mine', 1, 'human:ann', 0)",
  'delete from blessing where run_no = 2',
  'delete from blessing',
  'update blessing set run_no = 1',
  "update blessing set profile_id = 'another'",
  "update blessing set blessed_by = 'human:eve'",
  'update blessing set blessed_at = blessed_at + 1',
  'update blessing set blessing_no = blessing_no + 5',
  "delete from journal where type = 'run_blessed'",
  "update journal set body = replace(body, 'run_2', 'run_1') where type = 'run_blessed'",
  "update blessing set run_no = 1; update journal set body = replace(body, 'run_2', 'run_1') where type = 'run_blessed'",
])('is not used after: %s; doctor names it, and blessing anew puts the gate right', async (sql) => {
  const db = new DatabaseSync(file);
  const names = db.prepare("select name from sqlite_schema where type = 'trigger'").all();
  for (const { name } of names) db.exec(`drop trigger ${String(name)}`);
  db.exec(sql);
  db.close();
  await inStore(async (store) => {
    await expect(store.blessed('mine')).rejects.toMatchObject({ code: 'store_altered' });
    expect((await store.invariants()).map(({ invariant }) => invariant).join()).toContain('the journal tells of');
    expect(await store.bless('mine', 'run_2', 'human:ann')).toBe(true);
    expect(await store.blessed('mine')).toBe('run_2');
  });
});

async function inStore(work: (store: Store) => Promise<void>): Promise<void> {
  const store = openSqliteStore({ path: file });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}
