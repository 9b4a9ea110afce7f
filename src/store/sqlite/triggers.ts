/**
 * Triggers that hold the store's promises against raw SQL too, made from one list so that no table is forgotten.
 * REPLACE deletes without DELETE triggers (unless recursive_triggers is on, which is per connection), so every append-only
 * table also has a BEFORE INSERT trigger that aborts when any unique key of the new row exists.
 */
export function triggerStatements(): string[] {
  return [
    ...APPEND_ONLY.flatMap(([table, ...keys]) => [
      refuse(table, 'update'),
      refuse(table, 'delete'),
      refuseReplace(table, keys),
    ]),
    ...ENTITIES.flatMap(([table, ...keys]) => [refuse(table, 'delete'), refuseReplace(table, keys)]),
    ...GUARDS,
  ];
}

/** Names of all triggers, for the check that none is missing. */
export function triggerNames(): string[] {
  return triggerStatements().map((statement) => /create trigger (\w+)/.exec(statement)?.[1] ?? '');
}

const APPEND_ONLY: readonly (readonly [string, ...string[]])[] = [
  ['state_transition', 'machine = new.machine and from_state = new.from_state and to_state = new.to_state'],
  ['snapshot', 'digest = new.digest'],
  [
    'execution',
    'run_no = new.run_no and ordinal = new.ordinal',
    'run_no = new.run_no and case_id = new.case_id and repeat = new.repeat',
  ],
  ['evidence', 'run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt and seq = new.seq'],
  ['result', 'run_no = new.run_no and ordinal = new.ordinal'],
  ['late_evidence', 'run_no = new.run_no and late_seq = new.late_seq'],
  ['event', 'position = new.position', 'run_no = new.run_no and seq = new.seq'],
  ['outbox', 'outbox_no = new.outbox_no', 'dedupe_key = new.dedupe_key'],
];

/** Rows that change by transitions only and are never deleted or replaced. */
const ENTITIES: readonly (readonly [string, ...string[]])[] = [
  ['run', 'run_no = new.run_no', 'run_id = new.run_id', 'run_key = new.run_key'],
  ['run_head', 'run_no = new.run_no'],
  ['attempt', 'run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt'],
  ['worker_session', 'session_no = new.session_no', 'session_id = new.session_id'],
  ['delivery', 'outbox_no = new.outbox_no and endpoint = new.endpoint'],
];

function refuse(table: string, verb: 'update' | 'delete'): string {
  return `create trigger ${table}_no_${verb} before ${verb} on ${table} begin
  select raise(abort, 'proctor: ${table} is append-only, ${verb} is refused');
end`;
}

function refuseReplace(table: string, keys: readonly string[]): string {
  const exists = keys.map((key) => `exists (select 1 from ${table} where ${key})`).join(' or ');
  return `create trigger ${table}_no_replace before insert on ${table} when ${exists} begin
  select raise(abort, 'proctor: ${table} has this row already, it cannot be replaced');
end`;
}

function transition(machine: string, table: string): string {
  return `create trigger ${table}_transition before update of status on ${table}
when old.status <> new.status and not exists (
  select 1 from state_transition where machine = '${machine}' and from_state = old.status and to_state = new.status
) begin
  select raise(abort, 'proctor: illegal transition of ${table}.status');
end`;
}

function frozen(table: string, columns: readonly string[]): string {
  return `create trigger ${table}_frozen before update on ${table} when ${columns.map((column) => `new.${column} is not old.${column}`).join(' or ')} begin
  select raise(abort, 'proctor: what a row of ${table} was created with does not change');
end`;
}

