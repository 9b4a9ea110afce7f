import type { AttemptRow, EventRow, ExecutionRow, RunRow, Store } from '../../contract/store.ts';
import { eventHash, lateHash } from '../../core/evidence.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Differences } from './differences.ts';

const PAGE = 1000;

/** What the event chain says of the run as a whole. */
export interface ChainSummary {
  readonly count: number;
  /** The hash before `run_completed`: what the evidence root covers. */
  readonly head_before_completion: string | null;
}

/** Recomputes the run's event chain and holds every event against the row that it tells of. */
export async function checkEvents(store: Store, run: RunRow, differences: Differences): Promise<ChainSummary> {
  const { run_id } = run;
  let previous = '';
  let expected = 1;
  let headBefore: string | null = null;
  let at = Number.NEGATIVE_INFINITY;
  const finished = new Uint8Array(run.total);
  for (let after: number | null = 0; after !== null; ) {
    const page: EventRow[] = await store.events(run_id, { after, limit: PAGE });
    const rows = await rowsOf(store, run_id, page);
    for (const event of page) {
      const name = `event ${event.seq} ${event.type}`;
      differences.same('event', name, 'events are numbered from 1 without a gap', expected, event.seq);
      const { seq, type, ordinal, attempt, body } = event;
      differences.same('event', name, 'the hash chain', eventHash(previous, { run_id, seq, type, at: event.at, ordinal, attempt, body }), event.hash);
      if (event.at < at) differences.add('event', name, 'instants go backwards', { expected: at, found: event.at });
      checkAgainstRow(run, event, rows, name, differences);
      if (type === 'run_completed') headBefore = previous;
      if (type === 'execution_finished' && ordinal !== null) finished[ordinal] = (finished[ordinal] ?? 0) + 1;
      previous = event.hash;
      expected = event.seq + 1;
      at = event.at;
    }
    after = page.at(-1)?.seq ?? null;
  }
  const head = await store.eventHead(run_id);
  differences.same('run_head', run_id, 'event_count', expected - 1, head.count);
  differences.same('run_head', run_id, 'event_hash', previous, head.hash);
  if (run.status === 'completed') {
    finished.forEach((times, ordinal) => {
      if (times !== 1) differences.add('event', `execution ${ordinal}`, 'one execution_finished event', { expected: 1, found: times });
    });
  }
  await checkLate(store, run_id, differences);
  return { count: expected - 1, head_before_completion: headBefore };
}

interface Rows {
  readonly executions: ReadonlyMap<number, ExecutionRow>;
  readonly attempts: ReadonlyMap<string, AttemptRow>;
}

async function rowsOf(store: Store, runId: string, page: readonly EventRow[]): Promise<Rows> {
  const ordinals = [...new Set(page.flatMap((event) => event.ordinal ?? []))];
  if (ordinals.length === 0) return { executions: new Map(), attempts: new Map() };
  const executions = new Map((await store.executionsAt(runId, ordinals)).map((row) => [row.ordinal, row]));
  const attempts = new Map((await store.attempts(runId, ordinals)).map((row) => [`${row.ordinal}/${row.attempt}`, row]));
  return { executions, attempts };
}

function checkAgainstRow(run: RunRow, event: EventRow, rows: Rows, name: string, differences: Differences): void {
  const body = event.body === null ? {} : (parse(event.body) ?? {});
  const attempt = rows.attempts.get(`${event.ordinal}/${event.attempt}`);
  switch (event.type) {
    case 'run_created': {
      const { run_key, snapshot_digest, plan_digest, cases, repeats, total, concurrency, base_dir, created_by } = run;
      const expected = canonicalJson({ run_key, snapshot_digest, plan_digest, cases, repeats, total, concurrency, base_dir, created_by });
      differences.same('run', run.run_id, 'what the run was created with', event.body, expected);
      differences.same('run', run.run_id, 'created_at', event.at, run.created_at);
      return;
    }
    case 'run_started':
      differences.same('run', run.run_id, 'started_at', event.at, run.started_at);
      return;
    case 'run_cancel_requested':
      differences.same('run', run.run_id, 'cancel_requested_at', event.at, run.cancel_requested_at);
      differences.same('run', run.run_id, 'reason', body['reason'], run.reason);
      return;
    case 'run_cancelled':
    case 'run_failed':
      differences.same('run', run.run_id, 'status', event.type === 'run_failed' ? 'failed' : 'cancelled', run.status);
      differences.same('run', run.run_id, 'finished_at', event.at, run.finished_at);
      return;
    case 'run_completed':
      differences.same('run', run.run_id, 'status', 'completed', run.status);
      differences.same('run', run.run_id, 'finished_at', event.at, run.finished_at);
      differences.same('run', run.run_id, 'gate_status', body['gate_status'], run.gate_status);
      differences.same('run', run.run_id, 'evidence_root', body['evidence_root'], run.evidence_root);
      differences.same('run', run.run_id, 'content_digest', body['content_digest'], run.content_digest);
      return;
    case 'attempt_started':
      if (attempt === undefined) differences.add('attempt', name, 'the attempt that the event tells of is missing');
      else differences.same('attempt', name, 'started_at', event.at, attempt.started_at);
      return;
    case 'attempt_finished':
      if (attempt === undefined) differences.add('attempt', name, 'the attempt that the event tells of is missing');
      else differences.same('attempt', name, 'ended_at', event.at, attempt.ended_at);
      return;
    case 'attempt_stale':
      differences.same('attempt', name, 'status', 'stale', attempt?.status);
      return;
    case 'execution_finished': {
      const row = event.ordinal === null ? undefined : rows.executions.get(event.ordinal);
      differences.same('result', name, 'the hash that the event tells of', body['result'], row?.hash ?? undefined);
      differences.same('result', name, 'finished_at', event.at, row?.finished_at ?? undefined);
      return;
    }
    default:
      return;
  }
}

async function checkLate(store: Store, runId: string, differences: Differences): Promise<void> {
  const told = new Map<number, unknown>();
  for (let after: number | null = 0; after !== null; ) {
    const page: EventRow[] = await store.events(runId, { after, limit: PAGE });
    for (const event of page) {
      if (event.type !== 'late_evidence' || event.body === null) continue;
      const body = parse(event.body);
      told.set(Number(body?.['late_seq']), body?.['late']);
    }
    after = page.at(-1)?.seq ?? null;
  }
  const seen = new Set<number>();
  for (let after: number | null = 0; after !== null; ) {
    const page = await store.lateEvidence(runId, { after, limit: PAGE });
    for (const row of page) {
      const name = `late evidence ${row.late_seq}`;
      const hash = lateHash({ run_id: runId, ...row });
      differences.same('late_evidence', name, 'the hash', hash, row.hash);
      differences.same('late_evidence', name, 'the hash that its event tells of', told.get(row.late_seq), row.hash);
      seen.add(row.late_seq);
    }
    after = page.at(-1)?.late_seq ?? null;
  }
  for (const late of told.keys()) if (!seen.has(late)) differences.add('late_evidence', `late evidence ${late}`, 'the row that an event tells of is missing');
}

function parse(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof SyntaxError) return null; // the chain names the event already
    throw error;
  }
}
