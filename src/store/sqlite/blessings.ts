import { ProctorError } from '../../contract/problem.ts';
import type { BlessingRow } from '../../contract/store.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Connection } from './connection.ts';
import { note, toldBlessing } from './journal.ts';
import type { Keys } from './keys.ts';
import type { Transaction } from './transaction.ts';

/** Makes a completed run the baseline of a profile from now on; false when it is so already. */
export function bless(tx: Transaction, keys: Keys, profileId: string, runId: string, by: string): boolean {
  const runNo = keys.run(runId);
  const run = tx.connection.get<{ status: string }>('select status from run where run_no = ?', runNo);
  if (run?.status !== 'completed')
    throw new ProctorError('illegal_transition', `${runId} is ${run?.status}: only a completed run can be blessed`);
  const [now] = blessings(tx.connection, profileId, 1);
  if (now?.run_id === runId && whyUnsound(tx.connection, profileId) === null) return false;
  const row = tx.connection.get<{ blessing_no: number }>(
    'insert into blessing (profile_id, run_no, blessed_by, blessed_at) values (?, ?, ?, ?) returning blessing_no',
    profileId,
    runNo,
    by,
    tx.now,
  );
  note(tx, 'run_blessed', { no: row?.blessing_no ?? 0, profile_id: profileId, run_id: runId, blessed_by: by });
  return true;
}

/** The run that is the profile's baseline now, or null; `store_altered` when the journal tells of another blessing, because a gate rests on it. */
export function blessed(connection: Connection, profileId: string): string | null {
  const why = whyUnsound(connection, profileId);
  if (why === null) return blessings(connection, profileId, 1)[0]?.run_id ?? null;
  throw new ProctorError(
    'store_altered',
    `the baseline of profile \`${profileId}\` cannot be trusted: ${why}; \`proctor doctor --verify\` names what was altered, \`proctor bless RUN\` says anew which run counts`,
  );
}

/** Why the newest blessing of a profile is not the one that the journal tells of last; null when it is. */
function whyUnsound(connection: Connection, profileId: string): string | null {
  const stored = connection.get(
    `select b.blessed_at as at, b.blessing_no as no, b.profile_id, r.run_id, b.blessed_by from blessing b left join run r on r.run_no = b.run_no
where b.profile_id = ? order by b.blessing_no desc limit 1`,
    profileId,
  );
  const told = toldBlessing(connection, profileId);
  if (stored === undefined) return told === null ? null : 'the journal tells of a blessing whose row is gone';
  return told === canonicalJson(stored) ? null : 'its newest blessing is not the one that the journal tells of';
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
