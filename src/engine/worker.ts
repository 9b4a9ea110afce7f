import { type ErrorCode, ProctorError } from '../contract/problem.ts';
import type { Claim, Fence, RunRow } from '../contract/store.ts';
import { MAX_LEASE_LOSSES } from '../core/decide.ts';
import { thisProcess } from '../lib/host.ts';
import { newId } from '../lib/id.ts';
import { cancelledEnding, type Ending, executeAttempt, LeaseLost } from './attempt.ts';
import type { AttemptDeps, AttemptTaken } from './attempt-work.ts';
import { keepHouse } from './housekeeping.ts';
import { RunContext } from './run-context.ts';
import { ClaimAhead, Slots } from './slots.ts';

/** How a worker works and for which runs. */
export interface WorkerOptions {
  /** The worker's name for people. */
  readonly name: string;
  /** Only these runs, until they end; null = whatever may run, until stopped. */
  readonly run_ids: readonly string[] | null;
  /** Most executions at once in this process. */
  readonly concurrency: number;
  readonly lease_ms: number;
  /** Overrides the folder that a run was created in, for its code and relative paths. */
  readonly base_dir: string | null;
  /** Stop taking work and let what is held finish, within `drain_ms`. */
  readonly drain: AbortSignal;
  readonly drain_ms: number;
  /** Tells of things a person should know: a run that this worker cannot serve, a store that is busy. */
  readonly notice: (message: string) => void;
}

const IDLE_MS = 200; // between looks when there is nothing to claim
const WRITES_AHEAD = 256; // writes that may wait for their commit before no more work is started

class RunCancelled extends Error {}
class Draining extends Error {}

/** One life of a worker: claims, executes, writes under the fence, keeps the house, leaves nothing behind when it drains. */
export class Worker {
  readonly session_id: string;
  readonly #deps: AttemptDeps;
  readonly #options: WorkerOptions;
  readonly #slots: Slots;
  readonly #ahead = new ClaimAhead();
  readonly #held = new Map<string, { claim: Claim; control: AbortController }>();
  readonly #contexts = new Map<string, RunContext>();
  readonly #refused = new Set<string>();
  readonly #stop = new AbortController();
  #wake: () => void = () => undefined;
  #writes = 0;
  #fatal: unknown = null;

  constructor(deps: AttemptDeps, options: WorkerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#slots = new Slots(options.concurrency);
    this.session_id = newId('wse', deps.clock.now());
  }

