import { ProctorError } from '../../contract/problem.ts';
import type { ClockReport } from '../../contract/store.ts';
import { instant } from '../../core/instant.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Connection } from './connection.ts';

/** What the file says of time: the last recorded instant, and where the schedule stood when by which clocks. */
interface Row {
  readonly last_now: unknown;
  readonly at: number | null;
  readonly wall: number | null;
  readonly boot_id: string | null;
  readonly uptime_ms: number | null;
}

/** Both readings of one moment. */
export interface Moment {
  /** The instant that is recorded: the wall clock, but never before the last one that this file saw. */
  readonly now: number;
  /** Where the schedule stands: what leases, retries and deliveries wait for. */
  readonly schedule: number;
}

const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const JUMP_MS = 2_000; // between wall clock and uptime; less is a clock that is kept in time
const LEAP_MS = 250; // of the schedule beyond what this process saw pass
const LEAPS = 100;

// An integer that is no instant comes as text: some are too large to be read.
const READ = `select iif(typeof(m.value) = 'integer' and m.value not between 0 and ${LATEST}, cast(m.value as text), m.value) as last_now, s.at, s.wall, s.boot_id, s.uptime_ms from meta m left join schedule s on s.one = 1 where m.key = 'last_now'`;

/**
 * The store's schedule: milliseconds that go on with real time, whatever is done to the wall clock. While a process has the store open, they
 * are what its monotonic clock says passed since it last looked. Between two processes they are the machine's uptime or, after a restart or
 * from another machine, the wall clock, which can only carry the schedule forward. So what is due in X ms is due after X ms at most.
 */
export class Schedule {
  readonly #connection: Connection;
  readonly #clock: Clock;
  #seen: { at: number; monotonic: number } | null = null;
  #leaps: { readonly ms: number; readonly monotonic: number }[] = [];

  constructor(connection: Connection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** The moment, for a reader. */
  look(): Moment {
    const { now, schedule } = this.#moment();
    return { now, schedule };
  }

  /** The moment of a write transaction; writes down how far time has got. */
  advance(): Moment {
    const { now, schedule, row, last } = this.#moment();
    const wall = this.#clock.now();
    const { boot_id, uptime_ms } = this.#clock.boot();
    if (now > last) this.#connection.run("update meta set value = ? where key = 'last_now'", now);
    const set = jumpOf(row, wall, boot_id, uptime_ms);
    this.#connection.run(
      `insert into schedule (one, at, wall, boot_id, uptime_ms, jumped_at, jumped_ms) values (1, ?1, ?2, ?3, ?4, ?5, ?6)
on conflict (one) do update set at = ?1, wall = ?2, boot_id = ?3, uptime_ms = ?4, jumped_at = coalesce(?5, jumped_at), jumped_ms = coalesce(?6, jumped_ms)`,
      schedule,
      wall,
      boot_id,
      uptime_ms,
      set === 0 ? null : now,
      set === 0 ? null : set,
    );
    return { now, schedule };
  }

  /** An instant by this machine's clock of now, for people: the schedule itself never leaves the store. */
  shown(at: number): number {
    if (!isInstant(this.#row().last_now)) return at; // altered: the schedule cannot be told, and is near the wall clock
    return at - this.look().schedule + this.#clock.now();
  }

  /**
   * True when this process saw the schedule go on without a leap for as long as a lease lasts. After one (it only just opened the store, the
   * machine slept) leases look old whose holders are well: they get the time for a heartbeat.
   */
  watched(leaseMs: number): boolean {
    const now = this.#clock.monotonic();
    return !this.#leaps.some(({ ms, monotonic }) => ms > leaseMs / 2 && now - monotonic < leaseMs);
  }

  report(): ClockReport {
    const last_now = lastNow(this.#row());
    const row = this.#connection.get<{ jumped_at: number | null; jumped_ms: number | null }>(
      'select jumped_at, jumped_ms from schedule',
    );
    const jump = row?.jumped_at == null || row.jumped_ms === null ? null : { at: row.jumped_at, by_ms: row.jumped_ms };
    return { behind_ms: Math.max(0, last_now - this.#clock.now()), last_now, jump };
  }

  #moment(): Moment & { readonly row: Row; readonly last: number } {
    const row = this.#row();
    const last = lastNow(row);
    const now = Math.max(this.#clock.now(), last);
    const monotonic = this.#clock.monotonic();
    const passed = row.at === null ? now : this.#estimate(row, row.at, monotonic);
    const at = Math.max(passed, row.at ?? 0);
    const expected = this.#seen === null ? (row.at ?? at) : passed;
    if (at - expected > LEAP_MS) this.#leaps = [...this.#leaps.slice(1 - LEAPS), { ms: at - expected, monotonic }];
    this.#seen = { at, monotonic };
    return { now, schedule: Math.floor(at), row, last };
  }

  #row(): Row {
    const row = this.#connection.get<Row & Record<string, unknown>>(READ);
    if (row === undefined) throw altered('is missing');
    return row;
  }

  /** Where the schedule stands by what this process knows. */
  #estimate(row: Row, at: number, monotonic: number): number {
    if (this.#seen !== null) return this.#seen.at + Math.max(0, monotonic - this.#seen.monotonic);
    const { boot_id, uptime_ms } = this.#clock.boot();
    const gap = row.boot_id === boot_id ? uptime_ms - (row.uptime_ms ?? 0) : this.#clock.now() - (row.wall ?? 0);
    return at + Math.max(0, gap);
  }
}

function lastNow({ last_now }: Row): number {
  if (isInstant(last_now)) return last_now;
  throw altered(`is \`${String(last_now).slice(0, 40)}\`, which is not an instant before ${instant(LATEST)}`);
}

function isInstant(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LATEST;
}

function altered(what: string): ProctorError {
  return new ProctorError(
    'store_altered',
    `the store's last instant (\`meta.last_now\`) ${what}; Proctor never writes that, so the store was altered: restore a backup (\`show\`, \`verify\` and \`export\` still read what is in it)`,
  );
}

/** By how much the wall clock was set since the row was written, ms; 0 when it was not or nobody can tell. */
function jumpOf(row: Row, wall: number, bootId: string, uptimeMs: number): number {
  if (row.wall === null || row.uptime_ms === null || row.boot_id !== bootId) return 0;
  const by = wall - row.wall - (uptimeMs - row.uptime_ms);
  return Math.abs(by) > JUMP_MS ? Math.round(by) : 0;
}
