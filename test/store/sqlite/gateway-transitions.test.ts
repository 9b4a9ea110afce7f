import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { approvalMachine, toolRunMachine } from '../../../src/core/machines.ts';
import { temporaryFolder } from '../../support/store-fixture.ts';
import { insertSql, type RawRow, seedStore } from '../../support/store-seeded.ts';

const folder = temporaryFolder();
const file = folder.file('store.db');
let db: DatabaseSync;

beforeAll(async () => {
  await seedStore(file);
  db = new DatabaseSync(file);
});
afterAll(() => {
  db.close();
  folder[Symbol.dispose]();
});

/** All that the CHECK constraints ask of a tool run's status, so that only the transition can be wrong. */
const RUN_SET: Readonly<Record<string, string>> = {
  started: '',
  approval_required: '',
  approved: ', dispatched_at = coalesce(dispatched_at, created_at), session_no = coalesce(session_no, 1)',
  ok: ', finished_at = 1',
  error: ', finished_at = 1',
  timeout: ', finished_at = 1',
  denied: ', finished_at = 1',
};

const APPROVAL_SET: Readonly<Record<string, string>> = {
  pending: '',
  approved: ", decided_at = requested_at, decided_by = 'human:me', preview_digest = 'seen'",
  denied: ', ended_at = requested_at',
  expired: ', ended_at = requested_at',
  cancelled: ', ended_at = requested_at',
  consumed: ', ended_at = requested_at',
};

const pairsOf = (next: Readonly<Record<string, readonly string[]>>) =>
  Object.keys(next).flatMap((from) =>
    Object.keys(next)
      .filter((to) => to !== from)
      .map((to) => [from, to, next[from]?.includes(to) ?? false] as const),
  );

describe('raw SQL on a tool run', () => {
  it.each(pairsOf(toolRunMachine.next))('from %s to %s: %s', (from, to, legal) => {
    undone(() => {
      const no = runIn(from, to);
      const sql = `update tool_run set status = '${to}'${RUN_SET[to]} where tool_run_no = ${no}`;
      if (legal) expect(db.prepare(sql).run().changes).toBe(1);
      else expect(() => db.exec(sql)).toThrow(/^(proctor: |CHECK constraint failed)/);
    });
  });
});

describe('raw SQL on an approval', () => {
  it.each(pairsOf(approvalMachine.next))('from %s to %s: %s', (from, to, legal) => {
    undone(() => {
      const { approval_no } = one(`select approval_no from approval where status = '${from}'`);
      const sql = `update approval set status = '${to}'${APPROVAL_SET[to]} where approval_no = ${approval_no}`;
      if (legal) expect(db.prepare(sql).run().changes).toBe(1);
      else expect(() => db.exec(sql)).toThrow(/^(proctor: |CHECK constraint failed)/);
    });
  });
});

describe('raw SQL may not', () => {
  const template = () => ({ ...one("select * from tool_run where status = 'started'"), ...FRESH });

  it.each([
    ['dispatched', { dispatched_at: 1, session_no: 1 }],
    ['decided', { decision: 'allow' }],
    ['ended', { status: 'ok', dispatched_at: 1, session_no: 1, finished_at: 1 }],
    ['waiting', { status: 'approval_required' }],
    ['with an output', { output: '{}' }],
  ])('add a tool run that is %s', (_name, change) => {
    undone(() => {
      expect(() => add('tool_run', { ...template(), ...change })).toThrow(/^proctor: a tool run starts as started/);
      add('tool_run', template());
    });
  });

  it.each([
    ['of a call that does not wait', {}],
    ['of another call', { call_digest: 'f'.repeat(64) }],
    ['that is given already', { status: 'approved', decided_at: 1, decided_by: 'human:me', preview_digest: 'seen' }],
  ])('add an approval %s', (name, change) => {
    undone(() => {
      add('tool_run', template());
      if (name !== 'of a call that does not wait')
        db.exec("update tool_run set decision = 'ask', status = 'approval_required' where tool_run_id = 'trn_raw'");
      const { tool_run_no } = one("select tool_run_no from tool_run where tool_run_id = 'trn_raw'");
      const approval = {
        ...one("select * from approval where status = 'pending'"),
        approval_no: null,
        approval_id: 'apr_raw',
      };
      expect(() => add('approval', { ...approval, tool_run_no: tool_run_no ?? null, ...change })).toThrow(
        /^proctor: an approval starts pending/,
      );
    });
  });

  it.each([
    ['an event that leaves a gap', 'seq + 2'],
    ['an event again', 'seq'],
  ])('append %s', (_name, seq) => {
    const last = 'from gateway_event where stream = 0 order by seq desc limit 1';
    undone(() => {
      expect(() =>
        db.exec(
          `insert into gateway_event (stream, seq, type, at, body, hash) select 0, ${seq}, type, at, body, hash ${last}`,
        ),
      ).toThrow(/^proctor: events are appended in order/);
      db.exec(
        `insert into gateway_event (stream, seq, type, at, body, hash) select 0, seq + 1, type, at, body, hash ${last}`,
      );
    });
  });
});

const FRESH = {
  tool_run_no: null,
  tool_run_id: 'trn_raw',
  idempotency_key: 'raw',
  decision: null,
  policy_digest: null,
  rules: null,
  pinned: null,
  tainted: null,
  session_no: null,
  dispatched_at: null,
};

/** A tool run in a state, such that nothing but the machine can forbid the next one. */
function runIn(state: string, next: string): number {
  if (state === 'started' && ['denied', 'approval_required'].includes(next)) {
    add('tool_run', { ...one("select * from tool_run where status = 'started'"), ...FRESH });
    return Number(one("select tool_run_no as n from tool_run where tool_run_id = 'trn_raw'")['n']);
  }
  const given = next === 'approved' ? "and a.status = 'approved'" : '';
  const join = state === 'approval_required' ? `join approval a on a.tool_run_no = t.tool_run_no ${given}` : '';
  const no = Number(one(`select t.tool_run_no as n from tool_run t ${join} where t.status = '${state}'`)['n']);
  if (state === 'approval_required' && next === 'approved')
    db.exec(`update approval set status = 'consumed'${APPROVAL_SET['consumed']} where tool_run_no = ${no}`);
  return no;
}

function one(sql: string): RawRow {
  const row = db.prepare(`${sql} limit 1`).get();
  if (row === undefined) throw new Error(`there should be a row: ${sql}`);
  return row as RawRow;
}

function add(table: string, row: RawRow): void {
  db.prepare(insertSql('insert', table, row)).run(...Object.values(row));
}

function undone(act: () => void): void {
  db.exec('begin');
  try {
    act();
  } finally {
    db.exec('rollback');
  }
}
