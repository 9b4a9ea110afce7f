import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { ArtifactStore } from '../../contract/artifact.ts';
import type { OpenBundle } from '../../contract/bundle.ts';
import { ProctorError } from '../../contract/problem.ts';
import { digestBytes } from '../../lib/canonical-json.ts';
import { refuseLargeRows, refuseLargeSchema } from './bundle-bounds.ts';
import { BUNDLE_APPLICATION_ID, bundleSchema } from './bundle-schema.ts';
import { Connection, storeError } from './connection.ts';
import { Keys } from './keys.ts';
import { SCHEMA_VERSION } from './migrate.ts';
import { runReaders } from './run-readers.ts';

/** True when the file is a bundle of format 1 by its header. */
export function isSqliteBundle(header: Buffer): boolean {
  const sqlite = header.subarray(0, 16).toString('latin1') === 'SQLite format 3\0';
  return sqlite && header.length >= 72 && header.readUInt32BE(68) === BUNDLE_APPLICATION_ID;
}

/**
 * Opens a bundle of format 1, which is a SQLite file; it is another's, so nothing in it may run: no triggers, no views, no functions from its
 * schema. What stands beside it (a log, a journal) is no part of it.
 */
export function openSqliteBundle(file: string): OpenBundle & Disposable {
  refuseLargeSchema(file);
  let db: DatabaseSync;
  try {
    const url = pathToFileURL(file);
    url.searchParams.set('immutable', '1');
    db = new DatabaseSync(url, { readOnly: true, allowExtension: false });
    db.exec('pragma trusted_schema = off; pragma cell_size_check = on');
  } catch (error) {
    throw storeError(error, file);
  }
  const connection = new Connection(db);
  const read = async <T>(query: () => T): Promise<T> => {
    try {
      return query();
    } catch (error) {
      throw storeError(error, file);
    }
  };
  try {
    const strange = schemaProblems(connection);
    if (strange.length > 0)
      throw new ProctorError('store_altered', `\`${file}\` is not a bundle that Proctor made: ${strange.join('; ')}`);
    refuseDamagedPages(connection, file);
    refuseLargeRows(connection, file);
    return {
      format: 1,
      file_digest: null,
      store: runReaders(connection, new Keys(connection), read),
      artifacts: artifactsIn(connection, file, read),
      run_ids: connection.all<{ run_id: string }>('select run_id from run order by run_no').map((row) => row.run_id),
      seals: connection.all<{ statement: string; signature: string | null; public_key: string | null }>(
        'select statement, signature, public_key from bundle',
      ),
      artifactNames: () =>
        connection.all<{ digest: string }>('select digest from artifact order by digest').map((row) => row.digest),
      problems: async () => strayRows(connection),
      [Symbol.dispose]: () => db.close(),
    };
  } catch (error) {
    db.close();
    throw storeError(error, file);
  }
}

/** Tables, indexes and views are exactly those that this Proctor makes: a view could answer something else at every look. */
function schemaProblems(connection: Connection): string[] {
  const found = schemaOf(connection);
  const byVersion = Array.from({ length: SCHEMA_VERSION }, (_, index) => compared(found, SCHEMA_VERSION - index));
  return byVersion.find((problems) => problems.length === 0) ?? byVersion[0] ?? [];
}

function compared(found: ReadonlyMap<string, string | null>, version: number): string[] {
  const ours = new DatabaseSync(':memory:');
  ours.exec(bundleSchema(version));
  const expected = schemaOf(new Connection(ours));
  ours.close();
  const missing = [...expected.keys()].filter((name) => !found.has(name)).map((name) => `\`${name}\` is missing`);
  const other = [...found].flatMap(([name, sql]) =>
    expected.get(name) === sql ? [] : [`\`${name}\` is ${expected.has(name) ? 'not as Proctor makes it' : 'not ours'}`],
  );
  return [...missing, ...other];
}

function schemaOf(connection: Connection): Map<string, string | null> {
  const rows = connection.all<{ type: string; name: string; sql: string | null }>(
    'select type, name, sql from sqlite_schema',
  );
  return new Map(rows.map(({ type, name, sql }) => [`${type} ${name}`, sql]));
}

