create table approval (
  approval_no integer primary key,
  approval_id text not null unique,
  tool_run_no integer not null unique references tool_run (tool_run_no) deferrable initially deferred,
  status text not null,
  call_digest text not null,
  approvers text not null check (json_valid(approvers)),
  self_approval integer not null check (self_approval in (0, 1)),
  edit integer not null check (edit in (0, 1)),
  reason text,
  policy_digest text not null,
  requested_at integer not null,
  expires_at integer not null,
  decided_at integer,
  decided_by text,
  decided_roles text,
  decided_on text,
  comment text,
  preview_digest text,
  ended_at integer,
  ended_because text,
  check ((status in ('denied', 'expired', 'cancelled', 'consumed')) = (ended_at is not null)),
  check (status <> 'approved' or (decided_at is not null and decided_by is not null and preview_digest is not null)),
  check (status <> 'consumed' or decided_by is not null),
  check (status <> 'pending' or decided_at is null),
  check ((decided_at is null) = (decided_by is null))
) strict;

create table attempt (
  run_no integer not null,
  ordinal integer not null,
  attempt integer not null check (attempt > 0),
  session_no integer not null references worker_session (session_no) deferrable initially deferred,
  lease_id text not null,
  status text not null,
  started_at integer not null,
  ended_at integer,
  reason text,
  fault text,
  evidence_count integer,
  seal text,
  primary key (run_no, ordinal, attempt),
  foreign key (run_no, ordinal) references execution (run_no, ordinal) deferrable initially deferred,
  check ((ended_at is null) = (seal is null)),
  check ((ended_at is null) = (status in ('running', 'suspended')))
) strict, without rowid;

create table blessing (
  blessing_no integer primary key,
  profile_id text not null,
  run_no integer not null references run (run_no) deferrable initially deferred,
  blessed_by text not null,
  blessed_at integer not null
) strict;

create table breaker (
  run_no integer not null references run (run_no) deferrable initially deferred,
  side text not null check (side in ('agent', 'evaluators')),
  worked integer not null check (worked in (0, 1)),
  class text,
  failures integer not null,
  reason text,
  tripped_at integer,
  primary key (run_no, side)
) strict, without rowid;

create table budget (
  run_no integer not null references run (run_no) deferrable initially deferred,
  kind text not null check (kind in ('cost_micro_usd', 'tokens', 'tool_calls')),
  cap integer not null check (cap > 0),
  reserve integer check (reserve > 0),
  highest integer not null default 0,
  answers integer not null default 0,
  primary key (run_no, kind)
) strict, without rowid;

create table correction (
  run_no integer not null references run (run_no) deferrable initially deferred,
  revision integer not null check (revision > 0),
  ordinal integer not null,
  result text not null check (json_valid(result)),
  aggregate text not null check (json_valid(aggregate)),
  verdict text not null check (json_valid(verdict)),
  principal text not null,
  corrected_at integer not null,
  hash text not null,
  primary key (run_no, revision)
) strict, without rowid;

create table delivery (
  outbox_no integer not null references outbox (outbox_no) deferrable initially deferred,
  endpoint text not null,
  status text not null,
  attempts integer not null default 0,
  next_at integer not null,
  lease_id text,
  lease_until integer,
  last_status integer, last_error text,
  primary key (outbox_no, endpoint)
) strict, without rowid;

create table event (
  position integer primary key,
  run_no integer not null references run (run_no) deferrable initially deferred,
  seq integer not null,
  type text not null,
  at integer not null,
  ordinal integer,
  attempt integer,
  body text,
  hash text not null
) strict;

create table evidence (
  run_no integer not null,
  ordinal integer not null,
  attempt integer not null,
  seq integer not null check (seq > 0),
  kind text not null check (kind in ('envelope', 'evaluator_result', 'failure')),
  body text not null,
  artifact text,
  hash text not null,
  primary key (run_no, ordinal, attempt, seq)
) strict, without rowid;

create table execution (
  run_no integer not null references run (run_no) deferrable initially deferred,
  ordinal integer not null,
  case_id text not null,
  repeat integer not null check (repeat > 0),
  case_content text not null,
  cluster text,
  primary key (run_no, ordinal)
) strict, without rowid;

create table gateway_event (
  position integer primary key,
  stream integer not null,
  seq integer not null check (seq > 0),
  type text not null,
  at integer not null,
  tool_run_no integer,
  body text not null check (json_valid(body)),
  hash text not null
) strict;

create table gateway_head (
  stream integer primary key,
  event_count integer not null,
  event_hash text not null
) strict;

create table journal (
  seq integer primary key check (seq > 0),
  type text not null,
  at integer not null,
  body text not null check (json_valid(body)),
  hash text not null
) strict;

