import { expect, test } from 'vitest';
import { FakeClock, newRun, retryLater } from '../../support/store-fixture.ts';
import { decideBy, newToolRun, requestBy } from '../../support/store-gateway.ts';
import { LEASE_MS, LOSS_BACKOFF } from '../../support/store-harness.ts';
import { CLAIM, Place, START, UP, WAIT_MS, WAITINGS } from '../../support/store-waiting.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const JUMPS = {
  'forward 6 h': 6 * HOUR,
  'back 6 h': -6 * HOUR,
  'forward 10 years': 3_650 * DAY,
  'back 40 years': -40 * 365 * DAY,
};

const EVERY = Object.entries(WAITINGS).flatMap(([what, waiting]) =>
  Object.entries(JUMPS).map(([jump, by]) => ({ what, waiting, jump, by })),
);

test.for(EVERY)('$what is waited for as long as it should when the clock is set $jump', async ({ waiting, by }) => {
  await using place = await Place.open();
  await waiting.arrange(place.store);

  place.clock.set(by);

  await place.expectDueAfter(waiting);
});

test.for(EVERY)('$what likewise when the clock of another process is $jump', async ({ waiting, by }) => {
  await using place = await Place.open();
  await waiting.arrange(place.store);
  const wrong = new FakeClock(START + by, UP);
  await using other = place.another(wrong);

  await other.touchSession('wse_1'); // its time is recorded, and its commits take turns with the others
  await place.store.touchSession('wse_1');

  await place.expectDueAfter(waiting, async (ms) => {
    wrong.advance(ms);
    await other.touchSession('nobody');
  });
});

test.for(EVERY)('$what likewise when the clock is set $jump while no process is at work', async ({ waiting, by }) => {
  await using place = await Place.open();
  await waiting.arrange(place.store);

  await place.reopen(() => place.clock.set(by));

  await place.expectDueAfter(waiting);
});

test.for(EVERY)(
  '$what is due after its time at most when the machine restarts with the clock $jump',
  async ({ waiting, by }) => {
    await using place = await Place.open();
    await waiting.arrange(place.store);

    await place.reopen(() => {
      place.clock.set(by);
      place.clock.reboot();
    });

    await place.store.touchSession('nobody'); // the first sight
    place.clock.advance(waiting.ms + 1_000);
    expect(await waiting.isDue(place.store)).toBe(true);
  },
);

test('what many short processes wait for falls due as time goes on between them, after a jump too', async () => {
  await using place = await Place.open();
  const waiting = WAITINGS['the next try of a delivery'];
  await waiting?.arrange(place.store);
  await place.reopen(() => place.clock.set(-6 * HOUR));
  for (let minute = 0; minute < 6; minute += 1) {
    expect(await waiting?.isDue(place.store)).toBe(false);
    await place.reopen(() => place.clock.advance(WAIT_MS / 6 + 1));
  }
  expect(await waiting?.isDue(place.store)).toBe(true);
});

test('a process that finds time gone on by a leap takes no lease by the clock before it watched one', async () => {
  await using place = await Place.open();
  await place.store.claim(CLAIM);
  const request = { dead_sessions: [], limit: 9, max_losses: 5, backoff: LOSS_BACKOFF, lease_ms: LEASE_MS };

  await place.reopen(() => {
    place.clock.reboot();
    place.clock.set(HOUR); // only the wall clock can tell what passed, and it is wrong
  });

  expect(await place.store.reap(request)).toEqual([]);
  place.clock.advance(LEASE_MS + 1);
  expect(await place.store.reap(request)).toHaveLength(1);
});

test('recorded instants never go back, and stand still only for as long as the clock is behind them', async () => {
  await using place = await Place.open();
  for (const by of [6 * HOUR, -6 * HOUR, 1_000, -50, HOUR]) {
    place.clock.set(by);
    place.clock.advance(10);
    const [claim] = await place.store.claim(CLAIM);
    if (claim !== undefined) await place.store.fail(retryLater(claim, { delay_ms: 1 }));
  }
  const instants = (await place.store.events('run_1', { after: null, limit: 100 })).map((event) => event.at);
  expect(instants).toEqual(instants.toSorted((a, b) => a - b));
  expect(instants.at(-1)).toBe(START + 6 * HOUR + 10);
});

