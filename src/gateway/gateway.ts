import type { Principal } from '../contract/principal.ts';
import { kindOfPrincipal } from '../contract/principal.ts';
import { ProctorError } from '../contract/problem.ts';
import type { AnswerResult, ApprovalRow, DecideRequest, ToolRunRow } from '../contract/store.ts';
import { mayEverCall } from '../core/policy/decide.ts';
import { globMatches } from '../lib/glob.ts';
import { type Answer, type ApprovalView, answerApproval, viewApproval } from './answers.ts';
import { Call } from './call.ts';
import { Catalogue, type CatalogueListing, type CatalogueTool } from './catalogue.ts';
import { SIMULATED_OPERATOR } from './decision.ts';
import { keepPolicy } from './keep-policy.ts';
import type { Caller, GatewayDeps } from './ports.ts';
import { type CallRequest, type Prepared, policyProblem, prepare } from './prepare.ts';

export type { Answer, ApprovalView } from './answers.ts';

/** An identical call joins one that waits, if that was made no longer ago. */
const REJOIN_MS = 86_400_000;
const MOST_FOLLOWED = 1_000;
const CALLER_FIRST_MS = 1_500;
const UNATTENDED_MS = 2_147_000_000;

/** The only door to tools: resolve → authorize → approve → invoke → validate → record, for every caller alike. */
export class Gateway {
  readonly deps: GatewayDeps;
  readonly #catalogue: Catalogue;
  readonly #calls = new Map<string, Call>();
  #told: string | null = null;

  constructor(deps: GatewayDeps) {
    this.deps = deps;
    this.#catalogue = new Catalogue(deps);
  }

  /** Every tool of the project, with what is wrong with its sources. */
  async catalogue(signal: AbortSignal, fresh = false): Promise<CatalogueListing> {
    return await this.#catalogue.list(signal, fresh);
  }

