import { closeSync, readSync } from 'node:fs';
import { ProctorError } from '../../contract/problem.ts';
import { openRegularSync } from '../../lib/regular-file.ts';
import { MOST_BODY_BYTES, MOST_LINE_BYTES, MOST_PAGE_BYTES, PAGE_ROWS } from './bundle-format.ts';
import type { Connection } from './connection.ts';

const PAGE_SIZE = 4096; // what Proctor wrote with
const HEADER = 100;
const LEAF = 0x0d;
const INTERIOR = 0x05;
const MOST_LEAVES = 64;
const MOST_DEFINITION = 16 * 1024;

/**
 * Refuses a file of format 1 whose schema is far from Proctor's in size, before SQLite reads it: a schema is read as a whole, a million tables
 * take gigabytes. Proctor's has a few leaves under one page.
 */
export function refuseLargeSchema(file: string): void {
  const handle = openRegularSync(file);
  try {
    const page = (number: number) => {
      const bytes = Buffer.alloc(PAGE_SIZE);
      if (number > 0) readSync(handle, bytes, 0, PAGE_SIZE, (number - 1) * PAGE_SIZE); // there is no page 0: no leaf either
      return bytes;
    };
    const first = page(1);
    const leaves = first[HEADER] === INTERIOR ? childrenOf(first).map(page) : [first];
    const sound =
      first.readUInt16BE(16) === PAGE_SIZE &&
      leaves.length <= MOST_LEAVES &&
      leaves.every((leaf, index) =>
        isSmallLeaf(leaf, leaves.length === 1 && index === 0 && leaf === first ? HEADER : 0),
      );
    if (!sound)
      throw new ProctorError(
        'store_altered',
        `\`${file}\` is not a bundle that Proctor made: its schema is not one that Proctor makes`,
      );
  } finally {
    closeSync(handle);
  }
}

function childrenOf(page: Buffer): number[] {
  const cells = Math.min(page.readUInt16BE(HEADER + 3), MOST_LEAVES + 1);
  const children = Array.from({ length: cells }, (_, index) => {
    const at = page.readUInt16BE(HEADER + 12 + 2 * index);
    return at + 4 <= PAGE_SIZE ? page.readUInt32BE(at) : 0;
  });
  return [...children, page.readUInt32BE(HEADER + 8)];
}

/** A leaf whose definitions are short. */
function isSmallLeaf(page: Buffer, header: number): boolean {
  if (page[header] !== LEAF) return false;
  const cells = page.readUInt16BE(header + 3);
  if (header + 8 + 2 * cells > PAGE_SIZE) return false;
  return Array.from({ length: cells }, (_, index) => page.readUInt16BE(header + 8 + 2 * index)).every(
    (at) => at + 9 <= PAGE_SIZE && lengthAt(page, at) <= MOST_DEFINITION,
  );
}

/** A number of variable length, as SQLite writes it. */
function lengthAt(page: Buffer, start: number): number {
  let value = 0;
  for (let at = start; at < start + 8; at += 1) {
    const byte = page[at] ?? 0;
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) break;
  }
  return value;
}

/** Rows that are read together, by the expression that says which. */
const PAGES: Readonly<Record<string, string>> = {
  attempt: `ordinal / ${PAGE_ROWS}`,
  evidence: `ordinal / ${PAGE_ROWS}`,
  execution: `ordinal / ${PAGE_ROWS}`,
  result: `ordinal / ${PAGE_ROWS}`,
  event: `seq / ${PAGE_ROWS}`,
  late_evidence: `late_seq / ${PAGE_ROWS}`,
  gateway_event: `seq / ${PAGE_ROWS}`,
};

/** Refuses rows and bodies that would fill the memory when they are read; their lengths are known without reading them. */
export function refuseLargeRows(connection: Connection, file: string): void {
  const refuse = (table: string, bytes: number) => {
    throw new ProctorError(
      'store_altered',
      `\`${file}\` is not a bundle that Proctor made: \`${table}\` would need ${bytes} bytes of memory at once`,
    );
  };
  const tables = connection.all<{ name: string }>(
    "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'",
  );
  for (const { name: table } of tables) {
    const columns = connection.all<{ name: string }>('select name from pragma_table_info(?)', table);
    const length = columns.map(({ name }) => `coalesce(octet_length("${name}"), 0)`).join(' + ');
    const largest = connection.get<{ n: number | null }>(`select max(${length}) as n from ${table}`)?.n ?? 0;
    if (largest > (table === 'artifact' ? MOST_BODY_BYTES + 64 : MOST_LINE_BYTES)) refuse(table, largest);
    const page = PAGES[table];
    if (page === undefined) continue;
    const together = connection.get<{ n: number | null }>(
      `select max(n) as n from (select sum(${length}) as n from ${table} group by ${page})`,
    );
    if ((together?.n ?? 0) > MOST_PAGE_BYTES) refuse(table, together?.n ?? 0);
  }
}
