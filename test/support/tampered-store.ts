import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { openArtifactFolder } from '../../src/artifacts/folder.ts';
import type { RunRow } from '../../src/contract/store.ts';
import { type Verification, verifyRun } from '../../src/engine/verify/verify-run.ts';
import { digestBytes } from '../../src/lib/canonical-json.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { TamperedProject } from './tampered-run.ts';

/** A row of a table, by column. */
export type TableRow = Record<string, SQLInputValue>;

/** What somebody did to a store file that lies still, its triggers dropped. */
export type Tamper = (db: DatabaseSync) => void;

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
}

/** Alters copies of a project and verifies them. */
export class Tampering {
  readonly #project: TamperedProject;
  readonly #file: string;
  readonly #folder: string;

  constructor(project: TamperedProject) {
    this.#project = project;
    this.#folder = path.join(project.folder, 'tampered');
    mkdirSync(this.#folder, { recursive: true });
    this.#file = path.join(this.#folder, 'proctor.db');
  }

  /** Reads the untouched store. */
  read<T>(query: (db: DatabaseSync) => T): T {
    const db = new DatabaseSync(this.#project.store, { readOnly: true });
    try {
      return query(db);
    } finally {
      db.close();
    }
  }

  /** Verifies a run of an altered copy; the run is found by its row, whatever id it has by then. */
  async verify(run: RunRow, tamper: Tamper, expect: string | null = null): Promise<Verification> {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${this.#file}${suffix}`, { force: true });
    copyFileSync(this.#project.store, this.#file);
    const runNo = this.read((db) => runNoOf(db, run.run_id));
    const runId = this.#alter(tamper, runNo) ?? run.run_id;
    const store = openSqliteStore({ path: this.#file });
    try {
      const row = await store.run(runId);
      if (row === null) throw new Error(`run ${runId} is gone`);
      return await verifyRun({ store, artifacts: openArtifactFolder(this.#project.artifacts) }, row, expect);
    } finally {
      await store.close();
    }
  }

  /** Verifies a run while one artifact's file is changed by `change`; null deletes it. */
  async withArtifact(run: RunRow, digest: string, change: (bytes: Buffer) => Buffer | null): Promise<Verification> {
    const file = this.artifactFile(digest);
    const bytes = readFileSync(file);
    const changed = change(Buffer.from(bytes));
    if (changed === null) rmSync(file);
    else writeFileSync(file, changed);
    try {
      return await this.verify(run, () => undefined);
    } finally {
      writeFileSync(file, bytes);
    }
  }

  /** Adds an artifact under its right name; answers the name. */
  putArtifact(text: string): string {
    const digest = digestBytes(text);
    mkdirSync(path.dirname(this.artifactFile(digest)), { recursive: true });
    writeFileSync(this.artifactFile(digest), text);
    return digest;
  }

  artifactFile(digest: string): string {
    return path.join(this.#project.artifacts, digest.slice(0, 2), digest.slice(2));
  }

  #alter(tamper: Tamper, runNo: number): string | undefined {
    const db = new DatabaseSync(this.#file, { enableForeignKeyConstraints: false });
    try {
      db.exec('pragma ignore_check_constraints = on; pragma synchronous = off; begin');
      tamper(db);
      db.exec('commit');
      const row = db.prepare('select run_id from run where run_no = ?').get(runNo);
      return row?.['run_id'] as string | undefined;
    } finally {
      db.close();
    }
  }
}

export function runNoOf(db: DatabaseSync, runId: string): number {
  const row = db.prepare('select run_no from run where run_id = ?').get(runId);
  return row?.['run_no'] as number;
}

/** The columns of a table, from the schema. */
export function columnsOf(db: DatabaseSync, table: string): Column[] {
  return db.prepare(`select name, type, "notnull", pk from pragma_table_info('${table}')`).all() as unknown as Column[];
}

/** Rows of a table in key order. */
export function rowsOf(db: DatabaseSync, table: string, where: string): TableRow[] {
  const key = columnsOf(db, table)
    .filter((column) => column.pk > 0)
    .map((column) => column.name);
  return db.prepare(`select * from ${table} where ${where} order by ${key.join(', ')}`).all() as TableRow[];
}

export function removeRow(db: DatabaseSync, table: string, row: TableRow): void {
  const key = columnsOf(db, table).filter((column) => column.pk > 0);
  const where = key.map((column) => `${column.name} = ?`).join(' and ');
  const removed = db
    .prepare(`delete from ${table} where ${where}`)
    .run(...key.map((column) => row[column.name] ?? null));
  if (removed.changes !== 1) throw new Error(`${removed.changes} rows of ${table} were removed`);
}

export function addRow(db: DatabaseSync, table: string, row: TableRow): void {
  const names = Object.keys(row);
  const marks = names.map(() => '?').join(', ');
  db.prepare(`insert into ${table} (${names.join(', ')}) values (${marks})`).run(...Object.values(row));
}

/** Puts a row in another's place. */
export function replaceRow(db: DatabaseSync, table: string, row: TableRow, by: TableRow): void {
  removeRow(db, table, row);
  addRow(db, table, by);
}
