import type { AttemptEnd, Fault, GateStatus, TerminalStatus } from './state.ts';
import type { CorrectionRow } from './store-rows.ts';

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

/** What a run is created with. */
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
  /** What the run may take in all; none unless given. */
  readonly budgets?: readonly Budget[];
}

/** One execution to materialize; its ordinal follows from its place. */
export interface NewExecution {
  readonly case_id: string;
  readonly repeat: number;
  readonly case_content: string;
  readonly cluster: string | null;
}

/** What a budget counts: micro-USD, tokens, or tool calls. */
export type BudgetKind = 'cost_micro_usd' | 'tokens' | 'tool_calls';

/** What an answer took; null where nobody tells. */
export type Spend = Readonly<Record<BudgetKind, number | null>>;

/** What an attempt took: the agent for its answer (null: it was not asked), and the evaluators, who tell what they take. */
export interface AttemptSpend {
  readonly agent: Spend | null;
  readonly evaluators: Readonly<Record<BudgetKind, number>>;
  /** The profile permits answers that do not tell what they took: they count as assumed, and stop nothing. */
  readonly waived?: boolean;
}

/** A cap of a run, and what each execution in flight holds back of it; null: the most that one has taken so far. */
export interface Budget {
  readonly kind: BudgetKind;
  readonly cap: number;
  readonly reserve: number | null;
}

/** A budget of a run as it stands. */
export interface BudgetState extends Budget {
  /** What attempts are known to have taken. */
  readonly known: number;
  /** Attempts that ended without telling what they took; each counts as the reserve until late evidence tells. */
  readonly untold: number;
  /** Those among them that the profile permits (`unpriced: allow`). */
  readonly waived: number;
  /** The most that one execution is known to have taken. */
  readonly highest: number;
  /** Attempts that told: while there are none, nothing is known. */
  readonly answers: number;
}

/** Why a run stops before its plan is through; `after`: executions of the prefix that decided its gate. */
export interface StopRequest {
  readonly reason: 'budget' | 'early_stop';
  readonly after: number | null;
}

