import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { ProctorError } from '../../contract/problem.ts';

/** A row as node:sqlite gives it. */
export type Row = Record<string, unknown>;

/** One connection with its prepared statements; the statements' text may be altered by tests that prove the suite bites. */
export class Connection {
  readonly db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #alter: (sql: string) => string;

  constructor(db: DatabaseSync, alter: (sql: string) => string = (sql) => sql) {
    this.db = db;
    this.#alter = alter;
  }

  /** Runs a statement; answers how many rows it changed. */
  run(sql: string, ...values: readonly SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  get<T = Row>(sql: string, ...values: readonly SQLInputValue[]): T | undefined {
    return readable(() => this.#prepare(sql).get(...values)) as T | undefined;
  }

  all<T = Row>(sql: string, ...values: readonly SQLInputValue[]): T[] {
    return readable(() => this.#prepare(sql).all(...values)) as T[];
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(this.#alter(sql));
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** A number that JavaScript cannot hold was never written by Proctor: that is the store's trouble, not a bug of the reader. */
function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError) || (error as NodeJS.ErrnoException).code !== 'ERR_OUT_OF_RANGE') throw error;
    throw new ProctorError(
      'store_altered',
      `a row of the store holds a number that Proctor never writes (${error.message}); restore a backup`,
      { cause: error },
    );
  }
}

/**
 * Opens a connection with the settings that the promises rest on: WAL, a flush at every commit (synchronous = FULL), foreign
 * keys, triggers that fire for REPLACE too. The busy time-out is zero: waiting for the lock is done by the writer, off the
 * event loop, because SQLite's own busy handler sleeps in the thread (durable notes: stalls of 5 s).
 */
export function openDatabase(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: true });
  db.exec(
    'pragma recursive_triggers = on; pragma trusted_schema = off; pragma temp_store = memory; pragma cache_size = -8000',
  );
  return db;
}

/** Settings that take the lock for a moment; called with a patient time-out at open. */
export function configureDatabase(db: DatabaseSync): void {
  db.exec('pragma busy_timeout = 5000');
  const mode = (db.prepare('pragma journal_mode = wal').get() as { journal_mode: string }).journal_mode;
  if (mode !== 'wal' && mode !== 'memory') {
    throw new ProctorError(
      'store_failed',
      `the store's file system does not support SQLite's write-ahead log (journal mode \`${mode}\`); put the store on a local disk`,
    );
  }
  db.exec(
    'pragma synchronous = full; pragma wal_autocheckpoint = 2000; pragma journal_size_limit = 67108864; pragma busy_timeout = 0',
  );
}

/** The primary SQLite result code of an error of node:sqlite, or null. */
export function sqliteCode(error: unknown): number | null {
  if (typeof error !== 'object' || error === null || !('errcode' in error) || typeof error.errcode !== 'number')
    return null;
  return error.errcode & 0xff;
}

/** SQLite's result code for a lock that another connection holds. */
export const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

/** True when SQLite found no room on a disk. */
export function isFull(error: unknown): boolean {
  return sqliteCode(error) === SQLITE_FULL;
}

/** A ProctorError for what SQLite said; an error that is ours or not SQLite's stays as it is. */
export function storeError(error: unknown, location: string): unknown {
  const code = sqliteCode(error);
  if (code === null || ProctorError.is(error)) return error;
  const detail = error instanceof Error ? error.message : String(error);
  if (code === SQLITE_FULL) {
    return new ProctorError('store_full', `the disk that holds \`${location}\` is full; free some room`, {
      cause: error,
    });
  }
  if (code === SQLITE_READONLY) {
    return new ProctorError(
      'store_read_only',
      `\`${location}\` can only be read here: show, verify, compare and export work, and nothing that writes; copy the store with its artifacts to where it can be written`,
      { cause: error },
    );
  }
  if (code === SQLITE_BUSY || code === SQLITE_LOCKED)
    return new ProctorError('store_busy', `\`${location}\` stayed locked by another process: ${detail}`, {
      cause: error,
    });
  if (code === SQLITE_IOERR || code === SQLITE_CANTOPEN) {
    return new ProctorError(
      'store_failed',
      `\`${location}\` could not be read or written: ${detail}; check the disk and the permissions`,
      { cause: error },
    );
  }
  if (code === SQLITE_CORRUPT || code === SQLITE_NOTADB) {
    return new ProctorError(
      'store_altered',
      `\`${location}\` is not a sound SQLite file: ${detail}; restore a backup`,
      { cause: error },
    );
  }
  const forged = detail.includes('illegal transition')
    ? '; `proctor doctor --verify` says whether its transitions were altered'
    : '';
  return new ProctorError('store_failed', `the store refused a statement: ${detail}${forged}`, { cause: error });
}