  /** The tools that a caller may ever call: pinned, not switched off, not denied whatever the arguments. */
  async visible(caller: Caller, signal: AbortSignal): Promise<CatalogueTool[]> {
    const { store } = this.deps;
    const { tools } = await this.#catalogue.list(signal); // first: what the project itself shows anew is pinned by it
    const [pins, switches, policy] = await Promise.all([
      store.pins(null),
      store.switches(),
      caller.bound?.policy ?? this.deps.policy().catch((error: unknown) => this.#noPolicy(error)),
    ]);
    if (policy === null) return [];
    const pinned = new Map(pins.map((pin) => [`${pin.source}.${pin.name}`, pin.digest]));
    const off = new Set(switches.filter((row) => row.off === 1).map((row) => row.scope));
    const { principal, bound, surface } = caller;
    return tools.filter(({ tool, source, digest, risk }) => {
      if (pinned.get(tool) !== digest || off.has('*') || off.has(source.name) || off.has(tool)) return false;
      if (bound !== null && bound.tools !== null && !bound.tools.some((glob) => globMatches(glob, tool))) return false;
      const facts = { principal, agent: bound?.agent ?? null, risk, pinned: true, bound: bound !== null, surface };
      return mayEverCall(policy, { ...facts, ...this.deps.surroundings, tool, source: source.name });
    });
  }

  /**
   * Records a call and decides it. An identical call of the same caller that waits for its approval, or whose outcome nobody has got,
   * is joined instead: who asks again after a broken connection gets the one call, not a second.
   */
  async start(caller: Caller, request: CallRequest, signal: AbortSignal): Promise<Call> {
    await this.deps.opened();
    const prepared = await prepare(this.deps, this.#catalogue, caller, request, signal);
    const rejoin =
      request.idempotency_key == null && mayAsk(prepared)
        ? { since: this.deps.clock.now() - REJOIN_MS, joins: (row: ToolRunRow) => canBeJoined(row, caller) }
        : null;
    return await this.#record(caller, prepared, rejoin);
  }

  /** A call that was made before, by the same caller; `not_found` for any other. */
  async attach(toolRunId: string, caller: Caller): Promise<Call> {
    await this.deps.opened();
    const row = await this.deps.store.toolRun(toolRunId);
    if (row === null || !isOf(row, caller))
      throw new ProctorError('not_found', `there is no tool run \`${toolRunId}\` of ${caller.principal.id}`);
    return this.#follow(caller, row, null);
  }

  /** Carries on, for its caller, a call that was approved and that nobody waits for; only where policy says so. */
  async carryOn(toolRunId: string): Promise<Call> {
    await this.deps.opened();
    const row = await this.deps.store.toolRun(toolRunId);
    if (row === null) throw new ProctorError('not_found', `there is no tool run \`${toolRunId}\` in this store`);
    if (row.run_id !== null)
      throw new ProctorError(
        'illegal_transition',
        `${toolRunId} belongs to a run and is carried on by its attempt only`,
      );
    const principal: Principal = {
      id: row.principal,
      kind: kindOfPrincipal(row.principal),
      roles: this.deps.rolesOf(row.principal),
    };
    // Whoever asked is gone, and its session with it: the call is one of its own.
    const surface = row.surface as Caller['surface'];
    return this.#follow({ principal, surface, session: row.tool_run_id, bound: null }, row, null);
  }

  /** After an answer: carries the call out in the background, where policy says so and nobody waits for it. */
  async carryOnIfUnattended(approval: ApprovalRow): Promise<void> {
    const { store, clock, note } = this.deps;
    try {
      const row = await store.toolRun(approval.tool_run_id);
      if (approval.status !== 'approved' || row?.execute !== 'on_approval') return;
      await clock.sleep(CALLER_FIRST_MS); // who waits for it is first
      if ((await store.toolRun(row.tool_run_id))?.status !== 'approval_required') return;
      const call = await this.carryOn(row.tool_run_id);
      await call.next({ hold_ms: UNATTENDED_MS, signal: new AbortController().signal, for_caller: false });
    } catch (error) {
      note(
        `${approval.tool_run_id} could not be carried on: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  /** An approval as a person is to see it. */
  async view(approvalId: string): Promise<ApprovalView> {
    return await viewApproval(this.deps, approvalId);
  }

  /** Answers an approval; with other arguments, the changed call takes the place of the one that was asked for. */
  async answer(answer: Answer, signal: AbortSignal): Promise<AnswerResult> {
    return await answerApproval(this.deps, this.#catalogue, answer, signal);
  }

  /** Cancels a call: one that waits ends at once, one that runs is asked to stop. Answers what came of it. */
  async cancel(toolRunId: string, why: string, by: string): Promise<'cancelled' | 'stopping' | 'ended'> {
    const { store, secrets } = this.deps;
    const reason = secrets.text(why);
    if (await store.cancelToolRun(toolRunId, 'cancelled', `${by} cancelled it: ${reason}`, by)) return 'cancelled';
    this.#calls.get(toolRunId)?.cancel(`${by} stopped it: ${reason}`);
    return (await store.requestToolCancel(toolRunId, reason, by)) ? 'stopping' : 'ended';
  }

  /** Ends what an attempt left: what waits is cancelled, what runs is stopped and recorded. */
  async closeAttempt(of: {
    readonly run_id: string;
    readonly ordinal: number;
    readonly attempt: number;
  }): Promise<void> {
    const rows = await this.deps.store.toolRunsOf(of.run_id, of.ordinal, of.attempt);
    for (const row of rows.filter(({ finished_at }) => finished_at === null)) {
      const call = this.#calls.get(row.tool_run_id);
      call?.abandon('the attempt has ended');
      await call?.settled().catch(() => undefined); // told when it happened
      await this.deps.store.cancelToolRun(
        row.tool_run_id,
        'cancelled',
        'the attempt ended before the call was made',
        row.principal,
      );
    }
  }

  /** Stops what runs, waits for it to be recorded, and closes the sources. */
  async close(): Promise<void> {
    for (const call of this.#calls.values()) call.cancel('the gateway is closing');
    await Promise.allSettled([...this.#calls.values()].map((call) => call.settled()));
    await this.#catalogue.close();
  }

  /** Without a policy nothing may be called, so nothing is listed; the operator is told why, once. */
  #noPolicy(error: unknown): null {
    const problem = policyProblem(error);
    if (problem !== this.#told) this.deps.note(`no tools are listed: ${problem}`);
    this.#told = problem;
    return null;
  }

  async #record(caller: Caller, prepared: Prepared, rejoin: DecideRequest['rejoin']): Promise<Call> {
    await keepPolicy(this.deps.store, prepared.policy);
    const request = { ...prepared.request(null), rejoin };
    const { run, created } = await this.deps.store.beginToolRun(prepared.run, request);
    const call = this.#follow(caller, run, prepared);
    if (created) call.begin(); // what was there before is carried out by who recorded it
    if (created && run.status === 'approval_required' && caller.bound !== null) this.#simulate(caller.bound, run);
    return call;
  }

  #follow(caller: Caller, row: ToolRunRow, prepared: Prepared | null): Call {
    const known = this.#calls.get(row.tool_run_id);
    if (known !== undefined) return known;
    const call = new Call(this.deps, this.#catalogue, caller, row, prepared);
    if (row.finished_at !== null) return call;
    if (this.#calls.size >= MOST_FOLLOWED) this.sweep();
    this.#calls.set(row.tool_run_id, call);
    return call;
  }

  /** Forgets calls that nobody waits for and that do not run here; who asks for one of them again follows it anew. */
  sweep(): void {
    for (const [id, call] of this.#calls) if (call.idle) this.#calls.delete(id);
  }

  /** In an evaluation the declared operator answers, so that what the agent does after a denial is scored like anything else. */
  #simulate(bound: NonNullable<Caller['bound']>, run: ToolRunRow): void {
    const answer = bound.operator.answer(
      `${run.source}.${run.name}`,
      JSON.parse(run.arguments) as Record<string, unknown>,
    );
    if (answer === null || run.approval_id === null) return;
    const approval_id = run.approval_id;
    const give = async () => {
      if (answer.delay_ms > 0) await this.deps.clock.sleep(answer.delay_ms);
      await this.deps.store.answerApproval({
        approval_id,
        decision: answer.approve ? 'approve' : 'deny',
        principal: SIMULATED_OPERATOR,
        principal_kind: 'service',
        roles: [],
        call_digest: run.call_digest,
        preview_digest: run.arguments_digest, // it is shown nothing but the arguments
        comment: answer.comment,
        surface: 'evaluation',
      });
    };
    give().catch((error: unknown) =>
      this.deps.note(`the simulated operator could not answer ${approval_id}: ${String(error)}`),
    );
  }
}

/** Whether policy asks for calls of this tool at all: only those can be joined. */
function mayAsk({ policy, facts }: Prepared): boolean {
  return (
    policy !== null &&
    (policy.document.default === 'ask' || policy.rulesFor(facts.tool).some(({ effect }) => effect === 'ask'))
  );
}

function isOf(row: ToolRunRow, { principal, bound }: Caller): boolean {
  const where = [bound?.run_id ?? null, bound?.ordinal ?? null, bound?.attempt ?? null];
  return row.principal === principal.id && [row.run_id, row.ordinal, row.attempt].every((at, i) => at === where[i]);
}

/**
 * A client of MCP comes back by asking again, and is told how its call ended. At a terminal, where one was told to come back with `tool show`,
 * who asks again for what expired or was cancelled wants it asked anew.
 */
function canBeJoined(row: ToolRunRow, { surface }: Caller): boolean {
  if (row.reason === 'superseded') return row.edited_into !== null;
  return !(surface === 'cli' && (row.reason === 'approval_expired' || row.reason === 'cancelled'));
}
