import type { ArtifactStore } from '../../contract/artifact.ts';
import type { ApprovalRow, RunReaders, RunRow, ToolRunRow } from '../../contract/store.ts';
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
import type { Differences } from './differences.ts';

const PAGE = 100;

type Deps = { readonly store: RunReaders; readonly artifacts: ArtifactStore };

/**
 * Recomputes the calls of a run's gated tools: the chain of their events up to the head that the run sealed, and every call and approval from
 * its events. Calls that came after the seal can only be those of a worker that held nothing any more. Answers how many calls there are.
 */
export async function checkGateway(
  deps: Deps,
  run: RunRow,
  sealed: GatewayHead | null,
  differences: Differences,
): Promise<number> {
  const { run_id } = run;
  const head = await differences.step('gateway_head', run_id, () => deps.store.gatewayHead(run_id));
  if (head === null && sealed === null) return 0;
  const events = await checkChain(deps.store, run_id, sealed, differences);
  const { count, hash } = events.head;
  differences.same(
    'gateway_event',
    run_id,
    'the head of the chain',
    `${count} ${hash}`,
    `${head?.count ?? 0} ${head?.hash ?? ''}`,
  );
  if (run.status === 'completed')
    differences.same('gateway_event', run_id, 'the events that the run sealed', sealed?.hash ?? '', events.sealed);
  const approvals = new Map<string, ApprovalRow>();
  const page = (after: string | null) => ({ after, limit: PAGE });
  const asked = all(
    'approval',
    (after: string | null) => deps.store.approvalsIn(run_id, page(after)),
    (row) => row.approval_id,
    differences,
  );
  for await (const row of asked) approvals.set(row.tool_run_id, row);
  let calls = 0;
  const rows = all(
    'tool_run',
    (after: string | null) => deps.store.toolRunsIn(run_id, page(after)),
    (row) => row.tool_run_id,
    differences,
  );
  for await (const row of rows) {
    const id = row.tool_run_id;
    const told = events.byCall.get(id) ?? [];
    await differences.step('tool_run', id, () => checkCall(deps, row, approvals.get(id) ?? null, told, differences));
    if (events.late.has(id))
      differences.same('tool_run', id, 'a call after the run was sealed', 'lease_lost', row.reason);
    events.byCall.delete(id);
    calls += 1;
  }
  for (const id of events.byCall.keys()) differences.add('tool_run', id, 'the row that events tell of is missing');
  return calls;
}

interface Chain {
  readonly byCall: Map<string, GatewayEventRecord[]>;
  /** Calls with events after the seal only. */
  readonly late: Set<string>;
  readonly head: GatewayHead;
  /** The hash at the place of the seal. */
  readonly sealed: string;
}

async function checkChain(
  store: RunReaders,
  runId: string,
  seal: GatewayHead | null,
  differences: Differences,
): Promise<Chain> {
  const byCall = new Map<string, GatewayEventRecord[]>();
  const late = new Set<string>();
  let head: GatewayHead = { count: 0, hash: '' };
  let sealed = '';
  let broken = false;
  const events = all(
    'gateway_event',
    (after: number | null) => store.gatewayEventsIn(runId, { after, limit: PAGE }),
    (event) => event.seq,
    differences,
  );
  for await (const event of events) {
    const fault = broken ? null : gatewayChainFault(head, event);
    if (fault !== null) {
      differences.add('gateway_event', `event ${event.seq} ${event.type}`, fault);
      broken = true; // what follows rests on it
    }
    head = { count: head.count + 1, hash: event.hash };
    if (head.count === seal?.count) sealed = event.hash;
    const id = event.tool_run_id ?? '';
    const known = byCall.get(id);
    if (known !== undefined) known.push(event);
    else byCall.set(id, [event]);
    if (known === undefined && seal !== null && head.count > seal.count) late.add(id);
  }
  return { byCall, late, head, sealed };
}

async function checkCall(
  { artifacts }: Deps,
  row: ToolRunRow,
  approval: ApprovalRow | null,
  events: readonly GatewayEventRecord[],
  differences: Differences,
): Promise<void> {
  const id = row.tool_run_id;
  const { state, fault } = replayToolRun(events);
  if (fault !== null) return differences.add('tool_run', id, fault);
  // Who carried a call out, and who asked for it to be stopped, stays in the store where it happened.
  const { session_id: _session, ...run } = state.run;
  const error_digest = row.error === null ? null : toolErrorDigest(row.error);
  compare('tool_run', id, run, { ...row, tool: `${row.source}.${row.name}`, error_digest }, differences);
  if ((state.approval === null) !== (approval === null))
    differences.add('approval', id, approval === null ? 'its row is gone' : 'no event tells of it');
  else if (state.approval !== null && approval !== null) {
    const { decided_roles: _roles, ...told } = state.approval;
    compare('approval', id, told, { ...approval }, differences);
  }
  differences.same('tool_run', id, 'arguments_digest', argumentsDigest(row.arguments), row.arguments_digest);
  differences.same('tool_run', id, 'call_digest', callDigest(row), row.call_digest);
  const output =
    row.output ?? (row.output_artifact === null ? null : await artifacts.get(row.output_artifact, row.output_bytes));
  differences.same(
    'tool_run',
    id,
    'output_digest',
    output === null ? null : toolOutputDigest(output),
    row.output_digest,
  );
}

function compare(
  where: string,
  id: string,
  told: Cells,
  stored: Readonly<Record<string, unknown>>,
  differences: Differences,
): void {
  for (const [column, value] of Object.entries(told))
    differences.same(where, id, column, value, (stored[column] ?? null) as Cell);
}

/** Every row, page by page; a page that cannot be read is a difference and the end. */
async function* all<Row, Key extends string | number>(
  where: string,
  read: (after: Key | null) => Promise<readonly Row[]>,
  key: (row: Row) => Key,
  differences: Differences,
): AsyncGenerator<Row> {
  let after: Key | null = null;
  for (;;) {
    const from: Key | null = after;
    const page: readonly Row[] | null = await differences.step(where, `after ${from ?? 'the start'}`, () => read(from));
    const last = page?.at(-1);
    if (page === null || last === undefined) return;
    yield* page;
    after = key(last);
  }
}
