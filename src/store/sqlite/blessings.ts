import { ProctorError } from '../../contract/problem.ts';
import type { BlessingRow } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { Transaction } from './transaction.ts';

/** Makes a completed run the baseline of a profile from now on; false when it is so already. */
export function bless(tx: Transaction, keys: Keys, profileId: string, runId: string, by: string): boolean {
  const runNo = keys.run(runId);
  const run = tx.connection.get<{ status: string }>('select status from run where run_no = ?', runNo);
  if (run?.status !== 'completed')
    throw new ProctorError('illegal_transition', `${runId} is ${run?.status}: only a completed run can be blessed`);
  if (blessed(tx.connection, profileId) === runId) return false;
  tx.connection.run(
    'insert into blessing (profile_id, run_no, blessed_by, blessed_at) values (?, ?, ?, ?)',
    profileId,
    runNo,
    by,
    tx.now,
  );
  return true;
}

/** The run that is the profile's baseline now, or null. */
export function blessed(connection: Connection, profileId: string): string | null {
  return blessings(connection, profileId, 1)[0]?.run_id ?? null;
}

/** The blessings of a profile, newest first. */
export function blessings(connection: Connection, profileId: string, limit: number): BlessingRow[] {
  return connection.all<BlessingRow & Record<string, unknown>>(
    `select b.profile_id, r.run_id, b.blessed_by, b.blessed_at from blessing b join run r on r.run_no = b.run_no
where b.profile_id = ? order by b.blessing_no desc limit ?`,
    profileId,
    limit,
  );
}
