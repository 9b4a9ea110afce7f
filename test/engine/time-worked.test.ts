import { expect, test } from 'vitest';
import type { Store } from '../../src/contract/store.ts';
import { TimeWorked } from '../../src/engine/time-worked.ts';
import { FakeClock, retryLater } from '../support/store-fixture.ts';
import { LEASE_MS } from '../support/store-harness.ts';
import { CLAIM, Place, START, UP } from '../support/store-waiting.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const LIMIT = 60_000;
const TICK = 250;
const RUN = 'run_1';

/** Workers on one run: what they see of its time, tick by tick. */
class Workers {
  readonly place: Place;
  #time: TimeWorked;

  constructor(place: Place) {
    this.place = place;
    this.#time = new TimeWorked(place, LEASE_MS);
  }

  /** The worker is a new one, which takes part in the store: the one before ended or was killed. */
  async begin(): Promise<void> {
    await this.place.store.touchSession('wse_1');
    this.#time = new TimeWorked(this.place, LEASE_MS);
  }

  async look(): Promise<boolean> {
    return await this.#time.over(RUN, LIMIT);
  }

  /** Works for a while; answers for how long until the limit was reached, or null. */
  async work(ms: number): Promise<number | null> {
    await this.look();
    for (let worked = TICK; worked <= ms; worked += TICK) {
      this.place.clock.advance(TICK);
      if (await this.look()) return worked;
    }
    return null;
  }
}

async function trip(store: Store): Promise<void> {
  const call = { side: 'agent', outcome: 'failed', fault: 'configuration', class: 'http_401', reason: 'no' } as const;
  for (const claim of await store.claim({ ...CLAIM, capacity: 4 }))
    await store.fail(retryLater(claim, { delay_ms: 1, calls: [{ ...call, patience: 1, hold_ms: 1 }] }));
  expect(await store.breaker(RUN)).not.toBeNull();
}

/** What can come between two stretches of work, and lasts an hour or seems to. */
const INTERRUPTIONS: Readonly<Record<string, (workers: Workers) => Promise<void>>> = {
  'a stop, with a worker on the machine that looks on': async (workers) => {
    await trip(workers.place.store);
    expect(await workers.work(LIMIT + HOUR / 60)).toBeNull();
    workers.place.clock.advance(HOUR);
    expect(await workers.look()).toBe(false);
    await workers.place.store.rearm(RUN);
  },
  'a stop, with nobody there': async (workers) => {
    await trip(workers.place.store);
    await workers.place.reopen(() => workers.place.clock.advance(HOUR));
    await workers.place.store.rearm(RUN);
    await workers.begin();
  },
  'a worker that ended, and another hours later': async (workers) => {
    await workers.place.reopen(() => workers.place.clock.advance(HOUR));
    await workers.begin();
  },
  'a worker that ended while others worked in the store': async (workers) => {
    workers.place.clock.advance(HOUR);
    await workers.place.store.touchSession('wse_1');
    await workers.begin();
  },
  'a machine that restarted': async (workers) => {
    await workers.place.reopen(() => {
      workers.place.clock.set(HOUR);
      workers.place.clock.reboot();
    });
    await workers.begin();
  },
  ...Object.fromEntries(
    [6 * HOUR, -6 * HOUR, 3_650 * DAY, -40 * 365 * DAY].flatMap((by) => [
      [
        `a clock that was set by ${by / HOUR} h`,
        async ({ place }: Workers) => {
          place.clock.set(by);
          await place.store.touchSession('wse_1');
        },
      ],
      [
        `another process whose clock is wrong by ${by / HOUR} h`,
        async ({ place }: Workers) => {
          await using other = place.another(new FakeClock(START + by, UP));
          await other.touchSession('nobody');
        },
      ],
      [
        `a clock that was set by ${by / HOUR} h while nobody was there, and a restart`,
        async (workers: Workers) => {
          await workers.place.reopen(() => {
            workers.place.clock.set(by);
            workers.place.clock.reboot();
          });
          await workers.begin();
        },
      ],
    ]),
  ),
};

test.each(Object.entries(INTERRUPTIONS))('%s takes nothing of a run’s time', async (_, interrupt) => {
  await using place = await Place.open();
  const workers = new Workers(place);
  expect(await workers.work(LIMIT / 2)).toBeNull();
  await interrupt(workers);
  expect(await workers.work(LIMIT)).toBe(LIMIT / 2 + TICK);
});

test('a run that is stopped again and again gets its time, and no more', async () => {
  await using place = await Place.open();
  const workers = new Workers(place);
  let over: number | null = null;
  let worked = 0;
  for (let round = 0; round < 20 && over === null; round += 1) {
    over = await workers.work(5_000);
    worked += over ?? 5_000;
    await INTERRUPTIONS[round % 2 === 0 ? 'a stop, with nobody there' : 'a machine that restarted']?.(workers);
    place.clock.advance(HOUR); // what waits for its retry is due
  }
  expect(worked).toBe(LIMIT + TICK);
});

test('time in which several processes work counts once', async () => {
  await using place = await Place.open();
  const one = new Workers(place);
  await using store = place.another(place.clock);
  const other = new TimeWorked({ store, clock: place.clock }, LEASE_MS);
  await Promise.all([one.look(), other.over(RUN, LIMIT)]);
  for (let worked = TICK; worked <= LIMIT; worked += TICK) {
    place.clock.advance(TICK);
    expect([await one.look(), await other.over(RUN, LIMIT)]).toEqual([false, false]);
  }
  place.clock.advance(TICK);
  expect(await other.over(RUN, LIMIT)).toBe(true);
});

test('a process that stood still for longer than a lease worked for a lease at most', async () => {
  await using place = await Place.open();
  const workers = new Workers(place);
  await workers.look();
  place.clock.advance(HOUR);
  expect(await workers.look()).toBe(false);
  expect(await workers.work(LIMIT)).toBe(LIMIT - LEASE_MS + TICK);
});

test('a killed worker has its time counted to the second', async () => {
  await using place = await Place.open();
  const workers = new Workers(place);
  await workers.work(LIMIT / 2 + 750);
  await workers.begin();
  expect(await workers.work(LIMIT)).toBe(LIMIT / 2 + TICK);
});

test('a run that is over is forgotten', async () => {
  await using place = await Place.open();
  const time = new TimeWorked(place, LEASE_MS);
  await time.over(RUN, LIMIT);
  time.keep([]);
  place.clock.advance(LEASE_MS);
  await time.over(RUN, LIMIT);
  expect(await place.store.timeWorked(RUN)).toBe(0);
});
