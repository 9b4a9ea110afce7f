import { expect, test } from 'vitest';
import { backoffMs } from '../../src/core/backoff.ts';

const POLICY = { base_ms: 1_000, cap_ms: 60_000 };

test.each([
  [1, 500, 1_000],
  [2, 1_000, 2_000],
  [4, 4_000, 8_000],
  [7, 30_000, 60_000],
  [1_000, 30_000, 60_000],
])('failure %i waits between half of the doubled base and all of it, within the cap', (failures, least, most) => {
  const waits = Array.from({ length: 200 }, (_, index) => backoffMs(POLICY, failures, `execution-${index}`));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(least);
  expect(Math.max(...waits)).toBeLessThanOrEqual(most);
  expect(new Set(waits).size).toBeGreaterThan(100);
});

test('every node computes the same wait', () => {
  expect(backoffMs(POLICY, 3, 'one')).toBe(backoffMs(POLICY, 3, 'one'));
  expect(backoffMs(POLICY, 3, 'one')).not.toBe(backoffMs(POLICY, 3, 'another'));
});

test('Retry-After is a floor, up to an hour', () => {
  expect(backoffMs(POLICY, 1, 'key', 5_000)).toBe(5_000);
  expect(backoffMs(POLICY, 1, 'key', 1)).toBe(backoffMs(POLICY, 1, 'key'));
  expect(backoffMs(POLICY, 1, 'key', 999_999_999_000)).toBe(3_600_000);
});
