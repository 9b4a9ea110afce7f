import type { Store, ToolRunRow } from '../../src/contract/store.ts';
import { eventChainProblem } from './gateway-chain.ts';
import type { Step } from './gateway-kill-steps.ts';

/** What became of one round. */
export interface RoundAudit {
  /** How often the side effect happened. */
  readonly effects: number;
  /** The call ended as one whose outcome nobody knows. */
  readonly unknown: boolean;
  /** The call came to no end that is one of the two. */
  readonly lost: boolean;
  readonly violations: readonly string[];
}

const UNTIL_DISPATCH = [
  'tool_called',
  'policy_decided',
  'approval_requested',
  'approval_granted',
  'policy_decided',
  'approval_consumed',
  'tool_dispatched',
];

/** Holds a round against what an approval promises; `rows` are the calls of its principal, oldest first. */
export async function auditRound(
  store: Store,
  stream: StreamAudit,
  step: Step,
  rows: readonly ToolRunRow[],
  effects: readonly string[],
): Promise<RoundAudit> {
  const violations: string[] = [];
  const [call, ...later] = rows;
  if (call === undefined)
    return { effects: effects.length, unknown: false, lost: true, violations: ['there is no call'] };
  const ended = call.reason === null ? call.status : `${call.status} ${call.reason}`;
  const unknown = ended === 'error TOOL_OUTCOME_UNKNOWN';
  const lost = !unknown && ended !== 'ok';
  if (lost) violations.push(`it ended ${ended}`);
  if (step.ends !== 'either' && (step.ends === 'unknown') !== unknown)
    violations.push(`it ended ${ended}, not ${step.ends}`);
  if (!step.effects.includes(effects.length)) violations.push(`the side effect happened ${effects.length} times`);
  if (ended === 'ok' && effects.length !== 1) violations.push(`it ended ok with ${effects.length} side effects`);
  const others = effects.filter((line) => !line.startsWith(`${call.tool_run_id} `));
  if (others.length > 0) violations.push(`a side effect under another key: ${others.join()}`);

  const events = await typesOf(store, call.tool_run_id);
  const handed = call.delivered_at === null ? [] : ['tool_outcome_delivered'];
  const expected = [...UNTIL_DISPATCH, unknown ? 'tool_failed' : 'tool_succeeded', ...handed];
  if (events.join() !== expected.join()) violations.push(`its events are ${events.join()}`);
  const approval = await store.approval(call.approval_id ?? '');
  if (approval?.status !== 'consumed') violations.push(`its approval is ${approval?.status}`);

  if (later.length > (step.asked_again ? 1 : 0)) violations.push(`${later.length} more calls were recorded`);
  if (step.fault !== null && step.asked_again && later.length === 0)
    violations.push('the same call was not asked for anew');
  for (const one of later) {
    if (call.delivered_at === null)
      violations.push('a second call was asked for although the first was not handed over');
    if (one.dispatched_at !== null || one.reason !== 'cancelled')
      violations.push(`the second call ended ${one.status} ${one.reason}`);
  }
  for (const { invariant, example } of await store.invariants()) violations.push(`${invariant}: ${example}`);
  const broken = await stream.grow();
  if (broken !== null) violations.push(broken);
  return { effects: effects.length, unknown, lost, violations };
}

async function typesOf(store: Store, tool_run_id: string): Promise<string[]> {
  const events = await store.gatewayEvents({ tool_run_id }, { after: null, limit: 100 });
  return events.map(({ type }) => type);
}

/** The chain of the events outside of runs, checked as it grows. */
export class StreamAudit {
  readonly #store: Store;
  #at = { position: 0, seq: 0, hash: '' };
  #turn: Promise<string | null> = Promise.resolve(null);

  constructor(store: Store) {
    this.#store = store;
  }

  /** Checks what came since it was looked at last: where the chain breaks, or null. */
  grow(): Promise<string | null> {
    this.#turn = this.#turn.then(() => this.#look());
    return this.#turn;
  }

  async #look(): Promise<string | null> {
    const events = await this.#store.gatewayEvents({ run_id: null }, { after: this.#at.position, limit: 100_000 });
    const problem = eventChainProblem(events, null, this.#at);
    const last = events.at(-1);
    if (last !== undefined) this.#at = { position: last.position, seq: last.seq, hash: last.hash };
    return problem;
  }
}
