import type { Clock } from './clock.ts';

/** Lets callers through at a steady rate, in the order in which they came. */
export class Pacer {
  readonly #clock: Clock;
  readonly #interval: number;
  #next = 0;
  /** Processes that share the rate; each takes its part. */
  sharers = 1;

  constructor(perSecond: number, clock: Clock) {
    this.#interval = 1000 / perSecond;
    this.#clock = clock;
  }

  async turn(signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    const mine = Math.max(now, this.#next);
    this.#next = mine + this.#interval * this.sharers;
    if (mine > now) await this.#clock.sleep(mine - now, signal);
  }
}
