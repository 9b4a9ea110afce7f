import type { EvidenceRow } from '../../contract/store.ts';
import { evidenceHash } from '../../core/evidence.ts';
import type { Transaction } from './transaction.ts';

interface AttemptPlace {
  readonly run_no: number;
  readonly run_id: string;
  readonly ordinal: number;
  readonly attempt: number;
}

/** The last evidence row of an attempt. */
export function evidenceHead(tx: Transaction, at: AttemptPlace): { seq: number; hash: string } {
  const row = tx.connection.get<{ seq: number; hash: string }>(
    'select seq, hash from evidence where run_no = ? and ordinal = ? and attempt = ? order by seq desc limit 1',
    at.run_no,
    at.ordinal,
    at.attempt,
  );
  return row ?? { seq: 0, hash: '' };
}

/** Chains rows on; false when they stand at the end already (the answer to the first commit was lost). */
export function insertEvidence(
  tx: Transaction,
  at: AttemptPlace,
  rows: readonly EvidenceRow[],
  head = evidenceHead(tx, at),
): boolean {
  if (rows.length === 0) return true;
  let { seq, hash } = head;
  if (repeated(tx, at, seq, rows)) return false;
  for (const row of rows) {
    seq += 1;
    hash = evidenceHash(hash, { run_id: at.run_id, ordinal: at.ordinal, attempt: at.attempt, seq }, row);
    tx.connection.run(
      'insert or fail into evidence (run_no, ordinal, attempt, seq, kind, body, artifact, hash) values (?, ?, ?, ?, ?, ?, ?, ?)',
      at.run_no,
      at.ordinal,
      at.attempt,
      seq,
      row.kind,
      row.body,
      row.artifact,
      hash,
    );
  }
  head.seq = seq;
  head.hash = hash;
  return true;
}

function repeated(tx: Transaction, at: AttemptPlace, seq: number, rows: readonly EvidenceRow[]): boolean {
  if (seq < rows.length) return false;
  const stand = tx.connection.all<{ kind: string; body: string; artifact: string | null }>(
    'select kind, body, artifact from evidence where run_no = ? and ordinal = ? and attempt = ? and seq > ? order by seq',
    at.run_no,
    at.ordinal,
    at.attempt,
    seq - rows.length,
  );
  return rows.every((row, index) => {
    const other = stand[index];
    return row.kind === other?.kind && row.body === other.body && row.artifact === other.artifact;
  });
}
