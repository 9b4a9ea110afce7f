import type { AttemptStatus, ExecutionStatus, Fault, GateStatus, RunStatus } from './state.ts';
import type { EvidenceRow, NewSession } from './store-requests.ts';

/** A run as it is stored. */
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
  /** Why it stopped before its plan was through, or null. */
  readonly stop_reason: 'budget' | 'early_stop' | null;
  /** Executions of the prefix that decided its gate; null unless it stopped early. */
  readonly stop_after: number | null;
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
  /** What the attempts took, as far as it is told. */
  readonly spent: { readonly cost_micro_usd: number; readonly tokens: number; readonly tool_calls: number };
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

/** How the wall clock stands to what was recorded. */
export interface ClockReport {
  /** How far the wall clock is behind the last recorded instant, ms; 0 when it is not. */
  readonly behind_ms: number;
  readonly last_now: number;
  /** The last time that the wall clock was set: when, and by how much. */
  readonly jump: { readonly at: number; readonly by_ms: number } | null;
}

/** Whose a session is. */
export type SessionWorker = Pick<NewSession, 'session_id' | 'worker' | 'host' | 'pid'>;

/** A worker session as it is stored. */
export interface SessionRow extends NewSession {
  readonly role: 'worker' | 'gateway';
  readonly started_at: number;
  readonly last_seen_at: number;
  readonly ended_at: number | null;
}

/** An execution with its live status or its result. */
export interface ExecutionRow {
  readonly ordinal: number;
  readonly case_id: string;
  readonly repeat: number;
  readonly case_content: string;
  readonly cluster: string | null;
  readonly status: ExecutionStatus;
  readonly attempt: number;
  readonly fault: Fault | null;
  /** 1 passed, 0 not; null until it has ended. */
  readonly passed: 0 | 1 | null;
  readonly aggregate: string | null;
  readonly content: string | null;
  readonly finished_at: number | null;
  readonly hash: string | null;
}

/** An attempt as it is stored; `seal` once it has ended. */
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

/** An evidence row with its place in the chain. */
export interface EvidenceRecord extends EvidenceRow {
  readonly ordinal: number;
  readonly attempt: number;
  readonly seq: number;
  readonly hash: string;
}

/** An event with its place in its run's chain and in the whole store. */
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

/** What a worker sent after its lease was taken. */
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

/** A fact that is to be published, written in the transaction that made it true. */
export interface OutboxRow {
  readonly outbox_no: number;
  readonly run_id: string;
  readonly dedupe_key: string;
  readonly type: string;
  readonly body: string;
  readonly created_at: number;
}

/** A grade corrected by a person, as it is stored; texts are canonical JSON. */
export interface CorrectionRow {
  readonly revision: number;
  readonly ordinal: number;
  /** The evaluator result that stands in place of the evaluator's. */
  readonly result: string;
  readonly aggregate: string;
  /** The run's verdict with this correction and those before it. */
  readonly verdict: string;
  readonly principal: string;
  readonly corrected_at: number;
  readonly hash: string;
}

/** That a run was made the baseline of a profile. */
export interface BlessingRow {
  readonly profile_id: string;
  readonly run_id: string;
  readonly blessed_by: string;
  readonly blessed_at: number;
}

/** One outbox row on its way to one endpoint, as it is stored. */
export interface DeliveryRow {
  readonly outbox_no: number;
  readonly run_id: string;
  readonly type: string;
  readonly endpoint: string;
  readonly status: 'pending' | 'published' | 'failed' | 'dead';
  readonly attempts: number;
  readonly next_at: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly created_at: number;
}

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

/** A place where what a store keeps beside a run's own rows is not as it must be. */
export interface BasisDifference {
  /** The table. */
  readonly where: string;
  readonly row: string;
  readonly what: string;
}

/** What is wrong with a store, by the invariants that hold at every moment. */
export interface InvariantViolation {
  readonly invariant: string;
  readonly count: number;
  /** The first offending row, for a person. */
  readonly example: string;
}
