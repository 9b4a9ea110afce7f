import type {
  AnswerResult,
  ApprovalAnswer,
  ApprovalRow,
  DecideRequest,
  Fence,
  GatewayDecision,
  GatewayFacts,
  NewToolRun,
  Store,
  ToolRunEnd,
  ToolRunRow,
} from '../../src/contract/store.ts';
import { argumentsDigest, callDigest, toolOutputDigest } from '../../src/core/gateway.ts';
import { digestText } from '../../src/lib/canonical-json.ts';
import { newId } from '../../src/lib/id.ts';
import { newSession } from './store-fixture.ts';
import { type OpenHarness, Scene } from './store-harness.ts';

export const EXPIRES_MS = 60_000;
export const POLICY = '{"default":"deny"}';
export const POLICY_DIGEST = digestText('proctor/policy/1', POLICY);
export const OTHER_POLICY_DIGEST = digestText('proctor/policy/1', '{"default":"ask"}');

/** A definition of a tool, by what it says of itself. */
export function definitionOf(name: string, says = 'as it was'): { name: string; digest: string; body: string } {
  const body = JSON.stringify({ name, says });
  return { name, digest: digestText('proctor/tool_definition/1', body), body };
}

export const WRITE = definitionOf('write');

/** What a test gives of a call; the digests follow from it. */
export type CallChange = Partial<Omit<NewToolRun, 'arguments_digest' | 'call_digest'>>;

/** A call of `notes.write` by an agent. */
export function newToolRun(now: number, change: CallChange = {}): NewToolRun {
  const call = {
    tool_run_id: newId('trn', now),
    fence: null,
    source: 'notes',
    name: 'write',
    definition_digest: WRITE.digest,
    arguments: '{"text":"hello"}',
    principal: 'agent:writer',
    principal_kind: 'agent' as const,
    roles: ['author'],
    agent: 'writer',
    surface: 'mcp',
    risk: 'write' as const,
    open_world: false,
    cost_micro_usd: 0,
    request_id: 'req_1',
    trace_id: null,
    caused_by: null,
    idempotency_key: null,
    edited_from: null,
    ...change,
  };
  const arguments_digest = argumentsDigest(call.arguments);
  const { run_id = null, ordinal = null, attempt = null } = call.fence ?? {};
  return {
    ...call,
    arguments_digest,
    call_digest: callDigest({ ...call, arguments_digest, run_id, ordinal, attempt }),
  };
}

export type Effect = GatewayDecision['effect'];

/** A decision by what the transaction found, else the effect; what was found is kept in `seen`. */
export function decideBy(
  effect: Effect,
  change: Partial<GatewayDecision> & { readonly terms?: Partial<NonNullable<GatewayDecision['ask']>> } = {},
  seen: GatewayFacts[] = [],
): DecideRequest['decide'] {
  const { terms, ...more } = change;
  return (facts) => {
    seen.push(facts);
    const against = whyNot(facts);
    const comes = against?.effect ?? effect;
    const ask = { approvers: [['role:operator']], expires_ms: EXPIRES_MS, self_approval: false, edit: true };
    return {
      effect: comes,
      code: comes === 'deny' ? 'policy' : comes === 'error' ? 'invalid_arguments' : null,
      message: comes === 'deny' || comes === 'error' ? 'it is refused' : null,
      policy_digest: POLICY_DIGEST,
      rules: [`rule-${comes}`],
      ask: comes === 'ask' ? { ...ask, execute: 'attended', reason: 'it writes', ...terms } : null,
      obligations: null,
      ...more,
      ...against,
    };
  };
}

function whyNot(facts: GatewayFacts): Pick<GatewayDecision, 'effect' | 'code' | 'message'> | null {
  if (!facts.held) return { effect: 'error', code: 'lease_lost', message: 'the attempt is not held' };
  if (facts.switched_off !== null)
    return {
      effect: 'deny',
      code: 'switched_off',
      message: `${facts.switched_off.scope}: ${facts.switched_off.reason}`,
    };
  if (!facts.pinned) return { effect: 'deny', code: 'not_pinned', message: 'the definition is not pinned' };
  if (facts.reached.length > 0) return { effect: 'deny', code: 'limit_reached', message: facts.reached.join(', ') };
  return null;
}

/** What a gateway session asks the store at a decision. */
export function requestBy(decide: DecideRequest['decide'], change: Partial<DecideRequest> = {}): DecideRequest {
  return { session_id: 'wse_g1', limits: [], taint_ms: null, rejoin: null, decide, ...change };
}

/** The answer of an operator who was shown the call. */
export function answerTo(
  { approval_id, call_digest }: Pick<ApprovalRow, 'approval_id' | 'call_digest'>,
  change: Partial<ApprovalAnswer> = {},
): ApprovalAnswer {
  return {
    approval_id,
    call_digest,
    decision: 'approve',
    principal: 'human:ann',
    principal_kind: 'human',
    roles: ['operator'],
    preview_digest: digestText('proctor/preview/1', call_digest),
    comment: null,
    surface: 'cli',
    ...change,
  };
}