create table late_evidence (
  run_no integer not null references run (run_no) deferrable initially deferred,
  late_seq integer not null,
  ordinal integer not null,
  attempt integer not null,
  lease_id text not null,
  verb text not null,
  body text not null,
  received_at integer not null,
  hash text not null,
  primary key (run_no, late_seq)
) strict, without rowid;

create table limit_use (
  limit_key text not null,
  slice integer not null,
  calls integer not null,
  cost_micro_usd integer not null,
  primary key (limit_key, slice)
) strict, without rowid;

create table meta (
  key text primary key not null,
  value any
) strict, without rowid;

create table migration (version integer primary key not null, name text not null, sha256 text not null, applied_at integer not null) strict;

create table outbox (
  outbox_no integer primary key,
  run_no integer not null references run (run_no) deferrable initially deferred,
  dedupe_key text not null unique,
  type text not null,
  body text not null,
  created_at integer not null
) strict;

create table policy (
  digest text primary key not null check (length(digest) = 64),
  body text not null check (json_valid(body))
) strict, without rowid;

create table queue (
  run_no integer not null,
  ordinal integer not null,
  status text not null check (status in ('pending', 'running', 'retry_scheduled', 'waiting')),
  order_key integer not null,
  available_at integer not null,
  attempt integer not null default 0,
  agent_failures integer not null default 0,
  infrastructure_failures integer not null default 0,
  grader_failures integer not null default 0,
  lease_losses integer not null default 0,
  lease_id text,
  session_no integer,
  lease_until integer, breaker_failures integer not null default 0,
  primary key (run_no, ordinal),
  foreign key (run_no, ordinal) references execution (run_no, ordinal) deferrable initially deferred,
  check ((status = 'running') = (lease_id is not null and lease_until is not null and session_no is not null))
) strict, without rowid;

create table result (
  run_no integer not null,
  ordinal integer not null,
  attempt integer not null,
  status text not null check (status in ('completed', 'failed', 'timed_out', 'cancelled')),
  fault text check (fault in ('infrastructure', 'configuration', 'agent', 'grader', 'policy', 'cancelled')),
  passed integer not null check (passed in (0, 1)),
  aggregate text,
  content text not null,
  finished_at integer not null,
  hash text not null,
  primary key (run_no, ordinal)
) strict, without rowid;

create table run (
  run_no integer primary key,
  run_id text not null unique,
  run_key text unique,
  status text not null,
  gate_status text not null,
  snapshot_digest text not null references snapshot (digest) deferrable initially deferred,
  plan_digest text not null,
  cases integer not null,
  repeats integer not null,
  total integer not null,
  materialized integer not null default 0 check (materialized between 0 and total),
  concurrency integer not null check (concurrency > 0),
  next_pass integer not null default 0,
  base_dir text not null,
  created_by text not null,
  created_at integer not null,
  started_at integer,
  finished_at integer,
  cancel_requested_at integer,
  reason text,
  verdict text,
  content_digest text,
  merkle_root text,
  evidence_root text,
  event_head text, stop_reason text check (stop_reason in ('budget', 'early_stop')), stop_after integer,
  check ((status in ('completed', 'failed', 'cancelled')) = (finished_at is not null)),
  check ((status = 'completed') = (verdict is not null and evidence_root is not null and content_digest is not null)),
  check ((status = 'completed') = (gate_status <> 'unknown'))
) strict;

create table run_head (
  run_no integer primary key references run (run_no) deferrable initially deferred,
  event_count integer not null,
  event_hash text not null
) strict;

create table run_stat (
  run_no integer not null,
  kind text not null,
  n integer not null,
  primary key (run_no, kind)
) strict, without rowid;

create table run_time (
  run_no integer primary key references run (run_no) deferrable initially deferred,
  worked_ms integer not null,
  counted_to integer not null
) strict;

create table schedule (
  one integer primary key check (one = 1),
  at integer not null,
  wall integer not null,
  boot_id text not null,
  uptime_ms integer not null,
  jumped_at integer,
  jumped_ms integer
) strict;

create table schedule_mark (
  what text not null check (what in ('run_start', 'approval_end')),
  row_no integer not null,
  at integer not null,
  primary key (what, row_no)
) strict, without rowid;

create table snapshot (
  digest text primary key not null check (length(digest) = 64),
  body text not null check (json_valid(body))
) strict, without rowid;

create table state_transition (
  machine text not null,
  from_state text not null,
  to_state text not null,
  primary key (machine, from_state, to_state)
) strict, without rowid;

create table tool_cancel (
  tool_run_no integer primary key references tool_run (tool_run_no) deferrable initially deferred,
  reason text not null,
  requested_by text not null,
  requested_at integer not null
) strict, without rowid;

create table tool_definition (
  source text not null,
  name text not null,
  digest text not null check (length(digest) = 64),
  body text not null check (json_valid(body)),
  first_seen_at integer not null,
  primary key (source, name, digest)
) strict, without rowid;

