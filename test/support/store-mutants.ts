/** A deliberately broken store: `find` is the part of a statement that is replaced in every statement that holds it and `within`. */
export interface StoreMutant {
  readonly name: string;
  /** Text that the statement holds, to tell it from others with the same part. */
  readonly within: string;
  readonly find: string;
  readonly replace: string;
  /** A seed that meets it soon, where the usual one takes long. */
  readonly seed?: number;
}

const FENCE = 'select 1 from queue where run_no = ? and ordinal = ?';
const HELD = 'from queue q join attempt a on';
const BEAT = 'update or fail queue set lease_until = ?';
const CLAIM = "update or fail queue set status = 'running', attempt = ?1";
const DUE = 'cross join execution x on';
const REAP = 'from queue q indexed by queue_running join run r on r.run_no = q.run_no join worker_session s';
const FAIL = '_failures = ';
const FINALIZING = "update run set status = 'finalizing'";

/** What the model suite must catch, with the triggers and without them. */
export const STORE_MUTANTS: readonly StoreMutant[] = [
  {
    name: 'the fence of a completion does not ask for the lease',
    within: HELD,
    find: 'q.lease_id = ?4',
    replace: '?4 is not null',
  },
  {
    name: 'the fence of a completion asks for the time of the lease',
    within: HELD,
    find: "q.status = 'running'",
    replace: "q.status = 'running' and q.lease_until >= (select at from schedule)",
  },
  { name: 'the fence does not ask for the attempt', within: FENCE, find: 'attempt = ?', replace: '? is not null' },
  { name: 'the fence does not ask for the lease', within: FENCE, find: 'lease_id = ?', replace: '? is not null' },
  { name: 'the fence does not ask for the ordinal', within: FENCE, find: 'ordinal = ?', replace: '? is not null' },
  {
    name: 'the fence asks for the time of the lease',
    within: FENCE,
    find: "status = 'running'",
    replace: "status = 'running' and lease_until >= (select at from schedule)",
  },
  { name: 'a heartbeat does not ask for the lease', within: BEAT, find: 'lease_id = ?', replace: '? is not null' },
  { name: 'a heartbeat does not ask for the attempt', within: BEAT, find: 'attempt = ?', replace: '? is not null' },
  {
    name: 'a heartbeat does not extend',
    within: BEAT,
    find: 'lease_until = ?',
    replace: 'lease_until = min(lease_until, ?)',
  },
  {
    name: 'a heartbeat does not show the session alive',
    within: 'update worker_session set last_seen_at = ?',
    find: 'last_seen_at = ?',
    replace: 'last_seen_at = min(last_seen_at, ?)',
  },
  { name: 'the reaper ignores the time', within: REAP, find: 'q.lease_until < ?1', replace: '?1 is not null' },
  {
    name: 'the reaper takes a lease that ends just now',
    within: REAP,
    find: 'q.lease_until < ?1',
    replace: 'q.lease_until <= ?1',
  },
  {
    name: 'the reaper ignores dead sessions',
    within: REAP,
    find: 's.session_id in (select value from json_each(?2))',
    replace: '?2 is null',
  },
  {
    name: 'the reaper does not look again whether the run goes on',
    within: REAP,
    find: "status in ('running', 'pending')",
    replace: 'run_no is not null',
  },
  {
    name: 'the reaper does not count the loss',
    within: 'lease_losses = ?2',
    find: 'lease_losses = ?2',
    replace: 'lease_losses = ?2 - 1',
  },
  {
    name: 'a claim takes retries that are not due',
    within: DUE,
    find: '< ?4 and q.available_at <= ?2 order by q.available_at',
    replace: '< ?4 and ?2 is not null order by q.available_at',
  },
  {
    name: 'a claim leaves a retry that is due just now',
    within: DUE,
    find: '< ?4 and q.available_at <= ?2 order by q.available_at',
    replace: '< ?4 and q.available_at < ?2 order by q.available_at',
  },
  {
    name: 'a claim takes a last try among others',
    within: 'q.lease_losses < ?4',
    find: 'q.lease_losses < ?4',
    replace: '?4 is not null',
    seed: 4,
  },
  {
    name: 'a claim takes others beside a last try',
    within: 'as losses',
    find: 'max(iif(session_no = ?1, lease_losses, 0))',
    replace: '0',
  },
  {
    name: 'a claim takes a last try beside others',
    within: 'as losses',
    find: 'sum(session_no = ?1) as own',
    replace: '0 as own',
  },
  {
    name: 'a last try is claimed before its time',
    within: DUE,
    find: '>= ?4 and q.available_at <= ?2',
    replace: '>= ?4 and ?2 is not null',
  },
  {
    name: 'a claim does not raise the attempt',
    within: CLAIM,
    find: 'attempt = ?1',
    replace: 'attempt = min(?1, 1)',
  },
  {
    name: 'a claim takes from the end of the plan',
    within: DUE,
    find: 'order by q.order_key, q.ordinal',
    replace: 'order by q.order_key desc, q.ordinal',
  },
  {
    name: 'a claim leases too long',
    within: CLAIM,
    find: 'lease_until = ?4',
    replace: 'lease_until = ?4 + 1',
  },
  {
    name: 'a claim ignores the concurrency of the run',
    within: 'count(*) as running',
    find: 'count(*) as running',
    replace: '0 as running',
  },
  {
    name: 'a claim ignores the other sessions',
    within: 'select count(*) as n from worker_session',
    find: 'count(*) as n',
    replace: 'min(1, count(*)) as n',
  },
  {
    name: 'a claim counts sessions that ended',
    within: 'select count(*) as n from worker_session',
    find: 'ended_at is null and',
    replace: '',
  },
  {
    name: 'a claim takes from a run that is cancelled',
    within: 'select run_no, run_id, concurrency from run',
    find: 'and cancel_requested_at is null',
    replace: '',
  },
  {
    name: 'a claim keeps evidence of any attempt',
    within: "status = 'failed_evaluation'",
    find: "status = 'failed_evaluation'",
    replace: "status <> 'running'",
  },
  {
    name: 'a completion leaves the queue row',
    within: 'delete from queue',
    find: 'ordinal = ?',
    replace: 'ordinal = ? and run_no < 0',
  },
  {
    name: 'a completion forgets its evidence',
    within: 'insert or fail into evidence',
    find: 'values (?, ?, ?, ?, ?, ?, ?, ?)',
    replace: 'select ?, ?, ?, ?, ?, ?, ?, ? where 0',
  },
  {
    name: 'a repeated completion is not recognised',
    within: 'select r.attempt, r.content, a.lease_id',
    find: 'r.ordinal = ?',
    replace: 'r.ordinal = ? and r.attempt < 0',
  },
  {
    name: 'late evidence is dropped',
    within: 'insert into late_evidence',
    find: 'values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    replace: 'select ?, ?, ?, ?, ?, ?, ?, ?, ? where 0',
  },
  {
    name: 'a release is charged',
    within: 'update or fail queue set status = ?, available_at = ?',
    find: 'lease_id = null',
    replace: 'infrastructure_failures = infrastructure_failures + 1, lease_id = null',
  },
  {
    name: 'a failure is charged to the agent',
    within: FAIL,
    find: 'infrastructure_failures = infrastructure_failures + 1',
    replace: 'agent_failures = agent_failures + 1',
  },
  { name: 'a failure is retried at once', within: FAIL, find: 'available_at = ?1', replace: 'available_at = 0 * ?1' },
  {
    name: 'materialize believes a stale count',
    within: 'select status, materialized, next_pass',
    find: 'materialized,',
    replace: '0 as materialized,',
  },
  {
    name: 'materialize forgets the place of the run',
    within: 'update run set materialized = ?, next_pass = ?',
    find: 'next_pass = ?',
    replace: 'next_pass = 0 * ?',
  },
  {
    name: 'a run is finalized with executions queued',
    within: FINALIZING,
    find: 'and not exists (select 1 from queue where run_no = ?1)',
    replace: '',
  },
  {
    name: 'a run is finalized before it is materialized',
    within: FINALIZING,
    find: 'and (materialized = total or stop_reason is not null)',
    replace: '',
    seed: 1,
  },
  {
    name: 'a run is finalized that is to be cancelled',
    within: FINALIZING,
    find: 'and cancel_requested_at is null',
    replace: '',
  },
  {
    name: 'a run is finalized twice',
    within: 'as results from run',
    find: "and status = 'finalizing'",
    replace: "and status in ('finalizing', 'completed')",
  },
  {
    name: 'a cancellation ends leased executions',
    within: 'q.ordinal, q.attempt, q.status',
    find: "q.status <> 'running' and",
    replace: '',
    seed: 1,
  },
  {
    name: 'a cancelled run ends before its last lease',
    within: "update run set status = 'cancelled'",
    find: 'and not exists (select 1 from queue where run_no = ?2)',
    replace: '',
  },
  {
    name: 'a second cancellation overwrites the first',
    within: 'update run set cancel_requested_at = ?',
    find: 'and cancel_requested_at is null',
    replace: '',
  },
  {
    name: 'counters drift',
    within: 'insert into run_stat',
    find: 'n = n + excluded.n',
    replace: 'n = n + abs(excluded.n)',
  },
  {
    name: 'the event chain loses its head',
    within: 'update run_head',
    find: 'event_hash = ?2',
    replace: "event_hash = substr(?2, 1, 63) || 'x'",
  },
  {
    name: 'a seal forgets the attempt before',
    within: 'select seal from attempt',
    find: 'select seal',
    replace: 'select null as seal',
  },
  {
    name: 'a seal forgets the evidence',
    within: 'select seq, hash from evidence',
    find: 'select seq, hash',
    replace: "select seq, '' as hash",
  },
  {
    name: 'time goes back',
    within: 'as last_now, s.at',
    find: 'm.value) as last_now',
    replace: '0) as last_now',
  },
];