/** The end of a call that answered. */
export function endOf(tool_run_id: string, change: Partial<ToolRunEnd> = {}): ToolRunEnd {
  const output = '{"content":[{"text":"done","type":"text"}],"structured":null}';
  return {
    tool_run_id,
    session_id: 'wse_g1',
    status: 'ok',
    reason: null,
    error: null,
    output,
    output_artifact: null,
    output_digest: toolOutputDigest(output),
    output_bytes: output.length,
    latency_ms: 12,
    ...change,
  };
}

/** An end without output. */
export function failedEnd(
  tool_run_id: string,
  status: 'error' | 'timeout',
  change: Partial<ToolRunEnd> = {},
): ToolRunEnd {
  const none = { output: null, output_digest: null, output_bytes: null };
  const error = { code: status === 'timeout' ? 'timeout' : 'tool_error', message: 'it did not work' };
  return endOf(tool_run_id, { status, reason: error.code, error, ...none, ...change });
}

/** Two gateway sessions and one pinned tool, on top of a scene; ends as every scene does. */
export class GatewayScene implements AsyncDisposable {
  readonly scene: Scene;
  readonly store: Store;

  private constructor(scene: Scene) {
    this.scene = scene;
    this.store = scene.store;
  }

  static async open(open: OpenHarness): Promise<GatewayScene> {
    const gateway = new GatewayScene(await Scene.open(open));
    await prepareGateway(gateway.store);
    return gateway;
  }

  now(): number {
    return this.scene.harness.now();
  }

  advance(ms: number): void {
    this.scene.harness.advance(ms);
  }

  call(change: CallChange = {}): NewToolRun {
    return newToolRun(this.now(), change);
  }

  async begin(effect: Effect, change: CallChange = {}, request: Partial<DecideRequest> = {}): Promise<ToolRunRow> {
    return (await this.store.beginToolRun(this.call(change), requestBy(decideBy(effect), request))).run;
  }

  /** A call that waits, with its approval. */
  async ask(change: CallChange = {}, decide = decideBy('ask')): Promise<{ run: ToolRunRow; approval: ApprovalRow }> {
    const run = await this.begin('ask', change, { decide });
    return { run, approval: await this.approvalOf(run) };
  }

  /** A call whose approval was given. */
  async approved(change: CallChange = {}): Promise<{ run: ToolRunRow; approval: ApprovalRow }> {
    const { run, approval } = await this.ask(change);
    await this.answer(approval);
    return { run, approval: await this.approvalOf(run) };
  }

  answer(approval: ApprovalRow, change: Partial<ApprovalAnswer> = {}): Promise<AnswerResult> {
    return this.store.answerApproval(answerTo(approval, change));
  }

  consume(run: ToolRunRow, decide = decideBy('ask'), change: Partial<DecideRequest> = {}): Promise<boolean> {
    return this.store.consumeApproval(run.tool_run_id, requestBy(decide, change));
  }

  async look({ tool_run_id }: ToolRunRow): Promise<ToolRunRow> {
    const row = await this.store.toolRun(tool_run_id);
    if (row === null) throw new Error(`${tool_run_id} is gone`);
    return row;
  }

  async approvalOf({ tool_run_id, approval_id }: ToolRunRow): Promise<ApprovalRow> {
    const row = approval_id === null ? null : await this.store.approval(approval_id);
    if (row === null) throw new Error(`${tool_run_id} has no approval`);
    return row;
  }

  /** The events of a tool run, or of all: their types, or with `bodies` what they say. */
  async told(run?: ToolRunRow): Promise<string[]> {
    const filter = run === undefined ? {} : { tool_run_id: run.tool_run_id };
    return (await this.store.gatewayEvents(filter, { after: null, limit: 10_000 })).map((event) => event.type);
  }

  /** What the newest event of a type says of a tool run. */
  async body(run: ToolRunRow, type: string): Promise<Record<string, unknown>> {
    const events = await this.store.gatewayEvents({ tool_run_id: run.tool_run_id }, { after: null, limit: 1_000 });
    const found = events.findLast((event) => event.type === type);
    if (found === undefined) throw new Error(`${run.tool_run_id} has no ${type}`);
    return JSON.parse(found.body) as Record<string, unknown>;
  }

  /** The fence of one claimed execution of `run_1`. */
  async fence(): Promise<Fence> {
    const { run_id, ordinal, attempt, lease_id } = await this.scene.claimOne();
    return { run_id, ordinal, attempt, lease_id };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scene[Symbol.asyncDispose]();
  }
}

/** Opens the gateway sessions and pins `notes.write`. */
export async function prepareGateway(store: Store): Promise<void> {
  for (const id of ['wse_g1', 'wse_g2']) await store.openSession({ ...newSession(id), role: 'gateway' });
  await store.keepPolicy(POLICY_DIGEST, POLICY);
  await store.showDefinitions('notes', [WRITE], false);
  await store.pinTool('notes', 'write', WRITE.digest, 'human:ann');
}
