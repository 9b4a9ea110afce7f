import { rmSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { configureDatabase, openDatabase } from '../src/store/sqlite/connection.ts';
import { migrate } from '../src/store/sqlite/migrate.ts';
import { triggers } from '../src/store/sqlite/triggers.ts';

type Values = SQLInputValue[];

/** What one execution leaves in the store of a finished run, as values in column order. */
interface ExecutionRows {
  readonly execution: Values;
  readonly attempt: Values;
  readonly evidence: readonly Values[];
  readonly result: Values;
  readonly events: readonly Values[];
}

const BATCH = 64;

/**
 * Writes the rows of a finished run once more by plain prepared statements, a transaction of 64 executions at a time, to a
 * fresh file with the same tables, indexes and settings, but without triggers, hashing or engine. Answers executions a second.
 */
export function rawRate(storePath: string, target: string, most: number): number {
  const rows = readRows(storePath, most);
  using db = freshDatabase(target);
  copyParents(storePath, db);
  const statements = prepare(db, rows[0]);
  const started = performance.now();
  for (let from = 0; from < rows.length; from += BATCH) writeBatch(db, statements, rows.slice(from, from + BATCH));
  const elapsed_ms = performance.now() - started;
  const written = db.prepare('select count(*) as n from result').get() as { n: number };
  if (written.n !== rows.length)
    throw new Error(`the raw write left ${written.n} results where ${rows.length} were written`);
  return (rows.length / elapsed_ms) * 1000;
}

function freshDatabase(target: string): DatabaseSync {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${target}${suffix}`, { force: true });
  const db = openDatabase(target);
  configureDatabase(db);
  migrate(db, target, Date.now());
  for (const name of triggers().keys()) db.exec(`drop trigger ${name}`);
  return db;
}

/** The rows that the written ones refer to. */
function copyParents(storePath: string, db: DatabaseSync): void {
  using source = new DatabaseSync(storePath, { readOnly: true });
  for (const table of ['snapshot', 'run', 'worker_session', 'run_head']) {
    for (const row of all(source, `select * from ${table}`)) db.prepare(insertSql(table, row.length)).run(...row);
  }
}

function readRows(storePath: string, most: number): ExecutionRows[] {
  using db = new DatabaseSync(storePath, { readOnly: true });
  const ordinals = `ordinal < ${most}`;
  const group = (table: string, columns = '*', order = 'ordinal') =>
    Map.groupBy(
      all(db, `select ordinal as key, ${columns} from ${table} where ${ordinals} order by ${order}`),
      (row) => row[0],
    );
  const attempts = group('attempt');
  const evidence = group('evidence', '*', 'ordinal, seq');
  const results = group('result');
  const events = group('event', 'run_no, seq, type, at, ordinal, attempt, body, hash', 'seq');
  const of = (map: Map<SQLInputValue | undefined, Values[]>, ordinal: SQLInputValue | undefined) =>
    (map.get(ordinal) ?? []).map((row) => row.slice(1));
  return all(db, `select * from execution where ${ordinals} order by ordinal`).map((execution) => {
    const ordinal = execution[1];
    return {
      execution,
      attempt: of(attempts, ordinal)[0] ?? [],
      evidence: of(evidence, ordinal),
      result: of(results, ordinal)[0] ?? [],
      events: of(events, ordinal),
    };
  });
}

function all(db: DatabaseSync, sql: string): Values[] {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement.all() as unknown as Values[];
}

function insertSql(table: string, columns: number): string {
  return `insert into ${table} values (${'?, '.repeat(columns).slice(0, -2)})`;
}

interface Statements {
  readonly insert: Readonly<
    Record<'execution' | 'queue' | 'attempt' | 'evidence' | 'result' | 'event' | 'stat', StatementSync>
  >;
  readonly lease: StatementSync;
  readonly leave: StatementSync;
  readonly close: StatementSync;
  readonly head: StatementSync;
}

function prepare(db: DatabaseSync, first: ExecutionRows | undefined): Statements {
  if (first === undefined) throw new Error('the run has no executions to write once more');
  return {
    insert: {
      execution: db.prepare(insertSql('execution', first.execution.length)),
      queue: db.prepare(
        "insert into queue (run_no, ordinal, status, order_key, available_at) values (?, ?, 'pending', ?, 0)",
      ),
      attempt: db.prepare(
        "insert into attempt (run_no, ordinal, attempt, session_no, lease_id, status, started_at) values (?, ?, ?, ?, ?, 'running', ?)",
      ),
      evidence: db.prepare(insertSql('evidence', first.evidence[0]?.length ?? 0)),
      result: db.prepare(insertSql('result', first.result.length)),
      event: db.prepare(
        'insert into event (run_no, seq, type, at, ordinal, attempt, body, hash) values (?, ?, ?, ?, ?, ?, ?, ?)',
      ),
      stat: db.prepare(
        'insert into run_stat (run_no, kind, n) values (?, ?, ?) on conflict (run_no, kind) do update set n = n + excluded.n',
      ),
    },
    lease: db.prepare(
      "update queue set status = 'running', attempt = attempt + 1, lease_id = ?, session_no = ?, lease_until = ? where run_no = ? and ordinal = ?",
    ),
    leave: db.prepare('delete from queue where run_no = ? and ordinal = ?'),
    close: db.prepare(
      'update attempt set status = ?, ended_at = ?, reason = ?, fault = ?, evidence_count = ?, seal = ? where run_no = ? and ordinal = ? and attempt = ?',
    ),
    head: db.prepare('update run_head set event_count = event_count + ? where run_no = ?'),
  };
}

function writeBatch(
  db: DatabaseSync,
  { insert, lease, leave, close, head }: Statements,
  batch: readonly ExecutionRows[],
): void {
  db.exec('begin immediate');
  let events = 0;
  for (const { execution, attempt, evidence, result, events: told } of batch) {
    const [run_no = null, ordinal = null] = execution;
    const [, , number = null, session = null, lease_id = null, status = null, started_at = null, ...end] = attempt;
    insert.execution.run(...execution);
    insert.queue.run(run_no, ordinal, Number(ordinal) * 1000);
    lease.run(lease_id, session, started_at, run_no, ordinal);
    insert.attempt.run(run_no, ordinal, number, session, lease_id, started_at);
    for (const row of evidence) insert.evidence.run(...row);
    close.run(status, ...end, run_no, ordinal, number);
    insert.result.run(...result);
    leave.run(run_no, ordinal);
    for (const row of told) insert.event.run(...row);
    events += told.length;
  }
  const run_no = batch[0]?.execution[0] ?? null;
  head.run(events, run_no);
  for (const kind of ['pending', 'running', 'completed', 'passed', 'attempts'])
    insert.stat.run(run_no, kind, batch.length);
  db.exec('commit');
}
