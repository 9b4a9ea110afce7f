-- Proctor store, schema 1 (SQLite). Instants are epoch milliseconds, digests lower hex, bodies canonical JSON text.
create table meta (
  key text primary key not null,
  value any
) strict, without rowid;
insert into meta (key, value) values ('last_now', 0);

create table state_transition (
  machine text not null,
  from_state text not null,
  to_state text not null,
  primary key (machine, from_state, to_state)
) strict, without rowid;

create table snapshot (
  digest text primary key not null check (length(digest) = 64),
  body text not null check (json_valid(body))
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
  event_head text,
  check ((status in ('completed', 'failed', 'cancelled')) = (finished_at is not null)),
  check ((status = 'completed') = (verdict is not null and evidence_root is not null and content_digest is not null)),
  check ((status = 'completed') = (gate_status <> 'unknown'))
) strict;
create index run_active on run (run_no) where status in ('pending', 'running', 'finalizing');

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
create index worker_session_live on worker_session (last_seen_at) where ended_at is null;

create table execution (
  run_no integer not null references run (run_no) deferrable initially deferred,
  ordinal integer not null,
  case_id text not null,
  repeat integer not null check (repeat > 0),
  case_content text not null,
  cluster text,
  primary key (run_no, ordinal)
) strict, without rowid;
create unique index execution_case on execution (run_no, case_id, repeat);

-- Small and hot: a row lives from materialization to the end of its execution.
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
create index queue_pending on queue (run_no, order_key, ordinal) where status = 'pending';
create index queue_retry on queue (run_no, available_at) where status = 'retry_scheduled';
create index queue_lost on queue (run_no, lease_losses, available_at) where status = 'retry_scheduled' and lease_losses > 0;
create index queue_waiting on queue (run_no, available_at) where status = 'waiting';
-- Not on lease_until: heartbeats would move every entry. The leased rows are few.
create index queue_running on queue (run_no, session_no, lease_losses) where status = 'running';

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
create index result_not_passed on result (run_no, ordinal) where passed = 0;

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
create unique index event_seq on event (run_no, seq);

create table outbox (
  outbox_no integer primary key,
  run_no integer not null references run (run_no) deferrable initially deferred,
  dedupe_key text not null unique,
  type text not null,
  body text not null,
  created_at integer not null
) strict;

create table delivery (
  outbox_no integer not null references outbox (outbox_no) deferrable initially deferred,
  endpoint text not null,
  status text not null,
  attempts integer not null default 0,
  next_at integer not null,
  lease_id text,
  lease_until integer,
  last_status integer,
  primary key (outbox_no, endpoint)
) strict, without rowid;

-- Readable ids for people with a SQL prompt.
create view evaluator_result as
select r.run_id, e.ordinal, x.case_id, x.repeat, e.attempt, e.seq,
  e.body ->> '$.ref' as ref, e.body ->> '$.dimension' as dimension, e.body ->> '$.status' as status,
  e.body ->> '$.severity' as severity, e.body ->> '$.score' as score, e.body ->> '$.reason' as reason
from evidence e
join run r on r.run_no = e.run_no
join execution x on x.run_no = e.run_no and x.ordinal = e.ordinal
where e.kind = 'evaluator_result' and e.artifact is null;
