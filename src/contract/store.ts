import type { AttemptEnd, AttemptStatus, ExecutionStatus, Fault, GateStatus, RunStatus, TerminalStatus } from './state.ts';

/** The fence: what every write that a worker causes carries, checked in the statement that writes. */
export interface Fence {
  readonly run_id: string;
  readonly ordinal: number;
  readonly attempt: number;
  readonly lease_id: string;
}

/** One evidence row to append. `body` is JSON text; when the body stands in an artifact, `artifact` is its digest. */
export interface EvidenceRow {
  readonly kind: 'envelope' | 'evaluator_result' | 'failure';
  readonly body: string;
  readonly artifact: string | null;
}

export interface NewRun {
  readonly run_id: string;
  readonly run_key: string | null;
  readonly snapshot_digest: string;
  /** The frozen snapshot as canonical JSON. */
  readonly snapshot: string;
  readonly plan_digest: string;
  readonly cases: number;
  readonly repeats: number;
  readonly concurrency: number;
  /** Where relative paths of the profile start; provenance, outside the snapshot. */
  readonly base_dir: string;
  readonly created_by: string;
}

/** One execution to materialize; its ordinal follows from its place. */
export interface NewExecution {
  readonly case_id: string;
  readonly repeat: number;
  readonly case_content: string;
  readonly cluster: string | null;
}

export interface RunRow {
  readonly run_id: string;
  readonly run_key: string | null;
  readonly status: RunStatus;
  readonly gate_status: GateStatus;
  readonly snapshot_digest: string;
  readonly plan_digest: string;
  readonly cases: number;
  readonly repeats: number;
  readonly total: number;
  readonly materialized: number;
  readonly concurrency: number;
  readonly base_dir: string;
  readonly created_by: string;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly cancel_requested_at: number | null;
  readonly reason: string | null;
  /** Canonical JSON of the verdict; null until completed. */
  readonly verdict: string | null;
  readonly content_digest: string | null;
  readonly merkle_root: string | null;
  readonly evidence_root: string | null;
  /** Head of the event chain that the evidence root covers. */
  readonly event_head: string | null;
}

/** Live counts of a run by execution status, and its attempts. */
export interface Progress {
  readonly total: number;
  readonly pending: number;
  readonly running: number;
  readonly retry_scheduled: number;
  readonly waiting: number;
  readonly completed: number;
  readonly failed: number;
  readonly timed_out: number;
  readonly cancelled: number;
  readonly passed: number;
  readonly attempts: number;
  readonly stale: number;
  /** Epoch ms when the next scheduled retry is due and why it was scheduled, or null. */
  readonly next_retry_at: number | null;
  readonly next_retry_reason: string | null;
}

/** A session that holds leases of a run, for showing what is waited for. */
export interface Holder {
  readonly session_id: string;
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
  readonly held: number;
  readonly last_seen_at: number;
  /** When the last of its leases runs out. */
  readonly lease_until: number;
}

export interface ClaimRequest {
  readonly session_id: string;
  /** Only these runs; null = any run that may run. */
  readonly run_ids: readonly string[] | null;
  /** Most executions to claim now. */
  readonly capacity: number;
  /** How many this session holds already. */
  readonly held: number;
  readonly lease_ms: number;
}

/** A claimed execution: the fence and what the attempt needs. */
export interface Claim extends Fence {
  readonly case_id: string;
  readonly repeat: number;
  /** Failures so far that count against each budget. */
  readonly failures: FailureCounts;
  /** Evidence of the attempt before, when that one failed in evaluation: its envelope and results are kept. */
  readonly kept: readonly EvidenceRow[];
}

/** Failures of an execution so far, by budget; `lease` counts leases lost. */
export interface FailureCounts {
  readonly agent: number;
  readonly infrastructure: number;
  readonly grader: number;
  readonly lease: number;
}

/** How an attempt ends for good and the execution with it. */
export interface Completion extends Fence {
  readonly attempt_status: AttemptEnd;
  readonly status: TerminalStatus;
  readonly fault: Fault | null;
  readonly reason: string | null;
  /** Canonical JSON of the aggregate, or null. */
  readonly aggregate: string | null;
  readonly passed: boolean;
  readonly content: string;
  readonly evidence: readonly EvidenceRow[];
}

