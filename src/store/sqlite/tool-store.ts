import { ProctorError } from '../../contract/problem.ts';
import type { ToolStore } from '../../contract/store.ts';
import { answerApproval, editToolRun, expireApprovals } from './approvals.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { Moment } from './schedule.ts';
import * as definitions from './tool-definitions.ts';
import { deliver } from './tool-endings.ts';
import * as readers from './tool-readers.ts';
import { approvalById, LAPSED, toolRunById } from './tool-rows.ts';
import {
  beginToolRun,
  cancelToolRun,
  consumeApproval,
  finishToolRun,
  reapToolRuns,
  requestToolCancel,
} from './tool-runs.ts';
import type { Writer } from './writer.ts';

/** A caller waits for each step of its call, and the steps of one come one after another: there is nothing to gather. */
const PROMPT = { prompt: true };

/** The verbs of the gateway over a connection and its writer. */
export function toolStore(
  connection: Connection,
  keys: Keys,
  writer: Writer,
  read: <T>(query: () => T) => Promise<T>,
  look: () => Moment,
): ToolStore {
  return {
    keepPolicy: async (digest, body) => {
      if ((await read(() => definitions.policy(connection, digest))) === null)
        await writer.write((tx) => definitions.keepPolicy(tx, digest, body));
    },
    policy: (digest) => read(() => definitions.policy(connection, digest)),
    beginToolRun: (run, request) => writer.write((tx) => beginToolRun(tx, keys, run, request), PROMPT),
    answerApproval: (answer) => writer.write((tx) => answerApproval(tx, answer)),
    editToolRun: (answer, run, request) => writer.write((tx) => editToolRun(tx, keys, answer, run, request)),
    consumeApproval: (id, request) => writer.write((tx) => consumeApproval(tx, keys, id, request), PROMPT),
    finishToolRun: (end) => writer.write((tx) => finishToolRun(tx, keys, end), PROMPT),
    cancelToolRun: (id, code, message, by) => writer.write((tx) => cancelToolRun(tx, id, code, message, by)),
    deliverToolRun: (id) =>
      writer.write((tx) => {
        const row = toolRunById(tx.connection, id);
        if (row === null) throw new ProctorError('not_found', `there is no tool run \`${id}\` in this store`);
        deliver(tx, row);
      }),
    expireApprovals: async (limit) =>
      (await read(() => overdue(connection, look()))) ? await writer.write((tx) => expireApprovals(tx, limit)) : 0,
    reapToolRuns: async (dead, limit) =>
      (await read(() => leftBehind(connection, dead))) ? await writer.write((tx) => reapToolRuns(tx, dead, limit)) : [],
    requestToolCancel: (id, reason, by) => writer.write((tx) => requestToolCancel(tx, id, reason, by)),
    toolCancelRequested: (id) => read(() => readers.toolCancelRequested(connection, id)),
    toolRun: (id) => read(() => readers.toolRun(connection, id)),
    toolRuns: (filter, page) => read(() => readers.toolRuns(connection, keys, filter, page)),
    toolRunsOf: (runId, ordinal, attempt) => read(() => readers.toolRunsOf(connection, keys, runId, ordinal, attempt)),
    wasTainted: (id, taintMs) => read(() => readers.wasTainted(connection, id, taintMs)),
    approval: (id) => read(() => approvalById(connection, id)),
    approvals: (open, page) => read(() => readers.approvals(connection, open, page)),
    lastApproved: (source, name) => read(() => readers.lastApproved(connection, source, name)),
    gatewayEvents: (filter, page) => read(() => readers.gatewayEvents(connection, keys, filter, page)),
    showDefinitions: (source, shown, own) => writer.write((tx) => definitions.showDefinitions(tx, source, shown, own)),
    definition: (source, name, digest) => read(() => definitions.definition(connection, source, name, digest)),
    pins: (source) => read(() => definitions.pins(connection, source)),
    pinTool: (source, name, digest, by) => writer.write((tx) => definitions.pinTool(tx, source, name, digest, by)),
    switchTool: (scope, off, reason, by) => writer.write((tx) => definitions.switchTool(tx, scope, off, reason, by)),
    switches: () => read(() => definitions.switches(connection)),
  };
}

/** A look whether something may have expired, so that idle gateways spend no transaction; the transaction's clock decides. */
function overdue(connection: Connection, { now, schedule }: Moment): boolean {
  return (
    connection.get(
      `select 1 from approval a where a.status in ('pending', 'approved') and ${LAPSED} limit 1`,
      now,
      schedule,
    ) !== undefined
  );
}

/** A look whether dead sessions left something. */
function leftBehind(connection: Connection, dead: readonly string[]): boolean {
  const list = JSON.stringify(dead);
  const calls = connection.get(
    `select 1 from tool_run t indexed by tool_run_open join worker_session s on s.session_no = t.session_no
where t.finished_at is null and t.dispatched_at is not null and (s.ended_at is not null or s.session_id in (select value from json_each(?))) limit 1`,
    list,
  );
  const sessions = connection.get(
    "select 1 from worker_session where ended_at is null and role = 'gateway' and session_id in (select value from json_each(?)) limit 1",
    list,
  );
  return calls !== undefined || sessions !== undefined;
}