create table tool_delivery (
  tool_run_no integer primary key references tool_run (tool_run_no) deferrable initially deferred,
  delivered_at integer not null
) strict, without rowid;

create table tool_pin (
  pin_no integer primary key,
  source text not null,
  name text not null,
  digest text,
  pinned_by text not null,
  pinned_at integer not null
) strict;

create table tool_run (
  tool_run_no integer primary key,
  tool_run_id text not null unique,
  stream integer not null,
  ordinal integer,
  attempt integer,
  source text not null,
  name text not null,
  definition_digest text,
  -- What the source gave for the call is not kept; secrets stand as references.
  arguments text not null check (json_valid(arguments)),
  arguments_digest text not null,
  call_digest text not null,
  principal text not null,
  principal_kind text not null check (principal_kind in ('human', 'agent', 'service')),
  roles text not null check (json_valid(roles)),
  agent text,
  surface text not null,
  risk text not null,
  open_world integer not null check (open_world in (0, 1)),
  cost_micro_usd integer not null default 0,
  request_id text,
  trace_id text,
  caused_by text,
  idempotency_key text,
  edited_from integer references tool_run (tool_run_no) deferrable initially deferred,
  created_at integer not null,
  status text not null,
  reason text,
  decision text check (decision in ('allow', 'ask', 'deny')),
  policy_digest text,
  rules text check (rules is null or json_valid(rules)),
  execute text check (execute in ('attended', 'on_approval')),
  tainted integer check (tainted in (0, 1)),
  pinned integer check (pinned in (0, 1)),
  session_no integer references worker_session (session_no) deferrable initially deferred,
  dispatched_at integer,
  timeout_ms integer,
  max_output_bytes integer,
  finished_at integer,
  error text check (error is null or json_valid(error)),
  output text,
  output_artifact text,
  output_digest text,
  output_bytes integer,
  latency_ms integer,
  check ((status in ('ok', 'error', 'timeout', 'denied')) = (finished_at is not null)),
  check (status not in ('ok', 'timeout', 'approved') or dispatched_at is not null),
  check (status not in ('denied', 'approval_required') or dispatched_at is null),
  check (dispatched_at is null or session_no is not null)
) strict;

create table tool_switch (
  switch_no integer primary key,
  scope text not null,
  off integer not null check (off in (0, 1)),
  reason text not null,
  switched_by text not null,
  switched_at integer not null
) strict;

create table worker_session (
  session_no integer primary key,
  session_id text not null unique,
  worker text not null,
  host text not null,
  boot_id text not null,
  pid integer not null,
  process_start text not null,
  started_at integer not null,
  last_seen_at integer not null,
  ended_at integer
, role text not null default 'worker' check (role in ('worker', 'gateway'))) strict;

create index approval_open on approval (expires_at) where status in ('pending', 'approved');

create index blessing_profile on blessing (profile_id, blessing_no);

create index delivery_due on delivery (next_at) where status in ('pending', 'failed');

create index delivery_open on delivery (endpoint, outbox_no) where status in ('pending', 'failed');

create unique index event_seq on event (run_no, seq);

create index evidence_artifact on evidence (run_no, artifact) where artifact is not null;

create unique index execution_case on execution (run_no, case_id, repeat);

create index gateway_event_run on gateway_event (tool_run_no, position) where tool_run_no is not null;

create unique index gateway_event_seq on gateway_event (stream, seq);

create index queue_lost on queue (run_no, lease_losses, available_at) where status = 'retry_scheduled' and lease_losses > 0;

create index queue_pending on queue (run_no, order_key, ordinal) where status = 'pending';

create index queue_retry on queue (run_no, available_at) where status = 'retry_scheduled';

create index queue_running on queue (run_no, session_no, lease_losses) where status = 'running';

create index queue_waiting on queue (run_no, available_at) where status = 'waiting';

create index result_not_passed on result (run_no, ordinal) where passed = 0;

create index run_active on run (run_no) where status in ('pending', 'running', 'finalizing');

create index tool_pin_newest on tool_pin (source, name, pin_no);

create index tool_run_call on tool_run (call_digest, tool_run_no) where decision = 'ask';

create index tool_run_edit on tool_run (edited_from) where edited_from is not null;

create unique index tool_run_key on tool_run (principal, idempotency_key) where idempotency_key is not null;

create index tool_run_open on tool_run (session_no) where finished_at is null;

create index tool_run_stream on tool_run (stream, ordinal, attempt, tool_run_no);

create index tool_run_taint on tool_run (principal, dispatched_at) where open_world = 1 and dispatched_at is not null;

create index tool_switch_newest on tool_switch (scope, switch_no);

create index worker_session_live on worker_session (last_seen_at) where ended_at is null;

