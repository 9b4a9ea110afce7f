import { type GatewayEventRecord, gatewayEventHash } from './gateway.ts';
import type { Machine } from './machine.ts';
import { approvalMachine, toolRunMachine } from './machines.ts';

/** The last event of a stream: how many there are, and its hash. */
export interface GatewayHead {
  readonly count: number;
  readonly hash: string;
}

/** A value as a column of the store holds it. */
export type Cell = string | number | null;

/** A row's columns by name. */
export type Cells = Readonly<Record<string, Cell>>;

/** What the events of one tool run come to, by the columns of the rows that they explain. */
export interface ReplayedToolRun {
  /** The tool run; `tool` stands for source and name, `error_digest` for the error. */
  readonly run: Cells;
  readonly approval: Cells | null;
  /** The request to stop it. */
  readonly cancel: Cells | null;
  /** What was decided last, and by which approval if it was used then. */
  readonly decided: { readonly effect: Cell; readonly approval_id: Cell } | null;
}

/** What an event says, by name. */
export type EventBody = Readonly<Record<string, unknown>>;

type Step = (state: ReplayedToolRun, event: GatewayEventRecord, body: EventBody) => ReplayedToolRun | string;

/** Why an event is not the one that follows the head of its stream; null when it is. */
export function gatewayChainFault(
  head: GatewayHead,
  event: GatewayEventRecord & { readonly hash: string },
): string | null {
  if (event.seq !== head.count + 1) return `event ${head.count + 1} is missing: ${event.seq} is in its place`;
  if (gatewayEventHash(head.hash, event) !== event.hash)
    return `event ${event.seq} (\`${event.type}\`) is not the one that was chained`;
  return null;
}

/** The state of a tool run and of its approval by its events alone, in order; or the first event that cannot have happened then. */
export function replayToolRun(
  events: readonly GatewayEventRecord[],
): { readonly state: ReplayedToolRun; readonly fault: null } | { readonly state: null; readonly fault: string } {
  let state: ReplayedToolRun | null = null;
  for (const event of events) {
    const next = step(state, event);
    if (typeof next === 'string')
      return { state: null, fault: `event ${event.seq} (\`${event.type}\`) cannot have happened: ${next}` };
    state = next;
  }
  return state === null ? { state, fault: 'no event tells of it' } : { state, fault: null };
}

function step(state: ReplayedToolRun | null, event: GatewayEventRecord): ReplayedToolRun | string {
  const body = eventBody(event);
  if (body === null) return 'its body is not a JSON object';
  if (event.type === 'tool_called') return state === null ? called(event, body) : 'the call was made before';
  if (state === null) return 'the call was not made yet';
  const ended = state.run['finished_at'] !== null;
  if (ended && !AFTER_THE_END.has(event.type)) return `the tool run had ended as \`${state.run['status']}\``;
  const known = Object.hasOwn(STEPS, event.type) ? STEPS[event.type] : undefined;
  return known === undefined ? 'no tool run has such an event' : known(state, event, body);
}

const AFTER_THE_END: ReadonlySet<string> = new Set(['tool_outcome_late', 'tool_outcome_delivered']);

function called(event: GatewayEventRecord, body: EventBody): ReplayedToolRun {
  const run = { ...NEW_RUN, tool_run_id: event.tool_run_id, created_at: event.at, ...cells(body, CALLED) };
  return { run, approval: null, cancel: null, decided: null };
}

const CALLED = [
  'tool',
  'run_id',
  'ordinal',
  'attempt',
  'definition_digest',
  'arguments_digest',
  'call_digest',
  'principal',
  'principal_kind',
  'roles',
  'agent',
  'surface',
  'risk',
  'open_world',
  'cost_micro_usd',
  'request_id',
  'trace_id',
  'caused_by',
  'idempotency_key',
  'edited_from',
];

const OUTCOME = ['error_digest', 'output_artifact', 'output_digest', 'output_bytes', 'latency_ms'];

const NEW_RUN: Cells = {
  status: 'started',
  reason: null,
  decision: null,
  policy_digest: null,
  rules: null,
  execute: null,
  tainted: null,
  pinned: null,
  session_id: null,
  dispatched_at: null,
  timeout_ms: null,
  max_output_bytes: null,
  delivered_at: null,
  finished_at: null,
  ...Object.fromEntries(OUTCOME.map((name) => [name, null])),
};

const NEW_APPROVAL: Cells = {
  status: 'pending',
  decided_at: null,
  decided_by: null,
  decided_roles: null,
  decided_on: null,
  comment: null,
  preview_digest: null,
  ended_at: null,
  ended_because: null,
};

