import type {
  Completion,
  EvidenceRow,
  Fence,
  HeartbeatAnswer,
  Reaped,
  ReapRequest,
  RetryLater,
  WriteResult,
} from '../../src/contract/store.ts';
import { backoffMs } from '../../src/core/backoff.ts';
import { executionContent } from '../../src/core/evidence.ts';
import { CANCELLED, type ModelExecution, type ModelRun, sameRows } from './store-model-run.ts';

interface ModelSession {
  last_seen_at: number;
  ended: boolean;
}

/** What a store must answer, as plain objects: no SQL, no transactions, one call after the other. */
export class StoreModel {
  readonly runs = new Map<string, ModelRun>();
  readonly sessions = new Map<string, ModelSession>();
  /** Every fence that was ever handed out, for stale writes on purpose. */
  readonly tokens: Fence[] = [];
  readonly completions: Completion[] = [];
  serial = 0;
  #wall: number;
  #now = 0;
  #passed = 0;
  #began: number | null = null; // where the schedule began, less what had passed before

  constructor(wall: number) {
    this.#wall = wall;
  }

  /** Lets time pass. */
  tick(ms: number): void {
    this.#wall += ms;
    this.#passed += ms;
  }

  /** Sets the wall clock; the store's instants never go back, and its schedule does not care. */
  set(ms: number): void {
    this.#wall += ms;
  }

