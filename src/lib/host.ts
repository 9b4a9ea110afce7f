import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** What identifies a process for as long as this machine runs: a pid alone is reused. */
export interface ProcessIdentity {
  readonly host: string;
  /** Changes at every boot; '' where the system does not tell. */
  readonly boot_id: string;
  readonly pid: number;
  /** When the process started, in the system's own unit; '' where the system does not tell. */
  readonly process_start: string;
}

/** The identity of this process. */
export function thisProcess(): ProcessIdentity {
  return { host: hostname(), boot_id: bootId(), pid: process.pid, process_start: processStart(process.pid) };
}

/** True when the process ran on this machine and certainly runs no more; false when it may be alive or is elsewhere. */
export function isDead(identity: ProcessIdentity): boolean {
  if (identity.host !== hostname()) return false;
  if (identity.boot_id !== bootId()) return true;
  if (!exists(identity.pid)) return true;
  return identity.process_start !== '' && processStart(identity.pid) !== identity.process_start;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** What changes at every start of the machine; '' where the system does not tell. */
export function bootId(): string {
  return readOr('/proc/sys/kernel/random/boot_id', '').trim();
}

/** Field 22 of /proc/PID/stat; the command name before it may hold spaces and parentheses. */
function processStart(pid: number): string {
  const stat = readOr(`/proc/${pid}/stat`, '');
  const state = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state[0] === 'Z' ? 'zombie' : (state[19] ?? '');
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return otherwise; // not Linux, or gone
    throw error;
  }
}
