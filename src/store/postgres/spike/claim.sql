-- Claims up to $3 executions of run $2 for session $1 under lease $5 of $4 ms: due retries first, then the plan's order, never more
-- than there are free slots. Rows and slots that another claim has locked are passed over, so that claims do not wait for each other.
-- A limit that is a subquery is taken for a tenth of the queue, for which the planner would read all of it: rows are therefore looked
-- up by an array (taken for ten) and by lateral subqueries with a limit (always a nested loop).
with target as materialized (
  select r.run_no, s.session_no
  from run r
  join worker_session s on s.session_id = $1
  where r.run_id = $2 and r.status = 'running' and r.cancel_requested_at is null
),
room as materialized (
  select slot_no
  from run_slot
  where run_no = (select run_no from target) and ordinal is null
  limit $3::integer
  for update skip locked
),
due as materialized (
  select ordinal
  from queue
  where run_no = (select run_no from target) and status = 'retry_scheduled' and available_at <= statement_ms()
  order by available_at, ordinal
  limit (select count(*) from room)
  for update skip locked
),
fresh as materialized (
  select ordinal
  from queue
  where run_no = (select run_no from target) and status = 'pending'
  order by order_key, ordinal
  limit (select count(*) from room) - (select count(*) from due)
  for update skip locked
),
place as (
  select row_number() over () as n, slot_no from room
),
pick as (
  select row_number() over () as n, ordinal, was
  from (select ordinal, 'retry_scheduled' as was from due union all select ordinal, 'pending' from fresh) as candidate
),
leased as (
  update queue q
  set status = 'running', attempt = q.attempt + 1, lease_id = $5, session_no = t.session_no, slot_no = place.slot_no, lease_until = clock_ms() + $4::integer
  from pick
  join place using (n)
  cross join target t
  where q.run_no = (select run_no from target) and q.ordinal = any (array(select ordinal from pick)) and q.ordinal = pick.ordinal
  returning q.run_no, q.ordinal, q.attempt, q.slot_no, pick.n, pick.was, q.agent_failures, q.infrastructure_failures, q.grader_failures, q.lease_losses
),
occupied as (
  update run_slot s
  set ordinal = l.ordinal, attempt = l.attempt
  from leased l
  where s.run_no = l.run_no and s.slot_no = l.slot_no
),
opened as (
  insert into attempt (run_no, ordinal, attempt, session_no, lease_id, status, started_at)
  select l.run_no, l.ordinal, l.attempt, t.session_no, $5, 'running', clock_ms()
  from leased l
  cross join target t
  returning ordinal, started_at
),
told as (
  insert into event (run_no, type, at, ordinal, attempt)
  select run_no, 'attempt_started', clock_ms(), ordinal, attempt
  from leased
),
counted as (
  insert into run_delta (run_no, kind, n)
  select run_no, kind, sum(n)
  from (
    select run_no, was as kind, -1 as n from leased
    union all select run_no, 'running', 1 from leased
    union all select run_no, 'attempts', 1 from leased
  ) as movement
  group by run_no, kind
)
select
  l.ordinal, l.attempt, e.case_id, e.repeat, o.started_at,
  l.agent_failures, l.infrastructure_failures, l.grader_failures, l.lease_losses,
  coalesce((select seal from attempt p where p.run_no = l.run_no and p.ordinal = l.ordinal and p.attempt = l.attempt - 1), '') as previous_seal,
  case when l.attempt > 1 then (
    select json_agg(json_build_object('kind', k.kind, 'body', k.body, 'artifact', k.artifact) order by k.seq)
    from evidence k
    where k.run_no = l.run_no and k.ordinal = l.ordinal and k.kind <> 'failure' and k.attempt = (
      select max(f.attempt) from attempt f where f.run_no = l.run_no and f.ordinal = l.ordinal and f.status = 'failed_evaluation'
    )
  ) end as kept
from leased l
join opened o on o.ordinal = l.ordinal
cross join lateral (select case_id, repeat from execution x where x.run_no = l.run_no and x.ordinal = l.ordinal limit 1) as e;
