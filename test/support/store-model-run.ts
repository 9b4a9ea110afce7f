import type {
  AttemptEnd,
  AttemptStatus,
  ExecutionStatus,
  Fault,
  RunStatus,
  TerminalStatus,
} from '../../src/contract/state.ts';
import type { Claim, Completion, EvidenceRow, Fence } from '../../src/contract/store.ts';
import { executionContent } from '../../src/core/evidence.ts';

export interface ModelAttempt {
  status: AttemptStatus;
  readonly session_id: string;
  readonly lease_id: string;
  readonly started_at: number;
  ended_at: number | null;
  reason: string | null;
  fault: Fault | null;
  readonly evidence: EvidenceRow[];
}

export interface ModelResult {
  readonly status: TerminalStatus;
  readonly fault: Fault | null;
  readonly aggregate: string | null;
  readonly passed: boolean;
  readonly content: string;
}

/** How an execution ends that nobody holds when its run is cancelled. */
export const CANCELLED: ModelResult = {
  status: 'cancelled',
  fault: 'cancelled',
  aggregate: null,
  passed: false,
  content: executionContent({
    status: 'cancelled',
    fault: 'cancelled',
    envelope: null,
    evaluator_results: [],
    aggregate: null,
  }),
};

/** One execution of the model: its queue row, its attempts and its result in one object. */
export class ModelExecution {
  readonly ordinal: number;
  readonly case_id: string;
  readonly repeat: number;
  readonly order_key: number;
  status: ExecutionStatus = 'pending';
  available_at = 0;
  readonly failures = { agent: 0, infrastructure: 0, grader: 0, lease: 0 };
  lease: { readonly lease_id: string; readonly session_id: string; until: number } | null = null;
  readonly attempts: ModelAttempt[] = [];
  result: (ModelResult & { readonly finished_at: number }) | null = null;

  constructor(ordinal: number, case_id: string, repeat: number, order_key: number) {
    this.ordinal = ordinal;
    this.case_id = case_id;
    this.repeat = repeat;
    this.order_key = order_key;
  }

  last(): ModelAttempt {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined) throw new Error(`execution ${this.ordinal} has no attempt`);
    return attempt;
  }

  /** A claim of this execution: a new attempt under the lease. */
  open(
    run: ModelRun,
    now: number,
    { session_id, until }: { session_id: string; until: number },
    lease_id: string,
  ): Claim {
    const kept = this.attempts.findLast((attempt) => attempt.status === 'failed_evaluation')?.evidence ?? [];
    this.status = 'running';
    this.lease = { lease_id, session_id, until };
    this.attempts.push({
      status: 'running',
      session_id,
      lease_id,
      started_at: now,
      ended_at: null,
      reason: null,
      fault: null,
      evidence: [],
    });
    run.tell(now, 'attempt_started', this);
    const { ordinal, case_id, repeat } = this;
    return {
      run_id: run.run_id,
      ordinal,
      attempt: this.attempts.length,
      lease_id,
      case_id,
      repeat,
      failures: { ...this.failures },
      kept: kept.filter((row) => row.kind !== 'failure'),
    };
  }

  close(now: number, status: AttemptEnd, reason: string | null, fault: Fault | null): void {
    Object.assign(this.last(), { status, reason, fault, ended_at: now });
  }

  setAside(status: 'retry_scheduled' | 'waiting', availableAt: number): void {
    this.status = status;
    this.available_at = availableAt;
    this.lease = null;
  }

  end(run: ModelRun, now: number, { status, fault, aggregate, passed, content }: ModelResult): void {
    this.status = status;
    this.lease = null;
    this.result = { status, fault, aggregate, passed, content, finished_at: now };
    run.tell(now, 'execution_finished', this);
  }
}

export interface ModelLate {
  readonly ordinal: number;
  readonly attempt: number;
  readonly lease_id: string;
  readonly verb: string;
  readonly rows: readonly EvidenceRow[];
  readonly received_at: number;
}

