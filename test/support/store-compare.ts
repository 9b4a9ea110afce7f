import assert from 'node:assert/strict';
import type { EventRow, ExecutionKey, ExecutionRow, LateRow, Store } from '../../src/contract/store.ts';
import { pages, plain } from './store-fixture.ts';
import type { StoreModel } from './store-model.ts';
import { eventKey, type ModelRun } from './store-model-run.ts';
import { differences } from './store-recompute.ts';

/** Asserts that everything a store shows is what the model says, that its invariants hold and that its chains recompute. */
export async function compare(store: Store, model: StoreModel): Promise<void> {
  assert.deepEqual(plain(await store.invariants()), []);
  for (const run of model.runs.values()) {
    await compareRun(store, model, run);
    assert.deepEqual(await differences(store, run.run_id), []);
  }
}

async function compareRun(store: Store, model: StoreModel, run: ModelRun): Promise<void> {
  const id = run.run_id;
  const ordinals = run.executions.map((item) => item.ordinal);
  const row = await store.run(id);
  assert.ok(row !== null);
  const { status, materialized, started_at, finished_at, cancel_requested_at, reason } = row;
  assert.deepEqual(
    { status, materialized, started_at, finished_at, cancel_requested_at, reason },
    {
      status: run.status,
      materialized: run.executions.length,
      started_at: run.started_at,
      finished_at: run.finished_at,
      cancel_requested_at: run.cancel_requested_at,
      reason: run.reason,
    },
  );
  assert.equal((await store.outbox(id)).length, run.finished_at === null ? 0 : 1);
  await compareProgress(store, model, run);
  assert.deepEqual(
    shownExecutions(await pages<ExecutionRow, ExecutionKey>((page) => store.executions(id, page), keyOf)),
    expectedExecutions(run),
  );
  assert.deepEqual(
    plain(await store.attempts(id, ordinals)).map(({ seal: _seal, ...rest }) => rest),
    expectedAttempts(run),
  );
  assert.deepEqual(
    plain(await store.evidence(id, ordinals)).map(({ hash: _hash, ...rest }) => rest),
    expectedEvidence(run),
  );
  const late = await pages<LateRow, number>(
    (page) => store.lateEvidence(id, page),
    (one) => one.late_seq,
  );
  assert.deepEqual(
    late.map(({ ordinal, attempt, lease_id, verb, received_at, body }) => ({
      ordinal,
      attempt,
      lease_id,
      verb,
      rows: JSON.parse(body) as unknown,
      received_at,
    })),
    run.late,
  );
  const events = await pages<EventRow, number>(
    (page) => store.events(id, page),
    (one) => one.seq,
  );
  assert.deepEqual(
    events.map(({ type, at, ordinal, attempt }) => eventKey(type, at, ordinal, attempt)).sort(),
    run.events.toSorted(),
  );
}

async function compareProgress(store: Store, model: StoreModel, run: ModelRun): Promise<void> {
  const { next_retry_reason, ...progress } = await store.progress(run.run_id);
  const count = (status: string) => run.executions.filter((item) => item.status === status).length;
  const retries = run.queued('retry_scheduled');
  const next = retries.length === 0 ? null : Math.min(...retries.map((item) => item.available_at));
  const attempts = run.executions.flatMap((item) => item.attempts);
  assert.deepEqual(progress, {
    total: run.total,
    pending: run.total - run.executions.length + count('pending'),
    running: count('running'),
    retry_scheduled: count('retry_scheduled'),
    waiting: count('waiting'),
    completed: count('completed'),
    failed: count('failed'),
    timed_out: count('timed_out'),
    cancelled: count('cancelled'),
    passed: run.executions.filter((item) => item.result?.passed).length,
    attempts: attempts.length,
    stale: attempts.filter((attempt) => attempt.status === 'stale').length,
    spent: { cost_micro_usd: 0, tokens: 0, tool_calls: 0 },
    next_retry_at: next === null ? null : model.shown(next),
  });
  const reasons = retries.filter((item) => item.available_at === next).map((item) => item.last().reason);
  assert.ok(next === null ? next_retry_reason === null : reasons.includes(next_retry_reason));
  const held = Map.groupBy(run.queued('running'), (item) => item.lease?.session_id ?? '');
  assert.deepEqual(
    (await store.holders(run.run_id)).map(({ session_id, held: n, lease_until }) => ({ session_id, n, lease_until })),
    [...held]
      .map(([session_id, items]) => ({
        session_id,
        n: items.length,
        lease_until: model.shown(Math.max(...items.map((item) => item.lease?.until ?? 0))),
      }))
      .sort((a, b) => (a.session_id < b.session_id ? -1 : 1)),
  );
}

const keyOf = ({ case_id, repeat }: { case_id: string; repeat: number }) => ({ case_id, repeat });

function shownExecutions(rows: readonly ExecutionRow[]): unknown[] {
  return plain(rows).map(({ hash: _hash, case_content: _content, cluster: _cluster, ...rest }) => rest);
}

function expectedExecutions(run: ModelRun): unknown[] {
  return run.executions
    .map(({ ordinal, case_id, repeat, status, attempts, result }) => ({
      ordinal,
      case_id,
      repeat,
      status,
      attempt: attempts.length,
      fault: result?.fault ?? null,
      passed: result === null ? null : Number(result.passed),
      aggregate: result?.aggregate ?? null,
      content: result?.content ?? null,
      finished_at: result?.finished_at ?? null,
    }))
    .sort((a, b) => (a.case_id === b.case_id ? a.repeat - b.repeat : a.case_id < b.case_id ? -1 : 1));
}

function expectedAttempts(run: ModelRun): unknown[] {
  return run.executions.flatMap(({ ordinal, attempts }) =>
    attempts.map(({ evidence, ...attempt }, index) => ({
      ordinal,
      attempt: index + 1,
      ...attempt,
      evidence_count: attempt.ended_at === null ? null : evidence.length,
    })),
  );
}

function expectedEvidence(run: ModelRun): unknown[] {
  return run.executions.flatMap(({ ordinal, attempts }) =>
    attempts.flatMap(({ evidence }, attempt) =>
      evidence.map((row, index) => ({ ordinal, attempt: attempt + 1, seq: index + 1, ...row })),
    ),
  );
}
