import type { LimitCharge } from '../../contract/store.ts';
import type { Transaction } from './transaction.ts';

const SLICES = 60; // of a window; the oldest counts whole, so that no window ever holds more than the limit
const ALL_TIME_MS = 60 * 86_400_000; // without a window nothing is forgotten, so slices may be long

/** Ids of the limits that one more call of this cost would go beyond. */
export function reachedLimits(tx: Transaction, limits: readonly LimitCharge[], cost: number): string[] {
  return limits
    .filter(({ key, window_ms, calls, cost_micro_usd }) => {
      const used = tx.connection.get<{ calls: number; cost: number }>(
        'select coalesce(sum(calls), 0) as calls, coalesce(sum(cost_micro_usd), 0) as cost from limit_use where limit_key = ? and slice >= ?',
        key,
        window_ms === null ? 0 : oldestSlice(tx.schedule, window_ms),
      ) ?? { calls: 0, cost: 0 };
      return (
        (calls !== null && used.calls + 1 > calls) || (cost_micro_usd !== null && used.cost + cost > cost_micro_usd)
      );
    })
    .map(({ id }) => id);
}

/** Counts a call that is dispatched, and forgets slices that no window reaches any more. */
export function chargeLimits(tx: Transaction, limits: readonly LimitCharge[], cost: number): void {
  for (const { key, window_ms } of limits) {
    const slice = sliceOf(tx.schedule, window_ms ?? ALL_TIME_MS);
    if (window_ms !== null)
      tx.connection.run(
        'delete from limit_use where limit_key = ? and slice < ?',
        key,
        oldestSlice(tx.schedule, window_ms),
      );
    tx.connection.run(
      `insert into limit_use (limit_key, slice, calls, cost_micro_usd) values (?1, ?2, 1, ?3)
on conflict (limit_key, slice) do update set calls = calls + 1, cost_micro_usd = cost_micro_usd + ?3`,
      key,
      slice,
      cost,
    );
  }
}

/** Where on the schedule the slice of now began: a point in time, so that uses still count when policy makes a window longer or shorter. */
function sliceOf(now: number, windowMs: number): number {
  return now - (now % sliceMs(windowMs));
}

function oldestSlice(now: number, windowMs: number): number {
  return now - windowMs - sliceMs(windowMs) + 1;
}

function sliceMs(windowMs: number): number {
  return Math.max(1, Math.ceil(windowMs / SLICES));
}
