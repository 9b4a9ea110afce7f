-- Ends executions for good, each under its fence: $1 is a JSON array of completions, no fence twice. The hashes come from the worker;
-- an attempt ends `elapsed_ms` after the database started it. Answers written, duplicate or fenced for each. The end of the lease by
-- the clock is not asked: only the reaper takes.
with sent as materialized (
  select r.run_no, c.*
  from json_to_recordset($1::json) as c (
    run_id text, ordinal integer, attempt integer, lease_id text, attempt_status text, status text, fault text, reason text,
    aggregate text, passed boolean, content text, elapsed_ms integer, evidence json, evidence_count integer, seal text, hash text, event_body text
  )
  join run r on r.run_id = c.run_id
),
-- In one order, so that two batches with a completion in common wait for each other and do not deadlock. Only a running row has a
-- lease id; asking for the status too would invite the planner to the index of all running rows.
held as materialized (
  select h.run_no, h.ordinal
  from (select run_no, ordinal, attempt, lease_id from sent order by run_no, ordinal) as s
  cross join lateral (
    select q.run_no, q.ordinal
    from queue q
    where q.run_no = s.run_no and q.ordinal = s.ordinal and q.attempt = s.attempt and q.lease_id = s.lease_id
    limit 1
    for update
  ) as h
),
taken as (
  delete from queue q
  using held h
  where q.run_no = h.run_no and q.ordinal = h.ordinal
  returning q.run_no, q.ordinal, q.attempt, q.lease_id, q.slot_no
),
due as (
  select s.*, t.slot_no
  from sent s
  join taken t on t.run_no = s.run_no and t.ordinal = s.ordinal and t.attempt = s.attempt and t.lease_id = s.lease_id
),
vacated as (
  update run_slot s
  set ordinal = null, attempt = null
  from taken t
  where s.run_no = t.run_no and s.slot_no = t.slot_no
),
closed as (
  update attempt a
  set status = d.attempt_status, ended_at = a.started_at + d.elapsed_ms, reason = d.reason, fault = d.fault, evidence_count = d.evidence_count, seal = d.seal
  from due d
  where a.run_no = d.run_no and a.ordinal = d.ordinal and a.attempt = d.attempt
  returning a.run_no, a.ordinal, a.ended_at
),
proven as (
  insert into evidence (run_no, ordinal, attempt, seq, kind, body, artifact, hash)
  select d.run_no, d.ordinal, d.attempt, e.seq, e.kind, e.body, e.artifact, e.hash
  from due d
  cross join lateral json_to_recordset(d.evidence) as e (seq integer, kind text, body text, artifact text, hash text)
),
ended as (
  insert into result (run_no, ordinal, attempt, status, fault, aggregate, content, finished_at, hash)
  select d.run_no, d.ordinal, d.attempt, d.status, d.fault, d.aggregate, d.content, c.ended_at, d.hash
  from due d
  join closed c on c.run_no = d.run_no and c.ordinal = d.ordinal
),
told as (
  insert into event (run_no, type, at, ordinal, attempt, body)
  select run_no, 'execution_finished', clock_ms(), ordinal, attempt, event_body
  from due
),
counted as (
  insert into run_delta (run_no, kind, n)
  select run_no, kind, sum(n)
  from (
    select run_no, 'running' as kind, -1 as n from due
    union all select run_no, status, 1 from due
    union all select run_no, 'passed', 1 from due where passed
  ) as movement
  group by run_no, kind
)
select s.run_id, s.ordinal, s.attempt,
  case
    when t.ordinal is not null then 'written'
    when completed_before(s.run_no, s.ordinal, s.attempt, s.lease_id, s.content) then 'duplicate'
    else 'fenced'
  end as outcome
from sent s
left join taken t on t.run_no = s.run_no and t.ordinal = s.ordinal and t.attempt = s.attempt and t.lease_id = s.lease_id;
