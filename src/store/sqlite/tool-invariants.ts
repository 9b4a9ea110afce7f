/** What holds of the gateway's rows at every moment, as queries that find the rows where it does not. */
export const GATEWAY_INVARIANTS: readonly (readonly [string, string])[] = [
  [
    'a tool run waits for an approval exactly while it has an open one',
    `select t.tool_run_id as example from tool_run t left join approval a on a.tool_run_no = t.tool_run_no
where (t.status = 'approval_required') <> coalesce(a.status in ('pending', 'approved'), 0)`,
  ],
  [
    'a tool run has an approval exactly when policy asked for one, and it is about the same call',
    `select t.tool_run_id as example from tool_run t left join approval a on a.tool_run_no = t.tool_run_no
where (t.decision is 'ask') <> (a.approval_no is not null) or a.call_digest <> t.call_digest`,
  ],
  [
    'what policy asked for is dispatched exactly when its approval was used',
    `select t.tool_run_id as example from tool_run t join approval a on a.tool_run_no = t.tool_run_no
where (t.dispatched_at is not null) <> (a.status = 'consumed')`,
  ],
  [
    'an approval was given and used before it expired',
    "select approval_id as example from approval where (decided_at is not null and decided_at >= expires_at) or (status = 'consumed' and ended_at >= expires_at)",
  ],
  [
    'what policy allowed is dispatched, what it refused is not',
    `select tool_run_id as example from tool_run where decision is not 'ask' and (dispatched_at is not null) <> (decision is 'allow')`,
  ],
  [
    'a tool run is denied only before it is dispatched',
    "select tool_run_id as example from tool_run where status = 'denied' and dispatched_at is not null",
  ],
  [
    'a tool run that has not ended waits or is dispatched',
    "select tool_run_id as example from tool_run where finished_at is null and status <> 'approval_required' and dispatched_at is null",
  ],
  [
    'a dispatched call belongs to a session, and in a run to an attempt',
    `select tool_run_id as example from tool_run t where dispatched_at is not null and (not exists (select 1 from worker_session s where s.session_no = t.session_no)
or (stream <> 0 and not exists (select 1 from attempt a where a.run_no = t.stream and a.ordinal = t.ordinal and a.attempt = t.attempt)))`,
  ],
  [
    'a call that gave way to a changed one names it',
    "select t.tool_run_id as example from tool_run t where t.reason = 'superseded' and not exists (select 1 from tool_run g where g.edited_from = t.tool_run_no)",
  ],
  [
    'every approval, delivered outcome and request to stop is that of a tool run',
    ['approval', 'tool_delivery', 'tool_cancel']
      .map(
        (table) =>
          `select '${table}' as example from ${table} where tool_run_no not in (select tool_run_no from tool_run)`,
      )
      .join(' union all '),
  ],
  ['every tool run is called once', counted("e.type = 'tool_called'", '1')],
  [
    'every tool run is dispatched once where it is dispatched at all',
    counted("e.type = 'tool_dispatched'", 't.dispatched_at is not null'),
  ],
  [
    'an ended tool run has exactly one ending, another has none',
    counted(
      "e.type in ('tool_succeeded', 'tool_failed', 'tool_timed_out', 'tool_denied')",
      't.finished_at is not null',
    ),
  ],
  [
    'an approval is used at most once',
    counted(
      "e.type = 'approval_consumed'",
      "exists (select 1 from approval a where a.tool_run_no = t.tool_run_no and a.status = 'consumed')",
    ),
  ],
  ['tool runs are numbered in the order in which they were called', numbered('tool_run', 'tool_called')],
  ['approvals are numbered in the order in which they were asked for', numbered('approval', 'approval_requested')],
];

function counted(events: string, expected: string): string {
  return `select t.tool_run_id as example from tool_run t
where (select count(*) from gateway_event e where e.tool_run_no = t.tool_run_no and ${events}) <> (${expected})`;
}

/** Rows are never deleted, so a number that is not the row's place means that one was added, taken away or moved. */
function numbered(table: 'tool_run' | 'approval', event: string): string {
  return `select example from (select x.${table}_id as example, x.${table}_no as no, row_number() over (
order by (select min(e.position) from gateway_event e where e.tool_run_no = x.tool_run_no and e.type = '${event}')) as place from ${table} x) where no <> place`;
}
