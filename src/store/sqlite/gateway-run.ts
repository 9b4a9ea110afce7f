import type { ApprovalRow, GatewayEventRow, Page, ToolRunRow } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import { APPROVAL, type Numbered, plainToolRun, TOOL_RUN } from './tool-rows.ts';

/** How far the gateway's stream of a run goes; null when no tool of it was called. */
export function gatewayHead(connection: Connection, runNo: number): { count: number; hash: string } | null {
  const row = connection.get<{ event_count: number; event_hash: string }>(
    'select event_count, event_hash from gateway_head where stream = ?',
    runNo,
  );
  return row === undefined ? null : { count: row.event_count, hash: row.event_hash };
}

/** The calls of a run in the order of their ids, which is the order of time. */
export function toolRunsIn(connection: Connection, keys: Keys, runId: string, page: Page<string>): ToolRunRow[] {
  return connection
    .all<Numbered & Record<string, unknown>>(
      `select ${TOOL_RUN} where t.stream = ? and t.tool_run_id > ? order by t.tool_run_id limit ?`,
      keys.run(runId),
      page.after ?? '',
      page.limit,
    )
    .map(plainToolRun);
}

/** The calls of executions in the order of their ids. */
export function toolRunsAt(
  connection: Connection,
  keys: Keys,
  runId: string,
  ordinals: readonly number[],
): ToolRunRow[] {
  return connection
    .all<Numbered & Record<string, unknown>>(
      `select ${TOOL_RUN} where t.stream = ? and t.ordinal in (select value from json_each(?)) order by t.tool_run_id`,
      keys.run(runId),
      JSON.stringify(ordinals),
    )
    .map(plainToolRun);
}

/** The approvals of a run's calls in the order of their ids. */
export function approvalsIn(connection: Connection, keys: Keys, runId: string, page: Page<string>): ApprovalRow[] {
  return connection.all<ApprovalRow & Record<string, unknown>>(
    `select ${APPROVAL} where t.stream = ? and a.approval_id > ? order by a.approval_id limit ?`,
    keys.run(runId),
    page.after ?? '',
    page.limit,
  );
}

/** The events of a run's calls after a number. */
export function gatewayEventsIn(
  connection: Connection,
  keys: Keys,
  runId: string,
  page: Page<number>,
): GatewayEventRow[] {
  return connection.all<GatewayEventRow & Record<string, unknown>>(
    `select e.position, r.run_id, e.seq, e.type, e.at, t.tool_run_id, e.body, e.hash
from gateway_event e join run r on r.run_no = e.stream left join tool_run t on t.tool_run_no = e.tool_run_no
where e.stream = ? and e.seq > ? order by e.seq limit ?`,
    keys.run(runId),
    page.after ?? 0,
    page.limit,
  );
}
