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
  lease_until integer,
  primary key (run_no, ordinal),
  foreign key (run_no, ordinal) references execution (run_no, ordinal) deferrable initially deferred,
  check ((status = 'running') = (lease_id is not null and lease_until is not null and session_no is not null))
) strict, without rowid;

create table result (
  run_no integer not null,
  ordinal integer not null,
  attempt integer not null,
  status text not null check (status in ('completed', 'failed', 'timed_out', 'cancelled')),
  fault text check (fault in ('infrastructure', 'agent', 'grader', 'policy', 'cancelled')),
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
) strict;

create index blessing_profile on blessing (profile_id, blessing_no);

create index delivery_due on delivery (next_at) where status in ('pending', 'failed');

create index delivery_open on delivery (endpoint, outbox_no) where status in ('pending', 'failed');

create unique index event_seq on event (run_no, seq);

create unique index execution_case on execution (run_no, case_id, repeat);

create index queue_lost on queue (run_no, lease_losses, available_at) where status = 'retry_scheduled' and lease_losses > 0;

create index queue_pending on queue (run_no, order_key, ordinal) where status = 'pending';

create index queue_retry on queue (run_no, available_at) where status = 'retry_scheduled';

create index queue_running on queue (run_no, session_no, lease_losses) where status = 'running';

create index queue_waiting on queue (run_no, available_at) where status = 'waiting';

create index result_not_passed on result (run_no, ordinal) where passed = 0;

create index run_active on run (run_no) where status in ('pending', 'running', 'finalizing');

create index worker_session_live on worker_session (last_seen_at) where ended_at is null;

create view evaluator_result as
select r.run_id, e.ordinal, x.case_id, x.repeat, e.attempt, e.seq,
  e.body ->> '$.ref' as ref, e.body ->> '$.dimension' as dimension, e.body ->> '$.status' as status,
  e.body ->> '$.severity' as severity, e.body ->> '$.score' as score, e.body ->> '$.reason' as reason
from evidence e
join run r on r.run_no = e.run_no
join execution x on x.run_no = e.run_no and x.ordinal = e.ordinal
where e.kind = 'evaluator_result' and e.artifact is null;

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

create trigger worker_session_frozen before update of session_no, session_id, worker, host, boot_id, pid, process_start, started_at on worker_session when new.session_no is not old.session_no or new.session_id is not old.session_id or new.worker is not old.worker or new.host is not old.host or new.boot_id is not old.boot_id or new.pid is not old.pid or new.process_start is not old.process_start or new.started_at is not old.started_at begin
  select raise(abort, 'proctor: what a row of worker_session was created with does not change');
end;

create trigger worker_session_no_delete before delete on worker_session begin
  select raise(abort, 'proctor: worker_session is append-only, delete is refused');
end;

create trigger worker_session_no_replace before insert on worker_session when exists (select 1 from worker_session where session_no = new.session_no) or exists (select 1 from worker_session where session_id = new.session_id) begin
  select raise(abort, 'proctor: worker_session has this row already, it cannot be replaced');
end;
