import { DatabaseSync } from 'node:sqlite';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { BundleValue } from './bundle-rows.ts';
import { bundleSchema } from './bundle-schema.ts';

/**
 * Format 2 of a bundle: lines of canonical JSON, so that nothing in the file is free to differ.
 *
 *     ["proctor/bundle/2",{"schema":4}]
 *     ["run",{"base_dir":"…",…}]                    a row, its members in order; tables and rows in the order of `handRows`
 *     ["artifact",{"bytes":5,"digest":"…"}]         followed by so many raw bytes and a newline; in the order of the digests
 *     ["bundle",{"public_key":…,"signature":…,"statement":"…"}]
 *
 * The statement names the SHA-256 of every byte before its line, and the line is the last.
 */
export const FORMAT_MARK = '["proctor/bundle/2",';

/** Most bytes of a line, and of an artifact that a bundle carries: all that is read from it at once. */
export const MOST_LINE_BYTES = 16 * 1024 * 1024;
export const MOST_BODY_BYTES = 32 * 1024 * 1024;

/** Most bytes of the rows that a reader holds together, and how many those are. */
export const MOST_PAGE_BYTES = 32 * 1024 * 1024;
export const PAGE_ROWS = 100;

/** Tables that are read by the page, those with executions by a hundred executions; the rows of others are read at once. */
const PAGED = new Set(['event', 'late_evidence', 'tool_run', 'approval', 'gateway_event', 'worker_session']);

/** Counts the bytes of rows that are read together. */
export class PageBytes {
  readonly #rows = new Map<string, { count: number; page: number; bytes: number }>();

  /** Bytes of the row's page with it. */
  add(table: string, row: Readonly<Record<string, BundleValue>>, bytes: number): number {
    const known = this.#rows.get(table) ?? { count: 0, page: 0, bytes: 0 };
    const ordinal = row['ordinal'];
    const place = PAGED.has(table) ? known.count : typeof ordinal === 'number' ? ordinal : 0;
    const page = table === 'correction' ? 0 : Math.floor(place / PAGE_ROWS);
    if (page < known.page) return Number.POSITIVE_INFINITY; // never in the order that bundles have
    const next = { count: known.count + 1, page, bytes: (page === known.page ? known.bytes : 0) + bytes };
    this.#rows.set(table, next);
    return next.bytes;
  }
}

/** The first line of a bundle with rows of this schema. */
export function headLine(schema: number): string {
  return lineOf('proctor/bundle/2', { schema });
}

/** One line, with its newline. */
export function lineOf(kind: string, members: Readonly<Record<string, unknown>>): string {
  return `${canonicalJson([kind, members])}\n`;
}

/** The columns that rows of a schema have, by table. */
export type Columns = ReadonlyMap<string, ReadonlySet<string>>;

/** The tables and columns of a store's schema. */
export function columnsOf(schema: number): Columns {
  const db = new DatabaseSync(':memory:');
  try {
    db.exec(bundleSchema(schema));
    const tables = db.prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'").all();
    return new Map(
      tables.map(({ name }) => {
        const columns = db.prepare('select name from pragma_table_info(?)').all(name as string);
        return [name as string, new Set(columns.map((column) => column['name'] as string))];
      }),
    );
  } finally {
    db.close();
  }
}

/** Makes the line of a row, with the columns that the schema has: a newer store has more of them. */
export function rowLines(columns: Columns): (table: string, row: Readonly<Record<string, BundleValue>>) => string {
  const sorted = new Map([...columns].map(([table, names]) => [table, [...names].sort()]));
  return (table, row) => {
    // Made in order, so that it need not be sorted row by row; a column that the row does not have is left out.
    const members: Record<string, BundleValue | undefined> = {};
    for (const name of sorted.get(table) ?? []) members[name] = row[name];
    return lineOf(table, members);
  };
}
