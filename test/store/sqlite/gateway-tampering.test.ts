import type { SQLInputValue } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/store-fixture.ts';
import { type SeenEvent, TamperedGateway } from '../../support/store-gateway-tampered.ts';
import { columnsOf, insertSql, otherValue, type RawRow, rowsOf, seedStore } from '../../support/store-seeded.ts';

const folder = temporaryFolder();
let gateway: TamperedGateway;

beforeAll(async () => {
  await seedStore(folder.file('store.db'));
  gateway = new TamperedGateway(folder.file('store.db'));
});
afterAll(() => {
  gateway[Symbol.dispose]();
  folder[Symbol.dispose]();
});

const KEYS = {
  tool_run: 'tool_run_no',
  approval: 'approval_no',
  gateway_event: 'position',
  gateway_head: 'stream',
} as const;

it('nothing is found where nothing was done, and chaining anew changes nothing', () => {
  expect(gateway.found(() => undefined)).toEqual([]);
  expect(gateway.found(() => gateway.rechain())).toEqual([]);
});

describe.each(Object.entries(KEYS))('%s', (table, key) => {
  it('is not altered in any column of any row without being found', () => {
    const rows = rowsOf(gateway.db, table);
    expect(rows.length).toBeGreaterThan(1);
    let altered = 0;
    for (const column of columnsOf(gateway.db, table)) {
      for (const row of rows) {
        for (const value of valuesInPlaceOf(row, column, rows)) {
          const what = `${table} ${row[key]}: ${column} = ${String(value)}, was ${String(row[column])}`;
          const violations = gateway.found((db) => {
            // A key that is taken is freed first, as one who swaps rows would do.
            db.prepare(`update or replace ${table} set ${column} = ? where ${key} = ?`).run(value, row[key] ?? null);
          });
          altered += 1;
          expect(violations, what).not.toEqual([]);
        }
      }
    }
    expect(altered).toBeGreaterThan(rows.length * columnsOf(gateway.db, table).length);
  });

  it('loses no row and gets none without being found', () => {
    for (const row of rowsOf(gateway.db, table)) {
      const gone = gateway.found((db) => db.prepare(`delete from ${table} where ${key} = ?`).run(row[key] ?? null));
      expect(gone, `${table} ${row[key]} deleted`).not.toEqual([]);
      const twin: RawRow = { ...row };
      for (const column of ['tool_run_id', 'approval_id', 'idempotency_key', 'seq', 'tool_run_no', key])
        if (column in twin) twin[column] = otherValue(twin[column]);
      const added = gateway.found((db) => db.prepare(insertSql('insert', table, twin)).run(...Object.values(twin)));
      expect(added, `${table} ${row[key]} doubled`).not.toEqual([]);
    }
  });
});

describe('what is found', () => {
  it.each([
    [
      'status',
      "update tool_run set status = 'ok', finished_at = 1 where idempotency_key = 'denied'",
      'status is `ok`, by its events `denied`',
    ],
    [
      'dispatch',
      "update tool_run set dispatched_at = null, session_no = null where idempotency_key = 'running'",
      'session_id is null, by its events `wse_g1`',
    ],
    [
      'reason',
      "update tool_run set reason = 'lease_lost' where idempotency_key = 'denied'",
      'reason is `lease_lost`, by its events `policy`',
    ],
    [
      'arguments',
      `update tool_run set arguments = '{"text":"hell"}' where idempotency_key = 'ok'`,
      'its arguments are not the ones of its digest',
    ],
    [
      'error',
      `update tool_run set error = '{"code":"tool_error","message":"all is well"}' where idempotency_key = 'error'`,
      'error_digest is',
    ],
    [
      'output',
      "update tool_run set output = '{}' where idempotency_key = 'ok'",
      'its output is not the one of its digest',
    ],
    [
      'approver',
      "update approval set decided_by = 'human:bob' where tool_run_no = (select tool_run_no from tool_run where idempotency_key = 'used')",
      'approval.decided_by is `human:bob`, by its events `human:ann`',
    ],
    [
      'roles',
      "update approval set decided_roles = '[]' where tool_run_no = (select tool_run_no from tool_run where idempotency_key = 'used')",
      'approval.decided_roles is `[]`, by its events `["operator"]`',
    ],
    ['expiry', "update approval set expires_at = expires_at + 1 where status = 'pending'", 'approval.expires_at is'],
    [
      'request to stop',
      "update tool_cancel set requested_by = 'human:bob'",
      'cancel.requested_by is `human:bob`, by its events `human:ann`',
    ],
    ['request to stop, gone', 'delete from tool_cancel', 'cancel: its row is gone'],
  ])('is named, with both sides: %s', (_what, sql, example) => {
    const violations = gateway.found((db) => db.exec(sql));
    expect(violations.map((one) => one.example).join('\n')).toContain(example);
    expect(violations.map((one) => one.example).join('\n')).toMatch(/^trn_\w+: /m);
  });

  it.each([
    [
      'altered',
      'update gateway_event set body = \'{"by":"human:bob"}\' where type = \'approval_granted\'',
      'is not the one that was chained',
    ],
    [
      'deleted',
      'delete from gateway_event where stream = 0 and seq = 7',
      'outside of runs: event 7 is missing: 8 is in its place',
    ],
    [
      'deleted at the end',
      'delete from gateway_event where position = (select max(position) from gateway_event where stream > 0)',
      'its head says',
    ],
    [
      'moved to another position',
      'update gateway_event set position = position + 1000 where stream = 0 and seq = 7',
      'is missing',
    ],
  ])('is named by its stream and its event where one was %s', (_what, sql, example) => {
    const violations = gateway.found((db) => db.exec(sql));
    expect(violations.map((one) => one.example).join('\n')).toContain(example);
  });

  it('is every two neighbours that changed places', () => {
    const events = gateway.events();
    const pairs = events.flatMap((event, index) => {
      const next = events[index + 1];
      return next !== undefined && next.stream === event.stream ? [[event, next] as const] : [];
    });
    for (const [one, two] of pairs) {
      const violations = gateway.found((db) => {
        const place = db.prepare('update gateway_event set seq = ? where position = ?');
        place.run(-1, one.position);
        place.run(one.seq, two.position);
        place.run(two.seq, one.position);
      });
      expect(violations.map((found) => found.example).join('\n')).toMatch(/chained|is in its place/);
    }
    expect(pairs.length).toBeGreaterThan(50);
  });

  it.each([
    ['tool_pin', ['source', 'name', 'digest', 'pinned_by', 'pinned_at']],
    ['tool_switch', ['scope', 'off', 'reason', 'switched_by', 'switched_at']],
    ['tool_definition', ['source', 'name', 'digest', 'body', 'first_seen_at']],
    ['policy', ['digest', 'body']],
    ['tool_delivery', ['delivered_at']],
  ])('is every altered column of %s, and every row that is gone', (table, columns) => {
    expect(columnsOf(gateway.db, table).filter((name) => !name.endsWith('_no'))).toEqual(columns);
    for (const column of columns) {
      const value = otherValue(rowsOf(gateway.db, table)[0]?.[column]);
      const violations = gateway.found((db) => db.prepare(`update ${table} set ${column} = ?`).run(value));
      expect(violations, `${table}.${column}`).not.toEqual([]);
    }
    if (table !== 'policy') expect(gateway.found((db) => db.exec(`delete from ${table}`))).not.toEqual([]);
  });
});

