/** States of a run (DESIGN §5). */
export const RUN_STATUSES = ['pending', 'running', 'finalizing', 'completed', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** States of a gate; unknown until the run has completed. */
export const GATE_STATUSES = ['unknown', 'pass', 'fail', 'inconclusive'] as const;
export type GateStatus = (typeof GATE_STATUSES)[number];

/** States of an execution. */
export const EXECUTION_STATUSES = [
  'pending',
  'running',
  'retry_scheduled',
  'waiting',
  'completed',
  'failed',
  'timed_out',
  'cancelled',
] as const;
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];
/** How an execution may end. */
export type TerminalStatus = Extract<ExecutionStatus, 'completed' | 'failed' | 'timed_out' | 'cancelled'>;

/** States of an attempt. */
export const ATTEMPT_STATUSES = [
  'pending',
  'running',
  'completed',
  'failed_agent_call',
  'failed_evaluation',
  'timed_out',
  'cancelled',
  'stale',
  'suspended',
] as const;
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];
/** How an attempt may end. */
export type AttemptEnd = Exclude<AttemptStatus, 'pending' | 'running' | 'suspended'>;

/** Whose fault a failure was (CONTRACTS, closed table); null when nothing failed. */
export const FAULTS = ['infrastructure', 'configuration', 'agent', 'grader', 'policy', 'cancelled'] as const;
export type Fault = (typeof FAULTS)[number];

/** States of an outbox delivery. */
export const DELIVERY_STATUSES = ['pending', 'published', 'failed', 'dead'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** States of a tool run. */
export const TOOL_RUN_STATUSES = [
  'started',
  'approval_required',
  'approved',
  'ok',
  'error',
  'timeout',
  'denied',
] as const;
export type ToolRunStatus = (typeof TOOL_RUN_STATUSES)[number];

/** States of an approval. */
export const APPROVAL_STATUSES = ['pending', 'approved', 'denied', 'expired', 'cancelled', 'consumed'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];