create view evaluator_result as
select r.run_id, e.ordinal, x.case_id, x.repeat, e.attempt, e.seq,
  nullif(e.body, '') ->> '$.ref' as ref, nullif(e.body, '') ->> '$.dimension' as dimension, nullif(e.body, '') ->> '$.status' as status,
  nullif(e.body, '') ->> '$.severity' as severity, nullif(e.body, '') ->> '$.score' as score, nullif(e.body, '') ->> '$.reason' as reason,
  e.artifact
from evidence e
join run r on r.run_no = e.run_no
join execution x on x.run_no = e.run_no and x.ordinal = e.ordinal
where e.kind = 'evaluator_result';

create trigger approval_answered before update of decided_at, decided_by, decided_roles, decided_on, comment, preview_digest on approval
when old.decided_at is not null and (new.decided_at is not old.decided_at or new.decided_by is not old.decided_by
  or new.decided_roles is not old.decided_roles or new.decided_on is not old.decided_on
  or new.comment is not old.comment or new.preview_digest is not old.preview_digest) begin
  select raise(abort, 'proctor: an approval is answered once');
end;

create trigger approval_final before update on approval when old.ended_at is not null begin
  select raise(abort, 'proctor: an ended approval does not change');
end;

create trigger approval_frozen before update of approval_no, approval_id, tool_run_no, call_digest, approvers, self_approval, edit, reason, policy_digest, requested_at, expires_at on approval when new.approval_no is not old.approval_no or new.approval_id is not old.approval_id or new.tool_run_no is not old.tool_run_no or new.call_digest is not old.call_digest or new.approvers is not old.approvers or new.self_approval is not old.self_approval or new.edit is not old.edit or new.reason is not old.reason or new.policy_digest is not old.policy_digest or new.requested_at is not old.requested_at or new.expires_at is not old.expires_at begin
  select raise(abort, 'proctor: what a row of approval was created with does not change');
end;

create trigger approval_in_time before update of status on approval when
  (new.status = 'approved' and new.decided_at >= old.expires_at)
  or (new.status = 'consumed' and (new.ended_at >= old.expires_at
    or not exists (select 1 from tool_run where tool_run_no = old.tool_run_no and status = 'approval_required'))) begin
  select raise(abort, 'proctor: an approval is given and used before it expires, for a call that waits for it');
end;

create trigger approval_no_delete before delete on approval begin
  select raise(abort, 'proctor: approval is append-only, delete is refused');
end;

create trigger approval_no_replace before insert on approval when exists (select 1 from approval where approval_no = new.approval_no) or exists (select 1 from approval where approval_id = new.approval_id) or exists (select 1 from approval where tool_run_no = new.tool_run_no) begin
  select raise(abort, 'proctor: approval has this row already, it cannot be replaced');
end;

create trigger approval_starts_pending before insert on approval when new.status <> 'pending' or not exists (
  select 1 from tool_run where tool_run_no = new.tool_run_no and call_digest = new.call_digest and decision = 'ask' and status = 'approval_required'
) begin
  select raise(abort, 'proctor: an approval starts pending, for a call that waits for it');
end;

create trigger approval_transition before update of status on approval
when old.status <> new.status and not exists (
  select 1 from state_transition where machine = 'approval' and from_state = old.status and to_state = new.status
) begin
  select raise(abort, 'proctor: illegal transition of approval.status');
end;

create trigger attempt_changes before update on attempt begin
  select case
    when old.ended_at is not null then raise(fail, 'proctor: an ended attempt does not change')
    when old.status <> new.status and not exists (
      select 1 from state_transition where machine = 'attempt' and from_state = old.status and to_state = new.status
    ) then raise(fail, 'proctor: illegal transition of attempt.status')
  end;
end;

create trigger attempt_frozen before update of run_no, ordinal, attempt, started_at, session_no, lease_id on attempt
when new.run_no <> old.run_no or new.ordinal <> old.ordinal or new.attempt <> old.attempt or new.started_at <> old.started_at
  or (old.status <> 'suspended' and (new.session_no <> old.session_no or new.lease_id <> old.lease_id)) begin
  select raise(abort, 'proctor: what an attempt was opened with does not change');
end;

create trigger attempt_no_delete before delete on attempt begin
  select raise(abort, 'proctor: attempt is append-only, delete is refused');
end;

create trigger attempt_opens before insert on attempt begin
  select case
    when new.status <> 'running' or not exists (
      select 1 from queue where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt and lease_id = new.lease_id and status = 'running'
    ) then raise(fail, 'proctor: an attempt opens with a claim only')
    when exists (select 1 from attempt where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt) then raise(fail, 'proctor: attempt has this row already, it cannot be replaced')
  end;
end;

create trigger blessing_no_delete before delete on blessing begin
  select raise(abort, 'proctor: blessing is append-only, delete is refused');
end;

create trigger blessing_no_replace before insert on blessing when exists (select 1 from blessing where blessing_no = new.blessing_no) begin
  select raise(abort, 'proctor: blessing has this row already, it cannot be replaced');
end;

