import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { ProctorError } from '../../contract/problem.ts';
import { storeError } from './connection.ts';
import { SCHEMA_VERSION } from './migrate.ts';

/**
 * Opens a store where nothing can be written. SQLite would want an index for its log; where no log is left over the file is read as one that
 * nobody changes. A log that is left over holds what was committed last: it is read where its index is there too, else the store is refused.
 */
export function openForReading(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  const log = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (!log) url.searchParams.set('immutable', '1');
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(url, { readOnly: true, timeout: 5_000 });
    db.exec('pragma trusted_schema = off; pragma temp_store = memory; pragma cache_size = -8000');
    const schema = Number(db.prepare('select max(version) as version from migration').get()?.['version'] ?? 0);
    if (schema === SCHEMA_VERSION) return db;
    throw new ProctorError(
      schema > SCHEMA_VERSION ? 'store_newer' : 'store_read_only',
      `\`${path}\` has schema ${schema}, this Proctor works with ${SCHEMA_VERSION}, and the store can only be read here; ${schema > SCHEMA_VERSION ? 'use the newer Proctor that wrote it' : 'copy it to where it can be written'}`,
    );
  } catch (error) {
    db?.close();
    if (!log || ProctorError.is(error)) throw storeError(error, path);
    throw new ProctorError(
      'store_read_only',
      `\`${path}\` can only be read here, and its log \`${path}-wal\` was not folded in yet; copy both to where they can be written`,
      { cause: error },
    );
  }
}