describe('who chains the events anew', () => {
  it('still cannot take one away or alter what it says of a row', () => {
    // What only tells, of which no row keeps anything, rests on the chain alone.
    const telling = ['tool_outcome_late', 'approval_refused'];
    for (const event of gateway.events().filter(({ type }) => !telling.includes(type))) {
      const gone = gateway.found((db) => {
        db.prepare('delete from gateway_event where position = ?').run(event.position);
        gateway.rechain();
      });
      expect(gone, `${event.type} ${event.position} taken away`).not.toEqual([]);
      for (const [name, body] of alteredBodies(event)) {
        const altered = gateway.found((db) => {
          db.prepare('update gateway_event set body = ? where position = ?').run(body, event.position);
          gateway.rechain();
        });
        expect(altered, `${event.type} ${event.position}: ${name}`).not.toEqual([]);
      }
    }
  });

  it('cannot tell the events of a call in another order', () => {
    const ofOne = Map.groupBy(gateway.events(), (event) => event.tool_run_id);
    ofOne.delete(null);
    for (const events of ofOne.values())
      for (const [index, event] of events.entries()) {
        const next = events[index + 1];
        if (next === undefined || next.type === 'tool_outcome_late') continue; // it may come before the end too, from a session that did not make the call
        const violations = gateway.found((db) => {
          const say = db.prepare('update gateway_event set type = ?, body = ? where position = ?');
          say.run(next.type, next.body, event.position);
          say.run(event.type, event.body, next.position);
          gateway.rechain();
        });
        expect(violations, `${event.type} and ${next.type}`).not.toEqual([]);
      }
  });

  it('cannot add an event that could not have happened', () => {
    const add =
      'insert into gateway_event (stream, seq, type, at, tool_run_no, body, hash) select stream, 1000, ?, at, tool_run_no, ?, hash from gateway_event where position = ?';
    for (const event of gateway.events()) {
      if (event.tool_run_id === null || event.type !== 'policy_decided') continue;
      for (const type of [
        'tool_called',
        'tool_dispatched',
        'tool_succeeded',
        'tool_denied',
        'approval_consumed',
        'anything',
      ]) {
        const added = gateway.found((db) => {
          db.prepare(add).run(type, event.body, event.position);
          gateway.rechain();
        });
        expect(added, `${type} after ${event.tool_run_id}`).not.toEqual([]);
      }
    }
  });
});

/** Other values for a column: one that nobody has, none, and what other rows have. */
function valuesInPlaceOf(row: RawRow, column: string, rows: readonly RawRow[]): SQLInputValue[] {
  const own = row[column] ?? null;
  const others = new Set(rows.map((other) => other[column] ?? null).filter((value) => value !== own));
  return [...new Set([otherValue(own), ...[...others].slice(0, 3)])];
}

/** The body of an event, each member in turn taken for another; without those that no row has a column for. */
function alteredBodies({ type, body }: SeenEvent): [string, string][] {
  const members = JSON.parse(body) as Record<string, unknown>;
  return Object.keys(members)
    .filter(
      (name) =>
        !UNKEPT[type]?.includes(name) &&
        !(type === 'policy_decided' && 'approval_id' in members && name !== 'approval_id'),
    )
    .map((name) => [name, JSON.stringify({ ...members, [name]: otherMember(members[name]) })]);
}

function otherMember(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number' || typeof value === 'string' || value === null) return otherValue(value);
  return [];
}

/** What events say beyond the rows. Besides these, the second decision of a call is all there is of it. */
const UNKEPT: Readonly<Record<string, readonly string[]>> = {
  policy_decided: ['code'],
  approval_cancelled: ['by'],
  approval_consumed: ['policy_digest'],
  tool_failed: ['code'],
  tool_succeeded: ['code'],
  tool_timed_out: ['code'],
  tool_denied: ['code'],
  tool_definition_changed: ['pinned', 'state'],
};