create trigger blessing_no_update before update on blessing begin
  select raise(abort, 'proctor: blessing is append-only, update is refused');
end;

create trigger budget_frozen before update of run_no, kind, cap, reserve on budget when new.run_no is not old.run_no or new.kind is not old.kind or new.cap is not old.cap or new.reserve is not old.reserve begin
  select raise(abort, 'proctor: what a row of budget was created with does not change');
end;

create trigger budget_no_delete before delete on budget begin
  select raise(abort, 'proctor: budget is append-only, delete is refused');
end;

create trigger budget_no_replace before insert on budget when exists (select 1 from budget where run_no = new.run_no and kind = new.kind) begin
  select raise(abort, 'proctor: budget has this row already, it cannot be replaced');
end;

create trigger correction_no_delete before delete on correction begin
  select raise(abort, 'proctor: correction is append-only, delete is refused');
end;

create trigger correction_no_replace before insert on correction when exists (select 1 from correction where run_no = new.run_no and revision = new.revision) begin
  select raise(abort, 'proctor: correction has this row already, it cannot be replaced');
end;

create trigger correction_no_update before update on correction begin
  select raise(abort, 'proctor: correction is append-only, update is refused');
end;

create trigger delivery_frozen before update of outbox_no, endpoint on delivery when new.outbox_no is not old.outbox_no or new.endpoint is not old.endpoint begin
  select raise(abort, 'proctor: what a row of delivery was created with does not change');
end;

create trigger delivery_no_delete before delete on delivery begin
  select raise(abort, 'proctor: delivery is append-only, delete is refused');
end;

create trigger delivery_no_replace before insert on delivery when exists (select 1 from delivery where outbox_no = new.outbox_no and endpoint = new.endpoint) begin
  select raise(abort, 'proctor: delivery has this row already, it cannot be replaced');
end;

create trigger delivery_starts_pending before insert on delivery when new.status <> 'pending' begin
  select raise(abort, 'proctor: a delivery starts pending');
end;

create trigger delivery_transition before update of status on delivery
when old.status <> new.status and not exists (
  select 1 from state_transition where machine = 'delivery' and from_state = old.status and to_state = new.status
) begin
  select raise(abort, 'proctor: illegal transition of delivery.status');
end;

create trigger event_appends before insert on event begin
  select case
    when new.seq <> 1 + coalesce((select max(seq) from event where run_no = new.run_no), 0) then raise(fail, 'proctor: events are appended in order, each once')
    when exists (select 1 from event where position = new.position) then raise(fail, 'proctor: event has this row already, it cannot be replaced')
  end;
end;

create trigger event_no_delete before delete on event begin
  select raise(abort, 'proctor: event is append-only, delete is refused');
end;

create trigger event_no_update before update on event begin
  select raise(abort, 'proctor: event is append-only, update is refused');
end;

create trigger evidence_appends before insert on evidence begin
  select case
    when new.seq <> 1 + coalesce((select max(seq) from evidence where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt), 0) then raise(fail, 'proctor: evidence is appended in order, each row once')
    when not exists (select 1 from attempt where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt and ended_at is null) then raise(fail, 'proctor: evidence is appended to an open attempt only')
  end;
end;

create trigger evidence_no_delete before delete on evidence begin
  select raise(abort, 'proctor: evidence is append-only, delete is refused');
end;

create trigger evidence_no_update before update on evidence begin
  select raise(abort, 'proctor: evidence is append-only, update is refused');
end;

create trigger execution_no_delete before delete on execution begin
  select raise(abort, 'proctor: execution is append-only, delete is refused');
end;

create trigger execution_no_replace before insert on execution when exists (select 1 from execution where run_no = new.run_no and ordinal = new.ordinal) or exists (select 1 from execution where run_no = new.run_no and case_id = new.case_id and repeat = new.repeat) begin
  select raise(fail, 'proctor: execution has this row already, it cannot be replaced');
end;

create trigger execution_no_update before update on execution begin
  select raise(abort, 'proctor: execution is append-only, update is refused');
end;

create trigger gateway_event_appends before insert on gateway_event begin
  select case
    when new.seq <> 1 + coalesce((select max(seq) from gateway_event where stream = new.stream), 0) then raise(fail, 'proctor: events are appended in order, each once')
  end;
end;

create trigger gateway_event_no_delete before delete on gateway_event begin
  select raise(abort, 'proctor: gateway_event is append-only, delete is refused');
end;

create trigger gateway_event_no_replace before insert on gateway_event when exists (select 1 from gateway_event where position = new.position) begin
  select raise(abort, 'proctor: gateway_event has this row already, it cannot be replaced');
end;

create trigger gateway_event_no_update before update on gateway_event begin
  select raise(abort, 'proctor: gateway_event is append-only, update is refused');
end;

create trigger gateway_head_forward before update on gateway_head when new.stream <> old.stream or new.event_count <= old.event_count begin
  select raise(abort, 'proctor: the event head only moves forward');