/** One run of the model with its executions, late evidence and the types of its events. */
export class ModelRun {
  readonly run_id: string;
  /** Its place in the order of creation. */
  readonly number: number;
  readonly total: number;
  readonly concurrency: number;
  status: RunStatus = 'pending';
  next_pass = 0;
  started_at: number | null = null;
  finished_at: number | null = null;
  cancel_requested_at: number | null = null;
  reason: string | null = null;
  readonly executions: ModelExecution[] = [];
  readonly late: ModelLate[] = [];
  readonly events: string[] = [];

  constructor(run_id: string, number: number, total: number, concurrency: number, now: number) {
    this.run_id = run_id;
    this.number = number;
    this.total = total;
    this.concurrency = concurrency;
    this.tell(now, 'run_created');
  }

  add(caseId: string, repeat: number, orderKey: number): void {
    this.executions.push(new ModelExecution(this.executions.length, caseId, repeat, orderKey));
  }

  at(ordinal: number): ModelExecution {
    const item = this.executions[ordinal];
    if (item === undefined) throw new Error(`run ${this.run_id} of the model has no execution ${ordinal}`);
    return item;
  }

  active(): boolean {
    return this.status === 'pending' || this.status === 'running' || this.status === 'finalizing';
  }

  queued(status: ExecutionStatus): ModelExecution[] {
    return this.executions.filter((item) => item.result === null && item.status === status);
  }

  /** What a session holds of the run. */
  heldBy(sessionId: string): ModelExecution[] {
    return this.queued('running').filter((item) => item.lease?.session_id === sessionId);
  }

  /** Retries that are due, in the order they became so. */
  due(schedule: number): ModelExecution[] {
    return this.queued('retry_scheduled')
      .filter((item) => item.available_at <= schedule)
      .sort((a, b) => a.available_at - b.available_at || a.ordinal - b.ordinal);
  }

  /** True when there is something to claim at that point of the schedule. */
  claimable(schedule: number): boolean {
    return this.queued('pending').length > 0 || this.due(schedule).length > 0;
  }

  /** How far behind the run is: the least order key that waits. */
  pass(): number {
    return Math.min(Number.MAX_SAFE_INTEGER, ...this.queued('pending').map((item) => item.order_key));
  }

  tell(now: number, type: string, item?: ModelExecution): void {
    const attempt = item === undefined || item.attempts.length === 0 ? null : item.attempts.length;
    this.events.push(eventKey(type, now, item?.ordinal ?? null, attempt));
  }

  keepLate(now: number, fence: Fence, verb: string, rows: readonly EvidenceRow[]): 'fenced' {
    const { ordinal, attempt, lease_id } = fence;
    this.late.push({ ordinal, attempt, lease_id, verb, rows, received_at: now });
    this.events.push(eventKey('late_evidence', now, ordinal, attempt));
    return 'fenced';
  }

  /** True when this very completion was committed before. */
  committed(write: Completion): boolean {
    const item = this.executions[write.ordinal];
    if (!item?.result || item.attempts.length !== write.attempt) return false;
    const { lease_id, status } = item.last();
    return lease_id === write.lease_id && status === write.attempt_status && item.result.content === write.content;
  }

  endCancelled(now: number): void {
    if (this.executions.every((item) => item.result !== null)) this.end(now, 'cancelled', 'run_cancelled');
  }

  end(now: number, status: RunStatus, event: string): void {
    this.status = status;
    this.finished_at = now;
    this.tell(now, event);
  }
}

/** An event as the model compares it; bodies are checked by the chain. */
export function eventKey(type: string, at: number, ordinal: number | null, attempt: number | null): string {
  return `${at} ${type} ${ordinal} ${attempt}`;
}

export function sameRows(some: readonly EvidenceRow[], others: readonly EvidenceRow[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others);
}
