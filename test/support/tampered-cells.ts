import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { EvaluatorResult } from '../../src/contract/evaluator.ts';
import type { Snapshot } from '../../src/contract/snapshot.ts';
import type { RunRow } from '../../src/contract/store.ts';
import { aggregate } from '../../src/core/aggregate.ts';
import { envelopeContent, executionContent } from '../../src/core/evidence.ts';
import type { EnvelopeBody } from '../../src/engine/evidence-rows.ts';
import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { runNoOf } from './tampered-store.ts';

const KEYS: Readonly<Record<string, string>> = {
  evidence: 'run_no, ordinal, attempt, seq',
  attempt: 'run_no, ordinal, attempt',
  event: 'run_no, seq',
  run: 'run_no',
};

/** Sets a cell of the first row, in key order, that a condition finds. */
export function setCell(db: DatabaseSync, table: string, where: string, column: string, value: SQLInputValue): void {
  const key = KEYS[table] ?? 'run_no, ordinal';
  const first = `select ${key} from ${table} where ${where} order by ${key} limit 1`;
  const { changes } = db.prepare(`update ${table} set ${column} = ? where (${key}) = (${first})`).run(value);
  if (changes !== 1) throw new Error(`${changes} rows of ${table} have ${where}`);
}

/** A row of evidence: its body, and the conditions that find it, its attempt and its execution again. */
export interface FoundEvidence {
  readonly row: string;
  readonly attempt: string;
  readonly execution: string;
  readonly body: Record<string, unknown>;
}

/** The first evidence of a kind, of an attempt without artifacts that ended its execution with `status`. */
export function evidenceOf(db: DatabaseSync, run: RunRow, status: string, kind: string): FoundEvidence {
  const found = db
    .prepare(
      `select run_no, ordinal, attempt, seq, e.body from evidence e join result r using (run_no, ordinal, attempt)
where run_no = ? and r.status = ? and e.kind = ? and coalesce(e.body ->> '$.status', 'failed') = 'failed' and not exists (
  select 1 from evidence a where a.run_no = e.run_no and a.ordinal = e.ordinal and a.artifact is not null)
order by ordinal, seq limit 1`,
    )
    .get(runNoOf(db, run.run_id), status, kind);
  if (found === undefined) throw new Error(`no execution that ${status} has evidence of kind ${kind}`);
  const { run_no, ordinal, attempt, seq, body } = found;
  const execution = `run_no = ${run_no} and ordinal = ${ordinal}`;
  const of = `${execution} and attempt = ${attempt}`;
  return { row: `${of} and seq = ${seq}`, attempt: of, execution, body: JSON.parse(String(body)) };
}

/** Rewrites the first evaluator result that failed, with the aggregate and content that follow from it. */
export function regrade(db: DatabaseSync, run: RunRow, members: Partial<EvaluatorResult>): void {
  const found = evidenceOf(db, run, 'completed', 'evaluator_result');
  setCell(db, 'evidence', found.row, 'body', canonicalJson({ ...found.body, ...members }));
  aggregateAnew(db, run, found);
}

/** Makes an execution's aggregate and content anew from its evidence, as a worker would. */
export function aggregateAnew(db: DatabaseSync, run: RunRow, { attempt, execution }: FoundEvidence): void {
  const snapshot = db.prepare('select body from snapshot where digest = ?').get(run.snapshot_digest)?.['body'];
  const { profile } = JSON.parse(String(snapshot)) as Snapshot;
  const group = profile.case_groups.find(({ evaluators }) => evaluators.length > 1); // the group of the first case that failed
  const evidence = db.prepare(`select kind, body from evidence where ${attempt} order by seq`).all();
  const bodies = evidence.map(({ kind, body }) => ({ kind, body: JSON.parse(String(body)) as unknown }));
  const kept = bodies.find((item) => item.kind === 'envelope')?.body as EnvelopeBody | undefined;
  if (group === undefined || !kept?.envelope) throw new Error('there is nothing to grade');
  const results = bodies.flatMap((item) => (item.kind === 'evaluator_result' ? [item.body as EvaluatorResult] : []));
  const score = aggregate(group, profile.defaults, results);
  const graded = { envelope: envelopeContent(kept.envelope), evaluator_results: results, aggregate: score };
  setCell(db, 'result', execution, 'aggregate', canonicalJson(score));
  setCell(db, 'result', execution, 'passed', score.passed ? 1 : 0);
  setCell(db, 'result', execution, 'content', executionContent({ status: 'completed', fault: null, ...graded }));
}
