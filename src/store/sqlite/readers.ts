import type {
  AttemptRow,
  EventRow,
  EvidenceRecord,
  ExecutionKey,
  ExecutionRow,
  Holder,
  LateRow,
  OutboxRow,
  Page,
  Progress,
  RowCounts,
  RunRow,
} from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';

const RUN = `run_id, run_key, status, gate_status, snapshot_digest, plan_digest, cases, repeats, total, materialized, concurrency, base_dir, created_by,
created_at, started_at, finished_at, cancel_requested_at, reason, verdict, content_digest, merkle_root, evidence_root, event_head, stop_reason, stop_after`;

/** One run by id. */
export function run(connection: Connection, runId: string): RunRow | null {
  return connection.get<RunRow>(`select ${RUN} from run where run_id = ?`, runId) ?? null;
}

/** One run by its run key. */
export function runByKey(connection: Connection, runKey: string): RunRow | null {
  return connection.get<RunRow>(`select ${RUN} from run where run_key = ?`, runKey) ?? null;
}

/** Newest first, in the order in which they were created: ids follow the wall clock, which may have been set back. The key is a run id. */
export function runs(connection: Connection, page: Page<string>): RunRow[] {
  return connection.all<RunRow>(
    `select ${RUN} from run where ?1 is null or run_no < (select run_no from run where run_id = ?1) order by run_no desc limit ?2`,
    page.after,
    page.limit,
  );
}

/** Runs that have not ended, oldest first. */
export function activeRuns(connection: Connection): RunRow[] {
  return connection.all<RunRow>(
    `select ${RUN} from run where status in ('pending', 'running', 'finalizing') order by run_no`,
  );
}

/** A frozen snapshot's canonical JSON by its digest. */
export function snapshot(connection: Connection, digest: string): string | null {
  return connection.get<{ body: string }>('select body from snapshot where digest = ?', digest)?.body ?? null;
}

/** Live counts from the counters that every transaction moves; never a scan. */
export function progress(connection: Connection, keys: Keys, runId: string, shown: (at: number) => number): Progress {
  const runNo = keys.run(runId);
  const total = connection.get<{ total: number }>('select total from run where run_no = ?', runNo)?.total ?? 0;
  const stats = new Map(
    connection
      .all<{ kind: string; n: number }>('select kind, n from run_stat where run_no = ?', runNo)
      .map((row) => [row.kind, row.n]),
  );
  const next = connection.get<{ at: number; reason: string | null }>(
    `select q.available_at as at, a.reason from queue q left join attempt a on a.run_no = q.run_no and a.ordinal = q.ordinal and a.attempt = q.attempt
where q.run_no = ? and q.status = 'retry_scheduled' order by q.available_at limit 1`,
    runNo,
  );
  const n = (kind: string) => stats.get(kind) ?? 0;
  const ended = n('completed') + n('failed') + n('timed_out') + n('cancelled');
  return {
    total,
    pending: total - ended - n('running') - n('retry_scheduled') - n('waiting'),
    running: n('running'),
    retry_scheduled: n('retry_scheduled'),
    waiting: n('waiting'),
    completed: n('completed'),
    failed: n('failed'),
    timed_out: n('timed_out'),
    cancelled: n('cancelled'),
    passed: n('passed'),
    attempts: n('attempts'),
    stale: n('stale'),
    spent: { cost_micro_usd: n('cost_micro_usd'), tokens: n('tokens'), tool_calls: n('tool_calls') },
    next_retry_at: next === undefined ? null : shown(next.at),
    next_retry_reason: next?.reason ?? null,
  };
}

/** Names of artifacts that the evidence and the tool calls of a run refer to. */
export function artifactNames(connection: Connection, keys: Keys, runId: string, page: Page<string>): string[] {
  return connection
    .all<{ name: string }>(
      `select artifact as name from evidence where run_no = ?1 and artifact is not null and artifact > ?2
union select output_artifact from tool_run where stream = ?1 and output_artifact > ?2 order by 1 limit ?3`,
      keys.run(runId),
      page.after ?? '',
      page.limit,
    )
    .map((row) => row.name);
}

/** Sessions that hold leases of a run. */
export function holders(connection: Connection, keys: Keys, runId: string, shown: (at: number) => number): Holder[] {
  const rows = connection.all<Holder & Record<string, unknown>>(
    `select s.session_id, s.worker, s.host, s.pid, count(*) as held, s.last_seen_at, max(q.lease_until) as lease_until
from queue q join worker_session s on s.session_no = q.session_no where q.run_no = ? and q.status = 'running' group by s.session_no order by s.session_id`,
    keys.run(runId),
  );
  return rows.map((row) => ({
    ...row,
    last_seen_at: shown(row.last_seen_at),
    lease_until: shown(row.lease_until),
  }));
}

const EXECUTION = `select x.ordinal, x.case_id, x.repeat, x.case_content, x.cluster, coalesce(r.status, q.status, 'pending') as status,
coalesce(r.attempt, q.attempt, 0) as attempt, r.fault, r.passed, r.aggregate, r.content, r.finished_at, r.hash
from execution x
left join result r on r.run_no = x.run_no and r.ordinal = x.ordinal
left join queue q on q.run_no = x.run_no and q.ordinal = x.ordinal`;

