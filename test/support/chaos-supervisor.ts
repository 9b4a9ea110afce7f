import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../src/contract/store.ts';
import { endOf, type Running, type StartOptions, startProctor } from './chaos-process.ts';

/** How the workers of one run are disturbed. */
export interface Disturbance {
  readonly workers: number;
  /**
   * So many always stay at work: a kill or stop that would leave fewer waits until another has started. 0 keeps the beat of
   * `kill_every_ms` whatever happens, and hits processes that are still starting too.
   */
  readonly least_working: number;
  /**
   * So many executions end between two kills; 0: whatever ends. Where a machine does little in `kill_every_ms`, one execution would meet kill
   * after kill until its leases are used up, which is the contract and no fault.
   */
  readonly least_ended: number;
  readonly lease_ms: number;
  readonly kill_every_ms: number;
  /** A pseudo-random number in [0, 1); the same sequence gives the same choices. */
  readonly random: () => number;
  /** The run must have ended within this time. */
  readonly limit_ms: number;
  /** Gives up: every worker is killed, and the promise rejects with the reason. */
  readonly signal: AbortSignal;
}

/** What was done to the workers of a run, and what they did that they should not. */
export interface Disturbed {
  readonly kills: number;
  readonly stops: number;
  readonly violations: readonly string[];
}

const LOOK_MS = 20;
const REST_MS = 400; // after a stop: time to write what is too late by now
const _LAST_WORKERS_MS = 60_000;

interface Worker {
  readonly process: Running;
  /** It has opened its session; before that a kill would hit an import. */
  ready: boolean;
  /** Not to be killed before this (monotonic ms): it has just gone on. */
  spared_until: number;
  /** When it is to go on (monotonic ms) while it is stopped. */
  goes_on_at: number | null;
}

/**
 * Runs `proctor worker` processes on a run until it has ended: every `kill_every_ms` one that works dies by SIGKILL and another
 * starts (later where the machine cannot start one as fast as that); again and again one that holds leases is stopped for two to
 * three leases. Then lets the last ones end by themselves.
 */
export async function disturb(
  store: Store,
  runId: string,
  options: StartOptions,
  disturbance: Disturbance,
): Promise<Disturbed> {
  await using stack = new AsyncDisposableStack();
  const supervisor = new Supervisor(store, runId, disturbance, () => {
    const args = ['worker', '--run', runId, '--name', 'chaos', '--lease-ms', String(disturbance.lease_ms)];
    return stack.use(startProctor(args, options));
  });
  return await supervisor.run();
}

class Supervisor {
  readonly #store: Store;
  readonly #runId: string;
  readonly #options: Disturbance;
  readonly #start: () => Running;
  readonly #violations: string[] = [];
  #workers: Worker[] = [];
  #kills = 0;
  #endedAtKill = 0;
  #stops = 0;
  #stopDue = 0;

  constructor(store: Store, runId: string, options: Disturbance, start: () => Running) {
    this.#store = store;
    this.#runId = runId;
    this.#options = options;
    this.#start = start;
  }

