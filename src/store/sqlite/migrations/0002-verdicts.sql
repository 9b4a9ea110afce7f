-- Which run a profile's gate compares with: the newest row of a profile counts, older ones stay to be seen.
create table blessing (
  blessing_no integer primary key,
  profile_id text not null,
  run_no integer not null references run (run_no) deferrable initially deferred,
  blessed_by text not null,
  blessed_at integer not null
) strict;
create index blessing_profile on blessing (profile_id, blessing_no);

-- Why the last try of a delivery came to nothing, for a person.
alter table delivery add column last_error text;
create index delivery_due on delivery (next_at) where status in ('pending', 'failed');
create index delivery_open on delivery (endpoint, outbox_no) where status in ('pending', 'failed');

-- A run that stops before its plan is through: its budget is spent, or its gate is decided by the first `stop_after` executions.
alter table run add column stop_reason text check (stop_reason in ('budget', 'early_stop'));
alter table run add column stop_after integer;

-- What a run may take in all, and the most that one execution took; what was taken stands in run_stat.
create table budget (
  run_no integer not null references run (run_no) deferrable initially deferred,
  kind text not null check (kind in ('cost_micro_usd', 'tokens', 'tool_calls')),
  cap integer not null check (cap > 0),
  reserve integer check (reserve > 0),
  highest integer not null default 0,
  answers integer not null default 0,
  primary key (run_no, kind)
) strict, without rowid;

-- A grade corrected by a person: an evaluator result of theirs, the aggregate that follows, and the run's verdict with it. The run's own
-- verdict stands beside it for ever.
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
