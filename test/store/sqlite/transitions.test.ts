import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Machine } from '../../../src/core/machine.ts';
import { attemptMachine, deliveryMachine, executionMachine, runMachine } from '../../../src/core/machines.ts';
import { temporaryFolder } from '../../support/store-fixture.ts';
import { seedStore } from '../../support/store-seeded.ts';

const folder = temporaryFolder();
const file = folder.file('store.db');
let db: DatabaseSync;

beforeAll(async () => {
  await seedStore(file);
  db = new DatabaseSync(file);
  db.exec(
    "insert into run (run_no, run_id, status, gate_status, snapshot_digest, plan_digest, cases, repeats, total, concurrency, base_dir, created_by, created_at) select 70, 'run_raw', 'pending', 'unknown', snapshot_digest, plan_digest, 9, 1, 9, 1, base_dir, created_by, created_at from run limit 1",
  );
  db.exec(
    "insert into execution (run_no, ordinal, case_id, repeat, case_content) values (70, 0, 'zero', 1, ''), (70, 1, 'one', 1, '')",
  );
  db.exec("insert into queue (run_no, ordinal, status, order_key, available_at) values (70, 0, 'pending', 0, 0)");
});
afterAll(() => {
  db.close();
  folder[Symbol.dispose]();
});

const DIGEST = 'e'.repeat(64);
const LEASED = "lease_id = 'lease', session_no = 1, lease_until = 1";
const FREE = 'lease_id = null, session_no = null, lease_until = null';

/** A statement that gives the row a status with all that the CHECK constraints of the table ask for, so that only the transition can be wrong. */
const SET: Readonly<Record<string, (status: string) => string>> = {
  run: (status) => {
    const ended = ['completed', 'failed', 'cancelled'].includes(status) ? ', finished_at = 1' : '';
    const verdict =
      status === 'completed'
        ? `, gate_status = 'pass', verdict = '{}', content_digest = '${DIGEST}', evidence_root = '${DIGEST}'`
        : '';
    return `update run set status = '${status}'${ended}${verdict} where run_no = 70`;
  },
  execution: (status) => {
    if (executionMachine.next[status as 'pending']?.length === 0)
      return `insert into result (run_no, ordinal, attempt, status, passed, content, finished_at, hash) select run_no, ordinal, attempt, '${status}', 0, '', 1, '' from queue where run_no = 70`;
    return `update queue set status = '${status}', ${status === 'running' ? `attempt = attempt + (status in ('pending', 'retry_scheduled')), ${LEASED}` : FREE} where run_no = 70`;
  },
  attempt: (status) =>
    `update attempt set status = '${status}'${['running', 'suspended', 'pending'].includes(status) ? '' : ", ended_at = 1, seal = 'seal'"} where run_no = 70`,
  delivery: (status) => `update delivery set status = '${status}' where endpoint = 'https://one.example'`,
};

/** Statements that bring the row to where its walk starts. */
const START: Readonly<Record<string, string>> = {
  attempt: `update queue set status = 'running', attempt = 1, ${LEASED} where run_no = 70; insert into attempt (run_no, ordinal, attempt, session_no, lease_id, status, started_at) values (70, 0, 1, 1, 'lease', 'running', 1)`,
};

const MACHINES: readonly (readonly [string, Machine, string])[] = [
  ['run', runMachine, 'pending'],
  ['execution', executionMachine, 'pending'],
  ['attempt', attemptMachine, 'running'],
  ['delivery', deliveryMachine, 'pending'],
];

describe.each(MACHINES)('raw SQL on %s', (name, machine, start) => {
  const states = Object.keys(machine.next);
  // An ended execution has no queue row to come from; no attempt is stored as pending.
  const sources = states.filter((from) =>
    name === 'execution' ? machine.next[from]?.length : pathTo(machine, start, from),
  );
  const pairs = sources.flatMap((from) =>
    states.filter((to) => to !== from).map((to) => [from, to, machine.next[from]?.includes(to) ?? false] as const),
  );

  it.each(pairs.filter(([, , legal]) => legal))('may go from %s to %s', (from, to) => {
    walked(name, machine, start, from, () => expect(db.prepare(SET[name]?.(to) ?? '').run().changes).toBe(1));
  });

  it.each(pairs.filter(([, , legal]) => !legal))('may not go from %s to %s', (from, to) => {
    walked(name, machine, start, from, () => expect(() => db.exec(SET[name]?.(to) ?? '')).toThrow(/^proctor: /));
  });
});

const RESULT = 'insert into result (run_no, ordinal, attempt, status, passed, content, finished_at, hash) values';
const EVIDENCE = 'insert into evidence (run_no, ordinal, attempt, seq, kind, body, hash) values';
const ATTEMPT = 'insert into attempt (run_no, ordinal, attempt, session_no, lease_id, status, started_at) values';
const CLAIM = `update queue set status = 'running', attempt = 1, ${LEASED} where run_no = 70`;
const OPEN = `${ATTEMPT} (70, 0, 1, 1, 'lease', 'running', 1)`;
const CLOSE = "update attempt set status = 'stale', ended_at = 1, seal = 'seal' where run_no = 70";

