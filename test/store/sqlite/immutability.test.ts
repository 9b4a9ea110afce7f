import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MACHINES } from '../../../src/core/machines.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { triggers } from '../../../src/store/sqlite/triggers.ts';
import { temporaryFolder } from '../../support/store-fixture.ts';
import {
  alike,
  columnsOf,
  insertSql,
  otherValue,
  type RawRow,
  rowsOf,
  seedStore,
  tablesOf,
  uniqueKeys,
  where,
} from '../../support/store-seeded.ts';

/** Insert-only: no row is ever changed. */
const APPEND_ONLY = [
  'state_transition',
  'snapshot',
  'execution',
  'evidence',
  'result',
  'late_evidence',
  'event',
  'blessing',
  'journal',
  'correction',
  'outbox',
  'policy',
  'tool_definition',
  'tool_pin',
  'tool_switch',
  'tool_delivery',
  'tool_cancel',
  'gateway_event',
];
/** Changed by transitions only; never deleted, replaced, or moved onto another's key. */
const ENTITIES = [
  'run',
  'run_head',
  'attempt',
  'worker_session',
  'delivery',
  'budget',
  'tool_run',
  'approval',
  'gateway_head',
];
/** Not evidence: counters, the clocks, and the migrations, whose digests the opener checks. */
const FREE = ['breaker', 'meta', 'run_stat', 'run_time', 'limit_use', 'migration', 'schedule', 'schedule_mark'];

/** Columns that are written when a tool run ends, and when an approval is answered. */
const OUTPUT = ['output', 'output_artifact', 'output_digest', 'output_bytes', 'latency_ms'];
const DECIDED = ['decided_at', 'decided_by', 'decided_roles', 'decided_on', 'comment', 'preview_digest'];

const folder = temporaryFolder();
const file = folder.file('store.db');
let db: DatabaseSync;

beforeAll(async () => {
  await seedStore(file);
});
afterAll(() => folder[Symbol.dispose]());

it('has a promise for every table', () => {
  db = new DatabaseSync(file);
  expect(tablesOf(db)).toEqual([...APPEND_ONLY, ...ENTITIES, ...FREE, 'queue'].sort());
  db.close();
});

