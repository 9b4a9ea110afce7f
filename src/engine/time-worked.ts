import type { RunRow, Store } from '../contract/store.ts';
import type { Clock } from '../lib/clock.ts';

const WRITE_EVERY_MS = 1_000;

/** What this process has seen of a run: when it looked last, and what it has not written down yet. */
interface Seen {
  readonly at: number;
  readonly unwritten: number;
}

/**
 * How long runs are worked on, for their time limits: the time between two looks of the same worker at a run that its breaker has not stopped.
 * So it needs no clock but the monotonic one of this process, and what lies between two lives of workers is not in it.
 */
export class TimeWorked {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #seen = new Map<string, Seen>();

  /** A worker that was stopped for longer than a lease holds nothing any more: it worked for a lease at most. */
  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }, leaseMs: number) {
    this.#store = store;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** Forgets runs that are worked on no more. */
  keep(runs: readonly RunRow[]): void {
    const ids = new Set(runs.map(({ run_id }) => run_id));
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
  }

  /** Looks at a run: true when it was worked on for longer than `limit` ms. */
  async over(runId: string, limit: number): Promise<boolean> {
    const at = this.#clock.monotonic();
    const paused = (await this.#store.breaker(runId)) !== null;
    const before = this.#seen.get(runId) ?? { at, unwritten: 0 };
    const unwritten = before.unwritten + (paused ? 0 : Math.min(at - before.at, this.#leaseMs));
    this.#seen.set(runId, { at, unwritten });
    const due = paused || unwritten >= WRITE_EVERY_MS || (await this.#store.timeWorked(runId)) + unwritten > limit;
    if (unwritten === 0 || !due) return !paused && (await this.#store.timeWorked(runId)) > limit;
    this.#seen.set(runId, { at, unwritten: 0 });
    return (await this.#store.countWork(runId, unwritten)) > limit;
  }
}
