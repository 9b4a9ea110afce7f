import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import type { Claim, Completion, EvidenceRow, Fence, FinalVerdict, WriteResult } from '../../../src/contract/store.ts';
import { attemptSeal, eventHash, evidenceHash, evidenceRoot, resultHash } from '../../../src/core/evidence.ts';
import { canonicalJson } from '../../../src/lib/canonical-json.ts';
import { randomText } from '../../../src/lib/id.ts';

/** A claim with what the hashes of its attempt need: the seal before it and the database's instant of its start. */
export interface OpenedClaim extends Claim {
  readonly session_id: string;
  readonly started_at: number;
  readonly previous_seal: string;
}

/** A completion as the spike sends it: the claim it ends and how long that took by the worker's monotonic clock. */
export interface TimedCompletion extends Completion {
  readonly claim: OpenedClaim;
  readonly elapsed_ms: number;
}

/** The SQL of the spike by name; in files of several statements each begins with a `-- name:` line. */
export async function spikeSql(file: string): Promise<Record<string, string>> {
  const text = await readFile(new URL(`../../../src/store/postgres/spike/${file}.sql`, import.meta.url), 'utf8');
  const parts = text.split(/^-- name: (\w+)$/m);
  if (parts.length === 1) return { [file]: text };
  const named = parts.slice(1);
  return Object.fromEntries(named.flatMap((name, index) => (index % 2 === 0 ? [[name, named[index + 1] ?? '']] : [])));
}

const sql = { ...(await spikeSql('claim')), ...(await spikeSql('complete')), ...(await spikeSql('finalize')) };

/** Claims up to `n` executions under one fresh lease. */
export async function claim(
  client: pg.Client,
  request: { session_id: string; run_id: string; n: number; lease_ms: number },
): Promise<OpenedClaim[]> {
  const { session_id, run_id, n, lease_ms } = request;
  const lease_id = randomText(16);
  const { rows } = await client.query<ClaimedRow>({
    name: 'claim',
    text: sql['claim'] ?? '',
    values: [session_id, run_id, n, lease_ms, lease_id],
  });
  return rows.map(({ agent_failures, infrastructure_failures, grader_failures, lease_losses, kept, ...row }) => ({
    ...row,
    run_id,
    session_id,
    lease_id,
    failures: {
      agent: agent_failures,
      infrastructure: infrastructure_failures,
      grader: grader_failures,
      lease: lease_losses,
    },
    kept: kept ?? [],
  }));
}

interface ClaimedRow {
  readonly ordinal: number;
  readonly attempt: number;
  readonly case_id: string;
  readonly repeat: number;
  readonly started_at: number;
  readonly previous_seal: string;
  readonly agent_failures: number;
  readonly infrastructure_failures: number;
  readonly grader_failures: number;
  readonly lease_losses: number;
  readonly kept: EvidenceRow[] | null;
}

/** Completes a batch in one statement; answers in the order of the batch. */
export async function complete(client: pg.Client, completions: readonly TimedCompletion[]): Promise<WriteResult[]> {
  const sent = JSON.stringify(completions.map(hashed));
  const { rows } = await client.query<{ ordinal: number; attempt: number; outcome: WriteResult }>({
    name: 'complete',
    text: sql['complete'] ?? '',
    values: [sent],
  });
  const outcomes = new Map(rows.map(({ ordinal, attempt, outcome }) => [`${ordinal}/${attempt}`, outcome]));
  return completions.map(({ ordinal, attempt }) => {
    const outcome = outcomes.get(`${ordinal}/${attempt}`);
    if (outcome === undefined) throw new Error(`no answer for ${ordinal}/${attempt}`);
    return outcome;
  });
}

