import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { ApprovalAnswer, Fence, Store, ToolRunRow } from '../../src/contract/store.ts';
import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { completion, fenceOf, finding, newRun, newSession, planned, retryLater, workOff } from './store-fixture.ts';
import {
  answerTo,
  type CallChange,
  decideBy,
  type Effect,
  endOf,
  failedEnd,
  newToolRun,
  prepareGateway,
  requestBy,
} from './store-gateway.ts';

/** A row as raw SQL gives it. */
export type RawRow = Record<string, SQLInputValue>;

/** Fills a new store so that every table has rows: a completed run, and one with leased, retried, late and queued executions. */
export async function seedStore(path: string): Promise<void> {
  const store = openSqliteStore({ path });
  for (const id of ['wse_1', 'wse_2']) await store.openSession(newSession(id));
  const webhooks = ['https://one.example', 'https://two.example'].map((url) => ({ url, events: ['run_completed'] }));
  for (const id of ['run_done', 'run_open'])
    await store.createRun(
      newRun(id, { run_key: `key of ${id}`, snapshot: canonicalJson({ of: id, profile: { webhooks } }) }),
    );
  await workOff(store, 'run_done', 'wse_1');
  await store.beginFinalize('run_done');
  const digests = { content_digest: 'c'.repeat(64), merkle_root: 'd'.repeat(64) };
  await store.finalize('run_done', { gate_status: 'pass', verdict: '{"gate":"pass"}', ...digests });
  for (const profile of ['one', 'two']) await store.bless(profile, 'run_done', 'human:me');
  await store.materialize('run_open', 0, planned(0, 4));
  const request = {
    session_id: 'wse_1',
    run_ids: ['run_open'],
    capacity: 3,
    lease_ms: 30_000,
    ahead: 0,
    max_losses: 5,
  };
  const [first, second, third] = await store.claim(request);
  if (!first || !second || !third) throw new Error('three executions should have been claimed');
  await store.fail(retryLater(first));
  await store.complete(completion(first));
  await store.complete(completion(second));
  await store.appendEvidence(third, [finding('one'), finding('two')]);
  await seedGateway(store, fenceOf(third));
  await store.close();
  const db = new DatabaseSync(path);
  for (const revision of [1, 2])
    db.prepare(
      "insert into correction (run_no, revision, ordinal, result, aggregate, verdict, principal, corrected_at, hash) values (1, ?, 0, '{}', '{}', '{}', 'human:me', 0, '')",
    ).run(revision);
  for (const kind of ['tokens', 'tool_calls'])
    db.prepare('insert into budget (run_no, kind, cap) values (1, ?, 10)').run(kind);
  db.close();
}

