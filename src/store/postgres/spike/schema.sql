-- Spike: the tables that claim, complete and finalize touch (PostgreSQL ≥ 15). Instants are epoch milliseconds of the database's
-- clock, the integers that the hashes cover. Bodies are text and never jsonb, which would rewrite numbers and refuse \u0000.
-- Texts that order or identify are collate "C": the order of SQLite, whatever the cluster's locale.

-- Stable, so that a predicate can be an index condition.
create function statement_ms() returns bigint
  language sql stable
  return floor(extract(epoch from statement_timestamp()) * 1000)::bigint;

-- For stamping: a statement that waited must not shorten a lease.
create function clock_ms() returns bigint
  language sql volatile
  return floor(extract(epoch from clock_timestamp()) * 1000)::bigint;

create table run (
  run_no bigint generated always as identity primary key,
  run_id text collate "C" not null unique,
  status text not null check (status in ('pending', 'running', 'finalizing', 'completed', 'failed', 'cancelled')),
  gate_status text not null default 'unknown',
  snapshot_digest text not null,
  total integer not null,
  materialized integer not null default 0 check (materialized between 0 and total),
  concurrency integer not null check (concurrency > 0),
  cancel_requested_at bigint,
  finished_at bigint,
  verdict text,
  content_digest text,
  merkle_root text,
  evidence_root text,
  event_head text,
  check ((status in ('completed', 'failed', 'cancelled')) = (finished_at is not null)),
  check ((status = 'completed') = (verdict is not null and evidence_root is not null and event_head is not null)),
  check ((status = 'completed') = (gate_status <> 'unknown'))
);

-- The head of a run's event chain; only the sequencer writes it.
create table run_head (
  run_no bigint primary key references run,
  event_count bigint not null,
  event_hash text not null
);

