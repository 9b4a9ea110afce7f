import type pg from 'pg';
import type { EvidenceRow, FinalVerdict } from '../../../src/contract/store.ts';
import { attemptSeal, eventHash, evidenceHash, evidenceRoot, resultHash } from '../../../src/core/evidence.ts';
import { MerkleTree } from '../../../src/core/merkle.ts';
import { canonicalJson, digestText } from '../../../src/lib/canonical-json.ts';
import type { PostgresServer } from '../../support/postgres.ts';
import { type OpenedClaim, spikeSql, type TimedCompletion } from './spike-store.ts';

/** A database of the spike's schema with one running run of queued executions and some worker sessions. */
export interface Spike {
  readonly run_id: string;
  /** Session ids, as many as asked for. */
  readonly sessions: readonly string[];
  readonly client: pg.Client;
  connect(): Promise<pg.Client>;
}

export async function createSpike(
  server: PostgresServer,
  size: { executions: number; concurrency: number; sessions?: number },
): Promise<Spike> {
  const database = await server.createDatabase();
  const client = await server.connect(database);
  const { schema = '' } = await spikeSql('schema');
  await client.query(schema);
  const run_id = 'run_spike';
  const sessions = Array.from({ length: size.sessions ?? 1 }, (_, index) => `wse_${index}`);
  await client.query('insert into worker_session (session_id) select unnest($1::text[])', [sessions]);
  await client.query(
    "insert into run (run_id, status, snapshot_digest, total, materialized, concurrency) values ($1, 'running', $2, $3, $3, $4)",
    [run_id, digestText('proctor/snapshot/1', '{}'), size.executions, size.concurrency],
  );
  await client.query("insert into run_head (run_no, event_count, event_hash) select run_no, 0, '' from run");
  await client.query('insert into run_slot (run_no, slot_no) select run_no, generate_series(1, concurrency) from run');
  await client.query(
    "insert into execution (run_no, ordinal, case_id, repeat) select run_no, n, 'case-' || n, 1 from run, generate_series(0, total - 1) as n",
  );
  await client.query(
    "insert into queue (run_no, ordinal, status, order_key, available_at) select run_no, ordinal, 'pending', ordinal * 1000, 0 from execution",
  );
  await client.query('analyze run, execution, queue, run_slot, worker_session');
  return { run_id, sessions, client, connect: () => server.connect(database) };
}

/** The completion of a claim with an envelope and one evaluator result. */
export function completionOf(claim: OpenedClaim, change: Partial<TimedCompletion> = {}): TimedCompletion {
  const { run_id, ordinal, attempt, lease_id } = claim;
  const evidence: EvidenceRow[] = [
    {
      kind: 'envelope',
      body: canonicalJson({ envelope: { text: `answer ${ordinal} `.repeat(10) }, latency_ms: 3 }),
      artifact: null,
    },
    {
      kind: 'evaluator_result',
      body: canonicalJson({ ref: 'exact_match@1', status: 'passed', score: 1, reason: null }),
      artifact: null,
    },
  ];
  const content = digestText('proctor/execution/1', String(ordinal));
  const end = { attempt_status: 'completed', status: 'completed', fault: null, reason: null, passed: true } as const;
  return {
    run_id,
    ordinal,
    attempt,
    lease_id,
    claim,
    elapsed_ms: 1,
    aggregate: '{"score":1}',
    content,
    evidence,
    ...end,
    ...change,
  };
}

/** Reads the counts that the invariants are stated over. */
export const COUNTS = `select
  (select count(*) from result) as results,
  (select count(*) from queue) as queued,
  (select count(*) from run_slot where ordinal is not null) as occupied,
  (select count(*) from attempt where ended_at is null) as open_attempts,
  (select count(*) from attempt) as attempts,
  (select count(*) from attempt where status = 'stale') as stale,
  (select count(*) from result r join attempt a using (run_no, ordinal, attempt) where a.status = 'stale') as results_of_stale,
  (select count(*) from evidence) as evidence,
  (select json_object_agg(kind, n) from (select kind, sum(n) as n from run_delta group by kind) as d) as deltas`;