/** Before anything is read by its tables: pages that name each other over and over make a table without an end. */
function refuseDamagedPages(connection: Connection, file: string): void {
  const found = connection.get<{ quick_check: string }>('pragma quick_check(1)')?.quick_check;
  if (found !== 'ok')
    throw new ProctorError(
      'store_altered',
      `\`${file}\` is not a sound SQLite file: ${found?.replaceAll('\n', ' ') ?? 'it cannot be checked'}; get the bundle anew`,
    );
}

/** Tables with rows of the run. */
const OWNED = [
  'execution',
  'attempt',
  'evidence',
  'result',
  'event',
  'late_evidence',
  'outbox',
  'run_head',
  'budget',
  'correction',
];
/** Tables with rows that are checked by themselves. */
const HELD = ['run', 'snapshot', 'worker_session', 'artifact', 'bundle', 'meta'];
/** Tables of the gateway, and what a row of no run looks like. */
const GATEWAY: Readonly<Record<string, string>> = {
  tool_run: 'stream not in (select run_no from run)',
  approval: 'tool_run_no not in (select tool_run_no from tool_run)',
  tool_delivery: 'tool_run_no not in (select tool_run_no from tool_run)',
  gateway_head: 'stream not in (select run_no from run)',
  gateway_event: 'stream not in (select run_no from run)',
};

/** Rows that belong to no run of the bundle, and tables that a bundle has no rows in. */
export function strayRows(connection: Connection): string[] {
  const count = (sql: string) => connection.get<{ n: number }>(`select count(*) as n from ${sql}`)?.n ?? 0;
  const tables = connection
    .all<{ name: string }>(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name",
    )
    .map(({ name }) => name);
  // Default deny: a table that a bundle does not write has no rows.
  const here = tables.filter((table) => Object.hasOwn(GATEWAY, table)); // bundles of older Proctors have none of them
  const empty = tables.filter((table) => !OWNED.includes(table) && !HELD.includes(table) && !here.includes(table));
  return [
    ...empty.flatMap((table) => (count(table) > 0 ? [`table \`${table}\` has rows; a bundle has none there`] : [])),
    ...OWNED.flatMap((table) =>
      count(`${table} where run_no not in (select run_no from run)`) > 0
        ? [`table \`${table}\` has rows of no run`]
        : [],
    ),
    ...(count('snapshot where digest not in (select snapshot_digest from run)') > 0
      ? ['table `snapshot` has a snapshot of no run']
      : []),
    ...(count('worker_session where session_no not in (select session_no from attempt)') > 0
      ? ['table `worker_session` has a session of no attempt']
      : []),
    ...(count(
      "worker_session where worker <> '' or host <> '' or boot_id <> '' or pid <> 0 or process_start <> '' or started_at <> 0 or last_seen_at <> 0 or ended_at is not null",
    ) > 0
      ? ['table `worker_session` names a worker; sessions of a bundle have none']
      : []),
    ...(count("meta where key <> 'last_now' or value <> 0") > 0
      ? ['table `meta` has other rows than Proctor writes']
      : []),
    ...here.flatMap((table) =>
      count(`${table} where ${GATEWAY[table]}`) > 0 ? [`table \`${table}\` has rows of no run`] : [],
    ),
    ...(count('budget where highest <> 0 or answers <> 0') > 0
      ? ['table `budget` counts; a bundle has caps only']
      : []),
  ];
}

function artifactsIn(connection: Connection, file: string, read: <T>(query: () => T) => Promise<T>): ArtifactStore {
  return {
    location: file,
    put: async () => {
      throw new ProctorError('illegal_transition', `\`${file}\` is a bundle and is only read`);
    },
    get: async (digest) => {
      const row = await read(() =>
        connection.get<{ body: Uint8Array }>('select body from artifact where digest = ?', digest),
      );
      if (row === undefined) throw new ProctorError('artifact_missing', `artifact ${digest} is missing in \`${file}\``);
      const found = digestBytes(row.body);
      if (found === digest) return Buffer.from(row.body);
      throw new ProctorError(
        'artifact_corrupt',
        `artifact ${digest} in \`${file}\` was altered: its digest is ${found}`,
      );
    },
  };
}