end;

create trigger gateway_head_no_delete before delete on gateway_head begin
  select raise(abort, 'proctor: gateway_head is append-only, delete is refused');
end;

create trigger gateway_head_no_replace before insert on gateway_head when exists (select 1 from gateway_head where stream = new.stream) begin
  select raise(abort, 'proctor: gateway_head has this row already, it cannot be replaced');
end;

create trigger journal_no_delete before delete on journal begin
  select raise(abort, 'proctor: journal is append-only, delete is refused');
end;

create trigger journal_no_replace before insert on journal when exists (select 1 from journal where seq = new.seq) begin
  select raise(abort, 'proctor: journal has this row already, it cannot be replaced');
end;

create trigger journal_no_update before update on journal begin
  select raise(abort, 'proctor: journal is append-only, update is refused');
end;

create trigger late_evidence_no_delete before delete on late_evidence begin
  select raise(abort, 'proctor: late_evidence is append-only, delete is refused');
end;

create trigger late_evidence_no_replace before insert on late_evidence when exists (select 1 from late_evidence where run_no = new.run_no and late_seq = new.late_seq) begin
  select raise(abort, 'proctor: late_evidence has this row already, it cannot be replaced');
end;

create trigger late_evidence_no_update before update on late_evidence begin
  select raise(abort, 'proctor: late_evidence is append-only, update is refused');
end;

create trigger outbox_no_delete before delete on outbox begin
  select raise(abort, 'proctor: outbox is append-only, delete is refused');
end;

create trigger outbox_no_replace before insert on outbox when exists (select 1 from outbox where outbox_no = new.outbox_no) or exists (select 1 from outbox where dedupe_key = new.dedupe_key) begin
  select raise(abort, 'proctor: outbox has this row already, it cannot be replaced');
end;

create trigger outbox_no_update before update on outbox begin
  select raise(abort, 'proctor: outbox is append-only, update is refused');
end;

create trigger policy_no_delete before delete on policy begin
  select raise(abort, 'proctor: policy is append-only, delete is refused');
end;

create trigger policy_no_replace before insert on policy when exists (select 1 from policy where digest = new.digest) begin
  select raise(abort, 'proctor: policy has this row already, it cannot be replaced');
end;

create trigger policy_no_update before update on policy begin
  select raise(abort, 'proctor: policy is append-only, update is refused');
end;

create trigger queue_ends_with_result before delete on queue begin
  select case
    when not exists (select 1 from result where run_no = old.run_no and ordinal = old.ordinal) then raise(fail, 'proctor: an execution leaves the queue with its result only')
  end;
end;

create trigger queue_frozen before update of run_no, ordinal on queue when new.run_no is not old.run_no or new.ordinal is not old.ordinal begin
  select raise(abort, 'proctor: what a row of queue was created with does not change');
end;

create trigger queue_starts_pending before insert on queue begin
  select case
    when new.status <> 'pending' or new.attempt <> 0
      or exists (select 1 from result where run_no = new.run_no and ordinal = new.ordinal)
      or exists (select 1 from queue where run_no = new.run_no and ordinal = new.ordinal) then raise(fail, 'proctor: an execution is queued once, pending')
  end;
end;

create trigger queue_transition before update of status, attempt on queue begin
  select case
    when old.status <> new.status and not exists (
      select 1 from state_transition where machine = 'execution' and from_state = old.status and to_state = new.status
    ) then raise(fail, 'proctor: illegal transition of queue.status')
    when new.attempt <> old.attempt and not (new.attempt = old.attempt + 1 and old.status in ('pending', 'retry_scheduled') and new.status = 'running') then raise(fail, 'proctor: an attempt is counted by a claim only')
  end;
end;

create trigger result_ends before insert on result begin
  select case
    when exists (select 1 from result where run_no = new.run_no and ordinal = new.ordinal) then raise(fail, 'proctor: result has this row already, it cannot be replaced')
    when not exists (
      select 1 from queue q join state_transition t on t.machine = 'execution' and t.from_state = q.status and t.to_state = new.status
      where q.run_no = new.run_no and q.ordinal = new.ordinal and q.attempt = new.attempt
    ) then raise(fail, 'proctor: a result ends an execution of the queue by a legal transition only')
  end;
end;

create trigger result_no_delete before delete on result begin
  select raise(abort, 'proctor: result is append-only, delete is refused');
end;

create trigger result_no_update before update on result begin
  select raise(abort, 'proctor: result is append-only, update is refused');
end;

create trigger run_final before update on run when old.finished_at is not null begin
  select raise(abort, 'proctor: an ended run does not change');
end;

