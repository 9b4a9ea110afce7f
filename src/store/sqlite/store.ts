import { closeSync, existsSync, openSync } from 'node:fs';
import { backup, type DatabaseSync } from 'node:sqlite';
import type { ClockReport, Store } from '../../contract/store.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { appendEvidence, complete, fail, release, suspend } from './attempts.ts';
import { bless, blessed, blessings } from './blessings.ts';
import { rearm } from './breaker.ts';
import { stopRun } from './budgets.ts';
import { sweepCancelled } from './cancel.ts';
import { claim, claimable } from './claims.ts';
import { Connection, configureDatabase, openDatabase, SQLITE_BUSY, sqliteCode, storeError } from './connection.ts';
import { correct } from './corrections.ts';
import { claimDeliveries, deliveries, deliveriesDue, replayDeliveries, settleDelivery } from './deliveries.ts';
import { invariantViolations } from './invariants.ts';
import { Keys } from './keys.ts';
import { heartbeat, reap } from './leases.ts';
import { migrate, triggerProblems } from './migrate.ts';
import { openForReading } from './read-only.ts';
import * as readers from './readers.ts';
import { runBasis } from './run-basis.ts';
import { runReaders } from './run-readers.ts';
import { countWork, timeWorked } from './run-time.ts';
import { beginFinalize, createRun, failRun, finalize, materialize, requestCancel } from './runs.ts';
import { Schedule } from './schedule.ts';
import * as sessions from './sessions.ts';
import { StoreFile } from './store-file.ts';
import { toolStore } from './tool-store.ts';
import { Writer, type WriterStatistics } from './writer.ts';

/** Which file, by which clock. */
export interface SqliteStoreOptions {
  /** The file, or `:memory:`. */
  readonly path: string;
  /** Opens without writing anything, also where nothing can be written. */
  readonly read_only?: boolean;
  readonly clock?: Clock;
  /** Alters statements before they are prepared; only tests that prove the suite bites use it. */
  readonly alter?: (sql: string) => string;
}

/** A store in one SQLite file; `statistics` is what its writer saw. */
export interface SqliteStore extends Store {
  readonly statistics: WriterStatistics;
  /** What is wrong with the triggers of this file, a sentence each. */
  triggerProblems(): string[];
  /** How the wall clock stands to what was recorded. */
  clockReport(): ClockReport;
}

const BUSY_LIMIT_MS = 30_000;
const OPEN_LIMIT_MS = 10_000;
const ALL_PAGES = 0x7fff_ffff; // in one step: between steps a write would make the copy start again
const SHARED_WITHIN_MS = 30_000; // another session seen so recently may be writing now
const SHARED_CACHE_MS = 250;
const CONFIRMED_MS = 250; // a reader need not look at the file each time