/** A verdict over the results that stand in the store. */
export async function verdictOf(client: pg.Client): Promise<FinalVerdict> {
  const { rows } = await client.query<{ hash: string }>(
    'select x.hash from result x join execution e using (run_no, ordinal) order by e.case_id, e.repeat',
  );
  const tree = new MerkleTree();
  for (const { hash } of rows) tree.add(hash);
  const verdict = canonicalJson({ gate: 'pass' });
  return {
    gate_status: 'pass',
    verdict,
    content_digest: digestText('proctor/content/1', verdict),
    merkle_root: tree.root(),
  };
}

/** Recomputes every hash from the rows, as a verifier would; answers each place that differs. */
export async function differences(client: pg.Client): Promise<string[]> {
  const read = async <Row extends pg.QueryResultRow>(text: string) => (await client.query<Row>(text)).rows;
  const run = (
    await read<RunRow>('select run_id, snapshot_digest, merkle_root, event_head, finished_at, evidence_root from run')
  )[0];
  if (run === undefined) return ['no run'];
  const { run_id } = run;
  const found: string[] = [];
  const heads = new Map<string, { seq: number; hash: string }>();
  for (const row of await read<EvidenceRecord>(
    'select ordinal, attempt, seq, kind, body, artifact, hash from evidence order by ordinal, attempt, seq',
  )) {
    const place = `${row.ordinal}/${row.attempt}`;
    const head = heads.get(place) ?? { seq: 0, hash: '' };
    const hash = evidenceHash(head.hash, { ...row, run_id }, row);
    if (hash !== row.hash || row.seq !== head.seq + 1) found.push(`evidence ${place}/${row.seq}`);
    heads.set(place, { seq: row.seq, hash });
  }
  const seals = new Map<string, string>();
  for (const row of await read<AttemptRow>(
    'select a.*, s.session_id from attempt a join worker_session s using (session_no) order by ordinal, attempt',
  )) {
    const place = `${row.ordinal}/${row.attempt}`;
    const head = heads.get(place) ?? { seq: 0, hash: '' };
    const before = row.attempt === 1 ? '' : (seals.get(`${row.ordinal}/${row.attempt - 1}`) ?? 'no attempt before');
    const seal = attemptSeal(before, head.hash, { ...row, run_id });
    if (seal !== row.seal || head.seq !== row.evidence_count) found.push(`attempt ${place}`);
    seals.set(place, seal);
  }
  for (const row of await read<ResultRow>(
    'select ordinal, attempt, status, fault, aggregate, content, finished_at, hash from result',
  )) {
    const seal = seals.get(`${row.ordinal}/${row.attempt}`) ?? 'no attempt';
    if (resultHash(seal, { ...row, run_id }) !== row.hash) found.push(`result ${row.ordinal}`);
  }
  let chain = '';
  let count = 0;
  for (const row of await read<EventRow>(
    'select seq, type, at, ordinal, attempt, body, hash from event order by seq',
  )) {
    count += 1;
    if (row.type === 'run_completed' && run.event_head !== chain) found.push('the run covers another head');
    chain = eventHash(chain, { ...row, run_id });
    if (row.hash !== chain || row.seq !== count) found.push(`event ${row.seq}`);
  }
  const { snapshot_digest, merkle_root, event_head, finished_at } = run;
  const root = evidenceRoot({ snapshot_digest, merkle_root, event_head, finished_at });
  if (root !== run.evidence_root) found.push('evidence root');
  return found;
}

type RunRow = {
  run_id: string;
  snapshot_digest: string;
  merkle_root: string;
  event_head: string;
  finished_at: number;
  evidence_root: string;
};
type EvidenceRecord = EvidenceRow & { ordinal: number; attempt: number; seq: number; hash: string };
type AttemptRow = Omit<Parameters<typeof attemptSeal>[2], 'run_id'> & { seal: string };
type ResultRow = Omit<Parameters<typeof resultHash>[1], 'run_id'> & { hash: string };
type EventRow = Omit<Parameters<typeof eventHash>[1], 'run_id'> & { hash: string };
