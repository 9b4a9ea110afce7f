import type { PrincipalKind } from './principal.ts';
import type { ApprovalStatus, ToolRunStatus } from './state.ts';
import type { Fence, Page } from './store-requests.ts';
import type { RiskClass } from './tool.ts';
import type { DecideRequest } from './tool-decision.ts';

/** A call of a tool to be recorded; everything that its decision and its approval are bound to. */
export interface NewToolRun {
  readonly tool_run_id: string;
  /** The attempt that the call belongs to; null outside of runs. */
  readonly fence: Fence | null;
  readonly source: string;
  readonly name: string;
  /** Of the definition that the call was checked against; null where the tool is not known. */
  readonly definition_digest: string | null;
  /** Canonical JSON, secrets as references. */
  readonly arguments: string;
  readonly arguments_digest: string;
  readonly call_digest: string;
  readonly principal: string;
  readonly principal_kind: PrincipalKind;
  readonly roles: readonly string[];
  readonly agent: string | null;
  readonly surface: string;
  readonly risk: RiskClass;
  readonly open_world: boolean;
  readonly cost_micro_usd: number;
  readonly request_id: string | null;
  readonly trace_id: string | null;
  readonly caused_by: string | null;
  readonly idempotency_key: string | null;
  /** The call that a person changed into this one. */
  readonly edited_from: string | null;
}

/** A tool run as it is stored. */
export interface ToolRunRow extends Omit<NewToolRun, 'fence' | 'roles' | 'open_world'> {
  readonly run_id: string | null;
  readonly ordinal: number | null;
  readonly attempt: number | null;
  /** JSON list. */
  readonly roles: string;
  readonly open_world: number;
  readonly created_at: number;
  readonly status: ToolRunStatus;
  readonly reason: string | null;
  readonly decision: 'allow' | 'ask' | 'deny' | null;
  readonly policy_digest: string | null;
  /** JSON list. */
  readonly rules: string | null;
  readonly execute: 'attended' | 'on_approval' | null;
  /** 1 or 0 as the first decision found it; null where the policy did not ask. */
  readonly tainted: number | null;
  /** 1 or 0: whether the definition was the pinned one at the first decision; null before it. */
  readonly pinned: number | null;
  readonly dispatched_at: number | null;
  /** What policy bound the call to when it was dispatched. */
  readonly timeout_ms: number | null;
  readonly max_output_bytes: number | null;
  readonly finished_at: number | null;
  /** JSON: {code, message}. */
  readonly error: string | null;
  /** What the caller got, as JSON: {content, structured}; null when there is none. */
  readonly output: string | null;
  /** The whole output where more came than the caller got. */
  readonly output_artifact: string | null;
  readonly output_digest: string | null;
  readonly output_bytes: number | null;
  readonly latency_ms: number | null;
  readonly approval_id: string | null;
  /** The call that a person made of this one, if any. */
  readonly edited_into: string | null;
  readonly delivered_at: number | null;
}

/** An approval as it is stored. */
export interface ApprovalRow {
  readonly approval_id: string;
  readonly tool_run_id: string;
  readonly status: ApprovalStatus;
  readonly call_digest: string;
  /** JSON: lists of `role:NAME` and principal ids. */
  readonly approvers: string;
  readonly self_approval: number;
  readonly edit: number;
  readonly reason: string | null;
  readonly policy_digest: string;
  readonly requested_at: number;
  readonly expires_at: number;
  readonly decided_at: number | null;
  readonly decided_by: string | null;
  readonly decided_on: string | null;
  readonly comment: string | null;
  readonly preview_digest: string | null;
  readonly ended_at: number | null;
  readonly ended_because: string | null;
}

/** A person's answer to an approval. */
export interface ApprovalAnswer {
  readonly approval_id: string;
  readonly decision: 'approve' | 'deny';
  readonly principal: string;
  readonly principal_kind: PrincipalKind;
  readonly roles: readonly string[];
  /** The digest of the call that the person was shown; another is refused. */
  readonly call_digest: string;
  /** The digest of the text that the person was shown. */
  readonly preview_digest: string;
  readonly comment: string | null;
  readonly surface: string;
}

/** What an answer came to: it counts, or why not. */
export type AnswerResult =
  | { readonly type: 'answered'; readonly approval: ApprovalRow }
  | {
      readonly type: 'refused';
      readonly code: 'not_found' | 'not_pending' | 'expired' | 'mismatch' | 'not_an_approver' | 'not_editable';
      readonly message: string;
    };

/** How a tool run ends. */
export interface ToolRunEnd {
  readonly tool_run_id: string;
  readonly session_id: string;
  readonly status: 'ok' | 'error' | 'timeout';
  readonly reason: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly output: string | null;
  readonly output_artifact: string | null;
  readonly output_digest: string | null;
  readonly output_bytes: number | null;
  readonly latency_ms: number;
}

/** An event of the gateway. */
export interface GatewayEventRow {
  readonly position: number;
  /** The run whose stream it is in; null for calls outside of runs. */
  readonly run_id: string | null;
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly tool_run_id: string | null;
  readonly body: string;
  readonly hash: string;
}

