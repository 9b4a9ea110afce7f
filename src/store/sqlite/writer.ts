import { ProctorError } from '../../contract/problem.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Connection, SQLITE_BUSY, sqliteCode, storeError } from './connection.ts';
import type { Schedule } from './schedule.ts';
import { Transaction } from './transaction.ts';

interface Job {
  readonly run: (tx: Transaction) => unknown;
  readonly ending: boolean;
  readonly patient: boolean;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** How urgent a job is. */
export interface WriteOptions {
  /** Whether the job ends an attempt: only those count towards the size of a transaction. */
  readonly ending?: boolean;
  /** Whether nobody stands still until the job is done, so that it may wait for others to share its flush; unsaid: as `ending`. */
  readonly patient?: boolean;
  /** Where no transaction is under way, its own begins at once and does not gather what others write in the turn. */
  readonly prompt?: boolean;
}

/** What a writer needs besides its connection. */
export interface WriterOptions {
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly location: string;
  /** Give up waiting for the lock after this long. */
  readonly busy_limit_ms: number;
  /** True when other processes have the file open, so that a commit must leave them room. */
  readonly shared: () => boolean;
  /** A transaction was rolled back: what was read in it may never have been. */
  readonly rolled_back: () => void;
  /** A transaction was committed: throws when nobody will find it, because the file is not there any more. */
  readonly committed: () => void;
}

/** What the writer has seen, for `doctor` and the benchmarks. */
export interface WriterStatistics {
  commits: number;
  jobs: number;
  busy: number;
  /** Longest wait of a job for the lock, ms. */
  longest_wait_ms: number;
}

const MOST_ENDINGS = 64; // executions in one transaction; the claim that follows them must not split the group
const MOST_JOBS = 128;
const COMPANY_MS = 5; // that a job may wait for others while nobody stands still
const MOST_MS = 20; // of work in one transaction, so that the event loop is never held for 50 ms

/**
 * All writes of this process: the jobs of one event-loop turn share one `BEGIN IMMEDIATE … COMMIT` (group commit), so that
 * a flush is paid once. A job that throws does not void its neighbours: the group is rolled back and its jobs run one by
 * one. Waiting for another process' lock is a jittered pause off the event loop.
 */
export class Writer {
  readonly statistics: WriterStatistics = { commits: 0, jobs: 0, busy: 0, longest_wait_ms: 0 };
  readonly #connection: Connection;
  readonly #options: WriterOptions;
  #queue: Job[] = [];
  #running: Promise<void> | null = null;
  #closed = false;
  #hurry: () => void = () => undefined;

  constructor(connection: Connection, options: WriterOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** Runs the job in the next transaction; resolves when it is durable. */
  write<T>(
    run: (tx: Transaction) => T,
    { ending = false, patient = ending, prompt = false }: WriteOptions = {},
  ): Promise<T> {
    if (this.#closed) return Promise.reject(new ProctorError('store_failed', 'the store is closed'));
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ run, ending, patient, resolve: resolve as (value: never) => void, reject });
      if (!patient || this.#queue.length === MOST_ENDINGS) this.#hurry();
      this.#running ??= this.#drain(prompt);
    });
  }

  /** Lets what was asked for finish, then refuses more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#hurry();
    await this.#running;
  }

  async #drain(prompt: boolean): Promise<void> {
    try {
      await (prompt ? undefined : nextTurn()); // gather the turn
      while (this.#queue.length > 0) {
        if (this.#queue.length < MOST_ENDINGS && this.#queue.every((job) => job.patient)) await this.#company();
        const jobs = this.#group();
        const taken = await this.#commit(jobs);
        this.#queue.splice(0, taken);
        await nextTurn(); // answers go out and new jobs come in before the next group
      }
    } catch (error) {
      // Nothing of a job throws to here; what does (a lost file under the roll-back) must not leave callers waiting for ever.
      for (const job of this.#queue.splice(0)) job.reject(storeError(error, this.#options.location));
    } finally {
      this.#running = null;
    }
  }

  /** Waits for more jobs to share a flush with, but not long, and not once somebody stands still. */
  async #company(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, COMPANY_MS);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#hurry = () => undefined;
  }

  /** The jobs of the next transaction, from the front of the queue. */
  #group(): Job[] {
    let endings = 0;
    const jobs: Job[] = [];
    for (const job of this.#queue) {
      endings += job.ending ? 1 : 0;
      if (endings > MOST_ENDINGS || jobs.length === MOST_JOBS) break;
      jobs.push(job);
    }
    return jobs;
  }

  /** Commits a prefix of the jobs and settles them; answers how many. */
  async #commit(jobs: readonly Job[]): Promise<number> {
    try {
      await this.#begin();
    } catch (error) {
      for (const job of jobs) job.reject(error);
      return jobs.length;
    }
    const started = performance.now();
    const results: unknown[] = [];
    try {
      const tx = new Transaction(this.#connection, this.#options.schedule.advance());
      for (const job of jobs) {
        results.push(job.run(tx));
        if (performance.now() - started > MOST_MS) break;
      }
      tx.flush();
      this.#connection.db.exec('commit');
    } catch (error) {
      this.#rollback();
      if (jobs.length > 1) {
        // One of them failed: each on its own, so that only that one is refused.
        for (const job of jobs) await this.#commit([job]);
      } else jobs[0]?.reject(storeError(error, this.#options.location));
      return jobs.length;
    }
    this.statistics.commits += 1;
    this.statistics.jobs += results.length;
    this.#settle(jobs, results);
    // A process that locks again at once starves the others, who can only poll: leave the file free for about as long as it was held.
    if (this.#options.shared())
      await this.#options.clock.sleep(1 + (performance.now() - started) * (0.5 + Math.random()));
    return results.length;
  }

  /** Answers the jobs whose results were committed, if they were committed to where they will be looked for. */
  #settle(jobs: readonly Job[], results: readonly unknown[]): void {
    try {
      this.#options.committed();
    } catch (error) {
      for (const job of jobs.slice(0, results.length)) job.reject(error);
      return;
    }
    results.forEach((result, index) => {
      jobs[index]?.resolve(result as never);
    });
  }

  async #begin(): Promise<void> {
    const asked = performance.now();
    for (let pause = 1; ; pause = Math.min(pause * 1.5, 8)) {
      try {
        this.#connection.db.exec('begin immediate');
        const waited = performance.now() - asked;
        if (waited > this.statistics.longest_wait_ms) this.statistics.longest_wait_ms = waited;
        return;
      } catch (error) {
        if (sqliteCode(error) !== SQLITE_BUSY || performance.now() - asked > this.#options.busy_limit_ms)
          throw storeError(error, this.#options.location);
        this.statistics.busy += 1;
        await this.#options.clock.sleep(pause * (0.5 + Math.random()));
      }
    }
  }

  #rollback(): void {
    if (this.#connection.db.isTransaction) this.#connection.db.exec('rollback');
    this.#options.rolled_back();
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