  /** Works until its runs have ended or it is drained; rejects when the store fails or a run that was asked for cannot be served. */
  async run(): Promise<void> {
    const { store } = this.#deps;
    await store.openSession({ ...thisProcess(), session_id: this.session_id, worker: this.#options.name });
    const onDrain = () => this.#wake();
    this.#options.drain.addEventListener('abort', onDrain, { once: true });
    const beat = this.#heartbeats();
    const house = keepHouse(this.#deps, {
      ...this.#options,
      session_id: this.session_id,
      signal: this.#stop.signal,
      changed: () => this.#wake(),
      failed: (error) => this.#fail(error),
      cancelled: (id) => this.#cancel(id),
      sharers: (count) => {
        for (const context of this.#contexts.values()) context.shareRate(count);
      },
    });
    try {
      await this.#loop();
      await this.#drain();
    } finally {
      this.#options.drain.removeEventListener('abort', onDrain);
      this.#stop.abort(new Draining());
      for (const { control } of this.#held.values()) control.abort(new Draining());
      await Promise.all([beat, house]);
      for (const context of this.#contexts.values()) await context[Symbol.asyncDispose]();
      if (this.#fatal === null) await store.closeSession(this.session_id);
    }
    if (this.#fatal !== null) throw this.#fatal;
  }

  async #loop(): Promise<void> {
    while (this.#fatal === null && !this.#options.drain.aborted) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const claimed = await this.#claim();
      if (claimed === 0 && this.#held.size === 0 && (await this.#ended())) return;
      // Enough in hand, or nothing to take: wait for a change, but look again by itself.
      if (this.#room() === 0 || claimed === 0) await this.#pause(woken);
    }
  }

  async #claim(): Promise<number> {
    const capacity = this.#room();
    const run_ids = await this.#serve();
    if (capacity === 0 || run_ids.length === 0) return 0;
    const { session_id } = this;
    const asked = this.#deps.clock.monotonic();
    try {
      const claims = await this.#deps.store.claim({
        session_id,
        run_ids,
        capacity,
        ahead: 2 * this.#enough(),
        lease_ms: this.#options.lease_ms,
        max_losses: MAX_LEASE_LOSSES,
      });
      if (claims.length > 0) this.#ahead.claimed(this.#deps.clock.monotonic() - asked);
      for (const claim of claims) void this.#work(claim);
      return claims.length;
    } catch (error) {
      this.#fail(error);
      return 0;
    }
  }

  /** Runs whose context is open here; opens those that are new. */
  async #serve(): Promise<string[]> {
    const { run_ids } = this.#options;
    if (run_ids?.every((id) => this.#contexts.has(id))) return [...run_ids];
    const active = await this.#deps.store.activeRuns();
    await this.#close(active);
    for (const run of active) {
      if (
        this.#contexts.has(run.run_id) ||
        this.#refused.has(run.run_id) ||
        (run_ids !== null && !run_ids.includes(run.run_id))
      )
        continue;
      await this.#open(run);
    }
    return [...this.#contexts.keys()];
  }

  /** Lets go of what runs that have ended had open here: a worker may serve run after run for ever. */
  async #close(active: readonly RunRow[]): Promise<void> {
    const needed = new Set([...active, ...[...this.#held.values()].map(({ claim }) => claim)].map((of) => of.run_id));
    for (const [runId, context] of this.#contexts) {
      if (needed.has(runId)) continue;
      this.#contexts.delete(runId);
      await context[Symbol.asyncDispose]();
    }
  }

  async #open(run: RunRow): Promise<void> {
    try {
      this.#contexts.set(
        run.run_id,
        await RunContext.open(this.#deps, run, this.#options.base_dir ?? run.base_dir, this.#options.concurrency),
      );
    } catch (error) {
      const broken: readonly ErrorCode[] = ['artifact_missing', 'artifact_corrupt', 'store_altered'];
      if (ProctorError.is(error) && broken.includes(error.code))
        await this.#deps.store.failRun(run.run_id, this.#deps.plugins.redaction.text(error.message));
      if (this.#options.run_ids !== null) throw error;
      this.#refused.add(run.run_id);
      this.#options.notice(
        `run ${run.run_id} is left to other workers: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  async #work(claim: Claim): Promise<void> {
    const { store } = this.#deps;
    const key = `${claim.run_id}/${claim.ordinal}/${claim.attempt}`;
    const context = this.#contexts.get(claim.run_id);
    const control = new AbortController();
    const taken: AttemptTaken = {};
    this.#held.set(key, { claim, control });
    try {
      if (context === undefined) throw new Error(`run ${claim.run_id} is not open here`);
      const ending = await this.#execute(context, claim, control, taken);
      this.#held.delete(key); // from here on the slot is free: the claim that fills it shares the write's commit
      await this.#write(() =>
        ending.type === 'complete' ? store.complete(ending.completion) : store.fail(ending.retry),
      );
    } catch (error) {
      this.#held.delete(key);
      if (error instanceof RunCancelled) await this.#write(() => store.complete(cancelledEnding(claim, taken)));
      else if (error instanceof Draining) await this.#write(() => store.release(claim, taken.spend));
      else if (!(error instanceof LeaseLost)) this.#fail(error);
    }
    this.#wake();
  }

  async #execute(context: RunContext, claim: Claim, control: AbortController, taken: AttemptTaken): Promise<Ending> {
    await this.#slots.take(claim.run_id, context.concurrency, control.signal);
    const started = this.#deps.clock.monotonic();
    try {
      return await executeAttempt(this.#deps, context, claim, control, taken);
    } finally {
      this.#ahead.worked(this.#deps.clock.monotonic() - started);
      this.#slots.leave(claim.run_id);
    }
  }

  async #write(write: () => Promise<unknown>): Promise<void> {
    this.#writes += 1;
    this.#wake();
    try {
      await write();
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#writes -= 1;
    }
  }

  #room(): number {
    const enough = this.#enough();
    if (this.#writes >= WRITES_AHEAD || this.#slots.waiting > enough) return 0;
    return Math.max(0, this.#options.concurrency + 2 * enough - this.#held.size);
  }

  /** How many executions should wait for a slot: the runs' own concurrency may leave fewer slots than this process has. */
  #enough(): number {
    let most = 0;
    for (const { concurrency } of this.#contexts.values()) most += concurrency;
    return this.#ahead.enough(Math.min(this.#options.concurrency, most));
  }

  async #pause(woken: Promise<void>): Promise<void> {
    const timer = setTimeout(() => this.#wake(), IDLE_MS);
    await woken;
    clearTimeout(timer);
  }

  /** True when the runs that were asked for have all ended or were stopped by their breakers; a worker without a list goes on for ever. */
  async #ended(): Promise<boolean> {
    const { run_ids } = this.#options;
    if (run_ids === null) return false;
    for (const { run_id } of await this.#deps.store.activeRuns())
      if (run_ids.includes(run_id) && (await this.#deps.store.breaker(run_id)) === null) return false;
    return true;
  }

  /** Lets the attempts in hand finish within the drain time, then gives the rest back. */
  async #drain(): Promise<void> {
    this.#slots.refuse(new Draining());
    const until = this.#deps.clock.monotonic() + (this.#fatal === null ? this.#options.drain_ms : 0);
    while ((this.#held.size > 0 || this.#writes > 0) && this.#fatal === null && this.#deps.clock.monotonic() < until) {
      await this.#pause(
        new Promise<void>((resolve) => {
          this.#wake = resolve;
        }),
      );
    }
    for (const { control } of this.#held.values()) control.abort(new Draining());
    while ((this.#held.size > 0 || this.#writes > 0) && this.#fatal === null) await this.#deps.clock.sleep(10);
  }

  async #heartbeats(): Promise<void> {
    const { lease_ms } = this.#options;
    let beat = this.#deps.clock.monotonic();
    while (!this.#stop.signal.aborted) {
      await this.#deps.clock
        .sleep((lease_ms / 3) * (0.9 + 0.2 * Math.random()), this.#stop.signal)
        .catch(() => undefined); // the stop ends the loop
      if (this.#stop.signal.aborted) return;
      const asked = this.#deps.clock.monotonic();
      try {
        const fences = [...this.#held.values()].map(({ claim }) => claim);
        const answer = await this.#deps.store.heartbeat(this.session_id, lease_ms, fences);
        await this.#deps.artifacts.confirm();
        for (const fence of answer.lost) this.#abort(fence, new LeaseLost());
        for (const runId of answer.cancelled_runs) this.#cancel(runId);
        beat = asked;
      } catch (error) {
        // The store is out of reach: what is held may be taken once the lease has passed, so stop working on it then. One that is lost
        // does not come back.
        const lost = ProctorError.is(error) && error.code === 'store_lost';
        if (lost || this.#deps.clock.monotonic() - beat > lease_ms) this.#fail(error);
      }
    }
  }

  #cancel(runId: string): void {
    for (const { claim } of this.#held.values()) if (claim.run_id === runId) this.#abort(claim, new RunCancelled());
  }

  #abort(fence: Fence, reason: unknown): void {
    this.#held.get(`${fence.run_id}/${fence.ordinal}/${fence.attempt}`)?.control.abort(reason);
  }

  #fail(error: unknown): void {
    this.#fatal ??= error;
    this.#stop.abort(error);
    for (const { control } of this.#held.values()) control.abort(error);
    this.#wake();
  }
}