test('the newest run is the one that was created last, whatever the clock said', async () => {
  await using place = await Place.open();
  await place.store.createRun(newRun('run_0_by_a_clock_set_back'));
  const [first] = await place.store.runs({ after: null, limit: 1 });
  const rest = await place.store.runs({ after: first?.run_id ?? null, limit: 9 });
  expect([first, ...rest].map((run) => run?.run_id)).toEqual(['run_0_by_a_clock_set_back', 'run_told', 'run_1']);
});

test('an approval is over when its instant has come or its time has passed, whichever is first', async () => {
  for (const [by, afterMs] of [
    [-6 * HOUR, WAIT_MS],
    [0, WAIT_MS],
    [WAIT_MS - 5_000, 5_000],
    [6 * HOUR, 0],
  ] as const) {
    await using place = await Place.open();
    const asked = newToolRun(START, { source: 'notes' });
    const { run } = await place.store.beginToolRun(
      asked,
      requestBy(decideBy('ask', { terms: { expires_ms: WAIT_MS } })),
    );
    place.clock.set(by);
    if (afterMs > 0) {
      place.clock.advance(afterMs - 1);
      expect(await place.store.expireApprovals(9), `${by}`).toBe(0);
      place.clock.advance(1);
    }
    expect(await place.store.expireApprovals(9), `${by}`).toBe(1);
    expect(await place.store.approval(run.approval_id ?? '')).toMatchObject({ status: 'expired' });
    expect(await place.store.invariants()).toEqual([]);
  }
});

test('what is shown of the schedule is told by the clock of now', async () => {
  await using place = await Place.open();
  await WAITINGS['a retry']?.arrange(place.store);
  place.clock.set(-6 * HOUR);
  place.clock.advance(WAIT_MS / 2);
  await place.store.touchSession('wse_1');
  expect(await place.store.progress('run_1')).toMatchObject({ next_retry_at: place.clock.now() + WAIT_MS / 2 });
  expect(await place.store.liveSessions(place.clock.now())).toMatchObject([{ last_seen_at: place.clock.now() }]);
});

test('the last jump and a clock that is behind are told', async () => {
  await using place = await Place.open();
  expect(place.store.clockReport()).toMatchObject({ behind_ms: 0, jump: null });
  place.clock.set(6 * HOUR);
  await place.store.touchSession('wse_1');
  expect(place.store.clockReport()).toMatchObject({ behind_ms: 0, jump: { at: START + 6 * HOUR, by_ms: 6 * HOUR } });
  place.clock.set(-6 * HOUR);
  place.clock.advance(1_000);
  await place.store.touchSession('wse_1');
  expect(place.store.clockReport()).toMatchObject({
    behind_ms: 6 * HOUR - 1_000,
    jump: { at: START + 6 * HOUR, by_ms: -6 * HOUR },
  });
});

test.for([9e15, 8.64e15 + 1, 253_402_300_800_000, -1, 1.5, 'soon', null, 9e307])(
  'a last instant that was altered to %s is refused by what would record after it, and hides nothing',
  async (value) => {
    await using place = await Place.open();
    const before = await place.store.events('run_1', { after: null, limit: 100 });
    place.alter((db) => db.prepare("update meta set value = ? where key = 'last_now'").run(value));
    const refused = { code: 'store_altered', message: expect.stringContaining('`meta.last_now`') };
    await expect(place.store.touchSession('wse_1')).rejects.toMatchObject(refused);
    await expect(place.store.claim(CLAIM)).rejects.toMatchObject(refused);
    expect(await place.store.events('run_1', { after: null, limit: 100 })).toEqual(before);
    place.alter((db) => db.prepare('delete from meta').run());
    await expect(place.store.touchSession('wse_1')).rejects.toMatchObject(refused);
  },
);