/** How an attempt ends with another to follow. */
export interface RetryLater extends Fence {
  readonly attempt_status: AttemptEnd;
  readonly fault: Fault;
  readonly reason: string;
  readonly delay_ms: number;
  readonly evidence: readonly EvidenceRow[];
}

/** `duplicate`: the same write was committed before; `fenced`: the lease was taken, the write is kept as late evidence. */
export type WriteResult = 'written' | 'duplicate' | 'fenced';

export interface HeartbeatAnswer {
  /** Fences that are no longer held: abort the work. */
  readonly lost: readonly Fence[];
  /** Runs whose cancellation was requested. */
  readonly cancelled_runs: readonly string[];
}

export interface NewSession {
  readonly session_id: string;
  readonly worker: string;
  readonly host: string;
  readonly boot_id: string;
  readonly pid: number;
  readonly process_start: string;
}

export interface SessionRow extends NewSession {
  readonly started_at: number;
  readonly last_seen_at: number;
  readonly ended_at: number | null;
}

export interface ReapRequest {
  /** Sessions known to be dead: their leases are taken at once. */
  readonly dead_sessions: readonly string[];
  readonly limit: number;
  /** Leases that an execution may lose before it ends `failed`, fault infrastructure. */
  readonly max_losses: number;
}

/** A lease that the reaper took; when the losses are spent the execution must be ended by `complete`-like evidence. */
export interface Reaped extends Fence {
  readonly session_id: string;
  readonly ended: boolean;
}

export interface FinalVerdict {
  readonly gate_status: Exclude<GateStatus, 'unknown'>;
  readonly verdict: string;
  readonly content_digest: string;
  readonly merkle_root: string;
}

export interface ExecutionRow {
  readonly ordinal: number;
  readonly case_id: string;
  readonly repeat: number;
  readonly case_content: string;
  readonly cluster: string | null;
  readonly status: ExecutionStatus;
  readonly attempt: number;
  readonly fault: Fault | null;
  readonly aggregate: string | null;
  readonly content: string | null;
  readonly finished_at: number | null;
  readonly hash: string | null;
}

export interface AttemptRow {
  readonly ordinal: number;
  readonly attempt: number;
  readonly session_id: string;
  readonly lease_id: string;
  readonly status: AttemptStatus;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly reason: string | null;
  readonly fault: Fault | null;
  readonly evidence_count: number | null;
  readonly seal: string | null;
}

export interface EvidenceRecord extends EvidenceRow {
  readonly ordinal: number;
  readonly attempt: number;
  readonly seq: number;
  readonly hash: string;
}

export interface EventRow {
  readonly position: number;
  readonly run_id: string;
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly ordinal: number | null;
  readonly attempt: number | null;
  readonly body: string | null;
  readonly hash: string;
}

export interface LateRow {
  readonly late_seq: number;
  readonly ordinal: number;
  readonly attempt: number;
  readonly lease_id: string;
  readonly verb: string;
  readonly body: string;
  readonly received_at: number;
  readonly hash: string;
}

export interface OutboxRow {
  readonly outbox_no: number;
  readonly run_id: string;
  readonly dedupe_key: string;
  readonly type: string;
  readonly body: string;
  readonly created_at: number;
}

/** A page after a key: `after` is the last key of the page before (null at the start). */
export interface Page<Key> {
  readonly after: Key | null;
  readonly limit: number;
}

/** Plan order, or the order in which a verdict is computed. */
export type ExecutionKey = { readonly case_id: string; readonly repeat: number };

/** How many rows a run has in each table. */
export interface RowCounts {
  readonly execution: number;
  readonly queue: number;
  readonly attempt: number;
  readonly evidence: number;
  readonly result: number;
  readonly event: number;
  readonly late_evidence: number;
  readonly outbox: number;
}

/** What is wrong with a store, by the invariants that hold at every moment. */
export interface InvariantViolation {
  readonly invariant: string;
  readonly count: number;
  /** The first offending row, for a person. */
  readonly example: string;
}