/** A completion with its hashes: everything they cover is known to who holds the lease. */
function hashed({ claim: opened, evidence, elapsed_ms, attempt_status, passed, ...end }: TimedCompletion): object {
  const { run_id, ordinal, attempt, status, fault, reason, aggregate, content } = end;
  let head = '';
  const chained = evidence.map((row, index) => {
    const seq = index + 1;
    head = evidenceHash(head, { run_id, ordinal, attempt, seq }, row);
    return { seq, ...row, hash: head };
  });
  const ended_at = opened.started_at + elapsed_ms;
  const closed = { ...opened, ended_at, status: attempt_status, reason, fault, evidence_count: evidence.length };
  const seal = attemptSeal(opened.previous_seal, head, closed);
  const hash = resultHash(seal, { run_id, ordinal, attempt, status, fault, aggregate, content, finished_at: ended_at });
  const event_body = canonicalJson({ status, fault, passed, result: hash });
  return {
    ...end,
    attempt_status,
    passed,
    elapsed_ms,
    evidence: chained,
    evidence_count: evidence.length,
    seal,
    hash,
    event_body,
  };
}

export async function beginFinalize(client: pg.Client, runId: string): Promise<boolean> {
  const { rows } = await client.query<{ finalizing: boolean }>({
    name: 'begin_finalize',
    text: sql['begin_finalize'] ?? '',
    values: [runId],
  });
  return rows[0]?.finalizing === true;
}

/** Numbers what is unnumbered, then finalizes over that head; once more when an event came in between. */
export async function finalize(client: pg.Client, runId: string, verdict: FinalVerdict): Promise<boolean> {
  for (;;) {
    await sequence(client, runId);
    const { rows: heads } = await client.query<{ snapshot_digest: string; event_hash: string; now: number }>(
      `select r.snapshot_digest, h.event_hash, clock_ms() as now from run r join run_head h using (run_no) where r.run_id = $1 and r.status = 'finalizing'`,
      [runId],
    );
    const head = heads[0];
    if (head === undefined) return false;
    const { gate_status, content_digest, merkle_root } = verdict;
    const root = evidenceRoot({
      snapshot_digest: head.snapshot_digest,
      merkle_root,
      event_head: head.event_hash,
      finished_at: head.now,
    });
    const body = canonicalJson({ run_id: runId, gate_status, content_digest, evidence_root: root });
    const values = [
      runId,
      gate_status,
      verdict.verdict,
      content_digest,
      merkle_root,
      root,
      head.event_hash,
      head.now,
      body,
    ];
    const { rows } = await client.query<{ completed: boolean; results: number; total: number }>({
      name: 'finalize',
      text: sql['finalize'] ?? '',
      values,
    });
    const answer = rows[0];
    if (answer === undefined) return false;
    if (answer.completed) return true;
    if (answer.results !== answer.total) throw new Error(`${answer.results} results for ${answer.total} executions`);
  }
}

/**
 * Numbers and chains a run's events, optimistically: two sequencers read the same head, one moves it. The events of one
 * statement that committed before another began stand before that one's, because the later sees a larger `event_no`.
 */
export async function sequence(client: pg.Client, runId: string): Promise<number> {
  let numbered = 0;
  for (;;) {
    const { rows } = await client.query<Unnumbered>({ name: 'unnumbered', text: UNNUMBERED, values: [runId, 1_000] });
    const first = rows[0];
    if (first === undefined) return numbered;
    let { event_count: seq, event_hash: hash } = first;
    const chained = rows.map(({ event_no, type, at, ordinal, attempt, body }) => {
      seq += 1;
      hash = eventHash(hash, { run_id: runId, seq, type, at, ordinal, attempt, body });
      return { event_no, seq, hash };
    });
    const values = [first.run_no, first.event_count, seq, hash, JSON.stringify(chained)];
    const { rowCount } = await client.query({ name: 'number', text: NUMBER, values });
    numbered += rowCount ?? 0;
  }
}

interface Unnumbered {
  readonly run_no: number;
  readonly event_count: number;
  readonly event_hash: string;
  readonly event_no: number;
  readonly type: string;
  readonly at: number;
  readonly ordinal: number | null;
  readonly attempt: number | null;
  readonly body: string | null;
}

