import type { EvidenceRow, WriteResult } from '../../contract/store.ts';
import { lateHash } from '../../core/evidence.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { type Took, withTook } from './budgets.ts';
import type { Transaction } from './transaction.ts';

/** The attempt that the late writer held. */
export interface LatePlace {
  readonly run_no: number;
  readonly run_id: string;
  readonly ordinal: number;
  readonly attempt: number;
  readonly lease_id: string;
}

/** Keeps what came too late apart, outside the chain; the run's event chain holds its hash. */
export function late(
  tx: Transaction,
  at: LatePlace,
  { verb, rows, took }: { readonly verb: string; readonly rows: readonly EvidenceRow[]; readonly took?: Took },
): WriteResult {
  const body = canonicalJson(rows);
  const last =
    tx.connection.get<{ n: number }>(
      'select coalesce(max(late_seq), 0) as n from late_evidence where run_no = ?',
      at.run_no,
    )?.n ?? 0;
  const row = {
    run_id: at.run_id,
    late_seq: last + 1,
    ordinal: at.ordinal,
    attempt: at.attempt,
    lease_id: at.lease_id,
    verb,
    body,
    received_at: tx.now,
  };
  const hash = lateHash(row);
  tx.connection.run(
    'insert into late_evidence (run_no, late_seq, ordinal, attempt, lease_id, verb, body, received_at, hash) values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    at.run_no,
    row.late_seq,
    row.ordinal,
    row.attempt,
    row.lease_id,
    verb,
    body,
    row.received_at,
    hash,
  );
  tx.event({
    run_no: at.run_no,
    run_id: at.run_id,
    type: 'late_evidence',
    ordinal: at.ordinal,
    attempt: at.attempt,
    body: withTook({ late_seq: row.late_seq, verb, late: hash }, took),
  });
  return 'fenced';
}
