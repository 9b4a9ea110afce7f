-- name: begin_finalize
-- running → finalizing once run $1 is materialized and nothing of it is queued; answers whether it is finalizing. Rows never come back
-- to the queue, so an old snapshot can only err towards waiting.
with begun as (
  update run r
  set status = 'finalizing'
  where r.run_id = $1 and r.status = 'running' and r.materialized = r.total and r.cancel_requested_at is null
    and not exists (select from queue q where q.run_no = r.run_no)
  returning r.run_no
),
told as (
  insert into event (run_no, type, at)
  select run_no, 'run_finalizing', clock_ms()
  from begun
)
select exists (select from begun) or exists (select from run where run_id = $1 and status = 'finalizing') as finalizing;

-- name: finalize
-- finalizing → completed for run $1 with its verdict ($2 gate, $3 verdict, $4 content digest, $5 merkle root), its evidence root $6 over
-- event head $7 and the instant $8 that the database gave with that head, and its event and outbox body $9. Answers nothing when the run
-- is not finalizing; `completed` false with `unnumbered` or another head means: number the events and try again.
with judged as materialized (
  select r.run_no, r.total, h.event_hash,
    (select count(*) from result x where x.run_no = r.run_no) as results,
    exists (select from event e where e.run_no = r.run_no and e.seq is null) as unnumbered
  from run r
  join run_head h on h.run_no = r.run_no
  where r.run_id = $1 and r.status = 'finalizing'
),
done as (
  update run r
  set status = 'completed', gate_status = $2, verdict = $3, content_digest = $4, merkle_root = $5, evidence_root = $6, event_head = $7, finished_at = $8
  from judged j
  where r.run_no = j.run_no and r.status = 'finalizing'
    and j.results = j.total and not j.unnumbered and j.event_hash = $7
    and not exists (select from queue q where q.run_no = j.run_no)
  returning r.run_no, r.run_id
),
told as (
  insert into event (run_no, type, at, body)
  select run_no, 'run_completed', clock_ms(), $9
  from done
),
sent as (
  insert into outbox (run_no, dedupe_key, type, body, created_at)
  select run_no, 'run:' || run_id || ':final', 'run_completed', $9, clock_ms()
  from done
)
select j.results, j.total, j.unnumbered, j.event_hash as event_head, exists (select from done) as completed
from judged j;
