import { readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { ProctorError } from '../../contract/problem.ts';
import { MACHINES } from '../../core/machines.ts';
import { digestBytes } from '../../lib/canonical-json.ts';
import { openJournal } from './journal.ts';
import { triggers } from './triggers.ts';

/** Forward-only, numbered, never edited once released (decision 0018): a changed file is refused by its recorded digest. */
const MIGRATIONS: readonly { readonly version: number; readonly name: string }[] = [
  { version: 1, name: '0001-init' },
  { version: 2, name: '0002-verdicts' },
  { version: 3, name: '0003-gateway' },
  { version: 4, name: '0004-promises' },
  { version: 5, name: '0005-time-worked' },
];

/** The newest schema that this Proctor knows. */
export const SCHEMA_VERSION = MIGRATIONS.at(-1)?.version ?? 0;

/** The schema that brought the journal. */
const WITH_JOURNAL = 4;

interface Applied {
  readonly version: number;
  readonly name: string;
  readonly sha256: string;
}

/**
 * Brings the file to the newest schema in one immediate transaction (two migrators cannot both run); refuses a file that was
 * written by a newer Proctor or whose recorded migrations are not ours.
 */
export function migrate(db: DatabaseSync, location: string, nowMs: number): void {
  db.exec('pragma busy_timeout = 10000');
  try {
    db.exec('begin immediate');
    try {
      db.exec(
        'create table if not exists migration (version integer primary key not null, name text not null, sha256 text not null, applied_at integer not null) strict',
      );
      const applied = db
        .prepare('select version, name, sha256 from migration order by version')
        .all() as unknown as Applied[];
      check(applied, location);
      for (const migration of MIGRATIONS.slice(applied.length)) {
        const sql = readMigration(migration.name);
        // The id row first: a second migrator that got past the lock would collide here (graphile's rule).
        db.prepare('insert into migration (version, name, sha256, applied_at) values (?, ?, ?, ?)').run(
          migration.version,
          migration.name,
          digestBytes(sql),
          nowMs,
        );
        db.exec(sql);
      }
      if (applied.length < MIGRATIONS.length) {
        seed(db);
        enforce(db);
        if (applied.length < WITH_JOURNAL) openJournal(db);
      }
      db.exec('commit');
    } catch (error) {
      if (db.isTransaction) db.exec('rollback');
      throw error;
    }
  } finally {
    db.exec('pragma busy_timeout = 0');
  }
}

/** What is wrong with the triggers of this file, a sentence each: one that is missing, altered under its name, or not ours. */
export function triggerProblems(db: DatabaseSync): string[] {
  const rows = db.prepare("select name, sql from sqlite_schema where type = 'trigger'").all();
  const present = new Map((rows as { name: string; sql: string }[]).map(({ name, sql }) => [name, bodyOf(sql)]));
  const sound = triggers();
  const wrong = [...sound].flatMap(([name, body]) => {
    const found = present.get(name);
    if (found === undefined) return [`\`${name}\` is missing`];
    return found === bodyOf(body) ? [] : [`\`${name}\` is not the one that Proctor makes`];
  });
  const strange = [...present.keys()].filter((name) => !sound.has(name));
  return [...wrong, ...strange.map((name) => `\`${name}\` is not Proctor's`)];
}

/** The statement from the trigger's name on: what stands before it SQLite writes in its own way. */
function bodyOf(statement: string): string {
  return statement.replace(/^create\s+trigger\s+/i, '');
}

function check(applied: readonly Applied[], location: string): void {
  const newest = applied.at(-1);
  if (newest && newest.version > SCHEMA_VERSION) {
    throw new ProctorError(
      'store_newer',
      `\`${location}\` has schema ${newest.version}, this Proctor knows ${SCHEMA_VERSION}; use the newer Proctor that wrote it`,
    );
  }
  applied.forEach((row, index) => {
    const known = MIGRATIONS[index];
    if (known?.version !== row.version || digestBytes(readMigration(known.name)) !== row.sha256) {
      throw new ProctorError(
        'store_altered',
        `migration ${row.version} (\`${row.name}\`) in \`${location}\` is not the one this Proctor has; restore the file or use the Proctor that wrote it`,
      );
    }
  });
}

/** Transition tables from the machines in code; a migration may bring machines, so those that are there already are left. */
function seed(db: DatabaseSync): void {
  db.exec('drop trigger if exists state_transition_no_insert'); // `enforce` makes it again
  const insert = db.prepare('insert into state_transition (machine, from_state, to_state) values (?, ?, ?)');
  const known = db.prepare('select distinct machine from state_transition').all();
  for (const machine of MACHINES.filter(({ name }) => !known.some((row) => row['machine'] === name))) {
    for (const [from, states] of Object.entries<readonly string[]>(machine.next))
      for (const to of states) insert.run(machine.name, from, to);
  }
}

/** The triggers that are not there yet: a migration that brings a table brings its promises. */
function enforce(db: DatabaseSync): void {
  const present = new Set(
    db
      .prepare("select name from sqlite_schema where type = 'trigger'")
      .all()
      .map((row) => row['name']),
  );
  for (const [name, statement] of triggers()) if (!present.has(name)) db.exec(statement);
}

/** The text of every migration, in order: what a file of rows without the store's triggers is made with. */
export function migrationTexts(): string[] {
  return MIGRATIONS.map(({ name }) => readMigration(name));
}

function readMigration(name: string): string {
  return readFileSync(new URL(`./migrations/${name}.sql`, import.meta.url), 'utf8');
}
