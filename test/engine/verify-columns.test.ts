import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunRow } from '../../src/contract/store.ts';
import type { Verification } from '../../src/engine/verify/verify-run.ts';
import { dropTriggers, makeTamperedProject, type TamperedProject } from '../support/tampered-run.ts';
import { columnsOf, replaceRow, rowsOf, runNoOf, type TableRow, Tampering } from '../support/tampered-store.ts';
import { otherValues } from '../support/tampered-values.ts';

/** Every table that carries evidence, with what makes two of its rows different in kind. */
const TABLES: Readonly<Record<string, string>> = {
  execution: 'repeat',
  attempt: 'status',
  evidence:
    "kind || (artifact is null) || (ordinal in (select ordinal from attempt where status = 'failed_evaluation'))",
  result: "status || coalesce(fault, aggregate ->> '$.passed')",
  event: 'type',
  late_evidence: 'verb',
  run: '1',
  run_head: '1',
  snapshot: '1',
  outbox: '1',
};

/** Columns whose value alone is no evidence, and why. */
const EXEMPT: Readonly<Record<string, string>> = {
  'run.next_pass':
    'where the run stands among the runs that share the workers: scheduling, no statement about what happened',
  'outbox.outbox_no': 'a surrogate key: deliveries go in its order',
  'event.position': 'a surrogate key: only its order counts, and a position out of order is found (below)',
};

/** Columns of attempts in hand, and of their evidence, that nothing can be held against yet, and why. */
const OPEN: Readonly<Record<string, string>> = {
  'attempt.lease_id': 'an attempt that has not ended is not sealed; the invariants hold its lease against the queue',
  'attempt.session_no': 'an attempt that has not ended is not sealed; its session is sealed with its end',
  'evidence.run_no':
    'evidence of an attempt that has not ended is not counted yet: a row less is a row not yet written',
};

/** Where else it may be named: a chain that lost its last event is missed at its head; every hash is over the run's id. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  run_no: ['run_head'],
  run_id: ['event'],
  verdict: ['verdict'],
};

let project: TamperedProject;
let tampering: Tampering;

beforeAll(async () => {
  project = await makeTamperedProject(mkdtempSync(path.join(tmpdir(), 'proctor-columns-')));
  dropTriggers(project.store);
  tampering = new Tampering(project);
});

afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

describe.each(['completed', 'running', 'cancelled', 'failed'] as const)('a %s run', (status) => {
  it('verifies as it was left', async () => {
    const run = project.runs[status];
    expect(run.status).toBe(status);
    const { ok, found } = await tampering.verify(run, () => undefined, run.evidence_root);
    expect({ ok, found }).toEqual({ ok: true, found: [] });
  });

  it.each(Object.keys(TABLES))('names every altered column of %s', async (table) => {
    const run = project.runs[status];
    const cells = cellsOf(run, table);
    const missed: string[] = [];
    for (const cell of cells) {
      const verification = await tampering.verify(run, (db) => alter(db, table, cell));
      if (!names(verification, table, cell))
        missed.push(`${told(cell)} → ${JSON.stringify(verification.found.slice(0, 3))}`);
    }
    expect(missed).toEqual([]);
    expect(cells.length > 0).toBe(expectsRows(status, table));
  });

  it('names positions of events that are out of order', async () => {
    const run = project.runs[status];
    const { ok, found } = await tampering.verify(run, (db) => {
      const [first, second] = rowsOf(db, 'event', `run_no = ${runNoOf(db, run.run_id)}`);
      if (!first || !second) throw new Error('the run has no two events');
      replaceRow(db, 'event', first, { ...first, position: -1 });
      replaceRow(db, 'event', second, { ...second, position: first['position'] ?? 0 });
      replaceRow(db, 'event', { ...first, position: -1 }, { ...first, position: second['position'] ?? 0 });
    });
    expect(ok).toBe(false);
    expect(found).toMatchObject([{ where: 'event', what: 'positions go backwards' }]);
  });
});

it('exempts columns that are there, and no others', () => {
  const columns = Object.keys(TABLES).flatMap((table) =>
    tampering.read((db) => columnsOf(db, table).map((column) => `${table}.${column.name}`)),
  );
  expect([...Object.keys(EXEMPT), ...Object.keys(OPEN)].filter((column) => !columns.includes(column))).toEqual([]);
});

interface Cell {
  readonly row: TableRow;
  readonly column: string;
  readonly candidates: readonly SQLInputValue[];
  /** `case c1 #2` and the like: what a difference of this cell must name. */
  readonly places: readonly string[];
}

