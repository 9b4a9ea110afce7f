import { hash } from 'node:crypto';

/** What a retry waits for: base and cap in milliseconds. */
export interface BackoffPolicy {
  readonly base_ms: number;
  readonly cap_ms: number;
}

const MOST_RETRY_AFTER_MS = 3_600_000;

/**
 * Milliseconds before retry `failures` (from 1): min(cap, base·2^(n−1))·(0.5 + 0.5u), with u the first 52 bits of a hash of
 * (execution, attempt, seed), so that every node computes the same wait (CONTRACTS, faults). `Retry-After` is a floor, up to
 * an hour: an agent that names a day or a year must not hold a run for as long.
 */
export function backoffMs(
  policy: BackoffPolicy,
  failures: number,
  key: string,
  retryAfterMs: number | null = null,
): number {
  const exponent = Math.min(failures - 1, 40);
  const full = Math.min(policy.cap_ms, policy.base_ms * 2 ** exponent);
  const u = Number.parseInt(hash('sha256', `proctor/backoff/1\n${key}`, 'hex').slice(0, 13), 16) / 2 ** 52;
  return Math.max(Math.round(full * (0.5 + 0.5 * u)), Math.min(retryAfterMs ?? 0, MOST_RETRY_AFTER_MS));
}
