import { frozen, guard, transition } from './trigger-parts.ts';

const TOOL_RUN_FROZEN = [
  'tool_run_no',
  'tool_run_id',
  'stream',
  'ordinal',
  'attempt',
  'source',
  'name',
  'definition_digest',
  'arguments',
  'arguments_digest',
  'call_digest',
  'principal',
  'principal_kind',
  'roles',
  'agent',
  'surface',
  'risk',
  'open_world',
  'cost_micro_usd',
  'request_id',
  'trace_id',
  'caused_by',
  'idempotency_key',
  'edited_from',
  'created_at',
];

const APPROVAL_FROZEN = [
  'approval_no',
  'approval_id',
  'tool_run_no',
  'call_digest',
  'approvers',
  'self_approval',
  'edit',
  'reason',
  'policy_digest',
  'requested_at',
  'expires_at',
];

/** What the rows of the gateway promise: calls are decided and dispatched once, approvals answered once, events in order. */
export const GATEWAY_GUARDS: readonly string[] = [
  transition('tool_run', 'tool_run'),
  transition('approval', 'approval'),
  `create trigger tool_run_starts before insert on tool_run when new.status <> 'started'
  or coalesce(new.decision, new.policy_digest, new.rules, new.execute, new.tainted, new.pinned, new.session_no, new.dispatched_at,
    new.timeout_ms, new.max_output_bytes, new.output) is not null begin
  select raise(abort, 'proctor: a tool run starts as started, before anything is done');
end`,
  `create trigger tool_run_final before update on tool_run when old.finished_at is not null begin
  select raise(abort, 'proctor: an ended tool run does not change');
end`,
  // What was decided and dispatched stays: a second dispatch would be a second execution.
  `create trigger tool_run_once before update on tool_run when
  (old.dispatched_at is not null and (new.dispatched_at is not old.dispatched_at or new.session_no is not old.session_no))
  or ((new.timeout_ms is not old.timeout_ms or new.max_output_bytes is not old.max_output_bytes)
    and not (old.dispatched_at is null and new.dispatched_at is not null))
  or (old.policy_digest is not null and (new.decision is not old.decision or new.policy_digest is not old.policy_digest
    or new.rules is not old.rules or new.execute is not old.execute or new.tainted is not old.tainted
    or new.pinned is not old.pinned))
  or (old.dispatched_at is null and new.dispatched_at is not null
    and not (new.decision is 'allow' and new.status = 'started') and not (new.decision is 'ask' and new.status = 'approved'))
  or (new.status = 'approved' and not exists (select 1 from approval where tool_run_no = old.tool_run_no and status = 'consumed')) begin
  select raise(abort, 'proctor: a tool run is decided and dispatched once, when it is allowed or its approval was used');
end`,
  frozen('tool_run', TOOL_RUN_FROZEN),
  `create trigger approval_starts_pending before insert on approval when new.status <> 'pending' or not exists (
  select 1 from tool_run where tool_run_no = new.tool_run_no and call_digest = new.call_digest and decision = 'ask' and status = 'approval_required'
) begin
  select raise(abort, 'proctor: an approval starts pending, for a call that waits for it');
end`,
  // The sweeper may come late: what has expired is refused whether or not it was swept.
  `create trigger approval_in_time before update of status on approval when
  (new.status = 'approved' and new.decided_at >= old.expires_at)
  or (new.status = 'consumed' and (new.ended_at >= old.expires_at
    or not exists (select 1 from tool_run where tool_run_no = old.tool_run_no and status = 'approval_required'))) begin
  select raise(abort, 'proctor: an approval is given and used before it expires, for a call that waits for it');
end`,
  `create trigger approval_final before update on approval when old.ended_at is not null begin
  select raise(abort, 'proctor: an ended approval does not change');
end`,
  `create trigger approval_answered before update of decided_at, decided_by, decided_roles, decided_on, comment, preview_digest on approval
when old.decided_at is not null and (new.decided_at is not old.decided_at or new.decided_by is not old.decided_by
  or new.decided_roles is not old.decided_roles or new.decided_on is not old.decided_on
  or new.comment is not old.comment or new.preview_digest is not old.preview_digest) begin
  select raise(abort, 'proctor: an approval is answered once');
end`,
  frozen('approval', APPROVAL_FROZEN),
  `create trigger gateway_head_forward before update on gateway_head when new.stream <> old.stream or new.event_count <= old.event_count begin
  select raise(abort, 'proctor: the event head only moves forward');
end`,
  guard('tool_delivery_of_ended', 'insert on tool_delivery', [
    [
      'not exists (select 1 from tool_run where tool_run_no = new.tool_run_no and finished_at is not null)',
      'the outcome of a call is handed over when it has ended',
    ],
  ]),
  guard('gateway_event_appends', 'insert on gateway_event', [
    [
      'new.seq <> 1 + coalesce((select max(seq) from gateway_event where stream = new.stream), 0)',
      'events are appended in order, each once',
    ],
  ]),
];
