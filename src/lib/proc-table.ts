import { closeSync, existsSync, openSync, readdirSync, readSync } from 'node:fs';

/** One process as `/proc` shows it. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  /** When it began, in the kernel's ticks since boot: with the pid it names one process for good. */
  readonly started: string;
  /** Its environment at its start, `NAME=value` parted by NUL; empty when it may not be read, or is gone. */
  readonly environment: string;
}

/** Whether processes can be looked up here: on Linux with `/proc`. */
export const hasProcessTable = process.platform === 'linux' && existsSync('/proc/self/environ');

/** Every process, the newest first, without those of which nothing but the exit code is left. */
export function* processRows(): Generator<ProcessRow> {
  for (const pid of pids()) {
    const stat = read(`/proc/${pid}/stat`);
    // The name stands in brackets and may hold anything, brackets too.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, parent] = fields;
    const started = fields[19];
    if (started === undefined || state === 'Z' || state === 'X') continue;
    yield { pid, parent: Number(parent), started, environment: read(`/proc/${pid}/environ`) };
  }
}

function pids(): number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 1)
      .sort((a, b) => b - a);
  } catch {
    return []; // this process has no descriptor left; whoever looks looks again
  }
}

/**
 * What some processes have taken for themselves, in bytes: anonymous and shared memory. Beyond `enough` it is asked for exactly: what forked
 * processes share is then counted once.
 */
export function memoryOf(pids: readonly number[], enough: number): number {
  const apart = pids.reduce((sum, pid) => sum + bytesIn(`/proc/${pid}/status`, STATUS), 0);
  if (apart <= enough || pids.length < 2) return apart;
  return pids.reduce((sum, pid) => sum + bytesIn(`/proc/${pid}/smaps_rollup`, ROLLUP), 0);
}

const STATUS = /^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm;
const ROLLUP = /^Pss_(?:Anon|Shmem):\s+(\d+) kB$/gm;

function bytesIn(file: string, lines: RegExp): number {
  return read(file)
    .matchAll(lines)
    .reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}

const chunk = Buffer.alloc(64 * 1024);

/** The text of a file of `/proc`; empty when the process is gone or belongs to somebody else. */
function read(file: string): string {
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch {
    return '';
  }
  let text = '';
  try {
    for (;;) {
      const length = readSync(handle, chunk, 0, chunk.length, null);
      if (length === 0) return text;
      text += chunk.toString('latin1', 0, length);
    }
  } catch {
    return text; // it ended while it was read, or may not be looked into
  } finally {
    closeSync(handle);
  }
}
