import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs } from '../../src/core/backoff.ts';

const POLICY = { base_ms: 1_000, cap_ms: 60_000 };

/** The formula of the documentation, written down again: u is the first 52 bits of the hash. */
function expected(full: number, key: string): number {
  const bits = createHash('sha256').update(`proctor/backoff/1\n${key}`).digest('hex').slice(0, 13);
  return Math.round(full * (0.5 + (0.5 * Number(BigInt(`0x${bits}`))) / 2 ** 52));
}

test.each([
  [1, 1_000],
  [2, 2_000],
  [3, 4_000],
  [6, 32_000],
  [7, 60_000],
  [1_000, 60_000],
])('failure %i waits between half of %i ms and all of it, by the hash of its key', (failures, full) => {
  for (const key of ['execution-1', 'execution-2', ''])
    expect(backoffMs(POLICY, failures, key)).toBe(expected(full, key));
});

test('the doubling ends at 2^40, whatever the cap', () => {
  const policy = { base_ms: 1, cap_ms: 2 ** 50 };
  expect(backoffMs(policy, 41, 'key')).toBe(expected(2 ** 40, 'key'));
  expect(backoffMs(policy, 42, 'key')).toBe(expected(2 ** 40, 'key'));
  expect(backoffMs(policy, 40, 'key')).toBe(expected(2 ** 39, 'key'));
});

test('waits are spread over the upper half', () => {
  const waits = Array.from({ length: 200 }, (_, index) => backoffMs(POLICY, 4, `execution-${index}`));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(4_000);
  expect(Math.min(...waits)).toBeLessThan(4_200);
  expect(Math.max(...waits)).toBeLessThanOrEqual(8_000);
  expect(Math.max(...waits)).toBeGreaterThan(7_800);
});

test('Retry-After is a floor, up to an hour', () => {
  const planned = backoffMs(POLICY, 1, 'key');
  expect(backoffMs(POLICY, 1, 'key', null)).toBe(planned);
  expect(backoffMs(POLICY, 1, 'key', 5_000)).toBe(5_000);
  expect(backoffMs(POLICY, 1, 'key', planned - 1)).toBe(planned);
  expect(backoffMs(POLICY, 1, 'key', 3_600_000)).toBe(3_600_000);
  expect(backoffMs(POLICY, 1, 'key', 3_600_001)).toBe(3_600_000);
  fc.assert(
    fc.property(fc.nat(10_000_000), (asked) => {
      expect(backoffMs(POLICY, 1, 'key', asked)).toBe(Math.max(planned, Math.min(asked, 3_600_000)));
    }),
  );
});
