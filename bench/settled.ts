import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const QUIET_MS = 3_000;

/** Waits until what was written before is on the disk and the disk is quiet, so that one measurement does not pay for another's writes. */
export async function settled(): Promise<void> {
  await promisify(execFile)('sync');
  await sleep(QUIET_MS);
}
