import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, the unit of the times in `/proc/PID/stat`: 100 on every Linux that Node runs on. */
const TICK_MS = 10;

interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  /** Own time and that of the children it has waited for, in ticks. */
  readonly ticks: number;
}

/**
 * Memory and CPU time of a process and all that it started, sampled from `/proc`.
 * The root must lead its own session (spawned `detached`), so that processes whose parent has ended are still found.
 */
export class ProcessTree {
  readonly #root: number;
  peakRssBytes = 0;
  cpuMs = 0;
  samples = 0;

  constructor(root: number) {
    this.#root = root;
  }

  /** Takes one sample; a process that ends meanwhile is left out. */
  sample(): void {
    const members = this.#members();
    if (members.length === 0) return;
    this.samples += 1;
    let rss = 0;
    let ticks = 0;
    for (const { pid, ticks: own } of members) {
      const memory = readMemory(pid);
      rss += memory.now;
      // The kernel's own high-water mark catches a peak of one process between two samples.
      this.peakRssBytes = Math.max(this.peakRssBytes, memory.peak);
      ticks += own;
    }
    this.peakRssBytes = Math.max(this.peakRssBytes, rss);
    // The time of a child that ended moves to its parent, so the sum over the living never loses what was waited for.
    this.cpuMs = Math.max(this.cpuMs, ticks * TICK_MS);
  }

  #members(): ProcessStat[] {
    const stats = readdirSync('/proc')
      .filter((name) => name.charCodeAt(0) >= 48 && name.charCodeAt(0) <= 57)
      .map((name) => readStat(name))
      .filter((stat) => stat !== null);
    const children = Map.groupBy(stats, (stat) => stat.parent);
    const members = new Map<number, ProcessStat>();
    const queue = stats.filter((stat) => stat.pid === this.#root || stat.session === this.#root);
    for (let stat = queue.pop(); stat !== undefined; stat = queue.pop()) {
      if (members.has(stat.pid)) continue;
      members.set(stat.pid, stat);
      queue.push(...(children.get(stat.pid) ?? []));
    }
    return [...members.values()];
  }
}

function readStat(pid: string): ProcessStat | null {
  const text = read(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The name, in parentheses, may hold blanks and parentheses; field 3 stands after the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => Number(fields[number - 3] ?? 0);
  return {
    pid: Number(pid),
    parent: field(4),
    session: field(6),
    ticks: field(14) + field(15) + field(16) + field(17),
  };
}

/** Resident bytes now and at the highest; 0 for a process that has ended. */
function readMemory(pid: number): { readonly now: number; readonly peak: number } {
  const text = read(`/proc/${pid}/status`) ?? '';
  const bytes = (name: string) => Number(text.match(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm'))?.[1] ?? 0) * 1024;
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') };
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null; // the process ended between listing and reading
    throw error;
  }
}
