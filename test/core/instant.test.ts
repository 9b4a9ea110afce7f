import { expect, test } from 'vitest';
import { instant } from '../../src/core/instant.ts';

const LAST = 8_640_000_000_000_000;

test('an instant is told in UTC with milliseconds, as far as dates go', () => {
  expect(instant(0)).toBe('1970-01-01T00:00:00.000Z');
  expect(instant(Date.UTC(2026, 10, 22, 12, 0, 0, 7))).toBe('2026-11-22T12:00:00.007Z');
  expect([instant(LAST), instant(-LAST)]).toEqual(['+275760-09-13T00:00:00.000Z', '-271821-04-20T00:00:00.000Z']);
});

test.each([LAST + 1, -LAST - 1, 9e15, Number.NaN, Number.POSITIVE_INFINITY])(
  '%s is no instant: the store was altered',
  (value) => {
    expect(() => instant(value)).toThrow(
      expect.objectContaining({
        code: 'store_altered',
        message: `the store has ${value} in place of an instant; Proctor never writes that, so the store was altered: \`proctor verify RUN\` and \`proctor doctor --verify\` name the place; restore a backup`,
      }),
    );
  },
);