const UNNUMBERED = `select h.run_no, h.event_count, h.event_hash, e.event_no, e.type, e.at, e.ordinal, e.attempt, e.body
from run r join run_head h on h.run_no = r.run_no join event e on e.run_no = r.run_no
where r.run_id = $1 and e.seq is null order by e.event_no limit $2`;
const NUMBER = `with moved as (
  update run_head set event_count = $3, event_hash = $4 where run_no = $1 and event_count = $2 returning run_no
)
update event e set seq = c.seq, hash = c.hash
from moved m cross join json_to_recordset($5::json) as c (event_no bigint, seq bigint, hash text)
where e.event_no = c.event_no and e.run_no = m.run_no`;

/** Takes leases that ran out: attempt `stale` and sealed, execution ready again, slot free. */
export async function reap(client: pg.Client, limit = 200): Promise<Fence[]> {
  const { rows } = await client.query<Overdue>({ name: 'overdue', text: OVERDUE, values: [limit] });
  const end = { status: 'stale', reason: 'lease_lost', fault: 'infrastructure', evidence_count: 0 } as const;
  const sealed = rows.map((row) => ({
    ...row,
    seal: attemptSeal(row.previous_seal, '', { ...row, ...end, ended_at: row.now }),
  }));
  const taken = await client.query<Fence>({ name: 'reap', text: REAP, values: [JSON.stringify(sealed)] });
  return taken.rows;
}

interface Overdue extends Fence {
  readonly session_id: string;
  readonly started_at: number;
  readonly previous_seal: string;
  readonly now: number;
}

const OVERDUE = `select q.run_no, r.run_id, q.ordinal, q.attempt, q.lease_id, s.session_id, a.started_at, coalesce(p.seal, '') as previous_seal, clock_ms() as now
from queue q
join run r on r.run_no = q.run_no
join worker_session s on s.session_no = q.session_no
join attempt a on a.run_no = q.run_no and a.ordinal = q.ordinal and a.attempt = q.attempt
left join attempt p on p.run_no = q.run_no and p.ordinal = q.ordinal and p.attempt = q.attempt - 1
where q.status = 'running' and q.lease_until < statement_ms() limit $1`;
const REAP = `with sent as materialized (
  select * from json_to_recordset($1::json) as c (run_no bigint, run_id text, ordinal integer, attempt integer, lease_id text, now bigint, seal text)
), taken as materialized (
  select s.*, q.slot_no from sent s
  join queue q on q.run_no = s.run_no and q.ordinal = s.ordinal and q.attempt = s.attempt and q.lease_id = s.lease_id
  where q.status = 'running' and q.lease_until < statement_ms()
  for update of q skip locked
), back as (
  update queue q set status = 'retry_scheduled', available_at = clock_ms(), lease_losses = lease_losses + 1,
    lease_id = null, session_no = null, slot_no = null, lease_until = null
  from taken t where q.run_no = t.run_no and q.ordinal = t.ordinal
), vacated as (
  update run_slot s set ordinal = null, attempt = null from taken t where s.run_no = t.run_no and s.slot_no = t.slot_no
), closed as (
  update attempt a set status = 'stale', reason = 'lease_lost', fault = 'infrastructure', ended_at = t.now, evidence_count = 0, seal = t.seal
  from taken t where a.run_no = t.run_no and a.ordinal = t.ordinal and a.attempt = t.attempt
), told as (
  insert into event (run_no, type, at, ordinal, attempt) select run_no, 'attempt_stale', clock_ms(), ordinal, attempt from taken
), counted as (
  insert into run_delta (run_no, kind, n)
  select run_no, m.kind, sum(m.n) from taken cross join (values ('running', -1), ('retry_scheduled', 1), ('stale', 1)) as m (kind, n) group by run_no, m.kind
)
select run_id, ordinal, attempt, lease_id from taken`;
