import type { InvariantViolation } from '../../contract/store.ts';
import {
  argumentsDigest,
  callDigest,
  type GatewayEventRecord,
  toolErrorDigest,
  toolOutputDigest,
} from '../../core/gateway.ts';
import {
  type Cell,
  type Cells,
  type GatewayHead,
  gatewayChainFault,
  replayToolRun,
} from '../../core/gateway-replay.ts';
import type { Connection } from './connection.ts';
import { type OperatorEvent, operatorDifferences } from './tool-audit-operator.ts';
import { keptDifferences } from './tool-basis.ts';

/** An event as it lies in the file. */
interface StoredEvent extends GatewayEventRecord {
  readonly position: number;
  readonly stream: number;
  readonly tool_run_no: number | null;
  readonly hash: string;
}

const PAGE = 500;
const EVENT = `select e.position, e.stream, e.tool_run_no, r.run_id, e.seq, e.type, e.at, t.tool_run_id, e.body, e.hash
from gateway_event e left join run r on r.run_no = e.stream left join tool_run t on t.tool_run_no = e.tool_run_no`;

/**
 * Where the gateway's rows are not what its events come to: the chain of every stream is recomputed, every tool run with its approval is
 * replayed from its events, and what digests stand for is digested again. Each difference names the first place.
 */
export function gatewayDifferences(connection: Connection): InvariantViolation[] {
  const order = new Found('the events of the gateway lie in the order of their commits, each in its place');
  const chain = new Found('the events of the gateway are chained without a gap, up to the head of their stream');
  const rows = new Found('every tool run and its approval are what their events come to');
  const kept = new Found('what the gateway keeps by a digest has that digest');
  const operator = new Found('every pin, switch and definition of a tool is told in its event');
  const told = checkChains(connection, order, chain);
  for (const difference of toolRunDifferences(connection)) rows.add(difference);
  for (const difference of operatorDifferences(connection, told)) operator.add(difference);
  for (const difference of keptDifferences(connection)) kept.add(difference);
  return [order, chain, rows, kept, operator].flatMap((found) => found.violation());
}

/** The differences of one kind: how many, and the first. */
class Found {
  readonly #invariant: string;
  #count = 0;
  #example = '';

  constructor(invariant: string) {
    this.#invariant = invariant;
  }

