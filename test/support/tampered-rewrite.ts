import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Snapshot } from '../../src/contract/snapshot.ts';
import type { AttemptRow, EvidenceRecord, ExecutionRow, LateRow, RunRow } from '../../src/contract/store.ts';
import { attemptSeal, eventHash, evidenceHash, evidenceRoot, lateHash, resultHash } from '../../src/core/evidence.ts';
import { Concluder } from '../../src/engine/conclude.ts';
import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { runNoOf, type Tamper } from './tampered-store.ts';

/** What a forger does, in this order: each level makes anew what the levels before it left behind. */
export const LEVELS = [
  'change',
  'evidence',
  'seals',
  'results',
  'finished',
  'late',
  'chain',
  'verdict',
  'root',
  'completed',
  'outbox',
  'counters',
] as const;
export type Level = (typeof LEVELS)[number];

/** Changes rows of a completed run and makes every hash over them anew, on all levels or some, as somebody would who knows all there is to know. */
export function rewrite(db: DatabaseSync, run: RunRow, change: Tamper, levels: readonly Level[] = LEVELS): void {
  const forger = new Forger(db, run, change);
  for (const level of levels) forger[level]();
}

/** The hashes of a run, made anew from whatever its rows say by now. */
class Forger {
  readonly #db: DatabaseSync;
  readonly #run: RunRow;
  readonly #runNo: number;
  readonly #change: Tamper;
  #eventHead = '';

  constructor(db: DatabaseSync, run: RunRow, change: Tamper) {
    this.#db = db;
    this.#run = run;
    this.#runNo = runNoOf(db, run.run_id);
    this.#change = change;
  }

  change(): void {
    this.#change(this.#db);
  }

  evidence(): void {
    let head = '';
    for (const record of this.#rows<EvidenceRecord>('select * from evidence where run_no = ? order by 2, 3, 4')) {
      const { ordinal, attempt, seq } = record;
      head = evidenceHash(seq === 1 ? '' : head, { run_id: this.#run.run_id, ordinal, attempt, seq }, record);
      this.#write('update evidence set hash = ? where run_no = ? and ordinal = ? and attempt = ? and seq = ?', [
        head,
        this.#runNo,
        ordinal,
        attempt,
        seq,
      ]);
    }
  }

  seals(): void {
    const attempts = this.#rows<AttemptRow & { head: string | null }>(
      `select a.*, s.session_id, (select hash from evidence e where e.run_no = a.run_no and e.ordinal = a.ordinal
  and e.attempt = a.attempt order by seq desc limit 1) as head
from attempt a left join worker_session s using (session_no) where a.run_no = ? and a.ended_at is not null order by ordinal, attempt`,
    );
    let seal = '';
    for (const row of attempts) {
      const { ordinal, attempt, ended_at, evidence_count, head } = row;
      const record = { ...row, run_id: this.#run.run_id, ended_at: ended_at ?? 0, evidence_count: evidence_count ?? 0 };
      seal = attemptSeal(attempt === 1 ? '' : seal, head ?? '', record);
      const sql = 'update attempt set seal = ? where run_no = ? and ordinal = ? and attempt = ?';
      this.#write(sql, [seal, this.#runNo, ordinal, attempt]);
    }
  }

  results(): void {
    const results = this.#rows<ExecutionRow & { seal: string | null }>(
      `select r.*, (select seal from attempt a where a.run_no = r.run_no and a.ordinal = r.ordinal order by attempt desc limit 1) as seal
from result r where run_no = ?`,
    );
    for (const row of results) {
      const { ordinal, content, finished_at, seal } = row;
      const record = { ...row, run_id: this.#run.run_id, content: content ?? '', finished_at: finished_at ?? 0 };
      const hash = resultHash(seal ?? '', record);
      this.#write('update result set hash = ? where run_no = ? and ordinal = ?', [hash, this.#runNo, ordinal]);
    }
  }

