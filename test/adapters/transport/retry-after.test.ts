import { expect, it } from 'vitest';
import { retryAfterMs } from '../../../src/adapters/transport/retry-after.ts';

const now = Date.UTC(2026, 10, 21, 12, 0, 0);

it.each([
  ['120', 120_000],
  ['99999999999', 99_999_999_999_000],
  [' 0 ', 0],
  ['Sat, 21 Nov 2026 12:00:30 GMT', 30_000],
  ['Saturday, 21-Nov-26 12:00:30 GMT', 30_000],
  ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
  ['-1', null],
  ['1.5', null],
  ['soon', null],
  ['2026-11-21', null],
  ['', null],
  [undefined, null],
])('`Retry-After: %s` asks to wait %s ms', (value, expected) => {
  expect(retryAfterMs(value, now)).toBe(expected);
});