// recursive_triggers stays off, as in any other program: REPLACE then deletes without DELETE triggers.
describe.each([
  ['a plain connection', {}],
  ['a connection without foreign keys', { enableForeignKeyConstraints: false }],
])('through %s', (_name, options) => {
  beforeAll(() => {
    db = new DatabaseSync(file, options);
  });
  afterAll(() => db.close());

  it.each(APPEND_ONLY)('refuses every UPDATE of %s', (table) => {
    for (const column of columnsOf(db, table)) {
      refused(table, `update ${table} set ${column} = ${column}`);
      refused(table, `update or replace ${table} set ${column} = ?`, otherValue(rowsOf(db, table)[0]?.[column]));
      refused(table, `update or ignore ${table} set ${column} = ${column}`);
    }
  });

  it.each([...APPEND_ONLY, ...ENTITIES, 'queue'])('refuses every DELETE of %s', (table) => {
    refused(table, `delete from ${table}`);
    const [key] = uniqueKeys(db, table);
    const row = rowsOf(db, table)[0] ?? {};
    refused(
      table,
      `delete from ${table} where ${where(key ?? [])}`,
      ...(key ?? []).map((column) => row[column] ?? null),
    );
  });

  it.each([...APPEND_ONLY, ...ENTITIES, 'queue'])(
    'refuses to replace a row of %s by any of its unique keys',
    (table) => {
      const keys = uniqueKeys(db, table);
      for (const key of keys) {
        for (const row of rowsOf(db, table)) {
          const twin = alike(row, key, keys.flat());
          for (const verb of ['insert or replace', 'replace'])
            refused(table, insertSql(verb, table, twin), ...Object.values(twin));
        }
      }
    },
  );

  it.each([...APPEND_ONLY, ...ENTITIES])('refuses an upsert of %s over any of its unique keys', (table) => {
    const keys = uniqueKeys(db, table);
    for (const key of keys) {
      const row = rowsOf(db, table)[0] ?? {};
      const twin = alike(row, key, keys.flat());
      const column = columnsOf(db, table).findLast((name) => !key.includes(name)) ?? key[0];
      // Without a target: it names no partial index, and takes whichever key is met.
      const sql = `${insertSql('insert', table, twin)} on conflict do update set ${column} = excluded.${column}`;
      refused(table, sql, ...Object.values(twin));
    }
  });

  it.each([...ENTITIES, 'queue'])('refuses to move a row of %s onto the key of another', (table) => {
    for (const key of uniqueKeys(db, table)) {
      const [one, other] = rowsOf(db, table);
      if (!one || !other) throw new Error(`${table} should have two rows`);
      const values = [...key.map((column) => other[column] ?? null), ...key.map((column) => one[column] ?? null)];
      const set = key.map((column) => `${column} = ?`).join(', ');
      refused(table, `update or replace ${table} set ${set} where ${where(key)}`, ...values);
    }
  });

  it('refuses every change of an ended run', () => {
    for (const column of columnsOf(db, 'run'))
      refused('run', `update run set ${column} = ? where run_id = 'run_done'`, otherValue(theRun('run_done')[column]));
  });

  it('refuses every change of what a run was created with', () => {
    const fixed = [
      'run_no',
      'run_id',
      'run_key',
      'snapshot_digest',
      'plan_digest',
      'cases',
      'repeats',
      'total',
      'base_dir',
      'created_by',
      'created_at',
      'started_at',
    ];
    for (const column of fixed)
      refused('run', `update run set ${column} = ? where run_id = 'run_open'`, otherValue(theRun('run_open')[column]));
    refused('run', "update run set materialized = materialized - 1 where run_id = 'run_open'");
  });

  it('refuses every change of an ended attempt', () => {
    for (const column of columnsOf(db, 'attempt')) {
      const [ended] = db.prepare('select * from attempt where ended_at is not null').all() as RawRow[];
      refused('attempt', `update attempt set ${column} = ? where ended_at is not null`, otherValue(ended?.[column]));
    }
  });

  it('refuses to change whose an open attempt is', () => {
    for (const column of ['run_no', 'ordinal', 'attempt', 'session_no', 'lease_id', 'started_at'])
      refused(
        'attempt',
        `update attempt set ${column} = ? where ended_at is null`,
        column === 'lease_id' ? 'other' : 99,
      );
  });

  it('refuses to change who a session was', () => {
    for (const column of [
      'session_no',
      'session_id',
      'worker',
      'host',
      'boot_id',
      'pid',
      'process_start',
      'started_at',
    ])
      refused(
        'worker_session',
        `update worker_session set ${column} = ? where session_id = 'wse_1'`,
        column === 'pid' ? 1 : column.endsWith('_no') || column.endsWith('_at') ? 99 : 'other',
      );
  });

  it.each([
    ['run_head', 'run_no'],
    ['gateway_head', 'stream'],
  ])('refuses to move the head of an event chain of %s back or sideways', (table, key) => {
    for (const change of ['event_count = event_count - 1', "event_hash = 'forged'", `${key} = 99`])
      refused(table, `update ${table} set ${change}`);
  });

  it.each([
    ['tool_run', 'finished_at is not null'],
    ['approval', 'ended_at is not null'],
  ])('refuses every change of a row of %s that has ended', (table, ended) => {
    const rows = db.prepare(`select * from ${table} where ${ended}`).all() as RawRow[];
    expect(new Set(rows.map((row) => row['status'])).size).toBe(4);
    for (const row of rows)
      for (const column of columnsOf(db, table)) {
        const sql = `update ${table} set ${column} = ? where ${table}_no = ?`;
        refused(table, sql, otherValue(row[column]), row[`${table}_no`] ?? null);
      }
  });

  it.each([
    ['tool_run', "status = 'started'", ['status', 'reason', 'finished_at', 'error', ...OUTPUT]],
    ['tool_run', "status = 'approved'", ['status', 'reason', 'finished_at', 'error', ...OUTPUT]],
    ['tool_run', "status = 'approval_required'", ['status', 'reason', 'finished_at', 'error', 'session_no', ...OUTPUT]],
    ['approval', "status = 'pending'", ['status', ...DECIDED, 'ended_at', 'ended_because']],
    ['approval', "status = 'approved'", ['status', 'ended_at', 'ended_because']],
  ] as const)('refuses to change what is settled of an open row of %s (%s)', (table, open, changing) => {
    const [row] = db.prepare(`select * from ${table} where ${open}`).all() as RawRow[];
    for (const column of columnsOf(db, table).filter((name) => !(changing as readonly string[]).includes(name)))
      refused(table, `update ${table} set ${column} = ? where ${open}`, otherValue(row?.[column]));
  });

  it('refuses to dispatch, approve or use what is not so far', () => {
    const dispatch = 'update tool_run set dispatched_at = 1, session_no = 1';
    const answer = "decided_at = expires_at, decided_by = 'human:me', preview_digest = 'x'";
    refused('tool_run', `${dispatch} where status = 'approval_required'`);
    refused('tool_run', `${dispatch}, status = 'approved' where status = 'approval_required'`);
    refused(
      'tool_run',
      "update tool_run set status = 'denied', finished_at = 1, dispatched_at = null where status = 'started'",
    );
    refused('approval', `update approval set status = 'approved', ${answer} where status = 'pending'`);
    refused('approval', "update approval set status = 'consumed', ended_at = expires_at where status = 'approved'");
    refused('approval', "update approval set status = 'consumed', ended_at = requested_at where status = 'pending'");
  });
});

