import { readSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { BundleSeal } from '../../contract/bundle.ts';
import { type Columns, columnsOf, headLine, lineOf, MOST_PAGE_BYTES, PageBytes, rowLine } from './bundle-format.ts';
import { type BundleLine, BundleLines } from './bundle-lines.ts';
import { type BundleValue, handRows } from './bundle-rows.ts';
import { bundleSchema } from './bundle-schema.ts';
import { Connection } from './connection.ts';
import { Keys } from './keys.ts';
import { SCHEMA_VERSION } from './migrate.ts';
import { runReaders } from './run-readers.ts';

const FIRST_SCHEMA = 4; // of a bundle of format 2

/** Where the bytes of an artifact stand in the file. */
export interface BodyPlace {
  readonly offset: number;
  readonly bytes: number;
}

/** A bundle of format 2 as loaded: its rows in a database of our own making, its artifacts left in the file. */
export interface LoadedBundle {
  readonly connection: Connection;
  readonly bodies: ReadonlyMap<string, BodyPlace>;
  readonly seal: BundleSeal;
  readonly schema: number;
  /** SHA-256 of every byte before the last line, which is what the statement must name. */
  readonly file_digest: string;
  /** Where the last line begins. */
  readonly end: number;
}

/** Reads a whole bundle of format 2; throws `store_altered` at the first line that is not as Proctor writes it. */
export function loadBundle(file: number, shown: string): LoadedBundle {
  const lines = new BundleLines(file, shown);
  const schema = schemaOf(lines);
  // A name that is empty is a database in a temporary file: it is as large as the bundle is and leaves with the connection.
  const db = new DatabaseSync('', { enableForeignKeyConstraints: false });
  try {
    db.exec(
      'pragma journal_mode = off; pragma synchronous = off; pragma trusted_schema = off; pragma cache_size = -16000',
    );
    db.exec(`${bundleSchema()}; begin`);
    const connection = new Connection(db);
    const rest = readLines(lines, connection, columnsOf(schema));
    db.exec('commit');
    return { connection, schema, ...rest };
  } catch (error) {
    db.close();
    throw error;
  }
}

function schemaOf(lines: BundleLines): number {
  const head = lines.next();
  const schema = head?.members['schema'];
  if (head?.kind !== 'proctor/bundle/2' || typeof schema !== 'number' || Object.keys(head.members).length !== 1)
    throw lines.broken('it is not the first line of a bundle');
  if (!Number.isInteger(schema) || schema < FIRST_SCHEMA || schema > SCHEMA_VERSION)
    throw lines.broken(
      `the bundle has schema ${schema}, this Proctor reads ${FIRST_SCHEMA} to ${SCHEMA_VERSION}; a newer Proctor may read it`,
    );
  return schema;
}

function readLines(lines: BundleLines, connection: Connection, columns: Columns) {
  const bodies = new Map<string, BodyPlace>();
  const pages = new PageBytes();
  for (;;) {
    const end = lines.offset;
    const line = lines.next();
    if (line === null) throw lines.broken('the file ends without a statement');
    if (line.kind === 'bundle') {
      const seal = sealOf(lines, line);
      if (lines.next() !== null) throw lines.broken('the file goes on after the statement');
      return { bodies, seal, file_digest: line.digest_before, end };
    }
    if (line.kind === 'artifact') takeBody(lines, line, bodies);
    else {
      if (pages.add(line.kind, line.members, lines.offset - end) > MOST_PAGE_BYTES)
        throw lines.broken(
          `rows of \`${line.kind.slice(0, 60)}\` that are read together take more than ${MOST_PAGE_BYTES} bytes`,
        );
      insert(lines, connection, columns, line);
    }
  }
}

function takeBody(lines: BundleLines, { members }: BundleLine, bodies: Map<string, BodyPlace>): void {
  const { digest, bytes } = members;
  if (typeof digest !== 'string' || typeof bytes !== 'number')
    throw lines.broken('it does not name an artifact and its length');
  if (bodies.has(digest)) throw lines.broken(`the bundle holds artifact ${digest} twice`);
  const found = lines.body(bytes);
  if (found.digest !== digest) throw lines.broken(`artifact ${digest} was altered: its digest is ${found.digest}`);
  bodies.set(digest, { offset: found.offset, bytes });
}

function insert(lines: BundleLines, connection: Connection, columns: Columns, { kind, members }: BundleLine): void {
  const known = columns.get(kind);
  const names = Object.keys(members);
  // What stands in the statement below is a name of ours, never a text of the file.
  if (known === undefined || kind === 'migration')
    throw lines.broken(`\`${kind.slice(0, 60)}\` is not a table of a bundle`);
  const strange = names.find((name) => !known.has(name));
  if (strange !== undefined) throw lines.broken(`\`${kind}\` has no column \`${strange.slice(0, 60)}\``);
  try {
    const places = names.map(() => '?').join(', ');
    connection.run(`insert into ${kind} (${names.join(', ')}) values (${places})`, ...Object.values(members));
  } catch (error) {
    throw lines.broken(`the row cannot be read: ${(error as Error).message}`);
  }
}

function sealOf(lines: BundleLines, { members }: BundleLine): BundleSeal {
  const { statement, signature, public_key, ...others } = members;
  const text = (value: BundleValue | undefined): value is string | null => value === null || typeof value === 'string';
  if (typeof statement !== 'string' || !text(signature) || !text(public_key) || Object.keys(others).length > 0)
    throw lines.broken('it is not a statement');
  return { statement, signature, public_key };
}

/**
 * What keeps the file from being, byte for byte, the one that Proctor writes for the rows that were read from it: rows in another order, rows
 * that nothing reaches, columns that are not its own.
 */
export async function rewriteProblems(file: number, loaded: LoadedBundle): Promise<string[]> {
  const { connection, bodies, schema, end } = loaded;
  const [run_id, more] = connection.all<{ run_id: string }>('select run_id from run order by run_no limit 2');
  if (run_id === undefined || more !== undefined) return []; // told by the count of runs
  const store = runReaders(connection, new Keys(connection), async (query) => query());
  const run = await store.run(run_id.run_id);
  if (run === null) return [];
  const compared = new Comparison(file);
  const columns = columnsOf(schema);
  compared.line(headLine(schema));
  await handRows({ store, run }, (table, row) => compared.line(rowLine(columns, table, row)));
  for (const [digest, { bytes }] of [...bodies].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    compared.line(lineOf('artifact', { bytes, digest }));
    compared.skip(bytes + 1);
  }
  return compared.differs(end)
    ? [`the file is not what Proctor writes for its rows, from byte ${compared.sound} on`]
    : [];
}

/** Holds what would be written against what stands in the file, up to the first difference. */
class Comparison {
  readonly #file: number;
  #offset = 0;
  #differs = false;

  constructor(file: number) {
    this.#file = file;
  }

  /** How far both are the same, to the line. */
  get sound(): number {
    return this.#offset;
  }

  line(text: string): void {
    if (this.#differs) return;
    const wanted = Buffer.from(text);
    const found = Buffer.allocUnsafe(wanted.length);
    const read = readSync(this.#file, found, 0, found.length, this.#offset);
    if (read === wanted.length && found.equals(wanted)) this.#offset += wanted.length;
    else this.#differs = true;
  }

  skip(bytes: number): void {
    if (!this.#differs) this.#offset += bytes;
  }

  differs(end: number): boolean {
    return this.#differs || this.#offset !== end;
  }
}
