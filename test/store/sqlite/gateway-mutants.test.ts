import { copyFileSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { temporaryFolder } from '../../support/store-fixture.ts';
import { checkGateway } from '../../support/store-gateway-model-check.ts';

const SEED = 20261122;
const MOST = 400; // sequences that a mutant may survive before it counts as not caught

/** Statements of the gateway, each broken in one place. */
const MUTANTS: readonly { readonly name: string; readonly find: string; readonly replace: string }[] = [
  {
    name: 'an ended call ends again',
    find: 'dispatched_at is not null and finished_at is null',
    replace: 'dispatched_at is not null',
  },
  {
    name: 'any session ends a call',
    find: 'where tool_run_no = ? and session_no = ? and dispatched_at',
    replace: 'where tool_run_no = ? and ? > 0 and dispatched_at',
  },
  {
    name: 'an approval expires a moment late',
    find: "in ('pending', 'approved') and (a.expires_at <= ?1 or exists",
    replace: "in ('pending', 'approved') and (a.expires_at < ?1 or 0 and exists",
  },
  {
    name: 'only pending approvals expire',
    find: "where a.status in ('pending', 'approved') and (a.expires_at <=",
    replace: "where a.status = 'pending' and (a.expires_at <=",
  },
  {
    name: 'a pin cancels only what was not answered',
    find: "where a.status in ('pending', 'approved') and t.source",
    replace: "where a.status in ('pending') and t.source",
  },
  { name: 'a pin cancels nothing', find: 't.definition_digest is not ?', replace: 't.definition_digest is ?' },
  { name: 'the oldest pin counts', find: 'order by pin_no desc limit 1', replace: 'order by pin_no limit 1' },
  {
    name: 'the first switch counts',
    find: 'select max(switch_no) from tool_switch m where m.scope = s.scope) order by length',
    replace: 'select min(switch_no) from tool_switch m where m.scope = s.scope) order by length',
  },
  {
    name: 'a limit lets one more pass',
    find: 'select coalesce(sum(calls), 0) as calls',
    replace: 'select coalesce(sum(calls), 1) - 1 as calls',
  },
  {
    name: 'what has ended is reaped',
    find: 'where t.finished_at is null and t.dispatched_at is not null\nand',
    replace: 'where t.dispatched_at is not null\nand',
  },
  {
    name: 'every session is reaped',
    find: '(s.ended_at is not null or s.session_id in (select value from json_each(?1)))',
    replace: '(?1 is not null)',
  },
  {
    name: 'a session that was taken for dead stays so',
    find: 'set ended_at = null, last_seen_at',
    replace: 'set ended_at = ended_at, last_seen_at',
  },
  {
    name: 'a key is known for nobody',
    find: 'where principal = ? and idempotency_key = ?',
    replace: 'where principal = ? and idempotency_key = ? and false',
  },
  {
    name: 'a refused call is not ended',
    find: 'update tool_run set status = ?, reason = ?, error = ?, finished_at = ? where',
    replace: 'update tool_run set status = ?, reason = ?, error = ?, finished_at = ? where false and',
  },
  {
    name: 'an answer names nobody',
    find: 'decided_by = ?3',
    replace: "decided_by = iif(?3 is null, ?3, 'human:nobody')",
  },
];

// Without triggers: what a trigger refuses would be an error, and so be caught, on top of this.
describe('without a single trigger the model catches a gateway that is broken:', () => {
  const folder = temporaryFolder('/dev/shm');
  const template = folder.file('template.db');
  beforeAll(async () => {
    await openSqliteStore({ path: template }).close();
    const db = new DatabaseSync(template);
    const names = db.prepare("select name from sqlite_schema where type = 'trigger'").all() as { name: string }[];
    for (const { name } of names) db.exec(`drop trigger ${name}`);
    db.close();
  });
  afterAll(() => folder[Symbol.dispose]());

  const fresh = () => {
    const file = folder.file('mutant.db');
    for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
    copyFileSync(template, file);
    return file;
  };

  it.each(MUTANTS)('$name', async ({ find, replace }) => {
    let matched = 0;
    const alter = (sql: string): string => {
      if (!sql.includes(find)) return sql;
      matched += 1;
      return sql.replaceAll(find, replace);
    };
    const caught = await checkGateway({
      runs: MOST,
      seed: SEED,
      quick: true,
      open: (clock) => openSqliteStore({ path: fresh(), clock, alter }),
    }).then(
      () => null,
      (error: unknown) => error,
    );
    expect(matched, 'the mutant altered no statement: bring `find` up to date').toBeGreaterThan(0);
    expect(caught, 'the model did not notice').toBeInstanceOf(Error);
    const cause = caught instanceof Error && caught.cause instanceof Error ? caught.cause : caught;
    // A mutant that is not even SQL is caught by SQLite, which proves nothing about the model.
    expect(String(cause)).not.toMatch(/syntax error|no such|incomplete input|unrecognized|column index/);
  });

  it('but the sound one passes', async () => {
    await checkGateway({ runs: 50, seed: SEED, open: (clock) => openSqliteStore({ path: fresh(), clock }) });
  });
});
