import { ProctorError } from '../../contract/problem.ts';
import type { FinalVerdict, NewExecution, NewRun } from '../../contract/store.ts';
import { evidenceRoot } from '../../core/evidence.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { setBudgets } from './budgets.ts';
import { publish } from './deliveries.ts';
import { gatewayHead } from './gateway-run.ts';
import { note } from './journal.ts';
import type { Keys } from './keys.ts';
import { countWork } from './run-time.ts';
import type { Transaction } from './transaction.ts';

/** Creates a run with its snapshot, or finds the one with the same run key and snapshot. */
export function createRun(tx: Transaction, run: NewRun): { run_id: string; created: boolean } {
  const { connection, now } = tx;
  if (run.run_key !== null) {
    const known = connection.get<{ run_id: string; snapshot_digest: string }>(
      'select run_id, snapshot_digest from run where run_key = ?',
      run.run_key,
    );
    if (known?.snapshot_digest === run.snapshot_digest) return { run_id: known.run_id, created: false };
    if (known) {
      throw new ProctorError(
        'run_key_conflict',
        `run key \`${run.run_key}\` belongs to ${known.run_id}, whose profile, dataset or code differ from these; use another run key, or \`proctor resume ${known.run_id}\``,
      );
    }
  }
  connection.run(
    'insert into snapshot (digest, body) select ?1, ?2 where not exists (select 1 from snapshot where digest = ?1)',
    run.snapshot_digest,
    run.snapshot,
  );
  const total = run.cases * run.repeats;
  const inserted = connection.get<{ run_no: number }>(
    `insert into run (run_id, run_key, status, gate_status, snapshot_digest, plan_digest, cases, repeats, total, concurrency, base_dir, created_by, created_at)
values (?, ?, 'pending', 'unknown', ?, ?, ?, ?, ?, ?, ?, ?, ?) returning run_no`,
    run.run_id,
    run.run_key,
    run.snapshot_digest,
    run.plan_digest,
    run.cases,
    run.repeats,
    total,
    run.concurrency,
    run.base_dir,
    run.created_by,
    now,
  );
  const run_no = inserted?.run_no ?? 0;
  connection.run("insert into run_head (run_no, event_count, event_hash) values (?, 0, '')", run_no);
  const { run_key, snapshot_digest, plan_digest, cases, repeats, concurrency, base_dir, created_by } = run;
  const body = canonicalJson({
    run_key,
    snapshot_digest,
    plan_digest,
    cases,
    repeats,
    total,
    concurrency,
    base_dir,
    created_by,
    spend_told: true,
  });
  setBudgets(tx, run_no, run.budgets ?? []);
  note(tx, 'run_created', { no: run_no, run_id: run.run_id });
  tx.event({ run_no, run_id: run.run_id, type: 'run_created', body });
  return { run_id: run.run_id, created: true };
}

const STRIDE = 1000; // order keys between two executions of a run; runs interleave by them (stride scheduling)

/** Adds a window of executions to the plan's end and queues them; a window that another worker added is left out. */
export function materialize(
  tx: Transaction,
  keys: Keys,
  runId: string,
  from: number,
  executions: readonly NewExecution[],
): number {
  const { connection } = tx;
  const runNo = keys.run(runId);
  const run = connection.get<{
    status: string;
    materialized: number;
    next_pass: number;
    ending: number;
  }>(
    'select status, materialized, next_pass, (cancel_requested_at is not null or stop_reason is not null) as ending from run where run_no = ?',
    runNo,
  );
  if (run === undefined || run.materialized !== from || run.ending === 1) return run?.materialized ?? 0;
  if (run.status !== 'pending' && run.status !== 'running') return run.materialized;
  const least =
    connection.get<{ pass: number | null }>("select min(order_key) as pass from queue where status = 'pending'")
      ?.pass ?? 0;
  let pass = Math.max(run.next_pass, least);
  const rows = JSON.stringify(executions.map((one) => [one.case_id, one.repeat, one.case_content, one.cluster]));
  connection.run(
    `insert or fail into execution (run_no, ordinal, case_id, repeat, case_content, cluster)
select ?1, ?2 + key, value ->> 0, value ->> 1, value ->> 2, value ->> 3 from json_each(?3)`,
    runNo,
    from,
    rows,
  );
  connection.run(
    `insert or fail into queue (run_no, ordinal, status, order_key, available_at)
select ?1, ?2 + key, 'pending', ?3 + key * ?4, 0 from json_each(?5)`,
    runNo,
    from,
    pass,
    STRIDE,
    rows,
  );
  const ordinal = from + executions.length;
  pass += STRIDE * executions.length;
  connection.run(
    'update run set materialized = ?, next_pass = ? where run_no = ? and materialized = ?',
    ordinal,
    pass,
    runNo,
    from,
  );
  tx.count(runNo, 'pending', executions.length);
  if (run.status === 'pending') start(tx, runNo, runId);
  return ordinal;
}

function start(tx: Transaction, runNo: number, runId: string): void {
  tx.connection.run(
    "update run set status = 'running', started_at = ? where run_no = ? and status = 'pending'",
    tx.now,
    runNo,
  );
  countWork(tx, runNo, 0);
  tx.event({ run_no: runNo, run_id: runId, type: 'run_started' });
}

