import type { ArtifactStore } from '../contract/artifact.ts';
import type { EvaluatorResult } from '../contract/evaluator.ts';
import { ProctorError } from '../contract/problem.ts';
import type { PlannedCase, Snapshot } from '../contract/snapshot.ts';
import type { CorrectionRow, EvidenceRow, ExecutionRow, RunReaders, RunRow, Store } from '../contract/store.ts';
import { methodOf } from '../core/method.ts';
import type { Verdict } from '../core/verdict.ts';
import { canonicalJson, digest } from '../lib/canonical-json.ts';
import { comparable } from './baseline.ts';
import { concludeRun } from './conclude.ts';
import type { ResultBody } from './evidence-rows.ts';
import { rawBodyOf, smallMembers } from './large-bodies.ts';
import { PlanCases, readSnapshot } from './run-context.ts';

/** What a person says of one grade. */
export interface Correction {
  readonly case_id: string;
  readonly repeat: number;
  /** Which evaluator, from 0; null: the only one. */
  readonly evaluator: number | null;
  readonly status: 'passed' | 'failed';
  readonly score: number | null;
  readonly reason: string;
}

/** The verdict of a run with its corrections: the run's own, but for what they change. */
export interface RevisedVerdict extends Verdict {
  /** How many corrections it takes in. */
  readonly revision: number;
}

type Readers = { readonly store: RunReaders; readonly artifacts: ArtifactStore };

/** Corrects a grade by hand: a new evaluator result by a person, the aggregate that follows, and a new revision of the verdict. */
export async function correctGrade(
  deps: { readonly store: Store; readonly artifacts: ArtifactStore },
  run: RunRow,
  correction: Correction,
  principal: string,
): Promise<CorrectionRow> {
  const { store } = deps;
  const snapshot = await readSnapshot(store, comparable(run, 'have grades to correct'));
  const before = await store.corrections(run.run_id);
  const row = await executionOf(store, run, correction);
  const results = await resultsOf(deps, run.run_id, row, before);
  const index = chosen(results, correction);
  const old = results[index];
  if (old === undefined) throw new ProctorError('usage', `case \`${correction.case_id}\` has no evaluator ${index}`);
  const { status, score, reason } = correction;
  if ((status === 'passed' && score === 0) || (status === 'failed' && score === 1))
    throw new ProctorError(
      'usage',
      `${status} with the score ${score} contradicts itself; leave \`--score\` out (passed counts 1, failed 0)`,
    );
  const result: EvaluatorResult = { ...old, status, score, reason, evidence: { corrected_by: principal } };
  const planned = await new PlanCases(deps.artifacts, run.plan_digest, run.repeats).at(row.ordinal);
  const corrected = canonicalJson(aggregated(snapshot, planned.case, results.with(index, result)));
  const next: Revision = { ordinal: row.ordinal, result: canonicalJson(result), aggregate: corrected, principal };
  const verdict = await revisedVerdict(deps, run, snapshot, [...before, next]);
  return await store.correct({
    run_id: run.run_id,
    revision: before.length + 1,
    ...next,
    verdict: canonicalJson(verdict),
  });
}

/** What of a correction a verdict follows from. */
export type Revision = Pick<CorrectionRow, 'ordinal' | 'result' | 'aggregate' | 'principal'>;

/** The verdict with corrections; instants are provenance and stay out, who corrected what and why is content. */
export async function revisedVerdict(
  deps: Readers,
  run: RunRow,
  snapshot: Snapshot,
  revisions: readonly Revision[],
): Promise<RevisedVerdict> {
  const corrected = new Map(revisions.map(({ ordinal, aggregate: text }) => [ordinal, text]));
  const { verdict } = await concludeRun(deps, run, snapshot, () => undefined, corrected);
  const content_digest = digest('proctor/revision/1', {
    content_digest: verdict.content_digest,
    corrections: revisions.map(({ ordinal, result, principal }) => ({
      ordinal,
      result: JSON.parse(result),
      principal,
    })),
  });
  return { ...verdict, content_digest, revision: revisions.length };
}

/** The results of an execution's deciding attempt, with the corrections that stand in their place. */
export async function resultsOf(
  { store, artifacts }: Readers,
  runId: string,
  row: ExecutionRow,
  corrections: readonly Pick<CorrectionRow, 'ordinal' | 'result'>[],
): Promise<EvaluatorResult[]> {
  const evidence = await store.evidence(runId, [row.ordinal]);
  const results: EvaluatorResult[] = [];
  for (const record of evidence) {
    if (record.attempt !== row.attempt || record.kind !== 'evaluator_result') continue;
    const result = await resultOf(artifacts, record);
    results.push(result);
  }
  for (const { ordinal, result } of corrections) {
    if (ordinal !== row.ordinal) continue;
    const corrected = JSON.parse(result) as EvaluatorResult;
    results[corrected.index] = corrected;
  }
  return results;
}

/** The result of an evidence row; of a large one what a grade rests on, without its evidence. */
async function resultOf(artifacts: ArtifactStore, record: EvidenceRow): Promise<EvaluatorResult> {
  const raw = await rawBodyOf(artifacts, record);
  if (raw.type === 'bytes')
    return { evidence: null, reason: null, ...smallMembers(raw.bytes, GRADED) } as EvaluatorResult;
  const { duration_ms: _duration, reused: _reused, ...result } = JSON.parse(raw.text) as ResultBody;
  return result;
}

const GRADED = new Set('blocking dimension index reason ref score severity status weight'.split(' '));

/** The aggregate of an execution from its results, by the frozen profile. */
export function aggregated(snapshot: Snapshot, item: PlannedCase, results: readonly EvaluatorResult[]) {
  const { profile } = snapshot;
  const group = profile.case_groups[item.group];
  if (group === undefined) throw new ProctorError('store_altered', `the profile has no case group ${item.group}`);
  return methodOf(snapshot).aggregate(group, profile.defaults, results);
}

async function executionOf(store: RunReaders, run: RunRow, { case_id, repeat }: Correction): Promise<ExecutionRow> {
  const [row] = await store.executions(run.run_id, { after: { case_id, repeat: repeat - 1 }, limit: 1 });
  if (row?.case_id !== case_id || row.repeat !== repeat)
    throw new ProctorError('not_found', `${run.run_id} has no case \`${case_id}\` with repeat ${repeat}`);
  if (row.status === 'completed') return row;
  throw new ProctorError(
    'illegal_transition',
    `case \`${case_id}\` is ${row.status}${row.fault === null ? '' : `, fault ${row.fault}`}: there is no grade to correct`,
  );
}

function chosen(results: readonly EvaluatorResult[], { case_id, evaluator }: Correction): number {
  if (evaluator !== null && evaluator < results.length) return evaluator;
  if (evaluator === null && results.length === 1) return 0;
  const known = results.map(({ index, ref, dimension }) => `${index} ${ref} (${dimension})`).join(', ');
  throw new ProctorError('usage', `say which evaluator of case \`${case_id}\` with --evaluator: ${known}`);
}