/** Opens the file, migrates it and answers the store. */
export function openSqliteStore(options: SqliteStoreOptions): SqliteStore {
  const { path, clock = systemClock } = options;
  const db = options.read_only ? openForReading(path, clock.now()) : openConfigured(path, clock);
  const connection = new Connection(db, options.alter);
  const keys = new Keys(connection);
  const file = new StoreFile(path);
  const schedule = new Schedule(connection, clock);
  const writer = new Writer(connection, {
    clock,
    schedule,
    location: path,
    busy_limit_ms: BUSY_LIMIT_MS,
    rolled_back: () => keys.forget(),
    shared: sharedBy(connection, clock, schedule),
    committed: () => file.confirm(),
  });
  const confirmed = nowAndThen(() => file.confirm());
  const read = async <T>(query: () => T): Promise<T> => {
    confirmed();
    return await readPatiently(query, path, clock);
  };
  const shown = (at: number) => schedule.shown(at);
  return {
    location: path,
    statistics: writer.statistics,
    triggerProblems: () => triggerProblems(db),
    clockReport: () => schedule.report(),

    openSession: (session) => writer.write((tx) => sessions.openSession(tx, session)),
    touchSession: (id) => writer.write((tx) => sessions.touchSession(tx, id)),
    closeSession: (id) => writer.write((tx) => sessions.closeSession(tx, id)),

    createRun: (run) => writer.write((tx) => createRun(tx, run)),
    materialize: (runId, from, rows) => writer.write((tx) => materialize(tx, keys, runId, from, rows)),
    claim: async (request) =>
      (await read(() => claimable(connection, request, schedule.look().schedule)))
        ? await writer.write((tx) => claim(tx, keys, request), { patient: request.ahead > 0 })
        : [],
    heartbeat: (sessionId, leaseMs, fences) => writer.write((tx) => heartbeat(tx, keys, sessionId, leaseMs, fences)),
    appendEvidence: (fence, rows) => writer.write((tx) => appendEvidence(tx, keys, fence, rows)),
    complete: (completion) => writer.write((tx) => complete(tx, keys, completion), { ending: true }),
    fail: (retry) => writer.write((tx) => fail(tx, keys, retry), { ending: true }),
    release: (fence, spend) => writer.write((tx) => release(tx, keys, fence, spend)),
    suspend: (fence, deadlineMs) => writer.write((tx) => suspend(tx, keys, fence, deadlineMs)),
    reap: (request) => writer.write((tx) => reap(tx, request, schedule.watched(request.lease_ms ?? 0))),
    requestCancel: (runId, reason) => writer.write((tx) => requestCancel(tx, keys, runId, reason)),
    rearm: (runId) => writer.write((tx) => rearm(tx, keys, runId)),
    countWork: (runId, ms) => writer.write((tx) => countWork(tx, keys.run(runId), ms)),
    stopRun: (runId, stop) => writer.write((tx) => stopRun(tx, keys, runId, stop)),
    sweepCancelled: (runId, limit) => writer.write((tx) => sweepCancelled(tx, keys, runId, limit)),
    beginFinalize: (runId) => writer.write((tx) => beginFinalize(tx, keys, runId)),
    finalize: (runId, verdict) => writer.write((tx) => finalize(tx, keys, runId, verdict)),
    failRun: (runId, reason) => writer.write((tx) => failRun(tx, keys, runId, reason)),

    bless: (profileId, runId, by) => writer.write((tx) => bless(tx, keys, profileId, runId, by)),
    blessed: (profileId) => read(() => blessed(connection, profileId)),
    blessings: (profileId, limit) => read(() => blessings(connection, profileId, limit)),

    correct: (correction) => writer.write((tx) => correct(tx, keys, correction)),
    claimDeliveries: async (limit, leaseMs) =>
      (await read(() => deliveriesDue(connection, schedule.look().schedule)))
        ? await writer.write((tx) => claimDeliveries(tx, limit, leaseMs))
        : [],
    settleDelivery: (end) => writer.write((tx) => settleDelivery(tx, end)),
    replayDeliveries: (filter) => writer.write((tx) => replayDeliveries(tx, filter)),
    deliveries: (filter, page) => read(() => deliveries(connection, filter, page, shown)),

    ...toolStore(connection, keys, writer, read, () => schedule.look()),
    ...runReaders(connection, keys, read, shown),
    basis: (runId) => read(() => atOneMoment(db, () => runBasis(connection, keys, runId))),
    runByKey: (key) => read(() => readers.runByKey(connection, key)),
    runs: (page) => read(() => readers.runs(connection, page)),
    activeRuns: () => read(() => readers.activeRuns(connection)),
    artifactNames: (id, page) => read(() => readers.artifactNames(connection, keys, id, page)),
    timeWorked: (id) => read(() => timeWorked(connection, keys, id)),
    holders: (id) => read(() => readers.holders(connection, keys, id, shown)),
    sessions: (page) => read(() => sessions.sessions(connection, page, shown)),
    liveSessions: (since) => read(() => sessions.liveSessions(connection, since, shown)),
    invariants: () => read(() => atOneMoment(db, () => invariantViolations(connection))),
    backup: async (target) => {
      // From a connection of its own: the writer's has transactions open while the copy runs, which ends it.
      const source = path === ':memory:' || options.read_only ? db : openDatabase(path);
      try {
        await backup(source, target, { rate: ALL_PAGES });
      } catch (error) {
        throw storeError(error, target);
      } finally {
        if (source !== db) source.close();
      }
    },
    confirm: (runId) => read(() => file.confirmRun(runId, readers.run(connection, runId)?.evidence_root ?? null)),
    close: async () => {
      await writer.close();
      if (db.isOpen) db.close();
    },
  };
}

/** The check, a few times a second at most. */
function nowAndThen(check: () => void): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - last < CONFIRMED_MS) return;
    check();
    last = now;
  };
}

/** Several reads as of one moment: what others commit meanwhile is seen by all of them or by none. */
function atOneMoment<T>(db: DatabaseSync, query: () => T): T {
  if (db.isTransaction) return query();
  db.exec('begin');
  try {
    return query();
  } finally {
    db.exec('commit');
  }
}

/** Reads never wait for writers under WAL, but for a moment after a crash another process may hold the file to recover it. */
async function readPatiently<T>(query: () => T, location: string, clock: Clock): Promise<T> {
  const started = clock.monotonic();
  for (;;) {
    try {
      return query();
    } catch (error) {
      if (sqliteCode(error) !== SQLITE_BUSY || clock.monotonic() - started > BUSY_LIMIT_MS)
        throw storeError(error, location);
      await clock.sleep(1 + 4 * Math.random());
    }
  }
}

function openConfigured(path: string, clock: Clock): DatabaseSync {
  const until = performance.now() + OPEN_LIMIT_MS;
  for (;;) {
    try {
      return openOnce(path, clock);
    } catch (error) {
      // Turning a new file to the write-ahead log answers SQLITE_BUSY at once, whatever the busy time-out, when another opener
      // is at it too; nothing runs yet at open, so the thread may sleep.
      if (sqliteCode(error) !== SQLITE_BUSY || performance.now() > until) throw storeError(error, path);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 + 20 * Math.random());
    }
  }
}

function openOnce(path: string, clock: Clock): DatabaseSync {
  // A new file opens to its owner only, and SQLite gives its log the same rights; what rights an old one has is its owner's choice.
  if (path !== ':memory:' && !existsSync(path)) {
    try {
      closeSync(openSync(path, 'a', 0o600));
    } catch {
      // SQLite cannot make it either, and says so in its way.
    }
  }
  const db = openDatabase(path);
  try {
    configureDatabase(db);
    migrate(db, path, clock.now());
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

/** True while another session is live: then a commit leaves the file free for a moment. Looked up four times a second. */
function sharedBy(connection: Connection, clock: Clock, schedule: Schedule): () => boolean {
  let known = false;
  let looked = Number.NEGATIVE_INFINITY;
  return () => {
    const now = clock.monotonic();
    if (now - looked < SHARED_CACHE_MS) return known;
    looked = now;
    const row = connection.get<{ n: number }>(
      'select count(*) as n from worker_session where ended_at is null and last_seen_at > ?',
      schedule.look().schedule - SHARED_WITHIN_MS,
    );
    known = (row?.n ?? 0) > 1;
    return known;
  };
}
