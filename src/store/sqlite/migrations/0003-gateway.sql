-- The tool gateway. A `stream` is the run that a call belongs to, or 0 for calls outside of runs; each stream has its own event chain.
create table policy (
  digest text primary key not null check (length(digest) = 64),
  body text not null check (json_valid(body))
) strict, without rowid;

-- Every definition that a source has shown, by its digest.
create table tool_definition (
  source text not null,
  name text not null,
  digest text not null check (length(digest) = 64),
  body text not null check (json_valid(body)),
  first_seen_at integer not null,
  primary key (source, name, digest)
) strict, without rowid;

-- Which definition of a tool may be called: the newest row of a tool counts, a null digest means none.
create table tool_pin (
  pin_no integer primary key,
  source text not null,
  name text not null,
  digest text,
  pinned_by text not null,
  pinned_at integer not null
) strict;
create index tool_pin_newest on tool_pin (source, name, pin_no);

-- Kill switches: the newest row of a scope (`*`, `source`, `source.tool`) counts.
create table tool_switch (
  switch_no integer primary key,
  scope text not null,
  off integer not null check (off in (0, 1)),
  reason text not null,
  switched_by text not null,
  switched_at integer not null
) strict;
create index tool_switch_newest on tool_switch (scope, switch_no);

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
create unique index tool_run_key on tool_run (principal, idempotency_key) where idempotency_key is not null;
create index tool_run_call on tool_run (call_digest, tool_run_no) where decision = 'ask';
create index tool_run_stream on tool_run (stream, ordinal, attempt, tool_run_no);
create index tool_run_edit on tool_run (edited_from) where edited_from is not null;
create index tool_run_open on tool_run (session_no) where finished_at is null;
create index tool_run_taint on tool_run (principal, dispatched_at) where open_world = 1 and dispatched_at is not null;

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
create index approval_open on approval (expires_at) where status in ('pending', 'approved');

-- That the outcome of a call was handed to who asked for it.
create table tool_delivery (
  tool_run_no integer primary key references tool_run (tool_run_no) deferrable initially deferred,
  delivered_at integer not null
) strict, without rowid;

-- That somebody wants a call that is being made stopped.
create table tool_cancel (
  tool_run_no integer primary key references tool_run (tool_run_no) deferrable initially deferred,
  reason text not null,
  requested_by text not null,
  requested_at integer not null
) strict, without rowid;

-- Calls counted against the limits of policies, by the slice of a window that they fell into: the instant at which it began.
create table limit_use (
  limit_key text not null,
  slice integer not null,
  calls integer not null,
  cost_micro_usd integer not null,
  primary key (limit_key, slice)
) strict, without rowid;

create table gateway_head (
  stream integer primary key,
  event_count integer not null,
  event_hash text not null
) strict;

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
create unique index gateway_event_seq on gateway_event (stream, seq);
create index gateway_event_run on gateway_event (tool_run_no, position) where tool_run_no is not null;

-- What a session is there for: workers share a run's concurrency, gateways only carry calls out.
alter table worker_session add column role text not null default 'worker' check (role in ('worker', 'gateway'));