/** Records the wish to cancel; a run that nothing was materialized of ends at once. */
export function requestCancel(tx: Transaction, keys: Keys, runId: string, reason: string): boolean {
  const runNo = keys.run(runId);
  const changed = tx.connection.run(
    "update run set cancel_requested_at = ?, reason = ? where run_no = ? and status in ('pending', 'running') and cancel_requested_at is null",
    tx.now,
    reason,
    runNo,
  );
  if (changed === 1) {
    tx.event({ run_no: runNo, run_id: runId, type: 'run_cancel_requested', body: canonicalJson({ reason }) });
    endCancelled(tx, runNo, runId);
  }
  const run = tx.connection.get<{ cancel_requested_at: number | null; status: string }>(
    'select cancel_requested_at, status from run where run_no = ?',
    runNo,
  );
  return changed === 1 || (run?.cancel_requested_at != null && ['pending', 'running'].includes(run.status));
}

/** Ends a run to be cancelled once nothing of it is queued. */
export function endCancelled(tx: Transaction, runNo: number, runId: string): boolean {
  const changed = tx.connection.run(
    `update run set status = 'cancelled', finished_at = ?1 where run_no = ?2 and status in ('pending', 'running') and cancel_requested_at is not null
and not exists (select 1 from queue where run_no = ?2)`,
    tx.now,
    runNo,
  );
  if (changed === 1) {
    const at = { run_no: runNo, run_id: runId };
    const outbox = publish(tx, at, 'run_cancelled', canonicalJson({ run_id: runId }));
    tx.event({ ...at, type: 'run_cancelled', body: canonicalJson({ outbox }) });
  }
  return changed === 1;
}

/** running → finalizing once everything is materialized and nothing is queued. */
export function beginFinalize(tx: Transaction, keys: Keys, runId: string): boolean {
  const runNo = keys.run(runId);
  const changed = tx.connection.run(
    `update run set status = 'finalizing' where run_no = ?1 and status = 'running' and (materialized = total or stop_reason is not null) and cancel_requested_at is null
and not exists (select 1 from queue where run_no = ?1)`,
    runNo,
  );
  if (changed === 1) tx.event({ run_no: runNo, run_id: runId, type: 'run_finalizing' });
  return (
    tx.connection.get<{ status: string }>('select status from run where run_no = ?', runNo)?.status === 'finalizing'
  );
}

/** finalizing → completed: verdict, digests and evidence root, with the event and the outbox row in the same transaction. */
export function finalize(tx: Transaction, keys: Keys, runId: string, verdict: FinalVerdict): boolean {
  const { connection, now } = tx;
  const runNo = keys.run(runId);
  const run = connection.get<{ snapshot_digest: string; due: number; results: number }>(
    "select snapshot_digest, iif(stop_reason is null, total, materialized) as due, (select count(*) from result r where r.run_no = run.run_no) as results from run where run_no = ? and status = 'finalizing'",
    runNo,
  );
  if (run === undefined) return false;
  if (run.results !== run.due) {
    throw new ProctorError(
      'store_altered',
      `run ${runId} has ${run.results} results for ${run.due} executions; \`proctor doctor --verify\` says more`,
    );
  }
  sealGateway(tx, runNo, runId);
  const event_head = tx.head(runNo).hash;
  const root = evidenceRoot({
    snapshot_digest: run.snapshot_digest,
    merkle_root: verdict.merkle_root,
    event_head,
    finished_at: now,
  });
  connection.run(
    `update run set status = 'completed', gate_status = ?, verdict = ?, content_digest = ?, merkle_root = ?, evidence_root = ?, event_head = ?, finished_at = ?
where run_no = ? and status = 'finalizing'`,
    verdict.gate_status,
    verdict.verdict,
    verdict.content_digest,
    verdict.merkle_root,
    root,
    event_head,
    now,
    runNo,
  );
  const { gate_status, content_digest } = verdict;
  const body = canonicalJson({ run_id: runId, gate_status, content_digest, evidence_root: root });
  tx.event({ run_no: runNo, run_id: runId, type: 'run_completed', body });
  publish(tx, { run_no: runNo, run_id: runId }, 'run_completed', body);
  return true;
}

/** The calls of the run's agents are sealed into its own events, so that the evidence root covers them too. */
function sealGateway(tx: Transaction, runNo: number, runId: string): void {
  const head = gatewayHead(tx.connection, runNo);
  if (head === null) return;
  tx.event({ run_no: runNo, run_id: runId, type: 'gateway_sealed', body: canonicalJson(head) });
}

/** The run fails by its own fault, from running or finalizing. */
export function failRun(tx: Transaction, keys: Keys, runId: string, reason: string): boolean {
  const runNo = keys.run(runId);
  // A run that never got its first window has to have started to fail (DESIGN §5).
  if (tx.connection.get("select 1 from run where run_no = ? and status = 'pending'", runNo)) start(tx, runNo, runId);
  const changed = tx.connection.run(
    "update run set status = 'failed', finished_at = ?, reason = ? where run_no = ? and status in ('running', 'finalizing')",
    tx.now,
    reason,
    runNo,
  );
  if (changed === 1) {
    const at = { run_no: runNo, run_id: runId };
    const outbox = publish(tx, at, 'run_failed', canonicalJson({ reason, run_id: runId }));
    tx.event({ ...at, type: 'run_failed', body: canonicalJson({ outbox, reason }) });
  }
  return changed === 1;
}