/** Every cell of a row of each kind, with every value that it is altered to. */
function cellsOf(run: RunRow, table: string): Cell[] {
  return tampering.read((db) =>
    kindsOf(db, run, table).flatMap((row) =>
      columnsOf(db, table).flatMap((column) => {
        const name = `${table}.${column.name}`;
        const open = isOpen(db, table, row);
        if (name in EXEMPT || (name in OPEN && open)) return [];
        const places = table === 'evidence' && open ? [''] : placesOf(db, run, table, row, column.name);
        const value = row[column.name] ?? null;
        return otherValues(column, value).map((candidates) => ({ row, column: column.name, candidates, places }));
      }),
    ),
  );
}

function kindsOf(db: DatabaseSync, run: RunRow, table: string): TableRow[] {
  const runNo = runNoOf(db, run.run_id);
  const own = table === 'snapshot' ? `digest = '${run.snapshot_digest}'` : `run_no = ${runNo}`;
  const first = columnsOf(db, table).find((column) => column.pk > 0 && column.name !== 'run_no')?.name ?? 'run_no';
  const kinds = db
    .prepare(`select *, min(${first}) as least from ${table} where ${own} group by ${TABLES[table]}`)
    .all();
  return kinds.map(({ least: _least, ...row }) => row as TableRow);
}

/** True for an attempt that has not ended, and for evidence of one. */
function isOpen(db: DatabaseSync, table: string, row: TableRow): boolean {
  if (table === 'attempt') return row['ended_at'] === null;
  if (table !== 'evidence') return false;
  const key = [row['run_no'] ?? null, row['ordinal'] ?? null, row['attempt'] ?? null];
  const attempt = db
    .prepare('select ended_at from attempt where run_no = ? and ordinal = ? and attempt = ?')
    .get(...key);
  return attempt?.['ended_at'] === null;
}

/** What must be named: the row as it was, or where it is missed. */
function placesOf(db: DatabaseSync, run: RunRow, table: string, row: TableRow, column: string): string[] {
  if (column === 'run_no') return [''];
  if (table === 'event') return [`event ${row['seq']} `, `expected ${row['seq']} `];
  if (table === 'late_evidence') return [`late evidence ${row['late_seq']} `];
  if (row['ordinal'] === undefined) return [''];
  if (table === 'execution' && (column === 'case_id' || column === 'repeat')) return [`expected ${row[column]} `];
  const execution = db
    .prepare('select case_id, repeat from execution where run_no = ? and ordinal = ?')
    .get(runNoOf(db, run.run_id), row['ordinal'] ?? null);
  const own = `case ${execution?.['case_id']} #${execution?.['repeat']}`;
  const keys = ['ordinal', 'attempt', 'seq'];
  if (keys.includes(column) || table === 'execution' || table === 'result') return [own];
  return [
    table === 'attempt' ? `${own} attempt ${row['attempt']} ` : `${own} attempt ${row['attempt']} seq ${row['seq']} `,
  ];
}

function alter(db: DatabaseSync, table: string, { row, column, candidates }: Cell): void {
  for (const value of candidates) {
    const altered = { ...row, [column]: value };
    db.exec('savepoint altered');
    try {
      replaceRow(db, table, row, altered);
      return;
    } catch (error) {
      if (!/UNIQUE/.test(String(error)) || value === candidates.at(-1)) throw error;
      db.exec('rollback to altered');
    }
  }
}

function names({ ok, found }: Verification, table: string, { places, column }: Cell): boolean {
  const tables = [table, ...(ALSO[column] ?? [])];
  const named = found.filter((item) => tables.includes(item.where));
  const texts = named.map((item) => `${item.row} : ${item.what} : expected ${item.expected} : found ${item.found}`);
  return !ok && texts.some((text) => places.some((place) => text.includes(place)));
}

function told({ row, column, candidates }: Cell): string {
  return `${column} of ${JSON.stringify(row).slice(0, 200)} := ${String(candidates[0]).slice(-80)}`;
}

function expectsRows(status: string, table: string): boolean {
  if (table === 'late_evidence') return status === 'completed';
  if (table === 'outbox') return ['completed', 'failed', 'cancelled'].includes(status);
  return true;
}
