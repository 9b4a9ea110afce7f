import { GATEWAY_GUARDS } from './gateway-triggers.ts';
import { frozen, guard, illegal, refuse, refuseReplace, transition } from './trigger-parts.ts';

/**
 * Triggers by name that hold the store's promises against raw SQL too, made from one list so that no table is forgotten.
 * REPLACE deletes without DELETE triggers (unless recursive_triggers is on, which is per connection), so every append-only
 * table also has a BEFORE INSERT trigger that aborts when any unique key of the new row exists.
 */
export function triggers(): ReadonlyMap<string, string> {
  const statements = [
    ...APPEND_ONLY.flatMap(([table, ...keys]) => [
      refuse(table, 'update'),
      refuse(table, 'delete'),
      ...(keys.length > 0 ? [refuseReplace(table, keys)] : []),
    ]),
    ...ENTITIES.flatMap(([table, ...keys]) => [
      refuse(table, 'delete'),
      ...(keys.length > 0 ? [refuseReplace(table, keys)] : []),
    ]),
    ...GUARDS,
    ...GATEWAY_GUARDS,
  ];
  return new Map(statements.map((statement) => [/create trigger (\w+)/.exec(statement)?.[1] ?? '', statement]));
}

const APPEND_ONLY: readonly (readonly [string, ...string[]])[] = [
  ['state_transition', 'machine = new.machine and from_state = new.from_state and to_state = new.to_state'],
  ['snapshot', 'digest = new.digest'],
  [
    'execution',
    'run_no = new.run_no and ordinal = new.ordinal',
    'run_no = new.run_no and case_id = new.case_id and repeat = new.repeat',
  ],
  ['evidence'], // evidence_appends refuses a row that exists
  ['result'], // result_ends does
  ['late_evidence', 'run_no = new.run_no and late_seq = new.late_seq'],
  ['event'], // event_appends does
  ['blessing', 'blessing_no = new.blessing_no'],
  ['journal', 'seq = new.seq'],
  ['correction', 'run_no = new.run_no and revision = new.revision'],
  ['outbox', 'outbox_no = new.outbox_no', 'dedupe_key = new.dedupe_key'],
  ['policy', 'digest = new.digest'],
  ['tool_definition', 'source = new.source and name = new.name and digest = new.digest'],
  ['tool_pin', 'pin_no = new.pin_no'],
  ['tool_switch', 'switch_no = new.switch_no'],
  ['tool_delivery', 'tool_run_no = new.tool_run_no'],
  ['tool_cancel', 'tool_run_no = new.tool_run_no'],
  ['gateway_event', 'position = new.position'], // gateway_event_appends refuses a seq that exists
];

/** Rows that change by transitions only and are never deleted or replaced. */
const ENTITIES: readonly (readonly [string, ...string[]])[] = [
  ['run', 'run_no = new.run_no', 'run_id = new.run_id', 'run_key = new.run_key'],
  ['run_head', 'run_no = new.run_no'],
  ['attempt'], // attempt_opens refuses a row that exists
  ['worker_session', 'session_no = new.session_no', 'session_id = new.session_id'],
  ['delivery', 'outbox_no = new.outbox_no and endpoint = new.endpoint'],
  ['budget', 'run_no = new.run_no and kind = new.kind'],
  [
    'tool_run',
    'tool_run_no = new.tool_run_no',
    'tool_run_id = new.tool_run_id',
    'principal = new.principal and idempotency_key = new.idempotency_key',
  ],
  ['approval', 'approval_no = new.approval_no', 'approval_id = new.approval_id', 'tool_run_no = new.tool_run_no'],
  ['gateway_head', 'stream = new.stream'],
];

const GUARDS: readonly string[] = [
  `create trigger state_transition_no_insert before insert on state_transition begin
  select raise(abort, 'proctor: the transition table is seeded once');
end`,
  transition('run', 'run'),
  guard('queue_transition', 'update of status, attempt on queue', [
    [illegal('execution'), 'illegal transition of queue.status'],
    [
      "new.attempt <> old.attempt and not (new.attempt = old.attempt + 1 and old.status in ('pending', 'retry_scheduled') and new.status = 'running')",
      'an attempt is counted by a claim only',
    ],
  ]),
  guard('queue_starts_pending', 'insert on queue', [
    [
      `new.status <> 'pending' or new.attempt <> 0
      or exists (select 1 from result where run_no = new.run_no and ordinal = new.ordinal)
      or exists (select 1 from queue where run_no = new.run_no and ordinal = new.ordinal)`,
      'an execution is queued once, pending',
    ],
  ]),
  guard('attempt_opens', 'insert on attempt', [
    [
      `new.status <> 'running' or not exists (
      select 1 from queue where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt and lease_id = new.lease_id and status = 'running'
    )`,
      'an attempt opens with a claim only',
    ],
    [
      'exists (select 1 from attempt where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt)',
      'attempt has this row already, it cannot be replaced',
    ],
  ]),
  guard('attempt_changes', 'update on attempt', [
    ['old.ended_at is not null', 'an ended attempt does not change'],
    [illegal('attempt'), 'illegal transition of attempt.status'],
  ]),
  `create trigger attempt_frozen before update of run_no, ordinal, attempt, started_at, session_no, lease_id on attempt
when new.run_no <> old.run_no or new.ordinal <> old.ordinal or new.attempt <> old.attempt or new.started_at <> old.started_at
  or (old.status <> 'suspended' and (new.session_no <> old.session_no or new.lease_id <> old.lease_id)) begin
  select raise(abort, 'proctor: what an attempt was opened with does not change');
end`,
  guard('evidence_appends', 'insert on evidence', [
    [
      'new.seq <> 1 + coalesce((select max(seq) from evidence where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt), 0)',
      'evidence is appended in order, each row once',
    ],
    [
      'not exists (select 1 from attempt where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt and ended_at is null)',
      'evidence is appended to an open attempt only',
    ],
  ]),
  guard('event_appends', 'insert on event', [
    [
      'new.seq <> 1 + coalesce((select max(seq) from event where run_no = new.run_no), 0)',
      'events are appended in order, each once',
    ],
    ['exists (select 1 from event where position = new.position)', 'event has this row already, it cannot be replaced'],
  ]),
  guard('result_ends', 'insert on result', [
    [
      'exists (select 1 from result where run_no = new.run_no and ordinal = new.ordinal)',
      'result has this row already, it cannot be replaced',
    ],
    [
      `not exists (
      select 1 from queue q join state_transition t on t.machine = 'execution' and t.from_state = q.status and t.to_state = new.status
      where q.run_no = new.run_no and q.ordinal = new.ordinal and q.attempt = new.attempt
    )`,
      'a result ends an execution of the queue by a legal transition only',
    ],
  ]),
  guard('queue_ends_with_result', 'delete on queue', [
    [
      'not exists (select 1 from result where run_no = old.run_no and ordinal = old.ordinal)',
      'an execution leaves the queue with its result only',
    ],
  ]),
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
  `create trigger run_stops_once before update of stop_reason, stop_after on run
when old.stop_reason is not null and (new.stop_reason is not old.stop_reason or new.stop_after is not old.stop_after) begin
  select raise(abort, 'proctor: why a run stopped does not change');
end`,
  `create trigger run_head_forward before update on run_head when new.run_no <> old.run_no or new.event_count <= old.event_count begin
  select raise(abort, 'proctor: the event head only moves forward');
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
  frozen('budget', ['run_no', 'kind', 'cap', 'reserve']),
  `create trigger delivery_starts_pending before insert on delivery when new.status <> 'pending' begin
  select raise(abort, 'proctor: a delivery starts pending');
end`,
];
