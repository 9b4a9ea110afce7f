import type {
  AttemptSpend,
  BudgetState,
  Claim,
  ClaimedDelivery,
  ClaimRequest,
  Completion,
  DeliveryFilter,
  DeliverySettlement,
  EvidenceRow,
  ExecutionKey,
  Fence,
  FinalVerdict,
  HeartbeatAnswer,
  NewCorrection,
  NewExecution,
  NewRun,
  NewSession,
  Page,
  Reaped,
  ReapRequest,
  RetryLater,
  StopRequest,
  TrippedBreaker,
  WriteResult,
} from './store-requests.ts';
import type {
  AttemptRow,
  BasisDifference,
  BlessingRow,
  CorrectionRow,
  DeliveryRow,
  EventRow,
  EvidenceRecord,
  ExecutionRow,
  Holder,
  InvariantViolation,
  LateRow,
  OutboxRow,
  Progress,
  RowCounts,
  RunRow,
  SessionRow,
  SessionWorker,
} from './store-rows.ts';

import type { ApprovalRow, GatewayEventRow, ToolRunRow, ToolStore } from './tool-store.ts';

export type * from './store-requests.ts';
export type * from './store-rows.ts';
export type * from './tool-decision.ts';
export type * from './tool-store.ts';

/** What can be read of a run: from a store, or from a bundle of that run alone. */
export interface RunReaders {
  run(runId: string): Promise<RunRow | null>;
  snapshot(digest: string): Promise<string | null>;
  /** The run's budgets, with what is known and what is assumed to be spent. */
  budgets(runId: string): Promise<BudgetState[]>;
  progress(runId: string): Promise<Progress>;
  /** The breaker that stopped the run; null while it goes on. */
  breaker(runId: string): Promise<TrippedBreaker | null>;
  /** Executions in verdict order (case_id, repeat). */
  executions(runId: string, page: Page<ExecutionKey>): Promise<ExecutionRow[]>;
  /** Executions that ended without passing, in ordinal order. */
  executionsNotPassed(runId: string, page: Page<number>): Promise<ExecutionRow[]>;
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
  outbox(runId: string): Promise<OutboxRow[]>;
  /** How far the stream of the run's tool calls goes; null when none was made. */
  gatewayHead(runId: string): Promise<{ readonly count: number; readonly hash: string } | null>;
  /** The run's tool calls, in the order of their ids. */
  toolRunsIn(runId: string, page: Page<string>): Promise<ToolRunRow[]>;
  approvalsIn(runId: string, page: Page<string>): Promise<ApprovalRow[]>;
  /** The tool calls of executions, in the order of their ids. */
  toolRunsAt(runId: string, ordinals: readonly number[]): Promise<ToolRunRow[]>;
  /** Who held the sessions; in a bundle the names are empty. */
  workers(sessionIds: readonly string[]): Promise<SessionWorker[]>;
  gatewayEventsIn(runId: string, page: Page<number>): Promise<GatewayEventRow[]>;
  /** What a store keeps beside the run's own rows: where its counters, its journal, or what its tool calls stand on differ. A bundle has none of it. */
  basis?(runId: string): Promise<BasisDifference[]>;
  /** In order. */
  corrections(runId: string): Promise<CorrectionRow[]>;
}

/** The store: async, batch-shaped verbs; every write of a worker is fenced; every transition comes with its event in one transaction. */
export interface Store extends RunReaders, ToolStore {
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
  release(fence: Fence, spend?: AttemptSpend): Promise<WriteResult>;
  /** Sets the execution aside without a lease until something resumes it: attempt `suspended`, execution `waiting`. */
  suspend(fence: Fence, deadlineMs: number): Promise<WriteResult>;
  reap(request: ReapRequest): Promise<Reaped[]>;
  /** Requests cancellation; answers false when the run has ended. */
  requestCancel(runId: string, reason: string): Promise<boolean>;
  /** Lets a run that its breaker stopped try again; false when it was not stopped. */
  rearm(runId: string): Promise<boolean>;
  /** Counts the last `ms` as time in which this process worked on the run, and what several did at once only once. Answers the sum. */
  countWork(runId: string, ms: number): Promise<number>;
  /** Records that a run stops before its plan is through; false when it cannot any more. */
  stopRun(runId: string, stop: StopRequest): Promise<boolean>;
  /** Ends executions that nobody holds of a run to be cancelled, or that has stopped. Answers how many it ended. */
  sweepCancelled(runId: string, limit: number): Promise<number>;
  /** running → finalizing when every execution has ended; answers whether the run is finalizing now. */
  beginFinalize(runId: string): Promise<boolean>;
  /** finalizing → completed with the verdict, its event and its outbox row; false when another finalizer was first. */
  finalize(runId: string, verdict: FinalVerdict): Promise<boolean>;
  /** The run fails by its own fault. */
  failRun(runId: string, reason: string): Promise<boolean>;

  /** Makes a completed run the baseline of a profile; false when it is so already. */
  bless(profileId: string, runId: string, by: string): Promise<boolean>;
  /** The run that is the profile's baseline now, or null. */
  blessed(profileId: string): Promise<string | null>;
  /** The blessings of a profile, newest first. */
  blessings(profileId: string, limit: number): Promise<BlessingRow[]>;

  /** Adds a correction to a completed run; `illegal_transition` unless its revision is the next. */
  correct(correction: NewCorrection): Promise<CorrectionRow>;

  /** Leases deliveries that are due, oldest first; of one run to one endpoint only the first that is not through. */
  claimDeliveries(limit: number, leaseMs: number): Promise<ClaimedDelivery[]>;
  /** Writes what became of a try; false when another publisher has taken the lease meanwhile. */
  settleDelivery(end: DeliverySettlement): Promise<boolean>;
  /** Puts dead deliveries back to be tried at once; answers how many. */
  replayDeliveries(filter: DeliveryFilter): Promise<number>;
  /** Deliveries, newest first; the key is the outbox number. */
  deliveries(filter: DeliveryFilter, page: Page<number>): Promise<DeliveryRow[]>;

  runByKey(runKey: string): Promise<RunRow | null>;
  /** Newest first. */
  runs(page: Page<string>): Promise<RunRow[]>;
  activeRuns(): Promise<RunRow[]>;
  /** Names of artifacts that the run's evidence and tool calls refer to, each once and in order. */
  artifactNames(runId: string, page: Page<string>): Promise<string[]>;
  /** How long the run was worked on, ms, as far as that is counted: without stops and pauses. */
  timeWorked(runId: string): Promise<number>;
  holders(runId: string): Promise<Holder[]>;
  sessions(page: Page<string>): Promise<SessionRow[]>;
  liveSessions(sinceMs: number): Promise<SessionRow[]>;

  /** The invariants that hold at every moment, as counts over the whole store. */
  invariants(): Promise<InvariantViolation[]>;
  /** A consistent copy of the store into a new file. */
  backup(path: string): Promise<void>;
  /**
   * Rejects with `store_lost` unless the store is still where it was opened and whoever opens it there finds the run as it ended. Every other
   * verb rejects so, too, once the store was removed, renamed or replaced.
   */
  confirm(runId: string): Promise<void>;
  close(): Promise<void>;
}
