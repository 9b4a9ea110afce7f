import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { SCHEMA_VERSION } from '../../../src/store/sqlite/migrate.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { newRun, newSession, plain, planned, temporaryFolder } from '../../support/store-fixture.ts';
import { answerTo, decideBy, endOf, newToolRun, prepareGateway, requestBy } from '../../support/store-gateway.ts';
import { race } from '../../support/store-processes.ts';

const SNAPSHOT = new URL('./schema.snapshot.sql', import.meta.url);
const UPDATE = 'PROCTOR_UPDATE_SCHEMA';

it('twenty processes that open a new file at once all find one whole schema', async () => {
  using folder = temporaryFolder();
  const path = folder.file('proctor.db');
  const sessions = Array.from({ length: 20 }, (_, index) => `wse_${String(index).padStart(2, '0')}`);
  const reports = await race<{ session_id: string }>(
    './store-opener-process.ts',
    sessions.map((id) => [path, id]),
  );
  expect(reports).toEqual(sessions.map((session_id) => ({ session_id, missing: [] })));
  const store = openSqliteStore({ path });
  expect((await store.sessions({ after: null, limit: 99 })).map((row) => row.session_id)).toEqual(sessions);
  await store.close();
  expect(versions(path)).toEqual(Array.from({ length: SCHEMA_VERSION }, (_, index) => index + 1));
  expect(schemaOf(path)).toBe(freshSchema());
});

it('a file is left as it is when it is opened again', async () => {
  using folder = temporaryFolder();
  const path = folder.file('proctor.db');
  await openSqliteStore({ path }).close();
  const before = [schemaOf(path), applied(path)];
  await openSqliteStore({ path }).close();
  expect([schemaOf(path), applied(path)]).toEqual(before);
});

it('a file with a newer schema is refused, with both versions named', async () => {
  using folder = temporaryFolder();
  const path = await madeAndAltered(
    folder.file('proctor.db'),
    `insert into migration values (${SCHEMA_VERSION + 1}, 'from the future', 'x', 1)`,
  );
  expect(() => openSqliteStore({ path })).toThrow(
    expect.objectContaining({
      code: 'store_newer',
      message: expect.stringContaining(`schema ${SCHEMA_VERSION + 1}, this Proctor knows ${SCHEMA_VERSION}`),
    }),
  );
});

it.each([
  ['digest', "update migration set sha256 = 'x' where version = 1"],
  ['number', 'update migration set version = 0 where version = 1'],
])('a file whose migration has another %s is refused', async (_name, change) => {
  using folder = temporaryFolder();
  const path = await madeAndAltered(folder.file('proctor.db'), change);
  const before = schemaOf(path);
  expect(() => openSqliteStore({ path })).toThrow(
    expect.objectContaining({ code: 'store_altered', message: expect.stringContaining('0001-init') }),
  );
  expect(schemaOf(path)).toBe(before);
});

it('a file that is not SQLite is refused and not touched', () => {
  using folder = temporaryFolder();
  const path = folder.file('notes.txt');
  const text = 'These are notes, and not a database.\n'.repeat(50);
  writeFileSync(path, text);
  expect(() => openSqliteStore({ path })).toThrow(
    expect.objectContaining({
      code: 'store_altered',
      message: expect.stringContaining(`\`${path}\` is not a sound SQLite file`),
    }),
  );
  expect(readFileSync(path, 'utf8')).toBe(text);
});

it("another program's SQLite file is refused and not touched", () => {
  using folder = temporaryFolder();
  const path = folder.file('other.db');
  const other = new DatabaseSync(path);
  other.exec('create table run (mine text)');
  other.close();
  expect(() => openSqliteStore({ path })).toThrow(expect.objectContaining({ code: expect.stringMatching(/^store_/) }));
  expect(schemaOf(path)).toContain('create table run (mine text)');
  expect(schemaOf(path)).not.toContain('migration');
});

it('a file that cannot be opened is refused by its name', () => {
  using folder = temporaryFolder();
  const path = folder.file('missing/proctor.db');
  expect(() => openSqliteStore({ path })).toThrow(
    expect.objectContaining({ code: 'store_failed', message: expect.stringContaining(path) }),
  );
});

it('the schema is the one on record', () => {
  const schema = freshSchema();
  if (process.env[UPDATE] === '1') writeFileSync(SNAPSHOT, schema);
  expect(
    schema,
    `the schema changed. A change of a released schema needs a new migration; when this one is meant, run \`${UPDATE}=1 npm test -- test/store/sqlite/migrate.test.ts\` and read the difference`,
  ).toBe(readFileSync(SNAPSHOT, 'utf8'));
});

