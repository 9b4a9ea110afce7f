import { setImmediate } from 'node:timers/promises';
import { ProctorError } from '../contract/problem.ts';
import type { ApprovalRow, DecideRequest, ToolRunRow } from '../contract/store.ts';
import type { ToolOutput } from '../contract/tool.ts';
import type { Catalogue } from './catalogue.ts';
import { Conversation, type Listener, type Question } from './conversation.ts';
import { carryOut } from './invoke.ts';
import { keepPolicy } from './keep-policy.ts';
import { mostShown, shownOutput } from './output.ts';
import type { Caller, GatewayDeps } from './ports.ts';
import { type Prepared, prepare, requestOf } from './prepare.ts';

/** What a call has come to when a caller's patience ends: its end, what it waits for, or questions of the tool. */
export type Leg =
  | { readonly type: 'done'; readonly run: ToolRunRow; readonly output: ToolOutput | null }
  | { readonly type: 'pending'; readonly run: ToolRunRow; readonly approval: ApprovalRow | null }
  | { readonly type: 'questions'; readonly run: ToolRunRow; readonly questions: readonly Question[] };

/** How long a caller waits, and what it wants to hear meanwhile. */
export interface Patience {
  readonly hold_ms: number;
  /** How long once the call is being made; default: as long as before. Who cannot come back for an outcome has to wait for it. */
  readonly running_ms?: number;
  readonly signal: AbortSignal;
  readonly listener?: Listener;
  /** False: who follows is not the caller, for whom the outcome is kept; unsaid: true. */
  readonly for_caller?: boolean;
}

const POLL_MS = 100;
const ELSEWHERE_POLL_MS = 200;
const CANCEL_POLL_MS = 500;

/** One call as this process follows it: it waits for the approval, carries the call out once it may, and hands over how it ended. */
export class Call {
  readonly caller: Caller;
  readonly #deps: GatewayDeps;
  readonly #catalogue: Catalogue;
  readonly #conversation = new Conversation();
  readonly #stop = new AbortController();
  #row: ToolRunRow;
  /** What a person changed into the call that is followed now: handed over with its outcome. */
  readonly #changed: string[] = [];
  #prepared: Prepared | null;
  #execution: Promise<void> | null = null;
  readonly #followed = Promise.withResolvers<void>();
  #abandoned = false;
  #waiters = 0;

  constructor(deps: GatewayDeps, catalogue: Catalogue, caller: Caller, row: ToolRunRow, prepared: Prepared | null) {
    this.#deps = deps;
    this.#catalogue = catalogue;
    this.caller = caller;
    this.#row = row;
    this.#prepared = prepared;
  }

  get tool_run_id(): string {
    return this.#row.tool_run_id;
  }

  /** True while this process carries the call out. */
  get running(): boolean {
    return this.#execution !== null && this.#row.finished_at === null;
  }

  /** True when nobody waits for the call and nothing of it runs here: another follower may take it up. */
  get idle(): boolean {
    return this.#waiters === 0 && !this.running;
  }

