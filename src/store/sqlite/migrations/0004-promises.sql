-- Faults: `configuration` is one of its own (wrong credentials, a model or route that does not exist). A CHECK cannot be altered, so the rows move.
create table result_kept as select * from result;
drop table result;
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
create index result_not_passed on result (run_no, ordinal) where passed = 0;
insert into result select * from result_kept order by run_no, ordinal;
drop table result_kept;

-- Time. Where the schedule stands, beside the clocks by which it was read: the wall clock, the machine's boot and its uptime. The schedule begins
-- at the last recorded instant, so what waits in an older store goes on waiting for the same. What is on it: `lease_until`, `available_at`,
-- `next_at`, `last_seen_at`, `slice` and the marks below. No row until the first transaction.
create table schedule (
  one integer primary key check (one = 1),
  at integer not null,
  wall integer not null,
  boot_id text not null,
  uptime_ms integer not null,
  jumped_at integer,
  jumped_ms integer
) strict;

-- Points on the schedule that belong to a row which says the same by the wall clock: when a run started, for its time limit; when an approval is
-- over at the latest, so that a clock that was set back gives it no longer life.
create table schedule_mark (
  what text not null check (what in ('run_start', 'approval_end')),
  row_no integer not null,
  at integer not null,
  primary key (what, row_no)
) strict, without rowid;

-- What a run keeps outside of the store, to see before its verdict that it is there.
create index evidence_artifact on evidence (run_no, artifact) where artifact is not null;

-- The breaker: whether a call of the run ever worked, on each side, and until then how many of the first calls failed the same way.
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
-- Failures of an execution while no call had worked.
alter table queue add column breaker_failures integer not null default 0;

-- The journal: what happened to the store as a whole, chained. A run, a session or a blessing that is deleted or made up does not agree with it.
create table journal (
  seq integer primary key check (seq > 0),
  type text not null,
  at integer not null,
  body text not null check (json_valid(body)),
  hash text not null
) strict;

-- Results whose body stands in an artifact have a row too; of those written before, only the artifact's name is known here.
drop view evaluator_result;
create view evaluator_result as
select r.run_id, e.ordinal, x.case_id, x.repeat, e.attempt, e.seq,
  nullif(e.body, '') ->> '$.ref' as ref, nullif(e.body, '') ->> '$.dimension' as dimension, nullif(e.body, '') ->> '$.status' as status,
  nullif(e.body, '') ->> '$.severity' as severity, nullif(e.body, '') ->> '$.score' as score, nullif(e.body, '') ->> '$.reason' as reason,
  e.artifact
from evidence e
join run r on r.run_no = e.run_no
join execution x on x.run_no = e.run_no and x.ordinal = e.ordinal
where e.kind = 'evaluator_result';
