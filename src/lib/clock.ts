import { uptime } from 'node:os';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { bootId } from './host.ts';

/** The one source of time: instants in epoch milliseconds, a monotonic reading for durations, and an abortable sleep. */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Monotonic milliseconds; only differences mean something. */
  monotonic(): number;
  /** Which start of this machine it is, and how long ago that was, ms: what processes can agree on whatever the wall clock says. */
  boot(): Boot;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

interface Boot {
  readonly boot_id: string;
  readonly uptime_ms: number;
}

const UPTIME_MS = 1_000; // the system is asked again after so long: the uptime goes on while the machine sleeps, the monotonic clock does not
let asked: (Boot & { readonly monotonic: number }) | null = null;

function boot(): Boot {
  const monotonic = performance.now();
  if (asked === null || monotonic - asked.monotonic > UPTIME_MS)
    asked = { boot_id: asked?.boot_id ?? bootId(), uptime_ms: Math.round(uptime() * 1000), monotonic };
  return { boot_id: asked.boot_id, uptime_ms: asked.uptime_ms + Math.floor(monotonic - asked.monotonic) };
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  boot,
  sleep: async (ms, signal) => {
    await sleepFor(ms, undefined, signal ? { signal } : {}).catch((error: unknown) => {
      throw signal?.aborted ? signal.reason : error;
    });
  },
};