create trigger run_frozen before update on run when
  new.run_no <> old.run_no or new.run_id <> old.run_id or new.run_key is not old.run_key or new.snapshot_digest <> old.snapshot_digest
  or new.plan_digest <> old.plan_digest or new.cases <> old.cases or new.repeats <> old.repeats or new.total <> old.total
  or new.base_dir <> old.base_dir or new.created_by <> old.created_by or new.created_at <> old.created_at
  or new.materialized < old.materialized or (old.started_at is not null and new.started_at is not old.started_at) begin
  select raise(abort, 'proctor: what a run was created with does not change');
end;

create trigger run_no_delete before delete on run begin
  select raise(abort, 'proctor: run is append-only, delete is refused');
end;

create trigger run_no_replace before insert on run when exists (select 1 from run where run_no = new.run_no) or exists (select 1 from run where run_id = new.run_id) or exists (select 1 from run where run_key = new.run_key) begin
  select raise(abort, 'proctor: run has this row already, it cannot be replaced');
end;

create trigger run_starts_pending before insert on run when new.status <> 'pending' or new.gate_status <> 'unknown' begin
  select raise(abort, 'proctor: a run starts pending with gate unknown');
end;

create trigger run_stops_once before update of stop_reason, stop_after on run
when old.stop_reason is not null and (new.stop_reason is not old.stop_reason or new.stop_after is not old.stop_after) begin
  select raise(abort, 'proctor: why a run stopped does not change');
end;

create trigger run_transition before update of status on run
when old.status <> new.status and not exists (
  select 1 from state_transition where machine = 'run' and from_state = old.status and to_state = new.status
) begin
  select raise(abort, 'proctor: illegal transition of run.status');
end;

create trigger run_head_forward before update on run_head when new.run_no <> old.run_no or new.event_count <= old.event_count begin
  select raise(abort, 'proctor: the event head only moves forward');
end;

create trigger run_head_no_delete before delete on run_head begin
  select raise(abort, 'proctor: run_head is append-only, delete is refused');
end;

create trigger run_head_no_replace before insert on run_head when exists (select 1 from run_head where run_no = new.run_no) begin
  select raise(abort, 'proctor: run_head has this row already, it cannot be replaced');
end;

create trigger snapshot_no_delete before delete on snapshot begin
  select raise(abort, 'proctor: snapshot is append-only, delete is refused');
end;

create trigger snapshot_no_replace before insert on snapshot when exists (select 1 from snapshot where digest = new.digest) begin
  select raise(abort, 'proctor: snapshot has this row already, it cannot be replaced');
end;

create trigger snapshot_no_update before update on snapshot begin
  select raise(abort, 'proctor: snapshot is append-only, update is refused');
end;

create trigger state_transition_no_delete before delete on state_transition begin
  select raise(abort, 'proctor: state_transition is append-only, delete is refused');
end;

create trigger state_transition_no_insert before insert on state_transition begin
  select raise(abort, 'proctor: the transition table is seeded once');
end;

create trigger state_transition_no_replace before insert on state_transition when exists (select 1 from state_transition where machine = new.machine and from_state = new.from_state and to_state = new.to_state) begin
  select raise(abort, 'proctor: state_transition has this row already, it cannot be replaced');
end;

create trigger state_transition_no_update before update on state_transition begin
  select raise(abort, 'proctor: state_transition is append-only, update is refused');
end;

create trigger tool_cancel_no_delete before delete on tool_cancel begin
  select raise(abort, 'proctor: tool_cancel is append-only, delete is refused');
end;

create trigger tool_cancel_no_replace before insert on tool_cancel when exists (select 1 from tool_cancel where tool_run_no = new.tool_run_no) begin
  select raise(abort, 'proctor: tool_cancel has this row already, it cannot be replaced');
end;

create trigger tool_cancel_no_update before update on tool_cancel begin
  select raise(abort, 'proctor: tool_cancel is append-only, update is refused');
end;

create trigger tool_definition_no_delete before delete on tool_definition begin
  select raise(abort, 'proctor: tool_definition is append-only, delete is refused');
end;

create trigger tool_definition_no_replace before insert on tool_definition when exists (select 1 from tool_definition where source = new.source and name = new.name and digest = new.digest) begin
  select raise(abort, 'proctor: tool_definition has this row already, it cannot be replaced');
end;

create trigger tool_definition_no_update before update on tool_definition begin
  select raise(abort, 'proctor: tool_definition is append-only, update is refused');
end;

create trigger tool_delivery_no_delete before delete on tool_delivery begin
  select raise(abort, 'proctor: tool_delivery is append-only, delete is refused');
end;

create trigger tool_delivery_no_replace before insert on tool_delivery when exists (select 1 from tool_delivery where tool_run_no = new.tool_run_no) begin
  select raise(abort, 'proctor: tool_delivery has this row already, it cannot be replaced');
end;

create trigger tool_delivery_no_update before update on tool_delivery begin
  select raise(abort, 'proctor: tool_delivery is append-only, update is refused');
end;