/** What a session asks for. */
export interface ClaimRequest {
  readonly session_id: string;
  /** Only these runs; null = any run that may run. */
  readonly run_ids: readonly string[] | null;
  /** Most executions to claim now. */
  readonly capacity: number;
  /**
   * How many more than its concurrency a run may have leased while this is the only live session, which keeps the concurrency
   * by itself: so a slot that falls free need not wait for a claim.
   */
  readonly ahead: number;
  readonly lease_ms: number;
  /**
   * Leases that an execution may lose. One that has lost as many is on its last try and has a session to itself, so that it
   * answers for its own doing only: it may have lost the others beside a neighbour that kills its worker.
   */
  readonly max_losses: number;
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

/** How the calls of an attempt went on one side, for the breaker of its run. */
export type CallReport = CallSuccess | CallFailure;

/** The call was taken, even if it failed by its own doing: the breaker no longer watches this side. */
interface CallSuccess {
  readonly side: 'agent' | 'evaluators';
  readonly outcome: 'worked';
}

/**
 * The call failed for a reason that may be every call's. While none has worked, an attempt that failed ends nothing: its execution is
 * tried again after `hold_ms`, and the run stops when enough first calls failed the same way.
 */
export interface CallFailure {
  readonly side: 'agent' | 'evaluators';
  readonly outcome: 'failed';
  readonly fault: 'configuration' | 'infrastructure';
  /** Failures of the same class have the same reason. */
  readonly class: string;
  /** What failed, for a person. */
  readonly reason: string;
  /** Failures of one execution that it takes before the run may stop. */
  readonly patience: number;
  readonly hold_ms: number;
}

/** The breaker of a run that stopped it: no call has worked, and the first ones all failed the same way. */
export interface TrippedBreaker {
  readonly side: 'agent' | 'evaluators';
  readonly class: string;
  readonly failures: number;
  readonly reason: string;
  readonly tripped_at: number;
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
  /** What the attempt took; left out when it took nothing. */
  readonly spend?: AttemptSpend;
  readonly calls?: readonly CallReport[];
}

/** How an attempt ends with another to follow. */
export interface RetryLater extends Fence {
  readonly attempt_status: AttemptEnd;
  readonly fault: Fault;
  readonly reason: string;
  readonly delay_ms: number;
  readonly evidence: readonly EvidenceRow[];
  /** What the attempt took; left out when it took nothing. */
  readonly spend?: AttemptSpend;
  readonly calls?: readonly CallReport[];
}

/** `duplicate`: the same write was committed before; `fenced`: the lease was taken, the write is kept as late evidence. */
export type WriteResult = 'written' | 'duplicate' | 'fenced';

/** What a heartbeat tells a worker. */
export interface HeartbeatAnswer {
  /** Fences that are no longer held: abort the work. */
  readonly lost: readonly Fence[];
  /** Runs whose cancellation was requested. */
  readonly cancelled_runs: readonly string[];
}

/** One life of a worker, as it begins. */
export interface NewSession {
  readonly session_id: string;
  readonly worker: string;
  readonly host: string;
  readonly boot_id: string;
  readonly pid: number;
  readonly process_start: string;
  /** What it is there for: `worker` unless said. */
  readonly role?: 'worker' | 'gateway';
}

/** Whose leases may be taken, and how many at once. */
export interface ReapRequest {
  /** Sessions known to be dead: their leases are taken at once. */
  readonly dead_sessions: readonly string[];
  readonly limit: number;
  /** How long leases are: who did not watch time go on for so long takes none by the clock. Unsaid: whatever was watched. */
  readonly lease_ms?: number;
  /** Leases that an execution may lose before it ends `failed`, fault infrastructure. */
  readonly max_losses: number;
  /** The wait after each loss, in milliseconds: a machine in trouble must not spend all losses in a second. */
  readonly backoff: { readonly base_ms: number; readonly cap_ms: number };
}

/** A lease that the reaper took; when the losses are spent the execution must be ended by `complete`-like evidence. */
export interface Reaped extends Fence {
  readonly session_id: string;
  readonly ended: boolean;
}

/** What finalization writes; JSON texts are canonical. */
export interface FinalVerdict {
  readonly gate_status: Exclude<GateStatus, 'unknown'>;
  readonly verdict: string;
  readonly content_digest: string;
  readonly merkle_root: string;
}

/** A delivery that this publisher holds: what to send, and the try it is (from 1). */
export interface ClaimedDelivery {
  readonly outbox_no: number;
  readonly endpoint: string;
  readonly run_id: string;
  readonly dedupe_key: string;
  readonly type: string;
  readonly body: string;
  readonly created_at: number;
  readonly attempts: number;
  readonly lease_id: string;
}

/** A correction to write, as the revision that follows the last; the store adds the instant and the hash. */
export type NewCorrection = Omit<CorrectionRow, 'corrected_at' | 'hash'> & { readonly run_id: string };

/** What became of a try, under its lease. */
export interface DeliverySettlement {
  readonly outbox_no: number;
  readonly endpoint: string;
  readonly lease_id: string;
  readonly decision:
    | { readonly type: 'published' }
    | { readonly type: 'retry'; readonly wait_ms: number; readonly endpoint_wait_ms: number }
    | { readonly type: 'dead'; readonly endpoint_gone: boolean };
  readonly status: number | null;
  readonly error: string | null;
}

/** Which deliveries are meant; a member that is left out means all. */
export interface DeliveryFilter {
  readonly run_id?: string;
  readonly status?: string;
  readonly endpoint?: string;
}

/** A page after a key: `after` is the last key of the page before (null at the start). */
export interface Page<Key> {
  readonly after: Key | null;
  readonly limit: number;
}

/** Plan order, or the order in which a verdict is computed. */
export type ExecutionKey = { readonly case_id: string; readonly repeat: number };
