import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunRow } from '../../src/contract/store.ts';
import type { Verification } from '../../src/engine/verify/verify-run.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { dropTriggers, makeTamperedProject, type TamperedProject } from '../support/tampered-run.ts';
import {
  addRow,
  columnsOf,
  removeRow,
  replaceRow,
  rowsOf,
  runNoOf,
  type TableRow,
  type Tamper,
  Tampering,
} from '../support/tampered-store.ts';

type Status = keyof TamperedProject['runs'];

/** Tables with several rows a run, and the columns that say where a row stands. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  execution: ['run_no', 'ordinal'],
  attempt: ['run_no', 'ordinal', 'attempt'],
  evidence: ['run_no', 'ordinal', 'attempt', 'seq'],
  result: ['run_no', 'ordinal'],
  event: ['position', 'run_no', 'seq'],
  late_evidence: ['run_no', 'late_seq'],
};

/** What a copied row gets so that it collides with none. */
const NEW_KEYS: Readonly<Record<string, TableRow>> = {
  execution: { ordinal: 24, case_id: 'c99' },
  attempt: { attempt: 7 },
  evidence: { seq: 9 },
  result: { ordinal: 24 },
  event: { position: 9_000, seq: 999 },
  late_evidence: { late_seq: 99 },
};

/** What leads a row to an execution or attempt that is not there. */
const ORPHANS: Readonly<Record<string, TableRow>> = {
  execution: { ordinal: -1, case_id: 'c98' },
  attempt: { ordinal: 77 },
  evidence: { ordinal: 77 },
  result: { ordinal: -1 },
  event: { position: 9_000, seq: -1, ordinal: 77 },
  late_evidence: { late_seq: -1, ordinal: 77 },
};

let project: TamperedProject;
let tampering: Tampering;

beforeAll(async () => {
  project = await makeTamperedProject(mkdtempSync(path.join(tmpdir(), 'proctor-rows-')));
  dropTriggers(project.store);
  tampering = new Tampering(project);
});

afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

const PLACES = (['completed', 'running', 'cancelled', 'failed'] as const).flatMap((status) =>
  Object.keys(TABLES)
    .filter((table) => table !== 'late_evidence' || status === 'completed')
    .map((table) => [table, status] as const),
);

describe.each(PLACES)('%s of a %s run', (table, status) => {
  it.each(['first', 'middle', 'last'] as const)('cannot lose its %s row', async (which) => {
    const rows = sealedRows(status, table);
    const row = rows[{ first: 0, middle: rows.length >> 1, last: rows.length - 1 }[which]];
    const verification = await verify(status, (db) => removeRow(db, table, some(row)));
    expectNamed(verification, table);
  });

  it('cannot gain a copied row under a new key', async () => {
    const row = some(rowsIn(status, table)[0]);
    expectNamed(await verify(status, (db) => addRow(db, table, { ...row, ...NEW_KEYS[table] })), table);
  });

  it('cannot gain a row that belongs to nothing', async () => {
    const row = some(rowsIn(status, table)[0]);
    expectNamed(await verify(status, (db) => addRow(db, table, { ...row, ...ORPHANS[table] })), table);
  });

  it('cannot have two rows change places', async () => {
    const rows = rowsIn(status, table);
    const [first, second] = table === 'event' ? rows.slice(-2) : twoThatDiffer(table, rows);
    if (!first || !second) return expect(rows.length).toBe(1);
    expectNamed(await verify(status, (db) => exchange(db, table, first, second)), table);
  });

  it.each([1, 2, 3])('cannot lose its last %i rows', async (count) => {
    const rows = sealedRows(status, table).slice(-count);
    const cut = (db: DatabaseSync) => {
      for (const row of rows) removeRow(db, table, row);
    };
    expectNamed(await verify(status, cut), table);
  });
});

