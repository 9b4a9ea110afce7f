/** The slots of one worker: how many executions run at once, in all and of each run. What finds none free waits in order. */
export class Slots {
  readonly #most: number;
  readonly #taken = new Map<string, number>();
  readonly #waiting: Waiting[] = [];
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Executions that wait for a slot. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Takes a slot, at once or when one is free; `most` is how many the run may have. Rejects with the signal's reason. */
  async take(runId: string, most: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free(runId, most)) return this.#occupy(runId);
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal.reason);
      };
      const waiting: Waiting = {
        runId,
        most,
        refuse: (reason) => {
          signal.removeEventListener('abort', giveUp);
          reject(reason);
        },
        go: () => {
          signal.removeEventListener('abort', giveUp);
          this.#occupy(runId);
          resolve();
        },
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(waiting);
    });
  }

  /** Gives a slot back and starts what waited longest and may start now. */
  leave(runId: string): void {
    this.#running -= 1;
    const left = (this.#taken.get(runId) ?? 0) - 1;
    if (left > 0) this.#taken.set(runId, left);
    else this.#taken.delete(runId); // a worker that serves run after run for ever keeps nothing of those that ended
    const next = this.#waiting.findIndex((waiting) => this.#free(waiting.runId, waiting.most));
    if (next >= 0) this.#waiting.splice(next, 1)[0]?.go();
  }

  /** Refuses all that wait. */
  refuse(reason: unknown): void {
    for (const waiting of this.#waiting.splice(0)) waiting.refuse(reason);
  }

  #free(runId: string, most: number): boolean {
    return this.#running < this.#most && (this.#taken.get(runId) ?? 0) < most;
  }

  #occupy(runId: string): void {
    this.#running += 1;
    this.#taken.set(runId, (this.#taken.get(runId) ?? 0) + 1);
  }
}

interface Waiting {
  readonly runId: string;
  readonly most: number;
  readonly go: () => void;
  readonly refuse: (reason: unknown) => void;
}

/**
 * How many executions a worker claims ahead, so that a slot that falls free need not wait for a claim to be committed: as
 * many as end while a claim is under way (Little's law). None where executions take less time than a claim: there the store
 * is what limits, and none where not one would end meanwhile.
 */
export class ClaimAhead {
  #claimMs = 0;
  #workMs = 0;

  /** How many should wait for one of so many slots: with fewer it is time to claim again, and twice as many are asked for. */
  enough(slots: number): number {
    if (this.#workMs <= this.#claimMs) return 0;
    return Math.floor(Math.min((MARGIN * slots * this.#claimMs) / this.#workMs, slots));
  }

  /** A claim that found something took so long, in milliseconds. */
  claimed(ms: number): void {
    this.#claimMs = smoothed(this.#claimMs, ms);
  }

  /** An execution took so long, in milliseconds. */
  worked(ms: number): void {
    this.#workMs = smoothed(this.#workMs, ms);
  }
}

const WEIGHT = 0.1; // of the newest reading
const MARGIN = 2; // claims take now less, now more; to wait for a slot costs nothing

function smoothed(mean: number, reading: number): number {
  return mean === 0 ? reading : mean + WEIGHT * (reading - mean);
}
