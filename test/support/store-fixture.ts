import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type {
  Completion,
  EvidenceRow,
  Fence,
  NewExecution,
  NewRun,
  NewSession,
  Page,
  RetryLater,
  Store,
} from '../../src/contract/store.ts';
import { digestText } from '../../src/lib/canonical-json.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** A clock that moves only when told to; its sleeps end at once. */
export class FakeClock implements Clock {
  #wall: number;
  #monotonic: number;
  #bootId = 'boot';

  constructor(now = 1_000_000, monotonic = now) {
    this.#wall = now;
    this.#monotonic = monotonic;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  boot(): { boot_id: string; uptime_ms: number } {
    return { boot_id: this.#bootId, uptime_ms: this.#monotonic };
  }

  async sleep(): Promise<void> {}

  advance(ms: number): void {
    this.#wall += ms;
    this.#monotonic += ms;
  }

  /** Somebody sets the wall clock, forward or back. */
  set(ms: number): void {
    this.#wall += ms;
  }

  /** The machine starts anew. */
  reboot(): void {
    this.#bootId += '+';
    this.#monotonic = 0;
  }
}

/** A folder that is removed at the end of the scope; under `preferred` where that exists. */
export function temporaryFolder(
  preferred = tmpdir(),
): Disposable & { readonly path: string; file(name: string): string } {
  const folder = mkdtempSync(path.join(existsSync(preferred) ? preferred : tmpdir(), 'proctor-store-'));
  return {
    path: folder,
    file: (name) => path.join(folder, name),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export function newSession(id: string): NewSession {
  return {
    session_id: id,
    worker: `worker ${id}`,
    host: 'host',
    boot_id: 'boot',
    pid: 4711,
    process_start: '1',
  };
}

export function newRun(id: string, change: Partial<NewRun> = {}): NewRun {
  const snapshot = change.snapshot ?? '{"snapshot":1}';
  return {
    run_id: id,
    run_key: null,
    snapshot,
    snapshot_digest: digestText('proctor/snapshot/1', snapshot),
    plan_digest: digestText('proctor/plan/1', snapshot),
    cases: 2,
    repeats: 2,
    concurrency: 8,
    base_dir: '/somewhere',
    created_by: 'human:someone',
    ...change,
  };
}

/** The plan's executions from `from` on: case by case, each with its repeats. */
export function planned(from: number, count: number, repeats = 2): NewExecution[] {
  return Array.from({ length: count }, (_, index) => {
    const place = from + index;
    const number = Math.floor(place / repeats);
    return {
      case_id: `case-${String(number).padStart(4, '0')}`,
      repeat: (place % repeats) + 1,
      case_content: digestText('proctor/case/1', String(number)),
      cluster: null,
    };
  });
}

export function envelope(text: string): EvidenceRow {
  return { kind: 'envelope', body: JSON.stringify({ envelope: { text } }), artifact: null };
}

export function finding(text: string): EvidenceRow {
  return { kind: 'evaluator_result', body: JSON.stringify({ reason: text }), artifact: null };
}

export function failureRow(text: string): EvidenceRow {
  return { kind: 'failure', body: JSON.stringify({ message: text }), artifact: null };
}

export function fenceOf({ run_id, ordinal, attempt, lease_id }: Fence): Fence {
  return { run_id, ordinal, attempt, lease_id };
}

/** A completion as the worker sends it when all evaluators passed. */
export function completion(fence: Fence, change: Partial<Completion> = {}): Completion {
  return {
    ...fenceOf(fence),
    attempt_status: 'completed',
    status: 'completed',
    fault: null,
    reason: null,
    aggregate: '{"score":1}',
    passed: true,
    content: digestText('proctor/execution/1', `${fence.ordinal}`),
    evidence: [envelope(`answer ${fence.ordinal}`), finding(`finding ${fence.ordinal}`)],
    ...change,
  };
}

export function retryLater(fence: Fence, change: Partial<RetryLater> = {}): RetryLater {
  return {
    ...fenceOf(fence),
    attempt_status: 'failed_agent_call',
    fault: 'infrastructure',
    reason: 'connection_refused',
    delay_ms: 1_000,
    evidence: [failureRow('refused')],
    ...change,
  };
}

/** Rows of node:sqlite have no prototype; a copy has. */
export function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** All of what a paged reader gives, a page of `limit` at a time. */
export async function pages<Row, Key>(
  read: (page: Page<Key>) => Promise<Row[]>,
  keyOf: (row: Row) => Key,
  limit = 7,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const last = all.at(-1);
    const page = await read({ after: last === undefined ? null : keyOf(last), limit });
    all.push(...page);
    if (page.length < limit) return all;
  }
}

/** Ends everything that is left of a run: materializes, claims, completes. */
export async function workOff(store: Store, runId: string, sessionId: string): Promise<void> {
  const run = await store.run(runId);
  if (run === null) throw new Error(`no run ${runId}`);
  await store.materialize(
    runId,
    run.materialized,
    planned(run.materialized, run.total - run.materialized, run.repeats),
  );
  for (;;) {
    const claims = await store.claim({
      session_id: sessionId,
      run_ids: [runId],
      capacity: 64,
      lease_ms: 30_000,
      ahead: 0,
      max_losses: 5,
    });
    if (claims.length === 0) return;
    await Promise.all(claims.map((claim) => store.complete(completion(claim))));
  }
}