describe.each(['completed', 'running', 'cancelled', 'failed'] as const)('the event chain of a %s run', (status) => {
  // The two last events of the completed run tell of its end and of what came late after it; see below.
  it.each([1, 2, 3])('cannot be cut by %i with its head made to fit', async (count) => {
    const verification = await verify(status, (db) => cutEvents(db, project.runs[status], count));
    expect(verification.ok).toBe(false);
    expect(verification.found.every((item) => item.where !== 'run_head')).toBe(true);
  });

  it('cannot lose its head, nor take the head of another run', async () => {
    const other = project.runs[status === 'completed' ? 'failed' : 'completed'];
    const head = (db: DatabaseSync, run: RunRow) =>
      some(rowsOf(db, 'run_head', `run_no = ${runNoOf(db, run.run_id)}`)[0]);
    const run = project.runs[status];
    expectNamed(await verify(status, (db) => removeRow(db, 'run_head', head(db, run))), 'run_head');
    expectNamed(await verify(status, (db) => exchange(db, 'run_head', head(db, run), head(db, other))), 'run_head');
  });
});

describe('an end that was taken back', () => {
  it.each(['completed', 'cancelled', 'failed'] as const)('is found where the run was %s', async (status) => {
    const run = project.runs[status];
    const verification = await verify(status, (db) => {
      db.prepare("update run set status = 'running', gate_status = 'unknown', finished_at = null where run_id = ?").run(
        run.run_id,
      );
    });
    expect(verification.found).toContainEqual({
      where: 'run',
      row: run.run_id,
      what: 'status, by the events',
      expected: status,
      found: 'running',
    });
  });
});

describe('what belongs to the whole store', () => {
  it('names a snapshot that is gone or is another run’s', async () => {
    const { completed, failed } = project.runs;
    const of = (db: DatabaseSync, run: RunRow) => some(rowsOf(db, 'snapshot', `digest = '${run.snapshot_digest}'`)[0]);
    expectNamed(await verify('completed', (db) => removeRow(db, 'snapshot', of(db, completed))), 'snapshot');
    expectNamed(
      await verify('completed', (db) => exchange(db, 'snapshot', of(db, completed), of(db, failed))),
      'snapshot',
    );
  });

  it('lets a snapshot stand that no run names', async () => {
    const verification = await verify('completed', (db) =>
      addRow(db, 'snapshot', { digest: 'f'.repeat(64), body: '{}' }),
    );
    expect(verification.found).toEqual([]);
  });

  it('names a completion that is gone from the outbox, one too many, and a second end of a run that failed', async () => {
    const row = (db: DatabaseSync) => some(rowsOf(db, 'outbox', "type = 'run_completed'")[0]);
    const again = { outbox_no: 99, dedupe_key: 'run:again:final' };
    const failedNo = tampering.read((db) => runNoOf(db, project.runs.failed.run_id));
    expectNamed(await verify('completed', (db) => removeRow(db, 'outbox', row(db))), 'outbox');
    expectNamed(await verify('completed', (db) => addRow(db, 'outbox', { ...row(db), ...again })), 'outbox');
    expectNamed(
      await verify('failed', (db) => addRow(db, 'outbox', { ...row(db), ...again, run_no: failedNo })),
      'outbox',
    );
  });

  it('names a queue that lost or gained a row, or counts attempts that were not made', async () => {
    const row = (db: DatabaseSync) =>
      some(rowsOf(db, 'queue', `run_no = ${runNoOf(db, project.runs.running.run_id)}`)[0]);
    const counting = (db: DatabaseSync) => replaceRow(db, 'queue', row(db), { ...row(db), attempt: 7 });
    expectNamed(await verify('running', (db) => removeRow(db, 'queue', row(db))), 'queue');
    expectNamed(await verify('running', (db) => addRow(db, 'queue', { ...row(db), ordinal: 99 })), 'queue');
    expectNamed(await verify('running', counting), 'queue');
  });

  it('does not take a copied run for a run', async () => {
    const { completed } = project.runs;
    const file = path.join(project.folder, 'tampered', 'proctor.db');
    const copy = { run_no: 99, run_id: 'run_copy', run_key: 'copy' };
    const untouched = await verify('completed', (db) => {
      addRow(db, 'run', { ...some(rowsOf(db, 'run', `run_id = '${completed.run_id}'`)[0]), ...copy });
    });
    expect(untouched.found).toEqual([]);
    const store = openSqliteStore({ path: file });
    const row = await store.run('run_copy');
    await store.close();
    expect(row?.evidence_root).toBe(completed.evidence_root);
    const verification = await verify('completed', (db) => {
      const own = some(rowsOf(db, 'run', `run_id = '${completed.run_id}'`)[0]);
      replaceRow(db, 'run', own, { ...own, ...copy });
      addRow(db, 'run', { ...own, run_id: 'run_other', run_key: 'other' });
    });
    expectNamed(verification, 'event');
  });
});