/** The store: async, batch-shaped verbs; every write of a worker is fenced; every transition comes with its event in one transaction. */
export interface Store {
  /** Where it is, for people. */
  readonly location: string;

  openSession(session: NewSession): Promise<void>;
  touchSession(sessionId: string): Promise<void>;
  closeSession(sessionId: string): Promise<void>;

  /** Creates the run, or finds the one with the same run key and snapshot; another snapshot is `run_key_conflict`. */
  createRun(run: NewRun): Promise<{ readonly run_id: string; readonly created: boolean }>;
  /** Adds executions from ordinal `from` on, if that is where the run stands; answers how many are materialized now. */
  materialize(runId: string, from: number, executions: readonly NewExecution[]): Promise<number>;
  claim(request: ClaimRequest): Promise<Claim[]>;
  heartbeat(sessionId: string, leaseMs: number, fences: readonly Fence[]): Promise<HeartbeatAnswer>;
  appendEvidence(fence: Fence, rows: readonly EvidenceRow[]): Promise<WriteResult>;
  complete(completion: Completion): Promise<WriteResult>;
  fail(retry: RetryLater): Promise<WriteResult>;
  /** Gives the execution back uncharged: attempt `cancelled`, reason `released`. */
  release(fence: Fence): Promise<WriteResult>;
  /** Sets the execution aside without a lease until something resumes it: attempt `suspended`, execution `waiting`. */
  suspend(fence: Fence, deadlineMs: number): Promise<WriteResult>;
  reap(request: ReapRequest): Promise<Reaped[]>;
  /** Requests cancellation; answers false when the run has ended. */
  requestCancel(runId: string, reason: string): Promise<boolean>;
  /** Ends executions that nobody holds of a run to be cancelled; the run ends with its last lease. Answers how many it ended. */
  sweepCancelled(runId: string, limit: number): Promise<number>;
  /** running → finalizing when every execution has ended; answers whether the run is finalizing now. */
  beginFinalize(runId: string): Promise<boolean>;
  /** finalizing → completed with the verdict, its event and its outbox row; false when another finalizer was first. */
  finalize(runId: string, verdict: FinalVerdict): Promise<boolean>;
  /** The run fails by its own fault. */
  failRun(runId: string, reason: string): Promise<boolean>;

  run(runId: string): Promise<RunRow | null>;
  runByKey(runKey: string): Promise<RunRow | null>;
  /** Newest first. */
  runs(page: Page<string>): Promise<RunRow[]>;
  activeRuns(): Promise<RunRow[]>;
  snapshot(digest: string): Promise<string | null>;
  progress(runId: string): Promise<Progress>;
  holders(runId: string): Promise<Holder[]>;
  /** Executions in verdict order (case_id, repeat). */
  executions(runId: string, page: Page<ExecutionKey>): Promise<ExecutionRow[]>;
  /** Executions by ordinal, in ordinal order. */
  executionsAt(runId: string, ordinals: readonly number[]): Promise<ExecutionRow[]>;
  /** Rows of a run by table, for a check that none was added aside. */
  rowCounts(runId: string): Promise<RowCounts>;
  /** Attempts in (ordinal, attempt) order. */
  attempts(runId: string, ordinals: readonly number[]): Promise<AttemptRow[]>;
  /** Evidence in (ordinal, attempt, seq) order. */
  evidence(runId: string, ordinals: readonly number[]): Promise<EvidenceRecord[]>;
  events(runId: string, page: Page<number>): Promise<EventRow[]>;
  eventHead(runId: string): Promise<{ readonly count: number; readonly hash: string }>;
  lateEvidence(runId: string, page: Page<number>): Promise<LateRow[]>;
  sessions(page: Page<string>): Promise<SessionRow[]>;
  liveSessions(sinceMs: number): Promise<SessionRow[]>;
  outbox(runId: string): Promise<OutboxRow[]>;

  /** The invariants that hold at every moment, as counts over the whole store. */
  invariants(): Promise<InvariantViolation[]>;
  /** A consistent copy of the store into a new file. */
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}