-- The run's concurrency as rows: a running execution holds exactly one slot. No index on the holder: with one, no update of a
-- slot would be HOT and this small table would bloat under every claim.
create table run_slot (
  run_no bigint not null references run,
  slot_no integer not null,
  ordinal integer,
  attempt integer,
  primary key (run_no, slot_no),
  check ((ordinal is null) = (attempt is null))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- Movements of a run's counters, for showing only; a roller sums them up.
create table run_delta (
  delta_no bigint generated always as identity primary key,
  run_no bigint not null,
  kind text not null,
  n integer not null
);

create table worker_session (
  session_no bigint generated always as identity primary key,
  session_id text collate "C" not null unique
);

create table execution (
  run_no bigint not null references run,
  ordinal integer not null,
  case_id text collate "C" not null,
  repeat integer not null check (repeat > 0),
  primary key (run_no, ordinal),
  unique (run_no, case_id, repeat)
);

-- Small and hot: a row lives from materialization to the end of its execution.
create table queue (
  run_no bigint not null,
  ordinal integer not null,
  status text not null check (status in ('pending', 'running', 'retry_scheduled', 'waiting')),
  order_key bigint not null,
  available_at bigint not null,
  attempt integer not null default 0,
  agent_failures integer not null default 0,
  infrastructure_failures integer not null default 0,
  grader_failures integer not null default 0,
  lease_losses integer not null default 0,
  lease_id text collate "C",
  session_no bigint,
  slot_no integer,
  lease_until bigint,
  primary key (run_no, ordinal),
  foreign key (run_no, ordinal) references execution,
  check ((status = 'running') = (lease_id is not null and lease_until is not null and session_no is not null and slot_no is not null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 2);
create index queue_pending on queue (run_no, order_key, ordinal) where status = 'pending';
create index queue_retry on queue (run_no, available_at, ordinal) where status = 'retry_scheduled';
-- The limit again, by the database: two running executions never share a slot. It is also the reaper's way to the leased rows,
-- instead of an index on lease_until that every heartbeat would move.
create unique index queue_slot on queue (run_no, slot_no) where status = 'running';

create table attempt (
  run_no bigint not null,
  ordinal integer not null,
  attempt integer not null check (attempt > 0),
  session_no bigint not null references worker_session,
  lease_id text collate "C" not null,
  status text not null,
  started_at bigint not null,
  ended_at bigint,
  reason text,
  fault text,
  evidence_count integer,
  seal text,
  primary key (run_no, ordinal, attempt),
  foreign key (run_no, ordinal) references execution,
  check ((ended_at is null) = (seal is null)),
  check ((ended_at is null) = (status in ('running', 'suspended')))
) with (fillfactor = 85);

create table evidence (
  run_no bigint not null,
  ordinal integer not null,
  attempt integer not null,
  seq integer not null check (seq > 0),
  kind text not null check (kind in ('envelope', 'evaluator_result', 'failure')),
  body text not null,
  artifact text,
  hash text not null,
  primary key (run_no, ordinal, attempt, seq),
  foreign key (run_no, ordinal, attempt) references attempt
);

create table result (
  run_no bigint not null,
  ordinal integer not null,
  attempt integer not null,
  status text not null check (status in ('completed', 'failed', 'timed_out', 'cancelled')),
  fault text check (fault in ('infrastructure', 'agent', 'grader', 'policy', 'cancelled')),
  aggregate text,
  content text not null,
  finished_at bigint not null,
  hash text not null,
  primary key (run_no, ordinal),
  foreign key (run_no, ordinal) references execution
);

-- `event_no` is the order of insertion, which is not the order of commits: readers page by (run, seq). `seq` and `hash` are null
-- until the sequencer numbers and chains the event, once. No foreign key to the run: every event would lock that one row.
create table event (
  event_no bigint generated always as identity primary key,
  run_no bigint not null,
  seq bigint,
  type text not null,
  at bigint not null,
  ordinal integer,
  attempt integer,
  body text,
  hash text,
  unique (run_no, seq),
  check ((seq is null) = (hash is null))
);
create index event_unnumbered on event (run_no, event_no) where seq is null;

create table outbox (
  outbox_no bigint generated always as identity primary key,
  run_no bigint not null references run,
  dedupe_key text collate "C" not null unique,
  type text not null,
  body text not null,
  created_at bigint not null
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'proctor: % is append-only, % is refused', tg_table_name, lower(tg_op) using errcode = '23001';
end $$;

create trigger evidence_append_only before update or delete on evidence for each row execute function refuse_change();
create trigger result_append_only before update or delete on result for each row execute function refuse_change();
create trigger event_no_delete before delete on event for each row execute function refuse_change();
create trigger event_numbered_once before update on event for each row
  when (
    old.seq is not null or new.seq is null
    or (new.event_no, new.run_no, new.type, new.at, new.ordinal, new.attempt, new.body)
      is distinct from (old.event_no, old.run_no, old.type, old.at, old.ordinal, old.attempt, old.body)
  ) execute function refuse_change();
create trigger evidence_no_truncate before truncate on evidence execute function refuse_change();
create trigger result_no_truncate before truncate on result execute function refuse_change();
create trigger event_no_truncate before truncate on event execute function refuse_change();

-- Always: session_replication_role = replica switches off the triggers that are not.
alter table evidence enable always trigger evidence_append_only;
alter table evidence enable always trigger evidence_no_truncate;
alter table result enable always trigger result_append_only;
alter table result enable always trigger result_no_truncate;
alter table event enable always trigger event_no_delete;
alter table event enable always trigger event_numbered_once;
alter table event enable always trigger event_no_truncate;

-- Whether this very completion stands in the store. Volatile, therefore it reads what was committed up to now: the statement that
-- calls it may have waited for the first copy of itself, whose result its own snapshot does not show.
create function completed_before(a_run_no bigint, an_ordinal integer, an_attempt integer, a_lease_id text, a_content text) returns boolean
  language plpgsql volatile as $$
begin
  return exists (
    select from result r
    join attempt a on a.run_no = r.run_no and a.ordinal = r.ordinal and a.attempt = r.attempt
    where r.run_no = a_run_no and r.ordinal = an_ordinal and r.attempt = an_attempt and r.content = a_content and a.lease_id = a_lease_id
  );
end $$;
