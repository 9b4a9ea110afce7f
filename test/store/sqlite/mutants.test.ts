import { copyFileSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { temporaryFolder } from '../../support/store-fixture.ts';
import { checkAgainstModel } from '../../support/store-model-check.ts';
import { STORE_MUTANTS, type StoreMutant } from '../../support/store-mutants.ts';

const SEED = 20261121;
const MOST = 1_200; // sequences that a mutant may survive before it counts as not caught

// Without triggers: what a trigger refuses would be an error, and so be caught, on top of this.
describe('without a single trigger the model catches a store that is broken:', () => {
  const folder = temporaryFolder('/dev/shm');
  const template = folder.file('template.db');
  beforeAll(async () => {
    await openSqliteStore({ path: template }).close();
    dropTriggers(template);
  });
  afterAll(() => folder[Symbol.dispose]());

  it.each(STORE_MUTANTS)('$name', async (mutant) => {
    await expectCaught(mutant, fresh);
  });

  it('but the sound store passes', async () => {
    await checkAgainstModel({ runs: 100, seed: SEED, open: (clock) => openSqliteStore({ path: fresh(), clock }) });
  });

  function fresh(): string {
    const file = folder.file('mutant.db');
    for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
    copyFileSync(template, file);
    return file;
  }
});

async function expectCaught({ within, find, replace, seed = SEED }: StoreMutant, path: () => string): Promise<void> {
  let matched = 0;
  const alter = (sql: string): string => {
    if (!sql.includes(within) || !sql.includes(find)) return sql;
    matched += 1;
    return sql.replaceAll(find, replace);
  };
  const caught = await checkAgainstModel({
    runs: MOST,
    seed,
    quick: true,
    open: (clock) => openSqliteStore({ path: path(), clock, alter }),
  }).then(
    () => null,
    (error: unknown) => error,
  );
  expect(matched, 'the mutant altered no statement: bring `within` and `find` up to date').toBeGreaterThan(0);
  expect(caught, 'the model did not notice').toBeInstanceOf(Error);
  // A mutant that is not even SQL is caught by SQLite, which proves nothing about the suite.
  const cause = caught instanceof Error && caught.cause instanceof Error ? caught.cause : caught;
  expect(String(cause)).not.toMatch(/syntax error|no such|incomplete input|unrecognized|column index/);
}

function dropTriggers(path: string): void {
  const db = new DatabaseSync(path);
  const names = db.prepare("select name from sqlite_schema where type = 'trigger'").all() as { name: string }[];
  for (const { name } of names) db.exec(`drop trigger ${name}`);
  db.close();
}
