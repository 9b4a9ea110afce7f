import { readSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { BundleSeal } from '../../contract/bundle.ts';
import { ProctorError } from '../../contract/problem.ts';
import { type Columns, columnsOf, headLine, lineOf, MOST_PAGE_BYTES, PageBytes, rowLines } from './bundle-format.ts';
import { type BundleLine, BundleLines } from './bundle-lines.ts';
import { type BundleValue, handRows } from './bundle-rows.ts';
import { bundleSchema } from './bundle-schema.ts';
import { Connection, isFull } from './connection.ts';
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
  const rows = new Inserter(lines, connection, columns);
  for (;;) {
    const end = lines.offset;
    const line = lines.next();
    if (line === null) throw lines.broken('the file ends without a statement');
    if (line.kind === 'bundle') {
      const seal = sealOf(lines, line);
      const file_digest = lines.digestBefore();
      if (lines.next() !== null) throw lines.broken('the file goes on after the statement');
      return { bodies, seal, file_digest, end };
    }
    if (line.kind === 'artifact') takeBody(lines, line, bodies);
    else {
      if (pages.add(line.kind, line.members, lines.offset - end) > MOST_PAGE_BYTES)
        throw lines.broken(
          `rows of \`${line.kind.slice(0, 60)}\` that are read together take more than ${MOST_PAGE_BYTES} bytes`,
        );
      rows.insert(line);
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

/** Inserts rows; the rows of a table nearly always have the same columns, so their statement is at hand. */
class Inserter {
  readonly #lines: BundleLines;
  readonly #connection: Connection;
  readonly #columns: Columns;
  #executions = 0;
  #events = 0;
  readonly #statements = new Map<string, { readonly names: readonly string[]; readonly statement: StatementSync }>();

  constructor(lines: BundleLines, connection: Connection, columns: Columns) {
    this.#lines = lines;
    this.#connection = connection;
    this.#columns = columns;
  }

  insert({ kind, members }: BundleLine): void {
    this.#within(kind, members);
    const names = Object.keys(members);
    let ready = this.#statements.get(kind);
    if (ready === undefined || !sameNames(ready.names, names)) {
      ready = { names, statement: this.#prepare(kind, names) };
      this.#statements.set(kind, ready);
    }
    try {
      ready.statement.run(...Object.values(members));
    } catch (error) {
      if (isFull(error)) throw noRoom(error);
      throw this.#lines.broken(`the row cannot be read: ${(error as Error).message}`);
    }
  }

  /** Rows that the run has no place for end the reading at once: there could be millions of them. */
  #within(kind: string, members: BundleLine['members']): void {
    const { ordinal, seq, materialized, event_count } = members;
    if (kind === 'run') this.#executions = Number(materialized);
    if (kind === 'run_head') this.#events = Number(event_count);
    if (typeof ordinal === 'number' && !(ordinal >= 0 && ordinal < this.#executions))
      throw this.#lines.broken(`it belongs to execution ${ordinal}, and the run has ${this.#executions}`);
    if (kind === 'event' && !(Number(seq) <= this.#events))
      throw this.#lines.broken(`it is event ${seq}, and the run has ${this.#events}`);
  }

  /** What stands in the statement is a name of ours, never a text of the file. */
  #prepare(kind: string, names: readonly string[]): StatementSync {
    const known = this.#columns.get(kind);
    if (known === undefined || kind === 'migration')
      throw this.#lines.broken(`\`${kind.slice(0, 60)}\` is not a table of a bundle`);
    const strange = names.find((name) => !known.has(name));
    if (strange !== undefined) throw this.#lines.broken(`\`${kind}\` has no column \`${strange.slice(0, 60)}\``);
    const places = names.map(() => '?').join(', ');
    try {
      return this.#connection.db.prepare(`insert into ${kind} (${names.join(', ')}) values (${places})`);
    } catch (error) {
      throw this.#lines.broken(`the row cannot be read: ${(error as Error).message}`);
    }
  }
}

function noRoom(cause: unknown): ProctorError {
  return new ProctorError(
    'store_full',
    'the disk that holds temporary files is full: the rows of a bundle are read into one; free some room, or let `SQLITE_TMPDIR` name a folder on another disk',
    { cause },
  );
}

function sameNames(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, place) => name === other[place]);
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
  const rowLine = rowLines(columnsOf(schema));
  compared.line(headLine(schema));
  await handRows({ store, run }, (table, row) => {
    if (!compared.stopped) compared.line(rowLine(table, row));
  });
  for (const [digest, { bytes }] of [...bodies].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    compared.line(lineOf('artifact', { bytes, digest }));
    compared.skip(bytes + 1);
  }
  return compared.differs(end)
    ? [`the file is not what Proctor writes for its rows, from byte ${compared.sound} on`]
    : [];
}

const COMPARED_BYTES = 1024 * 1024;

/** Holds what would be written against what stands in the file, up to the first difference. */
class Comparison {
  readonly #file: number;
  #held = Buffer.alloc(0);
  #from = 0;
  #offset = 0;
  #differs = false;

  constructor(file: number) {
    this.#file = file;
  }

  /** How far both are the same, to the line. */
  get sound(): number {
    return this.#offset;
  }

  get stopped(): boolean {
    return this.#differs;
  }

  line(text: string): void {
    if (this.#differs) return;
    const wanted = Buffer.from(text);
    if (this.#found(wanted.length).equals(wanted)) this.#offset += wanted.length;
    else this.#differs = true;
  }

  skip(bytes: number): void {
    if (!this.#differs) this.#offset += bytes;
  }

  differs(end: number): boolean {
    return this.#differs || this.#offset !== end;
  }

  /** So many bytes of the file from where both are the same; fewer at its end. */
  #found(length: number): Buffer {
    if (this.#offset < this.#from || this.#offset + length > this.#from + this.#held.length) {
      const buffer = Buffer.allocUnsafe(Math.max(COMPARED_BYTES, length));
      this.#held = buffer.subarray(0, readSync(this.#file, buffer, 0, buffer.length, this.#offset));
      this.#from = this.#offset;
    }
    const at = this.#offset - this.#from;
    return this.#held.subarray(at, at + length);
  }
}