/** Evidence in an attempt that has not ended is not counted yet: a row less is a row not yet written. */
it('cannot tell evidence that was taken from an attempt in hand from evidence that is still to come', async () => {
  const verification = await verify('running', (db) => {
    const open = `run_no = ${runNoOf(db, project.runs.running.run_id)} and kind = 'envelope'`;
    removeRow(db, 'evidence', some(rowsOf(db, 'evidence', open)[0]));
  });
  expect(verification.found).toEqual([]);
});

/** The evidence root was made before it came; nothing else vouches for it. */
it('cannot tell late evidence that was taken whole, after the run’s end, from late evidence that never came', async () => {
  const verification = await verify('completed', (db) => {
    const own = `run_no = ${runNoOf(db, project.runs.completed.run_id)}`;
    cutEvents(db, project.runs.completed, 1);
    removeRow(db, 'late_evidence', some(rowsOf(db, 'late_evidence', own).at(-1)));
  });
  expect(verification.found).toEqual([]);
});

async function verify(status: Status, tamper: Tamper): Promise<Verification> {
  return await tampering.verify(project.runs[status], tamper);
}

function expectNamed({ ok, found }: Verification, table: string): void {
  const also = table === 'event' ? ['run_head'] : []; // a chain that lost its end is missed at its head
  expect({ ok, named: found.some((item) => item.where === table || also.includes(item.where)) }).toEqual({
    ok: false,
    named: true,
  });
}

function rowsIn(status: Status, table: string): TableRow[] {
  return tampering.read((db) => rowsOf(db, table, `run_no = ${runNoOf(db, project.runs[status].run_id)}`));
}

/** Without the evidence of attempts in hand. */
function sealedRows(status: Status, table: string): TableRow[] {
  const rows = rowsIn(status, table);
  if (table !== 'evidence') return rows;
  const open = rowsIn(status, 'attempt').filter((attempt) => attempt['ended_at'] === null);
  return rows.filter(
    (row) => !open.some(({ ordinal, attempt }) => ordinal === row['ordinal'] && attempt === row['attempt']),
  );
}

function twoThatDiffer(table: string, rows: readonly TableRow[]): TableRow[] {
  const first = rows[0];
  const second = rows.findLast((row) => contentOf(table, row) !== contentOf(table, some(first)));
  return first && second ? [first, second] : [];
}

function contentOf(table: string, row: TableRow): string {
  return JSON.stringify(Object.entries(row).filter(([column]) => !TABLES[table]?.includes(column)));
}

/** Exchanges everything but the keys. */
function exchange(db: DatabaseSync, table: string, first: TableRow, second: TableRow): void {
  const keys = TABLES[table] ?? columnsOf(db, table).flatMap((column) => (column.pk > 0 ? [column.name] : []));
  const keyed = (row: TableRow) => Object.fromEntries(keys.map((key) => [key, row[key] ?? null]));
  removeRow(db, table, first);
  removeRow(db, table, second);
  addRow(db, table, { ...second, ...keyed(first) });
  addRow(db, table, { ...first, ...keyed(second) });
}

function cutEvents(db: DatabaseSync, run: RunRow, count: number): void {
  const runNo = runNoOf(db, run.run_id);
  const events = rowsOf(db, 'event', `run_no = ${runNo}`);
  for (const event of events.slice(-count)) removeRow(db, 'event', event);
  const last = some(events.at(-count - 1));
  const { seq = null, hash = null } = last;
  db.prepare('update run_head set event_count = ?, event_hash = ? where run_no = ?').run(seq, hash, runNo);
}

function some(row: TableRow | undefined): TableRow {
  if (row === undefined) throw new Error('there is no such row');
  return row;
}