it('a store of schema 2, with its runs, gets the gateway: its tables, machines and triggers; and works', async () => {
  using folder = temporaryFolder();
  const path = ofSchema2(folder.file('proctor.db'));
  const before = rowsOf(path, 'run', 'execution', 'attempt', 'evidence', 'result', 'event', 'worker_session');
  const store = openSqliteStore({ path });
  expect(store.triggerProblems()).toEqual([]);
  expect(schemaOf(path)).toBe(freshSchema());
  expect(versions(path)).toEqual([1, 2, 3, 4, 5]);
  const fresh = folder.file('fresh.db');
  await openSqliteStore({ path: fresh }).close();
  expect(rowsOf(path, 'state_transition')).toEqual(rowsOf(fresh, 'state_transition'));
  const role = { role: 'worker' };
  expect(rowsOf(path, 'run', 'execution', 'attempt', 'evidence', 'result', 'event')).toEqual(before.slice(0, 6));
  expect(rowsOf(path, 'worker_session')).toEqual([before[6]?.map((row) => ({ ...row, ...role }))]);

  await prepareGateway(store);
  const call = newToolRun(systemClock.now());
  const asked = await store.beginToolRun(call, requestBy(decideBy('ask')));
  const { approval_id } = asked.run;
  await store.answerApproval(answerTo({ approval_id: approval_id ?? '', call_digest: call.call_digest }));
  expect(await store.consumeApproval(call.tool_run_id, requestBy(decideBy('ask')))).toBe(true);
  expect(await store.finishToolRun(endOf(call.tool_run_id))).toEqual(expect.any(Number));
  const [claim] = await store.claim({
    session_id: 'wse_1',
    run_ids: null,
    capacity: 1,
    lease_ms: 1_000,
    ahead: 0,
    max_losses: 5,
  });
  expect(claim?.run_id).toBe('run_open');
  const found = plain(await store.invariants());
  expect(found.filter(({ invariant }) => !invariant.startsWith('an end in the outbox'))).toEqual([]); // its deliveries were made by hand
  await store.close();
  const db = new DatabaseSync(path);
  expect(() => db.exec("insert into state_transition values ('tool_run', 'denied', 'ok')")).toThrow(/^proctor: /);
  expect(() => db.exec("update tool_run set status = 'started'")).toThrow(/^proctor: /);
  db.close();
});

it('eight processes that open a store of schema 2 at once bring it up once', async () => {
  using folder = temporaryFolder();
  const path = ofSchema2(folder.file('proctor.db'));
  const sessions = Array.from({ length: 8 }, (_, index) => `wse_new${index}`);
  const reports = await race<{ session_id: string }>(
    './store-opener-process.ts',
    sessions.map((id) => [path, id]),
  );
  expect(reports).toEqual(sessions.map((session_id) => ({ session_id, missing: [] })));
  expect(versions(path)).toEqual([1, 2, 3, 4, 5]);
  expect(schemaOf(path)).toBe(freshSchema());
});

it('a backup that is made while others write is one moment of the store', async () => {
  using folder = temporaryFolder();
  const store = openSqliteStore({ path: folder.file('proctor.db') });
  await store.openSession(newSession('wse_1'));
  await store.createRun(newRun('run_1', { cases: 500 }));
  const backup = store.backup(folder.file('backup.db'));
  for (let from = 0; from < 1_000; from += 50) await store.materialize('run_1', from, planned(from, 50));
  await backup;
  const copy = openSqliteStore({ path: folder.file('backup.db') });
  expect(plain(await copy.invariants())).toEqual([]);
  expect(copy.triggerProblems()).toEqual([]);
  expect((await copy.run('run_1'))?.total).toBe(1_000);
  await copy.close();
  await expect(store.backup(folder.file('missing/backup.db'))).rejects.toMatchObject({
    code: 'store_failed',
    message: expect.stringContaining('missing/backup.db'),
  });
  await store.close();
});

/** A store as a Proctor that knew no gateway wrote it: its first two migrations, the triggers of that time, and two runs. */
function ofSchema2(path: string): string {
  const db = new DatabaseSync(path);
  db.exec(readFileSync(new URL('./schema-2.sql', import.meta.url), 'utf8'));
  db.close();
  return path;
}

/** All rows of tables, a list each, in the order of their text. */
function rowsOf(path: string, ...tables: readonly string[]): Record<string, unknown>[][] {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = tables.map((table) => db.prepare(`select * from ${table}`).all().map(plain));
  db.close();
  return rows.map((list) => list.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)));
}

async function madeAndAltered(path: string, sql: string): Promise<string> {
  await openSqliteStore({ path }).close();
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
  return path;
}

function freshSchema(): string {
  using folder = temporaryFolder();
  void openSqliteStore({ path: folder.file('fresh.db') }).close();
  return schemaOf(folder.file('fresh.db'));
}

/** Every statement of the schema, tables first, by name. */
function schemaOf(path: string): string {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db
    .prepare(
      "select sql from sqlite_schema where sql is not null order by instr('table index view trigger', type), tbl_name, name",
    )
    .all() as { sql: string }[];
  db.close();
  return `${rows.map((row) => `${row.sql.replaceAll('CREATE TABLE', 'create table').replaceAll('CREATE INDEX', 'create index').replaceAll('CREATE UNIQUE INDEX', 'create unique index').replaceAll('CREATE VIEW', 'create view').replaceAll('CREATE TRIGGER', 'create trigger')};`).join('\n\n')}\n`;
}

function applied(path: string): unknown[] {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare('select * from migration').all();
  db.close();
  return plain(rows);
}

function versions(path: string): unknown[] {
  return applied(path).map((row) => (row as { version: number }).version);
}
