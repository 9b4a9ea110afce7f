import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { systemClock } from './clock.ts';
import { newId } from './id.ts';
import { hasProcessTable, memoryOf, type ProcessRow, processRows } from './proc-table.ts';

const MARKER = 'PROCTOR_FAMILY';
const LOOK_MS = 100;
/** Looking around takes at most one part in so many of the time. */
const LOOK_SHARE = 20;
/** So many processes are looked at before other work has its turn. */
const ROWS_A_TURN = 256;
const KILL_LIMIT_MS = 3_000;
const KILL_PAUSE_MS = 5;

/**
 * A process and all that come of it, found on Linux by a marker in their environment however far they detach themselves: by the marker, by
 * being the child of one that has it, and by having been seen before. What escapes is a process that detaches itself and clears its
 * environment between two looks, one of another user, and one that a service starts. Elsewhere nothing is found.
 */
export class ProcessFamily {
  /** What the environment of the first process must hold. */
  readonly environment: Readonly<Record<string, string>>;
  /** True once its processes were killed because together they took more memory than they may. */
  overMemory = false;
  readonly #mark: string;
  readonly #memoryBytes: number | null;
  /** When each process that was found began, by its pid. */
  readonly #seen = new Map<number, string>();

  constructor(memoryBytes: number | null = null) {
    const id = newId('fam', systemClock.now());
    this.#mark = `${MARKER}=${id}`;
    this.#memoryBytes = memoryBytes;
    this.environment = hasProcessTable ? { [MARKER]: id } : {};
    if (!hasProcessTable) return;
    if (families.size === 0) process.on('exit', killAllNow);
    families.add(this);
    if (memoryBytes !== null && !watching) void watch();
  }

  /** Kills what is left of it, again and again until nothing is found. */
  async end(): Promise<void> {
    if (!families.has(this)) return;
    const until = systemClock.monotonic() + KILL_LIMIT_MS; // who sleeps uninterruptibly outlives SIGKILL; the caller must not
    ending.add(this);
    while (this.kill(await look()) > 0 && systemClock.monotonic() < until) await sleep(KILL_PAUSE_MS);
    ending.delete(this);
    families.delete(this);
    if (families.size === 0) process.off('exit', killAllNow);
  }

  /** True while somebody must look how much memory it takes. */
  get watched(): boolean {
    return this.#memoryBytes !== null && !this.overMemory;
  }

  /** Whether a process has the marker. */
  marks({ environment }: ProcessRow): boolean {
    return environment.includes(this.#mark);
  }

  /** Kills its processes among some; answers how many there were. */
  kill(rows: readonly ProcessRow[]): number {
    const pids = this.#among(rows);
    for (const pid of pids) killProcess(pid);
    return pids.length;
  }

  /** Kills its processes when they take too much memory. */
  weigh(rows: readonly ProcessRow[]): void {
    const most = this.#memoryBytes ?? Number.POSITIVE_INFINITY;
    const pids = this.#among(rows);
    if (memoryOf(pids, most) <= most) return;
    this.overMemory = true;
    for (const pid of pids) killProcess(pid);
  }

  #among(rows: readonly ProcessRow[]): number[] {
    const found = rows.filter((row) => this.marks(row) || this.#seen.get(row.pid) === row.started);
    if (found.length === 0) return [];
    const children = Map.groupBy(rows, ({ parent }) => parent);
    const members = new Set(found);
    for (const { pid } of members) for (const child of children.get(pid) ?? []) members.add(child); // a set grows while it is gone through
    for (const { pid, started } of members) this.#seen.set(pid, started);
    return [...members].map(({ pid }) => pid);
  }
}

const families = new Set<ProcessFamily>();
/** Families whose marked processes are killed as soon as they are seen: a chain of forks lives no longer than a look. */
const ending = new Set<ProcessFamily>();
let watching = false;
let looking: Promise<unknown> = Promise.resolve();
let next: Promise<ProcessRow[]> | null = null;

/** All processes, by a look that begins after this call; callers that wait for one share it. */
function look(): Promise<ProcessRow[]> {
  next ??= looking.then(() => {
    next = null;
    const rows = lookNow();
    looking = rows;
    return rows;
  });
  return next;
}

async function lookNow(): Promise<ProcessRow[]> {
  const rows: ProcessRow[] = [];
  for (const row of processRows()) {
    for (const family of ending) if (family.marks(row)) killProcess(row.pid);
    if (rows.push(row) % ROWS_A_TURN === 0) await turn();
  }
  return rows;
}

/** Looks at the memory of the families that have a limit, as long as there are any. */
async function watch(): Promise<void> {
  watching = true;
  let pause = LOOK_MS;
  for (;;) {
    await sleep(pause, undefined, { ref: false });
    if (!families.values().some((family) => family.watched)) break;
    const started = systemClock.monotonic();
    const rows = await look();
    for (const family of families) if (family.watched) family.weigh(rows);
    pause = Math.max(LOOK_MS, LOOK_SHARE * (systemClock.monotonic() - started));
  }
  watching = false;
}

/** This process ends: once more, without waiting. */
function killAllNow(): void {
  for (let round = 0; round < 3; round += 1) {
    const rows = [...processRows()];
    if (families.values().reduce((killed, family) => killed + family.kill(rows), 0) === 0) return;
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // ESRCH: it is gone; EPERM: it belongs to another user now
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
