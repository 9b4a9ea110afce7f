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
