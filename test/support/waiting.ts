import { setTimeout as sleep } from 'node:timers/promises';

/**
 * How long a test waits for what must come: longer than any machine needs, shorter than the limit of a test, so that it can say what it
 * waited for. Tests tell no time themselves; `test/timed-assertions.test.ts` finds those that do.
 */
const PATIENCE_MS = 90_000;
const LOOK_MS = 10;

/** Looks until there is an answer; throws when none comes. */
export async function eventually<T>(what: string, look: () => Promise<T | null> | T | null): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS} ms`);
    await sleep(LOOK_MS);
  }
}

/** What the promise comes to, or null when it takes longer than `ms`. */
export async function inTime<T>(promise: Promise<T>, ms = PATIENCE_MS): Promise<T | null> {
  const timer = new AbortController();
  try {
    return await Promise.race([promise, sleep(ms, null, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}

/** Waits until the wall clock has passed an instant that the product has set. */
export async function pastInstant(instant: number): Promise<void> {
  while (Date.now() <= instant) await sleep(Math.max(1, instant + 1 - Date.now()));
}

/** The instants between which something was done, for what the product counts from that moment. */
export async function bracketed(act: () => Promise<unknown>): Promise<{ readonly from: number; readonly to: number }> {
  const from = Date.now();
  await act();
  return { from, to: Date.now() };
}
