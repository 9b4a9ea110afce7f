import type { InvariantViolation } from '../../contract/store.ts';
import { clockDifferences } from './clock-check.ts';
import type { Connection } from './connection.ts';
import { counterDifferences } from './counters.ts';
import { journalDifferences } from './journal.ts';
import { machineDifferences } from './machine-check.ts';
import { gatewayDifferences } from './tool-audit.ts';
import { policyDifferences } from './tool-basis.ts';
import { GATEWAY_INVARIANTS } from './tool-invariants.ts';

/** Tables with rows that belong to a run and nothing else. */
const OWNED_BY_RUNS = [
  'run_head',
  'run_stat',
  'execution',
  'queue',
  'attempt',
  'evidence',
  'result',
  'late_evidence',
  'event',
  'outbox',
  'blessing',
  'budget',
  'correction',
];

/** Tables whose rows are never deleted, and the number that each row gets. */
const NUMBERED = [
  ['run', 'run_no'],
  ['worker_session', 'session_no'],
  ['event', 'position'],
  ['outbox', 'outbox_no'],
  ['blessing', 'blessing_no'],
  ['tool_pin', 'pin_no'],
  ['tool_switch', 'switch_no'],
] as const;

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
    "select run_id as example from run r where (select count(*) from outbox o where o.run_no = r.run_no and o.type <> 'run_paused') > iif(finished_at is null, 0, 1)",
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
    'rows are numbered in the order in which they were written, without a gap',
    NUMBERED.map(
      ([table, number]) =>
        `select example from (select '${table}' as example, count(*) as n, min(${number}) as least, max(${number}) as most from ${table}) where n <> 0 and (least <> 1 or most <> n)`,
    ).join(' union all '),
  ],
  [
    'every run has its snapshot, and every snapshot is that of a run',
    `select digest as example from snapshot s where not exists (select 1 from run r where r.snapshot_digest = s.digest)
union all select run_id from run r where not exists (select 1 from snapshot s where s.digest = r.snapshot_digest)`,
  ],
  [
    'what is leased says by whom and until when, and nothing else does',
    `select run_no || '/' || ordinal as example from queue
where (status = 'running') <> (lease_id is not null) or (status = 'running') <> (session_no is not null) or (status = 'running') <> (lease_until is not null)`,
  ],
  [
    'no row of a run without its run',
    OWNED_BY_RUNS.map(
      (table) => `select distinct '${table}' as example from ${table} where run_no not in (select run_no from run)`,
    ).join(' union all '),
  ],
  [
    'an end in the outbox has one delivery for each endpoint that its profile wants told',
    `select r.run_id as example from outbox o join run r on r.run_no = o.run_no join snapshot s on s.digest = r.snapshot_digest
where (select json_group_array(endpoint) from (select endpoint from delivery d where d.outbox_no = o.outbox_no order by endpoint))
is not (select json_group_array(url) from (select w.value ->> '$.url' as url from json_each(s.body, '$.profile.webhooks') w
  where exists (select 1 from json_each(w.value, '$.events') e where e.value = o.type) order by url))
union all select 'outbox ' || outbox_no from delivery d where not exists (select 1 from outbox o where o.outbox_no = d.outbox_no)`,
  ],
  [
    'a delivery is pending, published, failed or dead',
    "select 'outbox ' || outbox_no || ' to ' || endpoint as example from delivery where status not in ('pending', 'published', 'failed', 'dead')",
  ],
  [
    'a published delivery was answered by 2xx, and no other was',
    "select 'outbox ' || outbox_no || ' to ' || endpoint as example from delivery where (status = 'published') <> coalesce(last_status between 200 and 299, 0)",
  ],
];

/** What no query finds: each answers the places where the store is not as it must be, a sentence each. */
const COMPUTED: readonly (readonly [string, (connection: Connection) => readonly string[]])[] = [
  ['the journal tells of every run, session and blessing, and of no others', journalDifferences],
  ['the transitions that the store allows are those of the machines', machineDifferences],
  ['the counters of every run are what its rows come to', counterDifferences],
  ['what the store keeps of its clock is an instant, and not before what happened last', clockDifferences],
  ['every policy that a call was decided by is kept', policyDifferences],
];

/** Every invariant that does not hold, with how often and the first place. */
export function invariantViolations(connection: Connection): InvariantViolation[] {
  const violations = [...INVARIANTS, ...GATEWAY_INVARIANTS].flatMap(([invariant, query]) => {
    const row = connection.get<{ n: number; example: string | null }>(
      `select count(*) as n, min(example) as example from (${query})`,
    );
    return row && row.n > 0 ? [{ invariant, count: row.n, example: row.example ?? '' }] : [];
  });
  const computed = COMPUTED.flatMap(([invariant, check]) => {
    const [example, ...more] = check(connection);
    return example === undefined ? [] : [{ invariant, count: more.length + 1, example }];
  });
  return [...violations, ...computed, ...gatewayDifferences(connection)];
}