create trigger tool_delivery_of_ended before insert on tool_delivery begin
  select case
    when not exists (select 1 from tool_run where tool_run_no = new.tool_run_no and finished_at is not null) then raise(fail, 'proctor: the outcome of a call is handed over when it has ended')
  end;
end;

create trigger tool_pin_no_delete before delete on tool_pin begin
  select raise(abort, 'proctor: tool_pin is append-only, delete is refused');
end;

create trigger tool_pin_no_replace before insert on tool_pin when exists (select 1 from tool_pin where pin_no = new.pin_no) begin
  select raise(abort, 'proctor: tool_pin has this row already, it cannot be replaced');
end;

create trigger tool_pin_no_update before update on tool_pin begin
  select raise(abort, 'proctor: tool_pin is append-only, update is refused');
end;

create trigger tool_run_final before update on tool_run when old.finished_at is not null begin
  select raise(abort, 'proctor: an ended tool run does not change');
end;

create trigger tool_run_frozen before update of tool_run_no, tool_run_id, stream, ordinal, attempt, source, name, definition_digest, arguments, arguments_digest, call_digest, principal, principal_kind, roles, agent, surface, risk, open_world, cost_micro_usd, request_id, trace_id, caused_by, idempotency_key, edited_from, created_at on tool_run when new.tool_run_no is not old.tool_run_no or new.tool_run_id is not old.tool_run_id or new.stream is not old.stream or new.ordinal is not old.ordinal or new.attempt is not old.attempt or new.source is not old.source or new.name is not old.name or new.definition_digest is not old.definition_digest or new.arguments is not old.arguments or new.arguments_digest is not old.arguments_digest or new.call_digest is not old.call_digest or new.principal is not old.principal or new.principal_kind is not old.principal_kind or new.roles is not old.roles or new.agent is not old.agent or new.surface is not old.surface or new.risk is not old.risk or new.open_world is not old.open_world or new.cost_micro_usd is not old.cost_micro_usd or new.request_id is not old.request_id or new.trace_id is not old.trace_id or new.caused_by is not old.caused_by or new.idempotency_key is not old.idempotency_key or new.edited_from is not old.edited_from or new.created_at is not old.created_at begin
  select raise(abort, 'proctor: what a row of tool_run was created with does not change');
end;

create trigger tool_run_no_delete before delete on tool_run begin
  select raise(abort, 'proctor: tool_run is append-only, delete is refused');
end;

create trigger tool_run_no_replace before insert on tool_run when exists (select 1 from tool_run where tool_run_no = new.tool_run_no) or exists (select 1 from tool_run where tool_run_id = new.tool_run_id) or exists (select 1 from tool_run where principal = new.principal and idempotency_key = new.idempotency_key) begin
  select raise(abort, 'proctor: tool_run has this row already, it cannot be replaced');
end;

create trigger tool_run_once before update on tool_run when
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
end;

create trigger tool_run_starts before insert on tool_run when new.status <> 'started'
  or coalesce(new.decision, new.policy_digest, new.rules, new.execute, new.tainted, new.pinned, new.session_no, new.dispatched_at,
    new.timeout_ms, new.max_output_bytes, new.output) is not null begin
  select raise(abort, 'proctor: a tool run starts as started, before anything is done');
end;

create trigger tool_run_transition before update of status on tool_run
when old.status <> new.status and not exists (
  select 1 from state_transition where machine = 'tool_run' and from_state = old.status and to_state = new.status
) begin
  select raise(abort, 'proctor: illegal transition of tool_run.status');
end;

create trigger tool_switch_no_delete before delete on tool_switch begin
  select raise(abort, 'proctor: tool_switch is append-only, delete is refused');
end;

create trigger tool_switch_no_replace before insert on tool_switch when exists (select 1 from tool_switch where switch_no = new.switch_no) begin
  select raise(abort, 'proctor: tool_switch has this row already, it cannot be replaced');
end;

create trigger tool_switch_no_update before update on tool_switch begin
  select raise(abort, 'proctor: tool_switch is append-only, update is refused');
end;

create trigger worker_session_frozen before update of session_no, session_id, worker, host, boot_id, pid, process_start, started_at on worker_session when new.session_no is not old.session_no or new.session_id is not old.session_id or new.worker is not old.worker or new.host is not old.host or new.boot_id is not old.boot_id or new.pid is not old.pid or new.process_start is not old.process_start or new.started_at is not old.started_at begin
  select raise(abort, 'proctor: what a row of worker_session was created with does not change');
end;

create trigger worker_session_no_delete before delete on worker_session begin
  select raise(abort, 'proctor: worker_session is append-only, delete is refused');
end;

create trigger worker_session_no_replace before insert on worker_session when exists (select 1 from worker_session where session_no = new.session_no) or exists (select 1 from worker_session where session_id = new.session_id) begin
  select raise(abort, 'proctor: worker_session has this row already, it cannot be replaced');
end;
