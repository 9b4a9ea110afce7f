import { copyFileSync, existsSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { ProctorError } from '../../contract/problem.ts';
import { storeError } from './connection.ts';
import { migrate, SCHEMA_VERSION } from './migrate.ts';

const SETTINGS = 'pragma trusted_schema = off; pragma temp_store = memory; pragma cache_size = -8000';

/**
 * Opens a store where nothing can be written. SQLite would want an index for its log; where no log is left over the file is read as one that
 * nobody changes. A log that is left over holds what was committed last: it is read where its index is there too. What cannot be read in place,
 * because an older Proctor wrote it or its log was not folded in, is read from a copy that is brought up to date.
 */
export function openForReading(file: string, nowMs: number): DatabaseSync {
  const log = sizeOf(`${file}-wal`) > 0;
  if (log && !existsSync(`${file}-shm`)) return openCopy(file, 'has a log that was not folded in', nowMs);
  const url = pathToFileURL(file);
  if (!log) url.searchParams.set('immutable', '1');
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(url, { readOnly: true, timeout: 5_000 });
    db.exec(SETTINGS);
    const schema = Number(db.prepare('select max(version) as version from migration').get()?.['version'] ?? 0);
    if (schema === SCHEMA_VERSION) return db;
    if (schema > SCHEMA_VERSION)
      throw new ProctorError(
        'store_newer',
        `\`${file}\` has schema ${schema}, this Proctor works with ${SCHEMA_VERSION}; use the newer Proctor that wrote it`,
      );
    db.close();
    return openCopy(file, `has schema ${schema}, this Proctor works with ${SCHEMA_VERSION}`, nowMs);
  } catch (error) {
    if (db?.isOpen) db.close();
    if (!log || ProctorError.is(error)) throw storeError(error, file);
    throw new ProctorError(
      'store_read_only',
      `\`${file}\` can only be read here, and its log \`${file}-wal\` was not folded in yet; copy both to where they can be written`,
      { cause: error },
    );
  }
}

/** A copy of the store, brought to the newest schema. It has no name any more when it is answered, so nothing of it is left behind. */
function openCopy(file: string, why: string, nowMs: number): DatabaseSync {
  const parts = ['', '-wal'].filter((end) => sizeOf(`${file}${end}`) > 0);
  const looked = parts.map((end) => stateOf(`${file}${end}`)).join();
  const refuse = (reason: string, cause?: unknown) =>
    new ProctorError(
      'store_read_only',
      `\`${file}\` can only be read here and ${why}, so it is read from a temporary copy: ${reason}; copy the store with its artifacts to where it can be written`,
      { cause },
    );
  let folder: string | null = null;
  let db: DatabaseSync | null = null;
  try {
    const needed = 2 * parts.reduce((sum, end) => sum + sizeOf(`${file}${end}`), 0); // what is brought up to date grows
    const { bavail, bsize } = statfsSync(tmpdir());
    if (needed > bavail * bsize)
      throw refuse(`that takes ${needed} bytes, and \`${tmpdir()}\` has ${bavail * bsize} bytes free`);
    folder = mkdtempSync(path.join(tmpdir(), 'proctor-read-'));
    const copy = path.join(folder, 'proctor.db');
    for (const end of parts) copyFileSync(`${file}${end}`, `${copy}${end}`);
    if (parts.map((end) => stateOf(`${file}${end}`)).join() !== looked)
      throw refuse('it was written to while it was copied');
    db = new DatabaseSync(copy, { enableForeignKeyConstraints: true });
    db.exec(`pragma locking_mode = exclusive; pragma journal_mode = memory; pragma synchronous = off; ${SETTINGS}`);
    migrate(db, file, nowMs);
    db.exec('pragma query_only = on');
    return db;
  } catch (error) {
    if (db?.isOpen) db.close();
    const { code = '' } = error as NodeJS.ErrnoException;
    throw /^E[A-Z]+$/.test(code) ? refuse(`\`${tmpdir()}\` cannot be used (${code})`, error) : storeError(error, file);
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function stateOf(file: string): string {
  const { size, mtimeMs, ino } = statSync(file);
  return `${size} ${mtimeMs} ${ino}`;
}
