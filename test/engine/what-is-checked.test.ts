import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHECKED_COLUMNS, type CheckedTable } from '../../src/store/sqlite/checked-columns.ts';
import { type CheckedProject, makeCheckedProject } from '../support/checked-project.ts';
import { CheckedStore, copyOf, rowsOfRun, tablesOf } from '../support/checked-store.ts';
import { dropTriggers } from '../support/tampered-run.ts';
import {
  addRow,
  columnsOf,
  removeRow,
  replaceRow,
  runNoOf,
  type TableRow,
  type Tamper,
} from '../support/tampered-store.ts';
import { otherValues } from '../support/tampered-values.ts';

let folder: string;
let project: CheckedProject;
let checked: CheckedStore;
let untouched: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'proctor-checked-'));
  project = await makeCheckedProject(folder);
  dropTriggers(project.store);
  checked = new CheckedStore(project, path.join(folder, 'altered.db'));
  untouched = await checked.told(() => undefined);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('has an entry for every column of every table, and none for a column that is not there', () => {
  const schema = checked.read((db) =>
    Object.fromEntries(
      tablesOf(db).map((table) => [
        table,
        columnsOf(db, table)
          .map(({ name }) => name)
          .sort(),
      ]),
    ),
  );
  const entries = Object.fromEntries(
    Object.entries(CHECKED_COLUMNS).map(([table, entry]) => [
      table,
      entriesOf(entry)
        .map(([column]) => column)
        .sort(),
    ]),
  );
  expect(entries).toEqual(schema);
});

it('finds nothing where nothing was done', async () => {
  expect(await checked.verify(() => undefined)).toEqual([]);
  expect(await checked.verify(() => undefined, project.running)).toEqual([]);
  expect(await checked.doctor(() => undefined)).toEqual([]);
  expect(await checked.opens(() => undefined)).toBe(true);
});

describe.each(Object.entries(CHECKED_COLUMNS))('%s', (table, entry) => {
  it('names what was altered in each column, or is told the same with it', async () => {
    const wrong: string[] = [];
    for (const [column, check] of entriesOf(entry))
      for (const { name, tamper } of altered(table, column)) {
        const why = await unmet(check, table, tamper);
        if (why !== null) wrong.push(`${name}: ${why}`);
      }
    expect(wrong).toEqual([]);
  });

  it('names a row that was taken away or copied in, unless nothing rests on it', async () => {
    const { rows } = entry;
    const check = typeof rows === 'string' ? rows : 'nothing';
    const wrong: string[] = [];
    for (const { name, tamper } of rowsMoved(table)) {
      const why = await unmet(check, table, tamper);
      if (why !== null) wrong.push(`${name}: ${why}`);
    }
    expect(wrong).toEqual([]);
  });
});

type Check = 'verify' | 'doctor' | 'either' | 'open' | 'nothing';

function entriesOf({ verify = [], doctor = [], open = [], nothing = {} }: CheckedTable): [string, Check][] {
  return [
    ...verify.map((column): [string, Check] => [column, 'verify']),
    ...doctor.map((column): [string, Check] => [column, 'doctor']),
    ...open.map((column): [string, Check] => [column, 'open']),
    ...Object.keys(nothing).map((column): [string, Check] => [column, 'nothing']),
  ];
}

/** Why an alteration is not found as the table says; null when it is. */
async function unmet(check: Check, table: string, tamper: Tamper): Promise<string | null> {
  switch (check) {
    case 'verify':
      return (await checked.verify(tamper, ownerOf(table))).length > 0 ? null : 'verify finds nothing';
    case 'doctor':
      return (await checked.doctor(tamper)).length > 0 ? null : 'doctor --verify finds nothing';
    case 'either':
      return (await checked.verify(tamper, ownerOf(table))).length + (await checked.doctor(tamper)).length > 0
        ? null
        : 'neither verify nor doctor --verify finds anything';
    case 'open':
      return (await checked.opens(tamper)) ? 'the store is opened' : null;
    case 'nothing':
      return (await checked.told(tamper)) === untouched ? null : 'something is told differently';
  }
}

/** Only a run in progress has a queue. */
function ownerOf(table: string) {
  return table === 'queue' ? project.running : project.completed;
}

interface Alteration {
  readonly name: string;
  readonly tamper: Tamper;
}

/** A cell with a value and one without, of the run's rows, each altered to another value. */
function altered(table: string, column: string): Alteration[] {
  return checked.read((db) => {
    const rows = rowsOfRun(db, table, runNoOf(db, ownerOf(table).run_id));
    expect(rows.length, `rows of ${table}`).toBeGreaterThan(0);
    const shape = columnsOf(db, table).find(({ name }) => name === column);
    if (shape === undefined) throw new Error(`${table} has no column ${column}`);
    const kinds = [rows.find((row) => row[column] !== null), rows.find((row) => row[column] === null)];
    return kinds.flatMap((row): Alteration[] => {
      if (row === undefined) return [];
      return otherValues(shape, row[column] ?? null).map((candidates) => ({
        name: `${table}.${column} ${String(row[column])} := ${String(candidates[0])}`.slice(0, 200),
        tamper: (altering) => replaceWith(altering, table, row, column, candidates),
      }));
    });
  });
}

function replaceWith(
  db: Parameters<Tamper>[0],
  table: string,
  row: TableRow,
  column: string,
  candidates: readonly TableRow[string][],
): void {
  for (const [index, value] of candidates.entries()) {
    db.exec('savepoint altered');
    try {
      replaceRow(db, table, row, { ...row, [column]: value ?? null });
      return;
    } catch (error) {
      if (!/UNIQUE/.test(String(error)) || index === candidates.length - 1) throw error;
      db.exec('rollback to altered');
    }
  }
}

function rowsMoved(table: string): Alteration[] {
  return checked.read((db) => {
    const rows = rowsOfRun(db, table, runNoOf(db, ownerOf(table).run_id));
    const picked = [...new Set([rows[0], rows.at(-1)])].filter((row) => row !== undefined);
    expect(picked.length, `rows of ${table}`).toBeGreaterThan(0);
    return picked.flatMap((row) => [
      { name: `${table} loses a row`, tamper: (altering: Parameters<Tamper>[0]) => removeRow(altering, table, row) },
      {
        name: `${table} gains a copied row`,
        tamper: (altering: Parameters<Tamper>[0]) => addRow(altering, table, copyOf(altering, table, row)),
      },
    ]);
  });
}