/** Which tool runs. */
export interface ToolRunFilter {
  readonly run_id?: string;
  readonly ordinal?: number;
  readonly attempt?: number;
  readonly status?: string;
  readonly tool?: string;
  readonly principal?: string;
  /** Created at or after this instant. */
  readonly since?: number;
}

/** A definition that a source has shown. */
export interface ShownDefinition {
  readonly name: string;
  readonly digest: string;
  readonly body: string;
}

/** What stands about a tool: the definition that may be called, and the one that was shown last. */
export interface PinRow {
  readonly source: string;
  readonly name: string;
  readonly digest: string | null;
  readonly pinned_by: string;
  readonly pinned_at: number;
}

/** A scope that was switched off or on. */
export interface SwitchRow {
  readonly scope: string;
  readonly off: number;
  readonly reason: string;
  readonly switched_by: string;
  readonly switched_at: number;
}

/** The verbs of the gateway: every transition with its event in one transaction. */
export interface ToolStore {
  /** Keeps a policy by its digest, so that decisions can be explained later. */
  keepPolicy(digest: string, body: string): Promise<void>;
  policy(digest: string): Promise<string | null>;

  /** Records a call and decides it: denied, error, waiting for an approval, or dispatched. The same idempotency key answers what is there. */
  beginToolRun(
    run: NewToolRun,
    request: DecideRequest,
  ): Promise<{ readonly run: ToolRunRow; readonly created: boolean }>;
  /** Answers an approval that is pending and has not expired. */
  answerApproval(answer: ApprovalAnswer): Promise<AnswerResult>;
  /**
   * Answers an approval with a changed call: the new one is recorded, decided and approved, the old one ends `superseded`, all at once.
   * What policy denies of the new call leaves the old one as it was.
   */
  editToolRun(answer: ApprovalAnswer, run: NewToolRun, request: DecideRequest): Promise<AnswerResult>;
  /**
   * Uses an approval that was given: decides again, and dispatches (true) or ends the tool run. False when somebody else did, or when
   * nothing was approved.
   */
  consumeApproval(toolRunId: string, request: DecideRequest): Promise<boolean>;
  /** Ends a tool run that this session dispatched and answers when, in epoch ms; null when it had ended otherwise, which is told in an event. */
  finishToolRun(end: ToolRunEnd): Promise<number | null>;
  /** Ends a tool run that waits for an approval; false when it does not wait any more. */
  cancelToolRun(toolRunId: string, code: string, message: string, by: string): Promise<boolean>;
  /** Asks the process that carries a call out to stop it; false when it has ended. */
  requestToolCancel(toolRunId: string, reason: string, by: string): Promise<boolean>;
  toolCancelRequested(toolRunId: string): Promise<{ readonly reason: string; readonly by: string } | null>;
  /** Notes that the outcome was handed to who asked. */
  deliverToolRun(toolRunId: string): Promise<void>;
  /** Ends approvals that have expired, with their tool runs; answers how many. */
  expireApprovals(limit: number): Promise<number>;
  /** Ends what dead sessions dispatched as TOOL_OUTCOME_UNKNOWN; answers the tool runs. */
  reapToolRuns(deadSessions: readonly string[], limit: number): Promise<string[]>;

  toolRun(toolRunId: string): Promise<ToolRunRow | null>;
  /** Newest first. */
  toolRuns(filter: ToolRunFilter, page: Page<string>): Promise<ToolRunRow[]>;
  /** Tool runs of an attempt in the order of their calls. */
  toolRunsOf(runId: string, ordinal: number, attempt: number): Promise<ToolRunRow[]>;
  /** Whether a tool of the open world had answered before the call: outside of a run within `taint_ms`. */
  wasTainted(toolRunId: string, taint_ms: number): Promise<boolean>;
  approval(approvalId: string): Promise<ApprovalRow | null>;
  /** Newest first; `open` are those that are pending or approved. */
  approvals(open: boolean, page: Page<string>): Promise<ApprovalRow[]>;
  /** The arguments of the last call of a tool that was approved, for a comparison. */
  lastApproved(source: string, name: string): Promise<string | null>;
  gatewayEvents(
    filter: { readonly run_id?: string | null; readonly tool_run_id?: string },
    page: Page<number>,
  ): Promise<GatewayEventRow[]>;

  /** Keeps definitions that a source shows; answers those that are new, each told in an event. Own ones are pinned at once. */
  showDefinitions(source: string, shown: readonly ShownDefinition[], own: boolean): Promise<ShownDefinition[]>;
  definition(source: string, name: string, digest: string): Promise<string | null>;
  /** The newest pin of every tool of a source, or of all. */
  pins(source: string | null): Promise<PinRow[]>;
  /** Makes a definition the one that may be called (null: none); cancels approvals of calls that were checked against another. */
  pinTool(source: string, name: string, digest: string | null, by: string): Promise<void>;
  switchTool(scope: string, off: boolean, reason: string, by: string): Promise<void>;
  /** The newest row of every scope. */
  switches(): Promise<SwitchRow[]>;
}
