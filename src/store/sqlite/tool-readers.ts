import type { ApprovalRow, GatewayEventRow, Page, ToolRunFilter, ToolRunRow } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import { isTainted } from './tool-facts.ts';
import { APPROVAL, type Numbered, plainToolRun, TOOL_RUN, toolRunById } from './tool-rows.ts';

/** One tool run by id. */
export function toolRun(connection: Connection, toolRunId: string): ToolRunRow | null {
  const row = toolRunById(connection, toolRunId);
  return row === null ? null : plainToolRun(row);
}

/** Tool runs, newest first; the key is a tool run's id. */
export function toolRuns(connection: Connection, keys: Keys, filter: ToolRunFilter, page: Page<string>): ToolRunRow[] {
  const all: readonly (readonly [string, string | number | undefined])[] = [
    ['t.stream = ?', filter.run_id === undefined ? undefined : keys.run(filter.run_id)],
    ['t.ordinal = ?', filter.ordinal],
    ['t.attempt = ?', filter.attempt],
    ['t.status = ?', filter.status],
    ["t.source || '.' || t.name = ?", filter.tool],
    ['t.principal = ?', filter.principal],
    ['t.created_at >= ?', filter.since],
    ['t.tool_run_id < ?', page.after ?? undefined],
  ];
  const set = all.filter((entry): entry is readonly [string, string | number] => entry[1] !== undefined);
  return connection
    .all<Numbered & Record<string, unknown>>(
      `select ${TOOL_RUN} where ${['true', ...set.map(([sql]) => sql)].join(' and ')} order by t.tool_run_id desc limit ?`,
      ...set.map(([, value]) => value),
      page.limit,
    )
    .map(plainToolRun);
}

/** Tool runs of an attempt in the order of their calls. */
export function toolRunsOf(
  connection: Connection,
  keys: Keys,
  runId: string,
  ordinal: number,
  attempt: number,
): ToolRunRow[] {
  return connection
    .all<Numbered & Record<string, unknown>>(
      `select ${TOOL_RUN} where t.stream = ? and t.ordinal = ? and t.attempt = ? order by t.tool_run_no`,
      keys.run(runId),
      ordinal,
      attempt,
    )
    .map(plainToolRun);
}

/** Whether a call was tainted when it was made. */
export function wasTainted(connection: Connection, toolRunId: string, taintMs: number): boolean {
  const row = toolRunById(connection, toolRunId);
  return row !== null && isTainted(connection, row, { at: row.created_at, before: row.tool_run_no }, taintMs);
}

/** Approvals, newest first. */
export function approvals(connection: Connection, open: boolean, page: Page<string>): ApprovalRow[] {
  return connection.all<ApprovalRow & Record<string, unknown>>(
    `select ${APPROVAL} where (?1 is null or a.approval_id < ?1)${open ? " and a.status in ('pending', 'approved')" : ''} order by a.approval_id desc limit ?2`,
    page.after,
    page.limit,
  );
}

/** The arguments of the last call of a tool that was approved. */
export function lastApproved(connection: Connection, source: string, name: string): string | null {
  return (
    connection.get<{ arguments: string }>(
      `select t.arguments from approval a join tool_run t on t.tool_run_no = a.tool_run_no
where t.source = ? and t.name = ? and a.status = 'consumed' order by a.approval_no desc limit 1`,
      source,
      name,
    )?.arguments ?? null
  );
}

/** Events of the gateway, of a run (null: outside of runs) or of one tool run, after a position. */
export function gatewayEvents(
  connection: Connection,
  keys: Keys,
  filter: { readonly run_id?: string | null; readonly tool_run_id?: string },
  page: Page<number>,
): GatewayEventRow[] {
  const stream = filter.run_id === undefined ? null : filter.run_id === null ? 0 : keys.run(filter.run_id);
  const tool =
    filter.tool_run_id === undefined ? null : (toolRunById(connection, filter.tool_run_id)?.tool_run_no ?? -1);
  return connection.all<GatewayEventRow & Record<string, unknown>>(
    `select e.position, r.run_id, e.seq, e.type, e.at, t.tool_run_id, e.body, e.hash
from gateway_event e left join run r on r.run_no = e.stream left join tool_run t on t.tool_run_no = e.tool_run_no
where e.position > ?1 and (?2 is null or e.stream = ?2) and (?3 is null or e.tool_run_no = ?3) order by e.position limit ?4`,
    page.after ?? 0,
    stream,
    tool,
    page.limit,
  );
}

/** Why a tool run is to be cancelled, and by whom; null when nobody asked for it. */
export function toolCancelRequested(connection: Connection, toolRunId: string): { reason: string; by: string } | null {
  return (
    connection.get<{ reason: string; by: string }>(
      'select c.reason, c.requested_by as by from tool_cancel c join tool_run t on t.tool_run_no = c.tool_run_no where t.tool_run_id = ?',
      toolRunId,
    ) ?? null
  );
}
