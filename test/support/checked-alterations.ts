import type { CheckedTable } from '../../src/store/sqlite/checked-columns.ts';
import type { CheckedProject } from './checked-project.ts';
import { type CheckedStore, copyOf, rowsOfRun } from './checked-store.ts';
import { addRow, columnsOf, removeRow, replaceRow, runNoOf, type TableRow, type Tamper } from './tampered-store.ts';
import { otherValues } from './tampered-values.ts';

/** What has to find an alteration: a command, one of two, the opening of the store, or nothing, because it decides nothing. */
export type Check = 'verify' | 'doctor' | 'either' | 'open' | 'nothing';

/** What was done to a store, and how. */
export interface Alteration {
  readonly name: string;
  readonly tamper: Tamper;
}

type Choice = <T>(list: readonly T[]) => T | undefined;
const first: Choice = (list) => list[0];

/** Columns of a table with what has to find each. */
export function entriesOf({ verify = [], doctor = [], open = [], nothing = {} }: CheckedTable): [string, Check][] {
  return [
    ...verify.map((column): [string, Check] => [column, 'verify']),
    ...doctor.map((column): [string, Check] => [column, 'doctor']),
    ...open.map((column): [string, Check] => [column, 'open']),
    ...Object.keys(nothing).map((column): [string, Check] => [column, 'nothing']),
  ];
}

/** What has to find a row of a table that is taken away or copied in. */
export function rowCheckOf({ rows }: CheckedTable): Check {
  return typeof rows === 'string' ? rows : 'nothing';
}

/** Alterations of a project's store, and whether each is found as the table of what is checked says. */
export class CheckedAlterations {
  readonly #project: CheckedProject;
  readonly #checked: CheckedStore;
  readonly #untouched: string;

  /** `untouched` is what is told of the store as it was left. */
  constructor(project: CheckedProject, checked: CheckedStore, untouched: string) {
    this.#project = project;
    this.#checked = checked;
    this.#untouched = untouched;
  }

  /** Why an alteration is not found as the table says; null when it is. */
  async unmet(check: Check, table: string, tamper: Tamper): Promise<string | null> {
    const checked = this.#checked;
    const owner = this.#ownerOf(table);
    switch (check) {
      case 'verify':
        return (await checked.verify(tamper, owner)).length > 0 ? null : 'verify finds nothing';
      case 'doctor':
        return (await checked.doctor(tamper)).length > 0 ? null : 'doctor --verify finds nothing';
      case 'either':
        return (await checked.verify(tamper, owner)).length + (await checked.doctor(tamper)).length > 0
          ? null
          : 'neither verify nor doctor --verify finds anything';
      case 'open':
        return (await checked.opens(tamper)) ? 'the store is opened' : null;
      case 'nothing':
        return (await checked.told(tamper)) === this.#untouched ? null : 'something is told differently';
    }
  }

  /** A cell with a value and one without, of the run's rows, each altered to every other value; `choose` picks the rows. */
  ofColumn(table: string, column: string, choose = first): Alteration[] {
    return this.#checked.read((db) => {
      const rows = this.#rows(db, table);
      const shape = columnsOf(db, table).find(({ name }) => name === column);
      if (shape === undefined) throw new Error(`${table} has no column ${column}`);
      const kinds = [rows.filter((row) => row[column] !== null), rows.filter((row) => row[column] === null)].map(
        choose,
      );
      return kinds.flatMap((row): Alteration[] => {
        if (row === undefined) return [];
        return otherValues(shape, row[column] ?? null).map((candidates) => ({
          name: `${table}.${column} ${String(row[column])} := ${String(candidates[0])}`.slice(0, 200),
          tamper: (altering) => replaceWith(altering, table, row, { column, candidates }),
        }));
      });
    });
  }

  /** The first and the last row of the run's, or those that are chosen, taken away and copied in. */
  ofRows(table: string, choose?: Choice): Alteration[] {
    return this.#checked.read((db) => {
      const rows = this.#rows(db, table);
      const picked = choose === undefined ? [rows[0], rows.at(-1)] : [choose(rows)];
      return [...new Set(picked)].flatMap((row): Alteration[] => {
        if (row === undefined) return [];
        const of = JSON.stringify(Object.values(row).slice(0, 4)).slice(0, 100);
        return [
          { name: `${table} loses a row ${of}`, tamper: (altering) => removeRow(altering, table, row) },
          {
            name: `${table} gains a copied row ${of}`,
            tamper: (altering) => addRow(altering, table, copyOf(altering, table, row)),
          },
        ];
      });
    });
  }

  #rows(db: Parameters<Tamper>[0], table: string): TableRow[] {
    const rows = rowsOfRun(db, table, runNoOf(db, this.#ownerOf(table).run_id));
    if (rows.length === 0) throw new Error(`the run has no rows of ${table}`);
    return table === 'run_stat' ? rows.filter(({ n }) => n !== 0) : rows; // a counter of 0 says what no row says
  }

  /** Only a run in progress has a queue. */
  #ownerOf(table: string) {
    return table === 'queue' ? this.#project.running : this.#project.completed;
  }
}

/** Sets a cell to the first of some values that its table takes. */
function replaceWith(
  db: Parameters<Tamper>[0],
  table: string,
  row: TableRow,
  { column, candidates }: { readonly column: string; readonly candidates: readonly TableRow[string][] },
): void {
  for (const [index, value] of candidates.entries()) {
    db.exec('savepoint altered');
    try {
      replaceRow(db, table, row, { ...row, [column]: value ?? null });
      return;
    } catch (error) {
      if (!/UNIQUE/.test(String(error)) || index === candidates.length - 1) throw error;
      db.exec('rollback to altered');
    }
  }
}