  /** Carries out what was dispatched when it was recorded: for who recorded it, and nobody else. */
  begin(): void {
    if (this.#row.status === 'started' && this.#row.dispatched_at !== null) this.#execute();
  }

  /** Follows the call until it has ended, a question is asked, the patience ends or the caller goes away. */
  async next({ hold_ms, running_ms = hold_ms, signal, listener, for_caller = true }: Patience): Promise<Leg> {
    const started = this.#deps.clock.monotonic();
    const leftNow = () =>
      started + (this.#row.dispatched_at === null ? hold_ms : running_ms) - this.#deps.clock.monotonic();
    this.#conversation.listen(listener ?? null);
    this.#followed.resolve();
    const gone = () => this.cancel('the caller went away');
    signal.addEventListener('abort', gone, { once: true });
    this.#waiters += 1;
    try {
      for (;;) {
        if (this.#row.finished_at !== null && (await this.#followEdit())) continue;
        if (this.#row.finished_at !== null) return await this.#done(for_caller && !signal.aborted);
        const { questions } = this.#conversation;
        if (questions.length > 0) return { type: 'questions', run: this.#row, questions };
        const left = leftNow();
        if (this.#execution !== null) await this.#whileRunning(Math.max(0, left), signal);
        else if (!signal.aborted && (await this.#mayRun(signal))) {
          this.#execute();
          if (signal.aborted) gone(); // it came while the approval was used
        } else if (this.#row.finished_at === null && left > 0)
          await this.#pause(Math.min(left, this.#row.dispatched_at === null ? POLL_MS : ELSEWHERE_POLL_MS), signal);
        if (signal.aborted || (this.#row.finished_at === null && leftNow() <= 0))
          return await this.#waiting(for_caller && !signal.aborted);
      }
    } finally {
      this.#waiters -= 1;
      signal.removeEventListener('abort', gone);
      this.#conversation.unlisten(listener);
    }
  }

  /** Answers a question of the tool. */
  answer(id: string, value: unknown): boolean {
    return this.#conversation.answer(id, value);
  }

  /** Hands in an answer before the question: the caller knows what the tool will ask. */
  offer(id: string, value: unknown): void {
    this.#conversation.offer(id, value);
  }

  /** Stops the call where this process carries it out. */
  cancel(why: string): void {
    if (this.#execution !== null) this.#stop.abort(new Error(why));
  }

  /** Nobody will come for the outcome any more: from now on it is handed to nobody. */
  abandon(why: string): void {
    this.#abandoned = true;
    this.cancel(why);
  }

  /** Resolves when nothing of the call runs in this process any more. */
  async settled(): Promise<void> {
    await this.#execution;
  }

  /** A person may have changed the call into another: that one is followed then. */
  async #followEdit(): Promise<boolean> {
    const changed = this.#row;
    if (changed.reason !== 'superseded' || changed.edited_into === null) return false;
    const next = await this.#deps.store.toolRun(changed.edited_into);
    if (this.#row !== changed) return true; // another who follows it was first
    if (next === null) return false;
    if (changed.delivered_at === null) this.#changed.push(changed.tool_run_id);
    this.#row = next;
    this.#prepared = null;
    return true;
  }

  /** True when the approval was given and this process is the one that uses it. */
  async #mayRun(signal: AbortSignal): Promise<boolean> {
    const { store } = this.#deps;
    await this.#look();
    if (this.#row.status !== 'approval_required' || this.#row.approval_id === null) return false;
    const approval = await store.approval(this.#row.approval_id);
    if (approval === null) return false;
    await store.expireApprovals(100);
    if (approval.status !== 'approved') {
      await this.#look();
      return false;
    }
    const roles = this.#deps.rolesOf(approval.decided_by ?? '');
    const request = await this.#decidedAnew({ approval, roles: this.caller.bound === null ? roles : [] });
    if (signal.aborted) return false; // the approval stays for who comes back
    const won = await store.consumeApproval(this.#row.tool_run_id, request);
    await this.#look();
    return won;
  }

  /** The decision by what holds now: the policy, and the tool as its source shows it at this moment. */
  async #decidedAnew(answered: Parameters<Prepared['request']>[0]): Promise<DecideRequest> {
    this.#catalogue.forget(this.#row.source);
    this.#prepared = null;
    const prepared = await this.#prepare();
    await keepPolicy(this.#deps.store, prepared.policy);
    const request = prepared.request(answered);
    // Not the call that was approved: its tool has another definition by now, whatever is pinned.
    const other = prepared.tool !== null && prepared.run.call_digest !== this.#row.call_digest;
    return other ? { ...request, decide: (facts) => request.decide({ ...facts, pinned: false }) } : request;
  }

  async #prepare(): Promise<Prepared> {
    this.#prepared ??= await prepare(this.#deps, this.#catalogue, this.caller, requestOf(this.#row), this.#stop.signal);
    return this.#prepared;
  }

  #execute(): void {
    this.#execution ??= this.#run().catch((error: unknown) => {
      this.#deps.note(
        `${this.#row.tool_run_id} could not be recorded: ${error instanceof Error ? error.message : String(error)}`,
      );
      throw error;
    });
    this.#execution.catch(() => undefined); // `next` and `settled` tell of it
  }

  async #run(): Promise<void> {
    const prepared = await this.#prepare();
    if (prepared.tool === null) throw new ProctorError('internal', 'a call of an unknown tool was dispatched');
    this.#conversation.relay = prepared.tool.source.options.relay;
    await Promise.race([this.#followed.promise, setImmediate()]); // who has made the call says first what it can answer and wants to hear
    using _watch = this.#watchForCancel();
    const end = await carryOut(this.#deps, this.#catalogue, {
      run: this.#row,
      tool: prepared.tool,
      arguments: prepared.arguments.value,
      timeout_ms: Math.min(this.#row.timeout_ms ?? Number.POSITIVE_INFINITY, prepared.tool.timeout_ms),
      max_output_bytes: mostShown(this.#row, this.#deps.sources),
      conversation: this.#conversation,
      signal: this.#stop.signal,
    });
    const finished_at = await this.#deps.store.finishToolRun(end);
    if (finished_at === null) return await this.#look();
    const { session_id: _own, error, ...columns } = end;
    this.#row = { ...this.#row, ...columns, error: error === null ? null : JSON.stringify(error), finished_at };
  }

  /** Another process may ask for the call to be stopped. */
  #watchForCancel(): Disposable {
    const timer = setInterval(() => {
      this.#deps.store.toolCancelRequested(this.#row.tool_run_id).then(
        (asked) => {
          if (asked !== null) this.cancel(`${asked.by} stopped it: ${asked.reason}`);
        },
        () => undefined, // the store is asked again, and the write at the end tells if it is lost
      );
    }, CANCEL_POLL_MS);
    timer.unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  async #whileRunning(left: number, signal: AbortSignal): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let gone: () => void = () => undefined;
    const patience = new Promise<void>((resolve) => {
      gone = resolve;
      timer = setTimeout(resolve, Math.min(left, 2_147_483_647));
      signal.addEventListener('abort', gone, { once: true });
    });
    await Promise.race([this.#execution, patience, this.#conversation.whenAsked()]);
    clearTimeout(timer);
    signal.removeEventListener('abort', gone); // a signal may live as long as its process
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#deps.clock.sleep(ms, signal).catch(() => undefined); // an abort is looked at by the loop
  }

  async #look(): Promise<void> {
    this.#row = (await this.#deps.store.toolRun(this.#row.tool_run_id)) ?? this.#row;
  }

  async #waiting(for_caller: boolean): Promise<Leg> {
    if (this.#row.finished_at !== null) return await this.#done(for_caller);
    const { approval_id } = this.#row;
    return {
      type: 'pending',
      run: this.#row,
      approval: approval_id === null ? null : await this.#deps.store.approval(approval_id),
    };
  }

  async #done(delivers: boolean): Promise<Leg> {
    const output = await shownOutput(this.#row, this.#deps);
    const { decision, delivered_at, tool_run_id } = this.#row;
    const asked = decision === 'ask' && delivered_at === null ? [tool_run_id] : [];
    if (delivers && !this.#abandoned)
      for (const id of [...this.#changed.splice(0), ...asked]) await this.#deps.store.deliverToolRun(id);
    return { type: 'done', run: this.#row, output };
  }
}
