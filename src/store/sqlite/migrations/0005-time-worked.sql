-- How long runs were worked on, for their time limits: milliseconds, and the point on the schedule up to which they are counted. Stops and
-- pauses are not in it. Runs in progress have it as it was counted before: since they started.
create table run_time (
  run_no integer primary key references run (run_no) deferrable initially deferred,
  worked_ms integer not null,
  counted_to integer not null
) strict;
insert into run_time (run_no, worked_ms, counted_to)
select run_no, max(0, now - began), now from (
  select r.run_no, cast(coalesce(m.at, r.started_at) as integer) as began, cast(coalesce(s.at, t.value, r.started_at) as integer) as now
  from run r
  left join schedule_mark m on m.what = 'run_start' and m.row_no = r.run_no
  left join schedule s on s.one = 1
  left join meta t on t.key = 'last_now'
  where r.status = 'running' and r.started_at is not null
);
delete from schedule_mark where what = 'run_start';