/** Executions in verdict order, a page after a key. */
export function executions(
  connection: Connection,
  keys: Keys,
  runId: string,
  page: Page<ExecutionKey>,
): ExecutionRow[] {
  return connection.all<ExecutionRow & Record<string, unknown>>(
    `${EXECUTION} where x.run_no = ? and (x.case_id, x.repeat) > (?, ?) order by x.case_id, x.repeat limit ?`,
    keys.run(runId),
    page.after?.case_id ?? '',
    page.after?.repeat ?? 0,
    page.limit,
  );
}

/** Executions that ended without passing, in ordinal order, by an index of just those. */
export function executionsNotPassed(
  connection: Connection,
  keys: Keys,
  runId: string,
  page: Page<number>,
): ExecutionRow[] {
  return connection.all<ExecutionRow & Record<string, unknown>>(
    `${EXECUTION} where x.run_no = ?1 and x.ordinal in (
  select ordinal from result where run_no = ?1 and passed = 0 and ordinal > ?2 order by ordinal limit ?3
) order by x.ordinal`,
    keys.run(runId),
    page.after ?? -1,
    page.limit,
  );
}

/** Executions by ordinal. */
export function executionsAt(
  connection: Connection,
  keys: Keys,
  runId: string,
  ordinals: readonly number[],
): ExecutionRow[] {
  return connection.all<ExecutionRow & Record<string, unknown>>(
    `${EXECUTION} where x.run_no = ? and x.ordinal in (select value from json_each(?)) order by x.ordinal`,
    keys.run(runId),
    JSON.stringify(ordinals),
  );
}

/** How many rows a run has in each table. */
export function rowCounts(connection: Connection, keys: Keys, runId: string): RowCounts {
  const runNo = keys.run(runId);
  const count = (table: string) =>
    connection.get<{ n: number }>(`select count(*) as n from ${table} where run_no = ?`, runNo)?.n ?? 0;
  const [execution, queue, attempt, evidence, result, event, late_evidence, outbox] = TABLES.map(count) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return { execution, queue, attempt, evidence, result, event, late_evidence, outbox };
}

const TABLES = ['execution', 'queue', 'attempt', 'evidence', 'result', 'event', 'late_evidence', 'outbox'] as const;

/** Attempts of executions, in (ordinal, attempt) order. */
export function attempts(connection: Connection, keys: Keys, runId: string, ordinals: readonly number[]): AttemptRow[] {
  return connection.all<AttemptRow & Record<string, unknown>>(
    `select a.ordinal, a.attempt, s.session_id, a.lease_id, a.status, a.started_at, a.ended_at, a.reason, a.fault, a.evidence_count, a.seal
from attempt a left join worker_session s on s.session_no = a.session_no
where a.run_no = ? and a.ordinal in (select value from json_each(?)) order by a.ordinal, a.attempt`,
    keys.run(runId),
    JSON.stringify(ordinals),
  );
}

/** Evidence of executions, in (ordinal, attempt, seq) order. */
export function evidence(
  connection: Connection,
  keys: Keys,
  runId: string,
  ordinals: readonly number[],
): EvidenceRecord[] {
  return connection.all<EvidenceRecord & Record<string, unknown>>(
    `select ordinal, attempt, seq, kind, body, artifact, hash from evidence
where run_no = ? and ordinal in (select value from json_each(?)) order by ordinal, attempt, seq`,
    keys.run(runId),
    JSON.stringify(ordinals),
  );
}

/** Events of a run after a seq. */
export function events(connection: Connection, keys: Keys, runId: string, page: Page<number>): EventRow[] {
  return connection.all<EventRow & Record<string, unknown>>(
    `select e.position, r.run_id, e.seq, e.type, e.at, e.ordinal, e.attempt, e.body, e.hash from event e join run r on r.run_no = e.run_no
where e.run_no = ? and e.seq > ? order by e.seq limit ?`,
    keys.run(runId),
    page.after ?? 0,
    page.limit,
  );
}

/** The stored head of a run's event chain. */
export function eventHead(connection: Connection, keys: Keys, runId: string): { count: number; hash: string } {
  const row = connection.get<{ event_count: number; event_hash: string }>(
    'select event_count, event_hash from run_head where run_no = ?',
    keys.run(runId),
  );
  return { count: row?.event_count ?? 0, hash: row?.event_hash ?? '' };
}

/** Late evidence of a run after a number. */
export function lateEvidence(connection: Connection, keys: Keys, runId: string, page: Page<number>): LateRow[] {
  return connection.all<LateRow & Record<string, unknown>>(
    'select late_seq, ordinal, attempt, lease_id, verb, body, received_at, hash from late_evidence where run_no = ? and late_seq > ? order by late_seq limit ?',
    keys.run(runId),
    page.after ?? 0,
    page.limit,
  );
}

/** Outbox rows of a run. */
export function outbox(connection: Connection, keys: Keys, runId: string): OutboxRow[] {
  return connection.all<OutboxRow & Record<string, unknown>>(
    'select o.outbox_no, r.run_id, o.dedupe_key, o.type, o.body, o.created_at from outbox o join run r on r.run_no = o.run_no where o.run_no = ? order by o.outbox_no',
    keys.run(runId),
  );
}
