import { ProctorError } from '../../contract/problem.ts';
import type { DecideRequest, NewToolRun, ToolRunRow } from '../../contract/store.ts';
import type { Keys } from './keys.ts';
import { type Numbered, plainToolRun, TOOL_RUN, toolRunById } from './tool-rows.ts';
import type { Transaction } from './transaction.ts';

/** The call that was made under the same idempotency key; null when there is none, a conflict when it is another call. */
export function knownByKey(tx: Transaction, run: NewToolRun): Numbered | null {
  if (run.idempotency_key === null) return null;
  const found = tx.connection.get<{ tool_run_id: string; call_digest: string }>(
    'select tool_run_id, call_digest from tool_run where principal = ? and idempotency_key = ?',
    run.principal,
    run.idempotency_key,
  );
  if (found === undefined) return null;
  if (found.call_digest !== run.call_digest)
    throw new ProctorError(
      'idempotency_conflict',
      `the idempotency key \`${run.idempotency_key}\` was used for another call (${found.tool_run_id}); use a new key for a new call`,
    );
  return toolRunById(tx.connection, found.tool_run_id);
}

/** The newest tool run of the same call that was asked for and whose outcome nobody has got: who asks again is given that one. */
export function rejoined(tx: Transaction, run: NewToolRun, rejoin: DecideRequest['rejoin']): ToolRunRow | null {
  if (rejoin === null) return null;
  const found = tx.connection.get<Numbered>(
    `select ${TOOL_RUN} where t.call_digest = ? and t.decision = 'ask' and t.created_at >= ? order by t.tool_run_no desc limit 1`,
    run.call_digest,
    rejoin.since,
  );
  if (found === undefined || found.delivered_at !== null) return null;
  const row = plainToolRun(found);
  return rejoin.joins(row) ? row : null;
}

/** Inserts a call; answers its row as it then is. */
export function insertToolRun(tx: Transaction, keys: Keys, run: NewToolRun): Numbered {
  const { fence, roles, open_world, edited_from, ...plain } = run;
  const columns = {
    ...plain,
    stream: fence === null ? 0 : keys.run(fence.run_id),
    ordinal: fence?.ordinal ?? null,
    attempt: fence?.attempt ?? null,
    roles: JSON.stringify(roles),
    open_world: open_world ? 1 : 0,
    edited_from: edited_from === null ? null : (toolRunById(tx.connection, edited_from)?.tool_run_no ?? null),
    created_at: tx.now,
    status: 'started' as const,
  };
  const names = Object.keys(columns);
  const inserted = tx.connection.get<{ tool_run_no: number }>(
    `insert into tool_run (${names.join(', ')}) values (${names.map(() => '?').join(', ')}) returning tool_run_no`,
    ...Object.values(columns),
  );
  if (inserted === undefined) throw new Error('a tool run that was inserted has no number');
  return { ...UNDECIDED, ...columns, ...inserted, run_id: fence?.run_id ?? null, edited_from };
}

/** What stands in the columns of a call that was only just made. */
const UNDECIDED = {
  reason: null,
  decision: null,
  policy_digest: null,
  rules: null,
  execute: null,
  tainted: null,
  pinned: null,
  dispatched_at: null,
  timeout_ms: null,
  max_output_bytes: null,
  finished_at: null,
  error: null,
  output: null,
  output_artifact: null,
  output_digest: null,
  output_bytes: null,
  latency_ms: null,
  approval_id: null,
  edited_into: null,
  delivered_at: null,
};

/** What a call was made with, as its event tells it: every column but the arguments, which their digest stands for. */
export function calledWith(row: Numbered): Record<string, unknown> {
  const { source, name, run_id, ordinal, attempt, definition_digest, arguments_digest, call_digest } = row;
  const { principal, principal_kind, agent, surface, risk, cost_micro_usd } = row;
  const { request_id, trace_id, caused_by, idempotency_key, edited_from } = row;
  return {
    tool: `${source}.${name}`,
    run_id,
    ordinal,
    attempt,
    definition_digest,
    arguments_digest,
    call_digest,
    principal,
    principal_kind,
    roles: JSON.parse(row.roles) as unknown,
    agent,
    surface,
    risk,
    open_world: row.open_world === 1,
    cost_micro_usd,
    request_id,
    trace_id,
    caused_by,
    idempotency_key,
    edited_from,
  };
}