  /** Where the schedule stands: it began at the first instant and goes on as time passes. */
  get schedule(): number {
    return (this.#began ?? this.look() - this.#passed) + this.#passed;
  }

  /** A point of the schedule by the wall clock of now. */
  shown(at: number): number {
    return at - this.schedule + this.#wall;
  }

  /** The instant of the next write. */
  instant(): number {
    this.#began ??= this.look() - this.#passed;
    this.#now = this.look();
    return this.#now;
  }

  /** The instant that a write would have now. */
  look(): number {
    return Math.max(this.#now, this.#wall);
  }

  run(runId: string): ModelRun {
    const run = this.runs.get(runId);
    if (run === undefined) throw new Error(`the model has no run ${runId}`);
    return run;
  }

  openSession(id: string): void {
    this.instant();
    this.sessions.set(id, { last_seen_at: this.schedule, ended: false });
  }

  touchSession(id: string): void {
    const session = this.sessions.get(id);
    this.instant();
    if (session) session.last_seen_at = this.schedule;
  }

  closeSession(id: string): void {
    const session = this.sessions.get(id);
    this.instant();
    if (session) session.ended = true;
  }

  materialize(runId: string, from: number, executions: readonly { case_id: string; repeat: number }[]): number {
    const now = this.instant();
    const run = this.run(runId);
    const open = run.status === 'pending' || run.status === 'running';
    if (run.executions.length !== from || run.cancel_requested_at !== null || !open) return run.executions.length;
    const waiting = [...this.runs.values()].flatMap((other) => other.queued('pending')).map((item) => item.order_key);
    let pass = Math.max(run.next_pass, waiting.length === 0 ? 0 : Math.min(...waiting));
    for (const { case_id, repeat } of executions) {
      run.add(case_id, repeat, pass);
      pass += 1000;
    }
    run.next_pass = pass;
    if (run.status === 'pending') this.#start(run, now);
    return run.executions.length;
  }

  #start(run: ModelRun, now: number): void {
    run.status = 'running';
    run.started_at = now;
    run.tell(now, 'run_started');
  }

  heartbeat(sessionId: string, leaseMs: number, fences: readonly Fence[]): HeartbeatAnswer {
    this.touchSession(sessionId);
    const lost = fences.filter((fence) => {
      const item = this.held(fence);
      if (item?.lease) item.lease.until = this.schedule + leaseMs;
      return item === null;
    });
    const cancelled = [...this.runs.values()].filter((run) => run.active() && run.cancel_requested_at !== null);
    return { lost, cancelled_runs: cancelled.map((run) => run.run_id) };
  }

  appendEvidence(fence: Fence, rows: readonly EvidenceRow[]): WriteResult {
    const now = this.instant();
    const item = this.held(fence);
    if (item === null) return this.run(fence.run_id).keepLate(now, fence, 'append_evidence', rows);
    const { evidence } = item.last();
    if (rows.length > 0 && sameRows(evidence.slice(-rows.length), rows)) return 'duplicate';
    evidence.push(...rows);
    return 'written';
  }

  complete(write: Completion): WriteResult {
    const now = this.instant();
    const run = this.run(write.run_id);
    const item = this.held(write);
    if (item === null) {
      return run.committed(write) ? 'duplicate' : run.keepLate(now, write, 'complete', write.evidence);
    }
    this.completions.push(write);
    item.last().evidence.push(...write.evidence);
    item.close(now, write.attempt_status, write.reason, write.fault);
    item.end(run, now, write);
    return 'written';
  }

  fail(write: RetryLater): WriteResult {
    const now = this.instant();
    const run = this.run(write.run_id);
    const item = this.held(write);
    if (item === null) return run.keepLate(now, write, 'fail', write.evidence);
    item.last().evidence.push(...write.evidence);
    item.close(now, write.attempt_status, write.reason, write.fault);
    item.failures[write.fault === 'infrastructure' || write.fault === 'grader' ? write.fault : 'agent'] += 1;
    item.setAside('retry_scheduled', this.schedule + write.delay_ms);
    run.tell(now, 'attempt_finished', item);
    return 'written';
  }

  release(fence: Fence): WriteResult {
    const now = this.instant();
    const item = this.held(fence);
    if (item === null) return 'fenced';
    item.close(now, 'cancelled', 'released', 'cancelled');
    item.setAside('retry_scheduled', this.schedule);
    this.run(fence.run_id).tell(now, 'attempt_finished', item);
    return 'written';
  }

  suspend(fence: Fence, deadlineMs: number): WriteResult {
    const now = this.instant();
    const item = this.held(fence);
    if (item === null) return 'fenced';
    item.last().status = 'suspended';
    item.setAside('waiting', this.schedule + deadlineMs - now);
    this.run(fence.run_id).tell(now, 'attempt_suspended', item);
    return 'written';
  }

  /** Leases that may be taken now; which of them are taken first is the store's choice. */
  reapable(request: ReapRequest): Omit<Reaped, 'ended'>[] {
    this.instant();
    return [...this.runs.values()]
      .filter((run) => run.status === 'pending' || run.status === 'running')
      .flatMap((run) =>
        run.queued('running').flatMap(({ ordinal, lease, attempts }) => {
          if (lease === null) return [];
          const { lease_id, session_id, until } = lease;
          if (until >= this.schedule && !request.dead_sessions.includes(session_id)) return [];
          return [{ run_id: run.run_id, ordinal, attempt: attempts.length, lease_id, session_id }];
        }),
      );
  }

  /** Takes one lease; answers what the reaper must tell of it. */
  reap(fence: Omit<Reaped, 'ended'>, request: ReapRequest): Reaped {
    const now = this.instant();
    const run = this.run(fence.run_id);
    const item = run.at(fence.ordinal);
    item.close(now, 'stale', 'lease_lost', 'infrastructure');
    run.tell(now, 'attempt_stale', item);
    const ended = item.failures.lease + 1 > request.max_losses;
    if (ended) {
      const end = { status: 'failed', fault: 'infrastructure', aggregate: null } as const;
      const content = executionContent({ ...end, envelope: null, evaluator_results: [] });
      item.end(run, now, { ...end, passed: false, content });
    } else {
      item.failures.lease += 1;
      const wait = backoffMs(request.backoff, item.failures.lease, `${run.run_id}/${item.ordinal}/${fence.attempt}`);
      item.setAside('retry_scheduled', this.schedule + wait);
    }
    return { ...fence, ended };
  }

  /** Sessions that are known dead and hold nothing are over. */
  buryDead(dead: readonly string[]): void {
    const leased = [...this.runs.values()].flatMap((run) => run.queued('running'));
    for (const id of dead) {
      const session = this.sessions.get(id);
      if (session && !leased.some((item) => item.lease?.session_id === id)) session.ended = true;
    }
  }

  requestCancel(runId: string, reason: string): boolean {
    const now = this.instant();
    const run = this.run(runId);
    if (run.status !== 'pending' && run.status !== 'running') return false;
    if (run.cancel_requested_at === null) {
      run.cancel_requested_at = now;
      run.reason = reason;
      run.tell(now, 'run_cancel_requested');
      run.endCancelled(now);
    }
    return true;
  }

  sweepCancelled(runId: string, limit: number): number {
    const now = this.instant();
    const run = this.run(runId);
    if (run.cancel_requested_at === null || (run.status !== 'pending' && run.status !== 'running')) return 0;
    const idle = run.executions.filter((item) => item.result === null && item.status !== 'running').slice(0, limit);
    for (const item of idle) {
      if (item.status === 'waiting') item.close(now, 'cancelled', 'run_cancelled', 'cancelled');
      item.end(run, now, CANCELLED);
    }
    run.endCancelled(now);
    return idle.length;
  }

  beginFinalize(runId: string): boolean {
    const now = this.instant();
    const run = this.run(runId);
    const whole = run.executions.length === run.total && run.executions.every((item) => item.result !== null);
    if (run.status === 'running' && whole && run.cancel_requested_at === null) {
      run.status = 'finalizing';
      run.tell(now, 'run_finalizing');
    }
    return run.status === 'finalizing';
  }

  finalize(runId: string): boolean {
    const now = this.instant();
    const run = this.run(runId);
    if (run.status !== 'finalizing') return false;
    run.end(now, 'completed', 'run_completed');
    return true;
  }

  failRun(runId: string, reason: string): boolean {
    const now = this.instant();
    const run = this.run(runId);
    if (run.status === 'pending') this.#start(run, now);
    if (run.status !== 'running' && run.status !== 'finalizing') return false;
    run.reason = reason;
    run.end(now, 'failed', 'run_failed');
    return true;
  }

  /** The execution that the fence holds, or null when the fence is stale. */
  held(fence: Fence): ModelExecution | null {
    const item = this.runs.get(fence.run_id)?.executions[fence.ordinal];
    if (item?.status !== 'running' || item.lease === null) return null;
    return item.attempts.length === fence.attempt && item.lease.lease_id === fence.lease_id ? item : null;
  }
}
