import type { DatabaseSync } from 'node:sqlite';
import { journalHash } from '../../core/evidence.ts';
import { eventBody } from '../../core/gateway-replay.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Connection } from './connection.ts';
import type { Transaction } from './transaction.ts';

/** An entry as it lies in the file. */
interface Entry {
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly body: string;
  readonly hash: string;
}

/** Rows that the journal tells of: what is theirs for ever, and the instant at which they were made. */
interface Journaled {
  readonly type: string;
  readonly table: string;
  /** Answers each row as its entry has it: `at`, then the members of the body; `no` is its key. */
  readonly rows: string;
}

const JOURNALED: readonly Journaled[] = [
  { type: 'run_created', table: 'run', rows: 'select created_at as at, run_no as no, run_id from run' },
  {
    type: 'session_opened',
    table: 'worker_session',
    rows: 'select started_at as at, session_no as no, session_id, worker, host, boot_id, pid, process_start, role from worker_session',
  },
  {
    type: 'run_blessed',
    table: 'blessing',
    rows: 'select b.blessed_at as at, b.blessing_no as no, b.profile_id, r.run_id, b.blessed_by from blessing b left join run r on r.run_no = b.run_no',
  },
];

type Row = { readonly at: number; readonly no: number } & Readonly<Record<string, unknown>>;

/** What an entry tells of; `no` is the number of the row in its table. */
export type JournalBody = { readonly no: number } & Readonly<Record<string, string | number | null>>;

/** Adds an entry to the journal; a handful a run, none an execution. */
export function note(tx: Transaction, type: string, body: JournalBody): void {
  const last = tx.connection.get<{ seq: number; hash: string }>(
    'select seq, hash from journal order by seq desc limit 1',
  );
  const entry = { seq: (last?.seq ?? 0) + 1, type, at: tx.now, body: canonicalJson(body) };
  const hash = journalHash(last?.hash ?? '', entry);
  tx.connection.run(
    'insert into journal (seq, type, at, body, hash) values (?, ?, ?, ?, ?)',
    entry.seq,
    type,
    entry.at,
    entry.body,
    hash,
  );
}

/** Takes what a store held before it had a journal into it, in the order of time: from here on nothing of it can go or come unseen. */
export function openJournal(db: DatabaseSync): void {
  const found = JOURNALED.flatMap(({ type, rows }) =>
    (db.prepare(rows).all() as unknown as Row[]).map(({ at, ...body }) => ({ type, at, body: canonicalJson(body) })),
  ).toSorted((a, b) => a.at - b.at);
  const insert = db.prepare('insert into journal (seq, type, at, body, hash) values (?, ?, ?, ?, ?)');
  let previous = '';
  for (const [index, { type, at, body }] of found.entries()) {
    const seq = index + 1;
    previous = journalHash(previous, { seq, type, at, body });
    insert.run(seq, type, at, body, previous);
  }
}

/** Where runs, sessions and blessings are not what the journal tells of, and where the journal is not as it was chained; a sentence each. */
export function journalDifferences(connection: Connection): string[] {
  const entries = entriesOf(connection);
  const types = new Set(JOURNALED.map(({ type }) => type));
  const found: string[] = [];
  let last = { seq: 0, hash: '' };
  for (const entry of entries) {
    const { seq, type, hash } = entry;
    if (seq !== last.seq + 1) found.push(`journal: entry ${last.seq + 1} is missing, ${seq} is in its place`);
    else if (journalHash(last.hash, entry) !== hash)
      found.push(`journal: entry ${seq} (\`${type}\`) is not the one that was chained`);
    if (!types.has(type)) found.push(`journal: entry ${seq} has the unknown type \`${type}\``);
    last = { seq, hash };
  }
  return [...found, ...JOURNALED.flatMap((table) => tableDifferences(table, entries, connection.all<Row>(table.rows)))];
}

/** Where a run and its blessings are not what the journal tells of them, a sentence each. */
export function runJournalDifferences(connection: Connection, runId: string): string[] {
  const entries = entriesOf(connection).filter((entry) => eventBody(entry)?.['run_id'] === runId);
  return JOURNALED.filter(({ table }) => table !== 'worker_session').flatMap((table) =>
    tableDifferences(
      table,
      entries,
      connection.all<Row>(table.rows).filter((row) => row['run_id'] === runId),
    ),
  );
}

function entriesOf(connection: Connection): Entry[] {
  return connection.all<Entry & Record<string, unknown>>('select seq, type, at, body, hash from journal order by seq');
}

function tableDifferences({ type, table }: Journaled, entries: readonly Entry[], stored: readonly Row[]): string[] {
  const told = entries.flatMap((entry): Row[] =>
    entry.type === type ? [{ no: 0, ...eventBody(entry), at: entry.at }] : [],
  );
  const found: string[] = [];
  const rows = new Map(stored.map((row) => [row.no, row]));
  for (const entry of told) {
    const row = rows.get(entry.no);
    rows.delete(entry.no);
    if (row === undefined) found.push(`${table} ${nameOf(entry)}: the journal tells of it, its row is gone`);
    else {
      const column = Object.keys(row).find((name) => row[name] !== (entry[name] ?? null));
      if (column !== undefined)
        found.push(
          `${table} ${nameOf(entry)}: ${column} is \`${String(row[column])}\`, by the journal \`${String(entry[column] ?? null)}\``,
        );
    }
  }
  for (const row of rows.values()) found.push(`${table} ${nameOf(row)}: no entry of the journal tells of it`);
  return found;
}

function nameOf(row: Row): string {
  const { no, run_id, session_id, profile_id } = row;
  return String(profile_id ?? run_id ?? session_id ?? no);
}

/** What the journal tells last of a profile's blessings, as canonical JSON; null when it tells of none, or its entry is not chained to the one before. */
export function toldBlessing(connection: Connection, profileId: string): string | null {
  const entry = connection.get<Entry & Record<string, unknown>>(
    "select seq, type, at, body, hash from journal where type = 'run_blessed' and body ->> '$.profile_id' = ? order by seq desc limit 1",
    profileId,
  );
  if (entry === undefined) return null;
  const { seq, type, at, body, hash } = entry;
  const before = connection.get<{ hash: string }>('select hash from journal where seq = ?', seq - 1);
  const chained = journalHash(before?.hash ?? '', { seq, type, at, body }) === hash;
  return chained ? canonicalJson({ ...eventBody(entry), at }) : null;
}
