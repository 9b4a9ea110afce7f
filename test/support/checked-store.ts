import { copyFileSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { exporterOf } from '../../src/adapters/exporters/index.ts';
import { openArtifactFolder } from '../../src/artifacts/folder.ts';
import type { RunRow, Store } from '../../src/contract/store.ts';
import { sealRun } from '../../src/engine/bundle.ts';
import { compareRuns } from '../../src/engine/compare.ts';
import { describeRun } from '../../src/engine/describe.ts';
import { describeExecutions } from '../../src/engine/describe-executions.ts';
import { viewRun } from '../../src/engine/run-view.ts';
import { verifyRun } from '../../src/engine/verify/verify-run.ts';
import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { CheckedProject } from './checked-project.ts';
import { type Column, columnsOf, type TableRow, type Tamper } from './tampered-store.ts';

/** Alters copies of a project's store and asks each check what it finds. */
export class CheckedStore {
  readonly #project: CheckedProject;
  readonly #file: string;

  constructor(project: CheckedProject, file: string) {
    this.#project = project;
    this.#file = file;
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

  /** What `verify` finds in a run of an altered copy; a run that is gone is found too. */
  async verify(tamper: Tamper, { run_id }: RunRow = this.#project.completed): Promise<readonly string[]> {
    return await this.#altered(tamper, async (store) => {
      const run = await store.run(run_id);
      if (run === null) return ['the run is gone'];
      const { found } = await verifyRun(this.#deps(store), run, null);
      return found.map(({ where, what }) => `${where}: ${what}`);
    });
  }

  /** What `doctor --verify` finds in an altered copy. */
  async doctor(tamper: Tamper): Promise<readonly string[]> {
    return await this.#altered(tamper, async (store) =>
      (await store.invariants()).map(({ invariant, example }) => `${invariant}: ${example}`),
    );
  }

  /** Whether an altered copy is opened. */
  async opens(tamper: Tamper): Promise<boolean> {
    return await this.#altered(tamper, () => Promise.resolve(true)).catch(() => false);
  }

  /** Everything that people and machines are told of the completed run: document, executions, exports, comparison, checks, what a bundle states. */
  async told(tamper: Tamper): Promise<string> {
    return await this.#altered(tamper, async (store) => {
      const { completed, other } = this.#project;
      const deps = this.#deps(store);
      const run = (await store.run(completed.run_id)) ?? completed;
      const view = await viewRun(store, run);
      const exported = { run: await describeRun(store, run, view), executions: () => describeExecutions(deps, view) };
      const texts: string[] = [];
      for (const format of ['junit', 'jsonl', 'csv', 'html', 'annotations'])
        for await (const part of exporterOf(format).write(exported)) texts.push(part);
      return canonicalJson({
        run,
        document: await describeRun(store, run),
        texts: texts.join(''),
        compared: await compareRuns(deps, other, run),
        verified: await verifyRun(deps, run, null),
        sealed: (await sealRun(deps, run, null)).seal('f'.repeat(64)).statement,
        baseline: await store.blessed('checked'),
      } as unknown as Parameters<typeof canonicalJson>[0]);
    });
  }

  async #altered<T>(tamper: Tamper, look: (store: Store) => Promise<T>): Promise<T> {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${this.#file}${suffix}`, { force: true });
    copyFileSync(this.#project.store, this.#file);
    const db = new DatabaseSync(this.#file, { enableForeignKeyConstraints: false });
    try {
      db.exec('pragma ignore_check_constraints = on; pragma synchronous = off; begin');
      tamper(db);
      db.exec('commit');
    } finally {
      db.close();
    }
    const store = openSqliteStore({ path: this.#file });
    try {
      return await look(store);
    } finally {
      await store.close();
    }
  }

  #deps(store: Store) {
    return { store, artifacts: openArtifactFolder(this.#project.artifacts) };
  }
}

/** Every table of a store. */
export function tablesOf(db: DatabaseSync): string[] {
  return db
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name")
    .all()
    .map(({ name }) => String(name));
}

/** Rows that belong to the run: those of a table with its number or its calls, else all. */
export function rowsOfRun(db: DatabaseSync, table: string, runNo: number): TableRow[] {
  const names = columnsOf(db, table).map(({ name }) => name);
  const calls = '(select tool_run_no from tool_run where stream = ?1)';
  const where = names.includes('run_no')
    ? 'run_no = ?1'
    : names.includes('stream')
      ? 'stream = ?1'
      : names.includes('tool_run_no')
        ? `tool_run_no in ${calls}`
        : names.includes('snapshot_digest') || table === 'snapshot'
          ? 'digest = (select snapshot_digest from run where run_no = ?1)'
          : table === 'worker_session'
            ? 'session_no in (select session_no from attempt where run_no = ?1)'
            : '?1 is not null';
  return db.prepare(`select * from ${table} where ${where}`).all(runNo) as TableRow[];
}

/** A copy of a row that collides with none: the last column of every key is another. */
export function copyOf(db: DatabaseSync, table: string, row: TableRow): TableRow {
  const columns = new Map(columnsOf(db, table).map((column) => [column.name, column]));
  const copy = { ...row };
  for (const name of keysOf(db, table, [...columns.values()])) {
    const value = row[name];
    if (value === null || value === undefined) continue;
    copy[name] = columns.get(name)?.type === 'INTEGER' ? Number(value) + 1_000 : `${String(value)}x`;
  }
  return copy;
}

function keysOf(db: DatabaseSync, table: string, columns: readonly Column[]): Set<string> {
  const primary = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => b.pk - a.pk)[0]?.name;
  const unique = db.prepare(`select name from pragma_index_list('${table}') where "unique" = 1`).all();
  const last = unique.map(({ name }) =>
    String(
      db.prepare(`select name from pragma_index_info('${String(name)}') order by seqno desc limit 1`).get()?.['name'],
    ),
  );
  return new Set([...(primary === undefined ? [] : [primary]), ...last]);
}