  finished(): void {
    for (const row of this.#rows<ExecutionRow>('select * from result where run_no = ?')) {
      const { ordinal, status, fault, passed, hash } = row;
      const body = this.#retold("type = 'execution_finished' and ordinal = ?", ordinal, {
        status,
        fault,
        passed: Number(passed) === 1,
        result: hash,
      });
      const sql = "update event set body = ? where run_no = ? and ordinal = ? and type = 'execution_finished'";
      this.#write(sql, [body, this.#runNo, ordinal]);
    }
  }

  late(): void {
    for (const row of this.#rows<LateRow>('select * from late_evidence where run_no = ?')) {
      const hash = lateHash({ ...row, run_id: this.#run.run_id });
      const told = { late_seq: row.late_seq, verb: row.verb, late: hash };
      const body = this.#retold("type = 'late_evidence' and body ->> '$.late_seq' = ?", row.late_seq, told);
      this.#write('update late_evidence set hash = ? where run_no = ? and late_seq = ?', [
        hash,
        this.#runNo,
        row.late_seq,
      ]);
      const sql = "update event set body = ? where run_no = ? and type = 'late_evidence' and body ->> '$.late_seq' = ?";
      this.#write(sql, [body, this.#runNo, row.late_seq]);
    }
  }

  chain(): void {
    let hash = '';
    for (const event of this.#rows<Parameters<typeof eventHash>[1]>(
      'select * from event where run_no = ? order by seq',
    )) {
      if (event.type === 'run_completed') this.#eventHead = hash;
      hash = eventHash(hash, { ...event, run_id: this.#run.run_id });
      this.#write('update event set hash = ? where run_no = ? and seq = ?', [hash, this.#runNo, event.seq]);
    }
    this.#write('update run_head set event_hash = ? where run_no = ?', [hash, this.#runNo]);
  }

  verdict(): void {
    const concluder = new Concluder(this.#snapshot(), this.#run.snapshot_digest);
    const rows = this.#rows<ExecutionRow>(
      'select x.case_id, x.repeat, x.cluster, r.* from execution x join result r using (run_no, ordinal) where run_no = ? order by case_id, repeat',
    );
    for (const row of rows) concluder.add(row);
    const { verdict, merkle_root } = concluder.end();
    const { gate_status, content_digest } = verdict;
    const set = 'verdict = ?, gate_status = ?, content_digest = ?, merkle_root = ?';
    const values = [canonicalJson(verdict), gate_status, content_digest, merkle_root];
    this.#write(`update run set ${set} where run_no = ?`, [...values, this.#runNo]);
  }

  root(): void {
    const { snapshot_digest, merkle_root, finished_at } = this.#now();
    const event_head = this.#eventHead;
    const parts = { snapshot_digest, merkle_root: merkle_root ?? '', event_head, finished_at: finished_at ?? 0 };
    const sql = 'update run set event_head = ?, evidence_root = ? where run_no = ?';
    this.#write(sql, [event_head, evidenceRoot(parts), this.#runNo]);
  }

  completed(): void {
    const sql = "update event set body = ? where run_no = ? and type = 'run_completed'";
    this.#write(sql, [this.#completion(), this.#runNo]);
    this.chain();
  }

  outbox(): void {
    this.#write('update outbox set body = ? where run_no = ?', [this.#completion(), this.#runNo]);
  }

  counters(): void {
    this.#write(
      "update run_stat set n = (select sum(passed) from result where run_no = ?1) where run_no = ?1 and kind = 'passed'",
      [this.#runNo],
    );
  }

  /** The body of an event with other members, what its attempt took kept. */
  #retold(where: string, key: number, members: Readonly<Record<string, unknown>>): string {
    const event = this.#db.prepare(`select body from event where run_no = ? and ${where}`).get(this.#runNo, key);
    return canonicalJson({ ...JSON.parse(String(event?.['body'] ?? '{}')), ...members });
  }

  #completion(): string {
    const { run_id, gate_status, content_digest, evidence_root } = this.#now();
    return canonicalJson({ run_id, gate_status, content_digest, evidence_root });
  }

  #now(): RunRow {
    const [row] = this.#rows<RunRow>('select * from run where run_no = ?');
    if (row === undefined) throw new Error('the run is gone');
    return row;
  }

  #snapshot(): Snapshot {
    const row = this.#db.prepare('select body from snapshot where digest = ?').get(this.#run.snapshot_digest);
    return JSON.parse(String(row?.['body'])) as Snapshot;
  }

  #rows<Row>(sql: string): Row[] {
    return this.#db.prepare(sql).all(this.#runNo) as unknown as Row[];
  }

  #write(sql: string, values: readonly SQLInputValue[]): void {
    const { changes } = this.#db.prepare(sql).run(...values);
    if (changes !== 1) throw new Error(`${changes} rows were rewritten by: ${sql}`);
  }
}
