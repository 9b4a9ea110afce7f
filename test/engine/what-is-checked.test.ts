import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHECKED_COLUMNS } from '../../src/store/sqlite/checked-columns.ts';
import { CheckedAlterations, entriesOf, rowCheckOf } from '../support/checked-alterations.ts';
import { type CheckedProject, makeCheckedProject } from '../support/checked-project.ts';
import { CheckedStore, tablesOf } from '../support/checked-store.ts';
import { dropTriggers } from '../support/tampered-run.ts';
import { columnsOf } from '../support/tampered-store.ts';

let folder: string;
let project: CheckedProject;
let checked: CheckedStore;
let alterations: CheckedAlterations;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'proctor-checked-'));
  project = await makeCheckedProject(folder);
  dropTriggers(project.store);
  checked = new CheckedStore(project, path.join(folder, 'altered.db'));
  alterations = new CheckedAlterations(project, checked, await checked.told(() => undefined));
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

it('names a delivery in a state that deliveries do not have', async () => {
  expect(
    await checked.doctor((db) => db.exec("update delivery set status = 'cancelled' where status = 'failed'")),
  ).not.toEqual([]);
});

describe.each(Object.entries(CHECKED_COLUMNS))('%s', (table, entry) => {
  it('names what was altered in each column, or is told the same with it', async () => {
    const wrong: string[] = [];
    for (const [column, check] of entriesOf(entry))
      for (const { name, tamper } of alterations.ofColumn(table, column)) {
        const why = await alterations.unmet(check, table, tamper);
        if (why !== null) wrong.push(`${name}: ${why}`);
      }
    expect(wrong).toEqual([]);
  });

  it('names a row that was taken away or copied in, unless nothing rests on it', async () => {
    const wrong: string[] = [];
    for (const { name, tamper } of alterations.ofRows(table)) {
      const why = await alterations.unmet(rowCheckOf(entry), table, tamper);
      if (why !== null) wrong.push(`${name}: ${why}`);
    }
    expect(wrong).toEqual([]);
  });
});
