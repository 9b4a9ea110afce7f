import { setTimeout as sleepFor } from 'node:timers/promises';

/** The one source of time: instants in epoch milliseconds, a monotonic reading for durations, and an abortable sleep. */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Monotonic milliseconds; only differences mean something. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    await sleepFor(ms, undefined, signal ? { signal } : {}).catch((error: unknown) => {
      throw signal?.aborted ? signal.reason : error;
    });
  },
};

/** An instant in RFC 3339 UTC with milliseconds. */
export function instant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
