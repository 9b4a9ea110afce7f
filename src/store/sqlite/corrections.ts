import { ProctorError } from '../../contract/problem.ts';
import type { CorrectionRow, NewCorrection } from '../../contract/store.ts';
import { correctionHash } from '../../core/evidence.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { Transaction } from './transaction.ts';

/** Adds a correction as the next revision of a completed run, with its event; `illegal_transition` when another was first. */
export function correct(tx: Transaction, keys: Keys, correction: NewCorrection): CorrectionRow {
  const { run_id, revision, ordinal, result, aggregate, verdict, principal } = correction;
  const runNo = keys.run(run_id);
  const run = tx.connection.get<{ status: string; evidence_root: string | null }>(
    'select status, evidence_root from run where run_no = ?',
    runNo,
  );
  const last = tx.connection.get<{ revision: number; hash: string }>(
    'select revision, hash from correction where run_no = ? order by revision desc limit 1',
    runNo,
  );
  if (run?.status !== 'completed')
    throw new ProctorError(
      'illegal_transition',
      `${run_id} is ${run?.status}: only a completed run has grades to correct`,
    );
  if (revision !== (last?.revision ?? 0) + 1)
    throw new ProctorError(
      'illegal_transition',
      `${run_id} was corrected by somebody else meanwhile; look again and repeat`,
    );
  const row = { revision, ordinal, result, aggregate, verdict, principal, corrected_at: tx.now };
  const hash = correctionHash(last?.hash ?? run.evidence_root ?? '', { run_id, ...row });
  tx.connection.run(
    `insert into correction (run_no, revision, ordinal, result, aggregate, verdict, principal, corrected_at, hash)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    runNo,
    revision,
    ordinal,
    result,
    aggregate,
    verdict,
    principal,
    tx.now,
    hash,
  );
  tx.event({
    run_no: runNo,
    run_id,
    type: 'grade_corrected',
    ordinal,
    body: canonicalJson({ correction: hash, revision }),
  });
  return { ...row, hash };
}

/** The corrections of a run, in order. */
export function corrections(connection: Connection, keys: Keys, runId: string): CorrectionRow[] {
  return connection.all<CorrectionRow & Record<string, unknown>>(
    `select revision, ordinal, result, aggregate, verdict, principal, corrected_at, hash from correction
where run_no = ? order by revision`,
    keys.run(runId),
  );
}