  add(difference: string): void {
    if (this.#count === 0) this.#example = difference;
    this.#count += 1;
  }

  violation(): InvariantViolation[] {
    return this.#count === 0 ? [] : [{ invariant: this.#invariant, count: this.#count, example: this.#example }];
  }
}

/** Checks all events in the order in which they were committed; answers those that are of no tool run. */
function checkChains(connection: Connection, order: Found, found: Found): OperatorEvent[] {
  const heads = new Map<number, GatewayHead>();
  const broken = new Set<number>();
  const told: OperatorEvent[] = [];
  let last = { position: 0, at: Number.NEGATIVE_INFINITY };
  for (;;) {
    const page = connection.all<StoredEvent & Record<string, unknown>>(
      `${EVENT} where e.position > ? order by e.position limit ${PAGE}`,
      last.position,
    );
    for (const event of page) {
      const { position, stream, at, hash } = event;
      if (position !== last.position + 1) order.add(`the event at position ${last.position + 1} is missing`);
      if (at < last.at) order.add(`the event at position ${position} is older than the one before it`);
      last = { position, at };
      if (event.tool_run_no === null) told.push(event);
      if (broken.has(stream)) continue;
      const head = heads.get(stream) ?? { count: 0, hash: '' };
      const fault = gatewayChainFault(head, event);
      if (fault !== null) {
        found.add(`${streamName(event)}: ${fault}`);
        broken.add(stream); // what follows rests on it
      } else heads.set(stream, { count: head.count + 1, hash });
    }
    if (page.length < PAGE) break;
  }
  checkHeads(connection, heads, broken, found);
  return told;
}

function checkHeads(
  connection: Connection,
  heads: Map<number, GatewayHead>,
  broken: ReadonlySet<number>,
  found: Found,
): void {
  const stored = connection.all<{ stream: number; event_count: number; event_hash: string }>(
    'select stream, event_count, event_hash from gateway_head order by stream',
  );
  for (const { stream, event_count, event_hash } of stored) {
    const head = heads.get(stream) ?? { count: 0, hash: '' };
    if (!broken.has(stream) && (head.count !== event_count || head.hash !== event_hash))
      found.add(`stream ${stream} ends at event ${head.count}, its head says ${event_count} or has another hash`);
    heads.delete(stream);
  }
  for (const stream of heads.keys()) found.add(`stream ${stream} has events and no head`);
}

function streamName({ stream, run_id }: StoredEvent): string {
  return stream === 0 ? 'outside of runs' : (run_id ?? `stream ${stream}, which is not a run`);
}

/** Where tool runs with their approvals, all or those of one stream, are not what their events come to. */
export function toolRunDifferences(connection: Connection, stream?: number): string[] {
  const found: string[] = [];
  const own = stream === undefined ? '' : ` and t.stream = ${stream}`;
  for (let after = 0; ; ) {
    const rows = connection.all<Record<string, Cell> & { tool_run_no: number }>(
      `${ROW} where t.tool_run_no > ?${own} order by t.tool_run_no limit ${PAGE}`,
      after,
    );
    const last = rows.at(-1)?.tool_run_no ?? after;
    const events = Map.groupBy(
      connection.all<StoredEvent & Record<string, unknown>>(
        `${EVENT} where e.tool_run_no > ? and e.tool_run_no <= ? order by e.tool_run_no, e.position`,
        after,
        last,
      ),
      (event) => event.tool_run_no,
    );
    for (const row of rows) {
      const difference = toolRunDifference(row, events.get(row.tool_run_no) ?? []);
      if (difference !== null) found.push(`${row['tool_run_id']}: ${difference}`);
    }
    if (rows.length < PAGE) return found;
    after = last;
  }
}

/** Every column of a tool run, of its approval (`approval_…`, or as it is called) and of the request to stop it. */
const ROW = `select t.*, r.run_id, s.session_id, d.delivered_at, f.tool_run_id as edited_from_id,
a.approval_id, a.status as a_status, a.call_digest as a_call_digest, a.policy_digest as a_policy_digest, a.approvers, a.self_approval, a.edit,
a.reason as a_reason, a.requested_at, a.expires_at, a.decided_at, a.decided_by, a.decided_roles, a.decided_on, a.comment, a.preview_digest, a.ended_at,
a.ended_because, c.reason as c_reason, c.requested_by as c_requested_by, c.requested_at as c_requested_at
from tool_run t left join run r on r.run_no = t.stream left join worker_session s on s.session_no = t.session_no
left join tool_run f on f.tool_run_no = t.edited_from left join approval a on a.tool_run_no = t.tool_run_no left join tool_cancel c on c.tool_run_no = t.tool_run_no
left join tool_delivery d on d.tool_run_no = t.tool_run_no`;

function toolRunDifference(row: Record<string, Cell>, events: readonly StoredEvent[]): string | null {
  const { state, fault } = replayToolRun(events);
  if (fault !== null) return fault;
  const text = (name: string) => String(row[name]);
  const run = {
    ...row,
    run_id: row['stream'] === 0 ? null : (row['run_id'] ?? 'a run that is not there'),
    tool: `${row['source']}.${row['name']}`,
    edited_from: row['edited_from'] === null ? null : (row['edited_from_id'] ?? 'a tool run that is not there'),
    session_id: row['session_no'] === null ? null : (row['session_id'] ?? 'a session that is not there'),
    error_digest: row['error'] === null ? null : toolErrorDigest(text('error')),
  };
  const plain = (name: string) => row[name] ?? null;
  const difference =
    firstDifference('', state.run, run) ??
    firstDifference('approval.', state.approval, row['approval_id'] === null ? null : renamed(row, 'a_')) ??
    firstDifference('cancel.', state.cancel, row['c_requested_by'] === null ? null : renamed(row, 'c_'));
  if (difference !== null) return difference;
  if (argumentsDigest(text('arguments')) !== row['arguments_digest'])
    return 'its arguments are not the ones of its digest';
  const call = callDigest({
    source: text('source'),
    name: text('name'),
    definition_digest: plain('definition_digest') as string | null,
    arguments_digest: text('arguments_digest'),
    principal: text('principal'),
    agent: plain('agent') as string | null,
    run_id: plain('run_id') as string | null,
    ordinal: plain('ordinal') as number | null,
    attempt: plain('attempt') as number | null,
  });
  if (call !== row['call_digest']) return 'the call is not the one of its digest';
  if (row['output'] !== null && toolOutputDigest(text('output')) !== row['output_digest'])
    return 'its output is not the one of its digest';
  // A large output stands in an artifact; a digest with neither is an output that somebody took away.
  if (row['output_digest'] !== null && row['output'] === null && row['output_artifact'] === null)
    return 'its output is gone';
  return null;
}

function renamed(row: Record<string, Cell>, prefix: string): Cells {
  const own = Object.entries(row).filter(([name]) => name.startsWith(prefix));
  return { ...row, ...Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value])) };
}

function firstDifference(prefix: string, told: Cells | null, stored: Cells | null): string | null {
  if (told === null || stored === null) {
    if (told === stored) return null;
    return told === null ? `${prefix.slice(0, -1)}: no event tells of it` : `${prefix.slice(0, -1)}: its row is gone`;
  }
  const name = Object.keys(told).find((key) => told[key] !== (stored[key] ?? null));
  if (name === undefined) return null;
  return `${prefix}${name} is ${shown(stored[name] ?? null)}, by its events ${shown(told[name] ?? null)}`;
}

function shown(cell: Cell): string {
  return cell === null ? 'null' : `\`${cell}\``;
}