describe('raw SQL', () => {
  it.each<readonly [string, readonly string[], string]>([
    [
      'start a run that is not pending',
      [],
      "insert into run (run_id, status, gate_status, snapshot_digest, plan_digest, cases, repeats, total, concurrency, base_dir, created_by, created_at) select 'run_new', 'running', 'unknown', snapshot_digest, '', 1, 1, 1, 1, '', '', 1 from run limit 1",
    ],
    [
      'start a run with its gate known',
      [],
      "insert into run (run_id, status, gate_status, snapshot_digest, plan_digest, cases, repeats, total, concurrency, base_dir, created_by, created_at) select 'run_new', 'pending', 'pass', snapshot_digest, '', 1, 1, 1, 1, '', '', 1 from run limit 1",
    ],
    [
      'queue an execution twice',
      [],
      "insert into queue (run_no, ordinal, status, order_key, available_at) values (70, 0, 'pending', 0, 0)",
    ],
    [
      'queue an execution again that has a result',
      [`${RESULT} (70, 0, 0, 'cancelled', 0, '', 1, '')`, 'delete from queue where run_no = 70'],
      "insert into queue (run_no, ordinal, status, order_key, available_at) values (70, 0, 'pending', 0, 0)",
    ],
    [
      'queue an execution as leased',
      [],
      "insert into queue (run_no, ordinal, status, order_key, available_at, lease_id, session_no, lease_until) values (70, 1, 'running', 0, 0, 'lease', 1, 1)",
    ],
    [
      'queue an execution with attempts made',
      [],
      "insert into queue (run_no, ordinal, status, order_key, available_at, attempt) values (70, 1, 'pending', 0, 0, 1)",
    ],
    ['take an execution off the queue without a result', [], 'delete from queue where run_no = 70'],
    ['count an attempt without a claim', [], 'update queue set attempt = attempt + 1 where run_no = 70'],
    [
      'count two attempts at one claim',
      [],
      `update queue set status = 'running', attempt = 2, ${LEASED} where run_no = 70`,
    ],
    [
      'count an attempt less',
      [CLAIM],
      `update queue set status = 'retry_scheduled', attempt = 0, ${FREE} where run_no = 70`,
    ],
    ['open an attempt without a claim', [], OPEN],
    ['open an attempt under another lease', [CLAIM], `${ATTEMPT} (70, 0, 1, 1, 'other', 'running', 1)`],
    ['open an attempt of another number', [CLAIM], `${ATTEMPT} (70, 0, 2, 1, 'lease', 'running', 1)`],
    [
      'open an attempt that has ended',
      [CLAIM],
      `insert into attempt (run_no, ordinal, attempt, session_no, lease_id, status, started_at, ended_at, seal) values (70, 0, 1, 1, 'lease', 'completed', 1, 1, '')`,
    ],
    ['append evidence without an attempt', [], `${EVIDENCE} (70, 0, 1, 1, 'failure', '{}', '')`],
    ['append evidence to an ended attempt', [CLAIM, OPEN, CLOSE], `${EVIDENCE} (70, 0, 1, 1, 'failure', '{}', '')`],
    [
      'append evidence that leaves a gap',
      [CLAIM, OPEN, `${EVIDENCE} (70, 0, 1, 1, 'failure', '{}', '')`],
      `${EVIDENCE} (70, 0, 1, 3, 'failure', '{}', '')`,
    ],
    ['append evidence that does not start at 1', [CLAIM, OPEN], `${EVIDENCE} (70, 0, 1, 2, 'failure', '{}', '')`],
    ['write a result of another attempt', [CLAIM, OPEN], `${RESULT} (70, 0, 2, 'completed', 1, '', 1, '')`],
    ['write a result of an execution that is not queued', [], `${RESULT} (70, 1, 0, 'cancelled', 0, '', 1, '')`],
    [
      'write a second result',
      [`${RESULT} (70, 0, 0, 'cancelled', 0, '', 1, '')`],
      `${RESULT} (70, 0, 0, 'cancelled', 0, '', 1, '')`,
    ],
    [
      'start a delivery that is published',
      [],
      "insert into delivery (outbox_no, endpoint, status, next_at) values (1, 'https://three.example', 'published', 0)",
    ],
  ])('may not %s', (_name, before, statement) => {
    undone(() => {
      for (const sql of before) db.exec(sql);
      expect(() => db.exec(statement)).toThrow(/^proctor: /);
    });
  });

  it('may do all that a worker does', () => {
    undone(() => {
      for (const sql of [
        CLAIM,
        OPEN,
        `${EVIDENCE} (70, 0, 1, 1, 'failure', '{}', ''), (70, 0, 1, 2, 'failure', '{}', '')`,
        CLOSE,
        `${RESULT} (70, 0, 1, 'failed', 0, '', 1, '')`,
        'delete from queue where run_no = 70',
      ])
        db.exec(sql);
      expect(count('select count(*) as n from result where run_no = 70')).toBe(1);
    });
  });
});

/** Brings the row to `from` by legal steps, acts, and undoes all of it. */
function walked(name: string, machine: Machine, start: string, from: string, act: () => void): void {
  undone(() => {
    db.exec(START[name] ?? 'select 1');
    for (const state of pathTo(machine, start, from) ?? []) db.exec(SET[name]?.(state) ?? '');
    act();
  });
}

function undone(act: () => void): void {
  db.exec('begin');
  try {
    act();
  } finally {
    db.exec('rollback');
  }
}

/** The states to step through from `start` to `to`, by the machine; null when there is no way. */
function pathTo(machine: Machine, start: string, to: string): string[] | null {
  const paths = new Map<string, string[]>([[start, []]]);
  for (const [state, path] of paths) {
    for (const next of machine.next[state] ?? []) if (!paths.has(next)) paths.set(next, [...path, next]);
  }
  return paths.get(to) ?? null;
}

function count(sql: string, ...values: readonly SQLInputValue[]): number {
  return (db.prepare(sql).get(...values) as { n: number }).n;
}
