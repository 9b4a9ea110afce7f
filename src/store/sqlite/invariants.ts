import type { InvariantViolation } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import { gatewayDifferences } from './tool-audit.ts';
import { GATEWAY_INVARIANTS } from './tool-invariants.ts';

/** What holds in a sound store at every moment, as queries that find the rows where it does not. */
const INVARIANTS: readonly (readonly [string, string])[] = [
  [
    'every materialized execution is queued or has a result, never both',
    `select r.run_id || ' ordinal ' || x.ordinal as example from execution x join run r on r.run_no = x.run_no
where (select count(*) from queue q where q.run_no = x.run_no and q.ordinal = x.ordinal) + (select count(*) from result s where s.run_no = x.run_no and s.ordinal = x.ordinal) <> 1`,
  ],
  [
    'no queue row without its execution',
    "select q.run_no || '/' || q.ordinal as example from queue q where not exists (select 1 from execution x where x.run_no = q.run_no and x.ordinal = q.ordinal)",
  ],
  [
    'a run has as many executions as it says it materialized',
    'select r.run_id as example from run r where r.materialized <> (select count(*) from execution x where x.run_no = r.run_no)',
  ],
  [
    'attempts of an execution are numbered from 1 without a gap',
    "select run_no || '/' || ordinal as example from attempt group by run_no, ordinal having min(attempt) <> 1 or max(attempt) <> count(*)",
  ],
  [
    'at most one attempt of an execution is open',
    "select run_no || '/' || ordinal as example from attempt where ended_at is null group by run_no, ordinal having count(*) > 1",
  ],
  [
    'an open attempt is the one that the queue counts',
    `select a.run_no || '/' || a.ordinal as example from attempt a left join queue q on q.run_no = a.run_no and q.ordinal = a.ordinal
where a.ended_at is null and (q.attempt is null or q.attempt <> a.attempt or q.status not in ('running', 'waiting'))`,
  ],
  [
    'a leased execution has its open attempt under the same lease, held by the same session',
    `select q.run_no || '/' || q.ordinal as example from queue q where q.status = 'running' and not exists (
select 1 from attempt a where a.run_no = q.run_no and a.ordinal = q.ordinal and a.attempt = q.attempt and a.lease_id = q.lease_id and a.session_no = q.session_no and a.ended_at is null)`,
  ],
  [
    'a result is by the last attempt, which ended as the result says',
    `select s.run_no || '/' || s.ordinal as example from result s left join attempt a on a.run_no = s.run_no and a.ordinal = s.ordinal and a.attempt = s.attempt
where s.attempt <> coalesce((select max(attempt) from attempt m where m.run_no = s.run_no and m.ordinal = s.ordinal), 0) or (s.attempt > 0 and a.ended_at is null)
or (s.status = 'completed') <> coalesce(a.status = 'completed', 0)`,
  ],
  [
    'at most one attempt of an execution completed',
    "select run_no || '/' || ordinal as example from attempt where status = 'completed' group by run_no, ordinal having count(*) > 1",
  ],
  [
    'an ended attempt has the evidence that it counted',
    `select a.run_no || '/' || a.ordinal || '/' || a.attempt as example from attempt a where a.ended_at is not null and a.evidence_count <> (
select count(*) from evidence e where e.run_no = a.run_no and e.ordinal = a.ordinal and e.attempt = a.attempt)`,
  ],
  [
    'evidence belongs to an attempt',
    "select e.run_no || '/' || e.ordinal as example from evidence e where not exists (select 1 from attempt a where a.run_no = e.run_no and a.ordinal = e.ordinal and a.attempt = e.attempt)",
  ],
  [
    'every completed execution has an envelope or says what was left out',
    `select s.run_no || '/' || s.ordinal as example from result s where s.status = 'completed' and not exists (
select 1 from evidence e where e.run_no = s.run_no and e.ordinal = s.ordinal and e.attempt = s.attempt and e.kind = 'envelope')`,
  ],
  [
    'a completed run has a result for every execution',
    "select run_id as example from run r where status = 'completed' and iif(stop_reason is null, total, materialized) <> (select count(*) from result s where s.run_no = r.run_no)",
  ],
  [
    'an ended run has nothing queued',
    "select run_id as example from run r where finished_at is not null and status <> 'failed' and exists (select 1 from queue q where q.run_no = r.run_no)",
  ],
  [
    'a completed run has one completion in the outbox',
    "select run_id as example from run r where status = 'completed' and (select count(*) from outbox o where o.run_no = r.run_no and o.type = 'run_completed') <> 1",
  ],
  [
    'a run publishes at most one end, and none before it has ended',
    'select run_id as example from run r where (select count(*) from outbox o where o.run_no = r.run_no) > iif(finished_at is null, 0, 1)',
  ],
  [
    'a run has one execution_finished event per result',
    `select r.run_id as example from run r where (select count(*) from event e where e.run_no = r.run_no and e.type = 'execution_finished') <> (select count(*) from result s where s.run_no = r.run_no)`,
  ],
  [
    'a run has one attempt_started event per attempt',
    `select r.run_id as example from run r where (select count(*) from event e where e.run_no = r.run_no and e.type = 'attempt_started') <> (select count(*) from attempt a where a.run_no = r.run_no)`,
  ],
  [
    'the event chain has no gap and ends at its head',
    `select r.run_id as example from run r join run_head h on h.run_no = r.run_no where h.event_count <> (select count(*) from event e where e.run_no = r.run_no)
or h.event_count <> coalesce((select max(seq) from event e where e.run_no = r.run_no), 0)`,
  ],
  [
    'the progress counters say what the rows say',
    `select r.run_id || ' ' || k.kind as example from run r join run_stat k on k.run_no = r.run_no where k.kind in ('completed', 'failed', 'timed_out', 'cancelled')
and k.n <> (select count(*) from result s where s.run_no = r.run_no and s.status = k.kind)`,
  ],
];

/** Every invariant that does not hold, with how often and the first place. */
export function invariantViolations(connection: Connection): InvariantViolation[] {
  const violations = [...INVARIANTS, ...GATEWAY_INVARIANTS].flatMap(([invariant, query]) => {
    const row = connection.get<{ n: number; example: string | null }>(
      `select count(*) as n, min(example) as example from (${query})`,
    );
    return row && row.n > 0 ? [{ invariant, count: row.n, example: row.example ?? '' }] : [];
  });
  return [...violations, ...gatewayDifferences(connection)];
}
