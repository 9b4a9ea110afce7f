/**
 * Which check finds a cell that was altered, for every column of every table: what `docs/what-is-checked.md` shows, and what a test proves by
 * altering each. A column that is not here fails that test.
 */

/**
 * `verify`: `proctor verify RUN` names it. `doctor`: `proctor doctor --verify` names it. `open`: the store is not opened. `nothing`: it decides
 * nothing, so altering it leaves every gate, `verify`, `compare` and `export` as they were; the text says what it is for.
 */
export interface CheckedTable {
  readonly verify?: readonly string[];
  readonly doctor?: readonly string[];
  readonly open?: readonly string[];
  readonly nothing?: Readonly<Record<string, string>>;
  /** What finds a row that is taken away or copied in (`either`: verify, or doctor where the row is of no run); a text says why nothing has to. */
  readonly rows: 'verify' | 'doctor' | 'either' | 'open' | { readonly nothing: string };
}

const columns = (text: string): readonly string[] => text.trim().split(/\s+/);

/** By table, in the order of the schema's parts: the store, runs, what they leave, the gateway. */
export const CHECKED_COLUMNS: Readonly<Record<string, CheckedTable>> = {
  migration: {
    open: columns('version sha256'),
    nothing: { name: 'a name for people', applied_at: 'when the schema was brought up' },
    rows: 'open',
  },
  meta: { doctor: columns('key value'), rows: 'doctor' },
  schedule: {
    nothing: {
      one: 'there is one row',
      at: 'the time by which leases, retries and deliveries to come are due',
      wall: 'the wall clock when that was read',
      boot_id: 'the same, since when the machine is up',
      uptime_ms: 'the same',
      jumped_at: 'the last jump of the wall clock, which `doctor` tells of',
      jumped_ms: 'how far it went',
    },
    rows: { nothing: 'the next transaction begins a schedule where there is none' },
  },
  schedule_mark: {
    nothing: {
      what: 'of an approval that was answered; before that the end of the approval',
      row_no: 'whose',
      at: 'when, on the schedule',
    },
    rows: { nothing: 'without it the wall clock of the row counts' },
  },
  state_transition: { doctor: columns('machine from_state to_state'), rows: 'doctor' },
  journal: { doctor: columns('seq type at body hash'), rows: 'doctor' },
  worker_session: {
    verify: columns('session_no session_id'),
    doctor: columns('worker host boot_id pid process_start started_at role'),
    nothing: {
      last_seen_at: 'of runs that have ended; before that whether the worker is taken to be alive',
      ended_at: 'of runs that have ended; before that whether the worker has gone, for those that wait for it',
    },
    rows: 'doctor',
  },
  snapshot: { verify: columns('digest body'), rows: 'either' },
  run: {
    verify: columns(
      `run_no run_id run_key status gate_status snapshot_digest plan_digest cases repeats total materialized concurrency base_dir created_by
created_at started_at finished_at cancel_requested_at reason verdict content_digest merkle_root evidence_root event_head stop_reason stop_after`,
    ),
    nothing: { next_pass: 'of a run that has ended; before that its place among the runs that share the workers' },
    rows: 'doctor',
  },
  run_head: { verify: columns('run_no event_count event_hash'), rows: 'either' },
  run_stat: { verify: columns('run_no kind n'), rows: 'verify' },
  run_time: {
    nothing: {
      run_no: 'of a run that has ended; before that how long it was worked on, for its time limit',
      worked_ms: 'the same',
      counted_to: 'the same: up to which point of the schedule that is counted',
    },
    rows: { nothing: 'without it the time of a run in progress is counted anew' },
  },
  budget: { verify: columns('run_no kind cap reserve highest answers'), rows: 'verify' },
  execution: { verify: columns('run_no ordinal case_id repeat case_content cluster'), rows: 'verify' },
  queue: {
    verify: columns('run_no status attempt'),
    doctor: columns('ordinal lease_id session_no'),
    nothing: {
      order_key: 'of a run that has ended, which has no rows here; before that which execution is claimed next',
      available_at: 'the same: when a retry is due',
      agent_failures: 'the same: how many retries are left',
      infrastructure_failures: 'the same',
      grader_failures: 'the same',
      lease_losses: 'the same',
      lease_until: 'the same: when a lease runs out',
      breaker_failures: 'the same: failures while no call had worked',
    },
    rows: 'verify',
  },
  breaker: {
    nothing: {
      run_no:
        'of a run that has ended; before that whether the run is stopped because its first calls all fail, which its events tell',
      side: 'the same',
      worked: 'the same',
      class: 'the same',
      failures: 'the same',
      reason: 'the same',
      tripped_at: 'the same',
    },
    rows: { nothing: 'a run that has ended needs no breaker' },
  },
  attempt: {
    verify: columns(
      'run_no ordinal attempt session_no lease_id status started_at ended_at reason fault evidence_count seal',
    ),
    rows: 'verify',
  },
  evidence: { verify: columns('run_no ordinal attempt seq kind body artifact hash'), rows: 'verify' },
  result: {
    verify: columns('run_no ordinal attempt status fault passed aggregate content finished_at hash'),
    rows: 'verify',
  },
  late_evidence: {
    verify: columns('run_no late_seq ordinal attempt lease_id verb body received_at hash'),
    rows: 'verify',
  },
  event: {
    verify: columns('run_no seq type at ordinal attempt body hash'),
    doctor: columns('position'),
    rows: 'verify',
  },
  correction: {
    verify: columns('run_no revision ordinal result aggregate verdict principal corrected_at hash'),
    rows: 'verify',
  },
  blessing: { verify: columns('blessing_no profile_id run_no blessed_by blessed_at'), rows: 'verify' },
  outbox: { verify: columns('run_no dedupe_key type body created_at'), doctor: columns('outbox_no'), rows: 'verify' },
  delivery: {
    doctor: columns('outbox_no endpoint status'),
    nothing: {
      attempts: 'how many tries a webhook has had',
      next_at: 'when it is tried next',
      last_status: 'what the endpoint answered last; it is 2xx exactly where the delivery is published',
      lease_id: 'who tries now',
      lease_until: 'until when',
      last_error: 'a sentence for people',
    },
    rows: 'doctor',
  },
  policy: { verify: columns('digest body'), rows: 'verify' },
  tool_definition: { verify: columns('source name digest body first_seen_at'), rows: 'verify' },
  tool_pin: { verify: columns('source name digest pinned_by pinned_at'), doctor: columns('pin_no'), rows: 'verify' },
  tool_switch: {
    verify: columns('scope off reason switched_by switched_at'),
    doctor: columns('switch_no'),
    rows: 'verify',
  },
  tool_run: {
    verify: columns(
      `tool_run_id stream ordinal attempt source name definition_digest arguments arguments_digest call_digest principal principal_kind roles agent
surface risk open_world cost_micro_usd request_id trace_id caused_by idempotency_key edited_from created_at status reason decision policy_digest rules
execute tainted pinned session_no dispatched_at timeout_ms max_output_bytes finished_at error output output_artifact output_digest output_bytes latency_ms`,
    ),
    doctor: columns('tool_run_no'),
    rows: 'verify',
  },
  approval: {
    verify: columns(
      `approval_id tool_run_no status call_digest approvers self_approval edit reason policy_digest requested_at expires_at decided_at decided_by
decided_roles decided_on comment preview_digest ended_at ended_because`,
    ),
    doctor: columns('approval_no'),
    rows: 'either',
  },
  tool_delivery: { verify: columns('tool_run_no delivered_at'), rows: 'either' },
  tool_cancel: { verify: columns('tool_run_no reason requested_by requested_at'), rows: 'either' },
  limit_use: {
    nothing: {
      limit_key:
        'calls counted against limits of policy that are still to come; what was decided is in the tool run and its events',
      slice: 'the same',
      calls: 'the same',
      cost_micro_usd: 'the same',
    },
    rows: { nothing: 'slices are forgotten when no window reaches them any more' },
  },
  gateway_head: { verify: columns('stream event_count event_hash'), rows: 'either' },
  gateway_event: {
    verify: columns('stream seq type at tool_run_no body hash'),
    doctor: columns('position'),
    rows: 'verify',
  },
};
