import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SendOutcome } from '../../src/contract/webhook.ts';
import { DELIVERY_WAITS, decideDelivery, dedupeKey } from '../../src/core/delivery.ts';

const answered = (status: number, retry_after_ms: number | null = null): SendOutcome => ({
  type: 'response',
  status,
  retry_after_ms,
});
const unreachable: SendOutcome = { type: 'no_response', message: 'refused' };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test('the waits are 5 s, 5 min, 30 min, then 2, 5, 10, 14, 20 and 24 h', () => {
  expect(DELIVERY_WAITS).toEqual([
    5_000,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
  ]);
});

describe('what follows a try', () => {
  test.each([200, 204, 299])('%i is published', (status) => {
    expect(decideDelivery(1, answered(status), 0)).toEqual({ type: 'published' });
  });

  test('410 is the end of the endpoint, at the first try too', () => {
    expect(decideDelivery(1, answered(410), 0)).toEqual({ type: 'dead', endpoint_gone: true });
  });

  test.each([199, 300, 400, 404, 411, 500, 501, 505])('%i is tried again, and the endpoint does not wait', (status) => {
    expect(decideDelivery(2, answered(status), 0.5)).toEqual({
      type: 'retry',
      wait_ms: 5 * MINUTE,
      endpoint_wait_ms: 0,
    });
  });

  test.each([429, 502, 503, 504])('%i makes the endpoint wait: a second, or as long as it asks', (status) => {
    expect(decideDelivery(1, answered(status), 0.5)).toEqual({
      type: 'retry',
      wait_ms: 5_000,
      endpoint_wait_ms: 1_000,
    });
    expect(decideDelivery(1, answered(status, 9_000), 0.5)).toEqual({
      type: 'retry',
      wait_ms: 9_000,
      endpoint_wait_ms: 9_000,
    });
    expect(decideDelivery(1, answered(status, 2_000), 0.5)).toEqual({
      type: 'retry',
      wait_ms: 5_000,
      endpoint_wait_ms: 2_000,
    });
  });

  test('what an endpoint asks for is heard up to a day, for other statuses too', () => {
    expect(decideDelivery(1, answered(500, 900 * HOUR), 0)).toEqual({
      type: 'retry',
      wait_ms: 24 * HOUR,
      endpoint_wait_ms: 0,
    });
  });

  test('an endpoint that cannot be reached is tried again by the table', () => {
    expect(decideDelivery(1, unreachable, 0.5)).toEqual({ type: 'retry', wait_ms: 5_000, endpoint_wait_ms: 0 });
  });

  test('the last wait of the table is followed by the end', () => {
    expect(decideDelivery(9, unreachable, 0.5)).toEqual({ type: 'retry', wait_ms: 24 * HOUR, endpoint_wait_ms: 0 });
    expect(decideDelivery(10, unreachable, 0.5)).toEqual({ type: 'dead', endpoint_gone: false });
    expect(decideDelivery(10, answered(200), 0.5)).toEqual({ type: 'published' });
  });

  test('waits are spread by ±10 %', () => {
    expect(decideDelivery(1, unreachable, 0)).toMatchObject({ wait_ms: 4_500 });
    expect(decideDelivery(1, unreachable, 0.25)).toMatchObject({ wait_ms: 4_750 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (n, u) => {
          const decision = decideDelivery(n, unreachable, u);
          const planned = DELIVERY_WAITS[n - 1]!;
          expect(decision).toEqual({
            type: 'retry',
            wait_ms: Math.round(planned * (0.9 + 0.2 * u)),
            endpoint_wait_ms: 0,
          });
        },
      ),
    );
  });
});

test('a run publishes one end, and every stop under the number of its event', () => {
  for (const type of ['run_completed', 'run_failed', 'run_cancelled'])
    expect(dedupeKey('run_1', type, 7)).toBe('run:run_1:final');
  expect([dedupeKey('run_1', 'run_paused', 7), dedupeKey('run_1', 'run_paused', 9)]).toEqual([
    'run:run_1:paused:7',
    'run:run_1:paused:9',
  ]);
});