  async run(): Promise<Disturbed> {
    const { workers, kill_every_ms, limit_ms } = this.#options;
    const started = performance.now();
    for (let index = 0; index < workers; index += 1) this.#add();
    let due = started + kill_every_ms;
    while (!(await this.#ended())) {
      this.#options.signal.throwIfAborted();
      const now = performance.now();
      if (now - started > limit_ms) {
        this.#violations.push(`the run has not ended within ${limit_ms} ms`);
        break;
      }
      this.#goOn(now);
      await this.#lookAround();
      if (now >= due && (await this.#wentOn()) && this.#killOne(now)) {
        due = now + kill_every_ms;
        this.#endedAtKill = await this.#endedExecutions();
      }
      await this.#stopOne(now);
      await sleep(LOOK_MS);
    }
    await this.#letEnd();
    return { kills: this.#kills, stops: this.#stops, violations: this.#violations };
  }

  #add(): void {
    this.#workers.push({ process: this.#start(), ready: false, spared_until: 0, goes_on_at: null });
  }

  async #ended(): Promise<boolean> {
    return (await this.#store.run(this.#runId))?.finished_at != null;
  }

  async #endedExecutions(): Promise<number> {
    return this.#options.least_ended === 0 ? 0 : (await this.#store.rowCounts(this.#runId)).result;
  }

  /** Whether enough has been done since the last kill. */
  async #wentOn(): Promise<boolean> {
    return (await this.#endedExecutions()) - this.#endedAtKill >= this.#options.least_ended;
  }

  /** Notes who has opened a session by now, and that nobody left before the end of the run. */
  async #lookAround(): Promise<void> {
    const sessions = new Set((await this.#store.liveSessions(0)).map((session) => session.pid));
    for (const worker of this.#workers) {
      worker.ready ||= sessions.has(worker.process.pid);
      const exit = worker.process.ended();
      if (exit === null || (await this.#ended())) continue;
      this.#violations.push(
        `a worker ended by itself with ${exit.signal ?? exit.code}: ${worker.process.stderr().slice(-1_000)}`,
      );
      this.#workers = this.#workers.filter((other) => other !== worker);
      this.#add();
    }
  }

  /** Those that work right now: a session is open, and they are not stopped. */
  #working(): Worker[] {
    return this.#workers.filter(
      (worker) => worker.ready && worker.goes_on_at === null && worker.process.ended() === null,
    );
  }

  /** Kills one and starts another in its place; false while that would leave fewer than the least at work. */
  #killOne(now: number): boolean {
    const { least_working, random } = this.#options;
    const working = this.#working();
    if (least_working > 0 && working.length <= least_working) return false;
    const hit = least_working > 0 ? working : this.#workers.filter((worker) => worker.goes_on_at === null);
    const victims = hit.filter((worker) => worker.process.ended() === null && now >= worker.spared_until);
    const victim = victims[Math.floor(random() * victims.length)];
    if (victim === undefined) return false;
    victim.process.kill('SIGKILL');
    this.#kills += 1;
    this.#workers = this.#workers.filter((worker) => worker !== victim);
    this.#add();
    return true;
  }

  /** Stops one that holds leases, one at a time, with a lease time in between. */
  async #stopOne(now: number): Promise<void> {
    const { lease_ms, least_working, random } = this.#options;
    const working = this.#working();
    if (now < this.#stopDue || working.length < least_working) return;
    const holders = new Set((await this.#store.holders(this.#runId)).map((holder) => holder.pid));
    const held = working.filter((worker) => holders.has(worker.process.pid));
    const chosen = held[Math.floor(random() * held.length)];
    if (chosen === undefined) return;
    chosen.process.kill('SIGSTOP');
    this.#stops += 1;
    chosen.goes_on_at = performance.now() + lease_ms * (2 + random());
    this.#stopDue = chosen.goes_on_at + lease_ms;
  }

  #goOn(now: number): void {
    for (const worker of this.#workers) {
      if (worker.goes_on_at === null || now < worker.goes_on_at) continue;
      worker.process.kill('SIGCONT');
      worker.goes_on_at = null;
      worker.spared_until = now + REST_MS;
    }
  }

  /** The run has ended: a worker that was stopped goes on and writes too late, and every one ends by itself with exit code 0. */
  async #letEnd(): Promise<void> {
    this.#goOn(Number.POSITIVE_INFINITY);
    for (const { process } of this.#workers) {
      const exit = await endOf(process).catch((error: Error) => error);
      if (exit instanceof Error) this.#violations.push(`a worker stayed after the run: ${exit.message}`);
      else if (exit.code !== 0)
        this.#violations.push(`a worker ended with ${exit.signal ?? exit.code}: ${process.stderr().slice(-1_000)}`);
    }
  }
}
