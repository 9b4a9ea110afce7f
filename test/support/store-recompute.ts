import type {
  AttemptRow,
  EventRow,
  EvidenceRecord,
  ExecutionKey,
  ExecutionRow,
  LateRow,
  RunRow,
  Store,
} from '../../src/contract/store.ts';
import { attemptSeal, eventHash, evidenceHash, evidenceRoot, lateHash, resultHash } from '../../src/core/evidence.ts';
import { pages } from './store-fixture.ts';

/** Recomputes every chain, seal, result and root of a run from its rows; answers each place that differs. */
export async function differences(store: Store, runId: string): Promise<string[]> {
  const run = await store.run(runId);
  if (run === null) return [`no run ${runId}`];
  const executions = await pages<ExecutionRow, ExecutionKey>(
    (page) => store.executions(runId, page),
    ({ case_id, repeat }) => ({ case_id, repeat }),
  );
  const ordinals = executions.map((execution) => execution.ordinal);
  const attempts = Map.groupBy(await store.attempts(runId, ordinals), (row) => row.ordinal);
  const evidence = Map.groupBy(await store.evidence(runId, ordinals), (row) => `${row.ordinal}/${row.attempt}`);
  const chains = executions.flatMap((execution) =>
    executionDifferences(runId, execution, attempts.get(execution.ordinal) ?? [], evidence),
  );
  return [...chains, ...(await eventDifferences(store, run, executions))];
}

function executionDifferences(
  runId: string,
  execution: ExecutionRow,
  attempts: readonly AttemptRow[],
  evidence: ReadonlyMap<string, readonly EvidenceRecord[]>,
): string[] {
  const found: string[] = [];
  const seals = new Map<number, string>([[0, '']]);
  for (const row of attempts) {
    const place = `${row.ordinal}/${row.attempt}`;
    const rows = evidence.get(place) ?? [];
    let head = '';
    rows.forEach((item, index) => {
      if (item.seq !== index + 1) found.push(`evidence ${place} is numbered ${item.seq} at ${index + 1}`);
      head = evidenceHash(head, { run_id: runId, ordinal: row.ordinal, attempt: row.attempt, seq: item.seq }, item);
      if (head !== item.hash) found.push(`evidence ${place}/${item.seq} has another hash`);
    });
    if (row.ended_at === null || row.evidence_count === null) continue;
    const { ended_at, evidence_count } = row;
    const seal = attemptSeal(seals.get(row.attempt - 1) ?? 'no seal before', head, {
      ...row,
      run_id: runId,
      ended_at,
      evidence_count,
    });
    if (rows.length !== evidence_count) found.push(`attempt ${place} counted ${evidence_count} of ${rows.length} rows`);
    if (seal !== row.seal) found.push(`attempt ${place} has another seal`);
    seals.set(row.attempt, seal);
  }
  const { content, hash, finished_at } = execution;
  if (content !== null && finished_at !== null) {
    const seal = seals.get(execution.attempt) ?? 'the deciding attempt is not sealed';
    if (resultHash(seal, { ...execution, run_id: runId, content, finished_at }) !== hash)
      found.push(`result ${execution.ordinal} has another hash`);
  }
  return found;
}

/** What the body of an event may say that a row can be held against. */
interface Told {
  readonly result?: string;
  readonly passed?: boolean;
  readonly late?: string;
  readonly late_seq?: number;
}

async function eventDifferences(store: Store, run: RunRow, executions: readonly ExecutionRow[]): Promise<string[]> {
  const found: string[] = [];
  const { run_id } = run;
  const events = await pages<EventRow, number>(
    (page) => store.events(run_id, page),
    (event) => event.seq,
  );
  let hash = '';
  let at = 0;
  let position = 0;
  const told = new Map<string, string | null>();
  events.forEach((event, index) => {
    if (event.seq !== index + 1) found.push(`event ${index + 1} is numbered ${event.seq}`);
    if (event.at < at) found.push(`event ${event.seq} is before the one before it`);
    if (event.position <= position) found.push(`event ${event.seq} has no later position`);
    ({ at, position } = event);
    if (event.type === 'run_completed' && run.event_head !== hash)
      found.push('the run covers another head of the event chain');
    hash = eventHash(hash, event);
    if (hash !== event.hash) found.push(`event ${event.seq} has another hash`);
    const body: Told = event.body === null ? {} : (JSON.parse(event.body) as Told);
    if (body.result !== undefined) told.set(`result ${event.ordinal}`, `${body.result} ${Number(body.passed)}`);
    if (body.late !== undefined) told.set(`late ${body.late_seq}`, body.late);
  });
  const head = await store.eventHead(run_id);
  if (head.count !== events.length || head.hash !== hash) found.push('the head is not the end of the event chain');
  for (const execution of executions) {
    const result = execution.hash === null ? null : `${execution.hash} ${execution.passed}`;
    if ((told.get(`result ${execution.ordinal}`) ?? null) !== result)
      found.push(`no event tells of result ${execution.ordinal}`);
  }
  const late = await pages<LateRow, number>(
    (page) => store.lateEvidence(run_id, page),
    (row) => row.late_seq,
  );
  late.forEach((row, index) => {
    const expected = lateHash({ ...row, run_id });
    if (row.late_seq !== index + 1) found.push(`late row ${index + 1} is numbered ${row.late_seq}`);
    if (expected !== row.hash || told.get(`late ${row.late_seq}`) !== expected)
      found.push(`late row ${row.late_seq} has another hash`);
  });
  if (run.status === 'completed') found.push(...rootDifferences(run));
  return found;
}

function rootDifferences({ snapshot_digest, merkle_root, event_head, finished_at, evidence_root }: RunRow): string[] {
  if (merkle_root === null || event_head === null || finished_at === null) return ['a completed run has no roots'];
  const root = evidenceRoot({ snapshot_digest, merkle_root, event_head, finished_at });
  return root === evidence_root ? [] : ['the run has another evidence root'];
}