describe('the transition tables', () => {
  it('are the same in the database and in code', () => {
    db = new DatabaseSync(file);
    const inCode = MACHINES.flatMap((machine) =>
      Object.entries<readonly string[]>(machine.next).flatMap(([from, states]) =>
        states.map((to) => ({ machine: machine.name, from_state: from, to_state: to })),
      ),
    );
    const byText = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
    const inDatabase = rowsOf(db, 'state_transition').map((row) => ({ ...row }));
    db.close();
    expect(inDatabase.sort(byText)).toEqual(inCode.sort(byText));
  });

  it('stand with every trigger of the list; one that is missing, altered or added is named', async () => {
    db = new DatabaseSync(file);
    const names = (db.prepare("select name from sqlite_schema where type = 'trigger'").all() as { name: string }[]).map(
      (row) => row.name,
    );
    expect(names.sort()).toEqual([...triggers().keys()].sort());
    db.exec('drop trigger event_no_update');
    db.exec('drop trigger event_no_delete; create trigger event_no_delete before delete on event begin select 1; end');
    db.exec('create trigger mine after insert on event begin select 1; end');
    db.close();
    const store = openSqliteStore({ path: file });
    expect(store.triggerProblems()).toEqual([
      '`event_no_update` is missing',
      '`event_no_delete` is not the one that Proctor makes',
      "`mine` is not Proctor's",
    ]);
    await store.close();
  });
});

function theRun(id: string): RawRow {
  return db.prepare('select * from run where run_id = ?').get(id) as RawRow;
}

/** Asserts that a trigger of ours (not a mere constraint of this connection) refuses the statement and that the table is as it was. */
function refused(table: string, sql: string, ...values: readonly RawRow[string][]): void {
  const before = rowsOf(db, table);
  expect(before.length, `${table} has no rows, so nothing would be refused`).toBeGreaterThan(0);
  db.exec('begin');
  try {
    expect(() => db.prepare(sql).run(...values), sql).toThrow(/^proctor: /);
    expect(rowsOf(db, table), sql).toEqual(before);
  } finally {
    db.exec('rollback');
  }
}