const STEPS: Readonly<Record<string, Step>> = {
  policy_decided: (state, _event, body) => {
    const { effect, approval_id } = cells(body, ['effect', 'approval_id']);
    const decided = { effect: effect ?? null, approval_id: approval_id ?? null };
    // The second decision, when an approval is used, changes nothing of what the first one wrote.
    if (state.decided !== null)
      return state.approval?.['status'] === 'approved' ? { ...state, decided } : 'the call was decided before';
    const columns = cells(body, ['policy_digest', 'rules', 'execute', 'tainted', 'pinned']);
    const decision = effect === 'error' ? null : decided.effect;
    return { ...state, decided, run: { ...state.run, ...columns, decision } };
  },
  approval_requested: (state, event, body) => {
    if (state.decided?.effect !== 'ask') return 'policy did not ask for an approval';
    if (state.approval !== null) return 'an approval was asked for before';
    const columns = ['approval_id', 'call_digest', 'policy_digest', 'approvers', 'self_approval', 'edit', 'reason'];
    const approval: Cells = { ...NEW_APPROVAL, requested_at: event.at, ...cells(body, [...columns, 'expires_at']) };
    if (approval['call_digest'] !== state.run['call_digest']) return 'the approval is of another call';
    return moved({ ...state, approval }, 'run', 'approval_required', {});
  },
  approval_refused: (state) => (state.approval?.['status'] === 'pending' ? state : 'no answer was waited for'),
  approval_granted: (state, event, body) => answered(state, event, body, 'approved'),
  approval_denied: (state, event, body) => answered(state, event, body, 'denied'),
  approval_expired: (state, event, body) => approvalEnded(state, event, body, 'expired'),
  approval_cancelled: (state, event, body) => approvalEnded(state, event, body, 'cancelled'),
  approval_consumed: (state, event, body) => {
    const { approval, decided } = state;
    if (decided?.approval_id == null || decided.approval_id !== approval?.['approval_id'])
      return 'the call was not decided again';
    if (decided.effect !== 'allow' && decided.effect !== 'ask') return `policy had decided \`${decided.effect}\``;
    if (event.at >= Number(approval['expires_at'])) return 'the approval had expired';
    if (body['by'] !== approval['decided_by']) return 'somebody else had given the approval';
    return approvalEnded(state, event, body, 'consumed');
  },
  tool_dispatched: (state, event, body) => {
    if (state.run['dispatched_at'] !== null) return 'the call was dispatched before';
    const columns = { ...cells(body, ['session_id', 'timeout_ms', 'max_output_bytes']), dispatched_at: event.at };
    if (state.run['decision'] === 'allow') return { ...state, run: { ...state.run, ...columns } };
    if (state.approval?.['status'] !== 'consumed') return 'nobody had allowed it';
    return moved(state, 'run', 'approved', columns);
  },
  tool_succeeded: (state, event, body) => runEnded(state, event, body, 'ok'),
  tool_failed: (state, event, body) => runEnded(state, event, body, 'error'),
  tool_timed_out: (state, event, body) => runEnded(state, event, body, 'timeout'),
  tool_denied: (state, event, body) => runEnded(state, event, body, 'denied'),
  tool_outcome_late: (state) => state,
  tool_outcome_delivered: (state, event) => {
    if (state.run['finished_at'] === null) return 'the call had not ended';
    if (state.run['delivered_at'] !== null) return 'the outcome was handed over before';
    return { ...state, run: { ...state.run, delivered_at: event.at } };
  },
  tool_cancel_requested: (state, event, body) => {
    const { reason = null, by = null } = cells(body, ['reason', 'by']);
    if (state.cancel !== null) return 'the call was to be stopped before';
    return { ...state, cancel: { reason, requested_by: by, requested_at: event.at } };
  },
};

function answered(
  state: ReplayedToolRun,
  event: GatewayEventRecord,
  body: EventBody,
  status: 'approved' | 'denied',
): ReplayedToolRun | string {
  if (event.at >= Number(state.approval?.['expires_at'])) return 'the approval had expired';
  const { by = null, roles = null, surface = null, ...seen } = cells(body, ['by', 'roles', 'surface', ...SEEN]);
  const decided = { decided_at: event.at, decided_by: by, decided_roles: roles, decided_on: surface };
  if (seen['call_digest'] !== state.run['call_digest']) return 'another call was shown';
  const end = status === 'denied' ? { ended_at: event.at, ended_because: 'denied' } : {};
  return approvalMoved(state, body, status, { ...seen, ...decided, ...end });
}

const SEEN = ['comment', 'call_digest', 'preview_digest'];

function approvalEnded(
  state: ReplayedToolRun,
  event: GatewayEventRecord,
  body: EventBody,
  status: string,
): ReplayedToolRun | string {
  const { because = null } = cells(body, ['because']);
  return approvalMoved(state, body, status, { ended_at: event.at, ended_because: because });
}

function approvalMoved(
  state: ReplayedToolRun,
  body: EventBody,
  status: string,
  columns: Cells,
): ReplayedToolRun | string {
  if (state.approval !== null && body['approval_id'] !== state.approval['approval_id'])
    return 'it is about another approval';
  return moved(state, 'approval', status, columns);
}

function runEnded(
  state: ReplayedToolRun,
  event: GatewayEventRecord,
  body: EventBody,
  status: string,
): ReplayedToolRun | string {
  const dispatched = state.run['dispatched_at'] !== null;
  if (body['status'] !== status) return `it says \`${String(body['status'])}\``;
  if (dispatched && status === 'denied') return 'the call had been dispatched';
  if (!dispatched && (status === 'ok' || status === 'timeout')) return 'the call was never dispatched';
  return moved(state, 'run', status, { ...cells(body, ['reason', ...OUTCOME]), finished_at: event.at });
}

/** The state with a new status of the tool run or its approval, if the machine has the transition. */
function moved(
  state: ReplayedToolRun,
  what: 'run' | 'approval',
  status: string,
  columns: Cells,
): ReplayedToolRun | string {
  const before = state[what];
  if (before === null) return 'no approval was asked for';
  const machine: Machine = what === 'run' ? toolRunMachine : approvalMachine;
  const from = String(before['status']);
  if (!machine.next[from]?.includes(status)) return `\`${from}\` does not become \`${status}\``;
  return { ...state, [what]: { ...before, ...columns, status } };
}

/** What an event says; null when its body is not a JSON object. */
export function eventBody({ body }: { readonly body: string }): EventBody | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as EventBody) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Members of a body as the store's columns hold them: lists as JSON text, truth as 0 or 1, what is missing as null. */
function cells(body: EventBody, names: readonly string[]): Cells {
  return Object.fromEntries(names.map((name) => [name, cell(body[name])]));
}

function cell(value: unknown): Cell {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'number') return value;
  return typeof value === 'boolean' ? Number(value) : JSON.stringify(value);
}