const GUARDS: readonly string[] = [
  `create trigger state_transition_no_insert before insert on state_transition begin
  select raise(abort, 'proctor: the transition table is seeded once');
end`,
  transition('run', 'run'),
  transition('execution', 'queue'),
  transition('attempt', 'attempt'),
  transition('delivery', 'delivery'),
  `create trigger run_starts_pending before insert on run when new.status <> 'pending' or new.gate_status <> 'unknown' begin
  select raise(abort, 'proctor: a run starts pending with gate unknown');
end`,
  `create trigger run_final before update on run when old.finished_at is not null begin
  select raise(abort, 'proctor: an ended run does not change');
end`,
  `create trigger run_frozen before update on run when
  new.run_no <> old.run_no or new.run_id <> old.run_id or new.run_key is not old.run_key or new.snapshot_digest <> old.snapshot_digest
  or new.plan_digest <> old.plan_digest or new.cases <> old.cases or new.repeats <> old.repeats or new.total <> old.total
  or new.base_dir <> old.base_dir or new.created_by <> old.created_by or new.created_at <> old.created_at
  or new.materialized < old.materialized or (old.started_at is not null and new.started_at is not old.started_at) begin
  select raise(abort, 'proctor: what a run was created with does not change');
end`,
  `create trigger run_head_forward before update on run_head when new.run_no <> old.run_no or new.event_count <= old.event_count begin
  select raise(abort, 'proctor: the event head only moves forward');
end`,
  `create trigger queue_starts_pending before insert on queue when new.status <> 'pending' or new.attempt <> 0
  or exists (select 1 from result where run_no = new.run_no and ordinal = new.ordinal)
  or exists (select 1 from queue where run_no = new.run_no and ordinal = new.ordinal) begin
  select raise(abort, 'proctor: an execution is queued once, pending');
end`,
  `create trigger queue_attempt before update of attempt on queue when new.attempt <> old.attempt
  and not (new.attempt = old.attempt + 1 and old.status in ('pending', 'retry_scheduled') and new.status = 'running') begin
  select raise(abort, 'proctor: an attempt is counted by a claim only');
end`,
  `create trigger queue_ends_with_result before delete on queue when not exists (
  select 1 from result where run_no = old.run_no and ordinal = old.ordinal
) begin
  select raise(abort, 'proctor: an execution leaves the queue with its result only');
end`,
  `create trigger attempt_opens before insert on attempt when new.status <> 'running' or not exists (
  select 1 from queue where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt and lease_id = new.lease_id and status = 'running'
) begin
  select raise(abort, 'proctor: an attempt opens with a claim only');
end`,
  `create trigger attempt_closed before update on attempt when old.ended_at is not null begin
  select raise(abort, 'proctor: an ended attempt does not change');
end`,
  `create trigger attempt_frozen before update on attempt when new.run_no <> old.run_no or new.ordinal <> old.ordinal
  or new.attempt <> old.attempt or new.started_at <> old.started_at
  or (old.status <> 'suspended' and (new.session_no <> old.session_no or new.lease_id <> old.lease_id)) begin
  select raise(abort, 'proctor: what an attempt was opened with does not change');
end`,
  `create trigger evidence_needs_open_attempt before insert on evidence when not exists (
  select 1 from attempt where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt and ended_at is null
) begin
  select raise(abort, 'proctor: evidence is appended to an open attempt only');
end`,
  `create trigger evidence_in_order before insert on evidence when new.seq > 1 and not exists (
  select 1 from evidence where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt and seq = new.seq - 1
) begin
  select raise(abort, 'proctor: evidence is appended in order');
end`,
  `create trigger result_transition before insert on result when not exists (
  select 1 from queue q join state_transition t on t.machine = 'execution' and t.from_state = q.status and t.to_state = new.status
  where q.run_no = new.run_no and q.ordinal = new.ordinal and q.attempt = new.attempt
) begin
  select raise(abort, 'proctor: a result ends an execution of the queue by a legal transition only');
end`,
  // UPDATE OR REPLACE onto another row's key deletes that row without a DELETE trigger, so keys do not change.
  frozen('worker_session', [
    'session_no',
    'session_id',
    'worker',
    'host',
    'boot_id',
    'pid',
    'process_start',
    'started_at',
  ]),
  frozen('queue', ['run_no', 'ordinal']),
  frozen('delivery', ['outbox_no', 'endpoint']),
  `create trigger delivery_starts_pending before insert on delivery when new.status <> 'pending' begin
  select raise(abort, 'proctor: a delivery starts pending');
end`,
];