/** Tool runs and approvals in every state in which they can lie in a store, outside of runs and in one. */
export async function seedGateway(store: Store, fence: Fence): Promise<void> {
  await prepareGateway(store);
  await store.switchTool('others', true, 'not needed', 'human:ann');
  const limits = [{ id: 'many', key: '["many"]', window_ms: 60_000, calls: 99, cost_micro_usd: null }];
  const make = async (name: string, effect: Effect, change: CallChange = {}): Promise<ToolRunRow> => {
    const call = newToolRun(Date.now(), { idempotency_key: name, caused_by: `evt_${name}`, trace_id: name, ...change });
    return (await store.beginToolRun(call, requestBy(decideBy(effect), { limits }))).run;
  };
  const answer = async ({ approval_id, call_digest }: ToolRunRow, change: Partial<ApprovalAnswer> = {}) =>
    await store.answerApproval(
      answerTo({ approval_id: approval_id ?? '', call_digest }, { comment: 'seen', ...change }),
    );
  const ended = [await make('ok', 'allow'), await make('error', 'allow', { fence }), await make('timeout', 'allow')];
  const [ok, error, timeout] = ended.map((run) => run.tool_run_id);
  await store.finishToolRun(endOf(ok ?? ''));
  const large = { output_digest: 'a'.repeat(64), output_artifact: 'b'.repeat(64), output_bytes: 70_000 };
  await store.finishToolRun(failedEnd(error ?? '', 'error', large));
  await store.finishToolRun(endOf(error ?? ''));
  await store.requestToolCancel(timeout ?? '', 'too slow', 'human:ann');
  await store.finishToolRun(failedEnd(timeout ?? '', 'timeout'));
  await make('denied', 'deny');
  await make('invalid', 'error');
  await make('running', 'allow', { open_world: true, cost_micro_usd: 5 });
  await make('pending', 'ask', { fence });
  await answer(await make('refused', 'ask'), { decision: 'deny' });
  await answer(await make('approved', 'ask'));
  const cancelled = await make('cancelled', 'ask');
  await answer(cancelled, { roles: [] });
  await store.cancelToolRun(cancelled.tool_run_id, 'cancelled', 'no more', 'human:ann');
  await store.deliverToolRun(cancelled.tool_run_id);
  for (const name of ['used', 'making']) {
    const run = await make(name, 'ask');
    await answer(run);
    await store.consumeApproval(run.tool_run_id, requestBy(decideBy('ask'), { limits }));
    if (name === 'making') continue;
    await store.finishToolRun(endOf(run.tool_run_id));
    await store.deliverToolRun(run.tool_run_id);
  }
  const old = await make('old', 'ask');
  const given = answerTo({ approval_id: old.approval_id ?? '', call_digest: old.call_digest });
  const changed = newToolRun(Date.now(), {
    arguments: '{"text":"changed"}',
    edited_from: old.tool_run_id,
    idempotency_key: 'new',
  });
  await store.editToolRun(given, changed, requestBy(decideBy('ask')));
  const gone = newToolRun(Date.now(), { idempotency_key: 'expired' });
  await store.beginToolRun(gone, requestBy(decideBy('ask', { terms: { expires_ms: 0 } })));
  await store.expireApprovals(9);
}

/** Every unique key of a table, as lists of columns: its primary key and its unique indexes. */
export function uniqueKeys(db: DatabaseSync, table: string): string[][] {
  const columns = db.prepare(`pragma table_info(${table})`).all() as { name: string; pk: number }[];
  const primary = columns.filter((column) => column.pk > 0).sort((a, b) => a.pk - b.pk);
  const indexes = db.prepare(`pragma index_list(${table})`).all() as { name: string; unique: number; origin: string }[];
  const others = indexes.filter((index) => index.unique === 1 && index.origin !== 'pk');
  return [
    primary.map((column) => column.name),
    ...others.map((index) =>
      (db.prepare(`pragma index_info(${index.name})`).all() as { name: string }[]).map((column) => column.name),
    ),
  ];
}

export function columnsOf(db: DatabaseSync, table: string): string[] {
  return (db.prepare(`pragma table_info(${table})`).all() as { name: string }[]).map((column) => column.name);
}

export function tablesOf(db: DatabaseSync): string[] {
  const rows = db.prepare("select name from sqlite_schema where type = 'table' order by name").all();
  return (rows as { name: string }[]).map((row) => row.name).filter((name) => !name.startsWith('sqlite_'));
}

export function rowsOf(db: DatabaseSync, table: string): RawRow[] {
  return db.prepare(`select * from ${table}`).all() as RawRow[];
}

/** The row with every column changed that is not kept, so that no other key of the table is met. */
export function alike(row: RawRow, kept: readonly string[], others: readonly string[]): RawRow {
  const changed = others.filter((column) => !kept.includes(column)).map((column) => [column, otherValue(row[column])]);
  return { ...row, ...(Object.fromEntries(changed) as RawRow) };
}

export function otherValue(value: SQLInputValue | undefined): SQLInputValue {
  if (value === null || value === undefined) return 1;
  return typeof value === 'number' ? value + 7_000 : `${String(value)} of another`;
}

export function insertSql(verb: string, table: string, row: RawRow): string {
  const columns = Object.keys(row);
  return `${verb} into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`;
}

export function where(columns: readonly string[]): string {
  return columns.map((column) => `${column} is ?`).join(' and ');
}
