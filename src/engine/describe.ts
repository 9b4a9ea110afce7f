import type { Envelope } from '../contract/agent.ts';
import type { ArtifactStore } from '../contract/artifact.ts';
import type { ExecutionDocument, RunDocument } from '../contract/documents.ts';
import type { EvaluatorResult } from '../contract/evaluator.ts';
import type { CorrectionRow, EvidenceRecord, ExecutionRow, RunReaders, RunRow } from '../contract/store.ts';
import type { Aggregate } from '../core/aggregate.ts';
import { assumedOf, reserveOf, spentOf } from '../core/budget.ts';
import { revisionRoots } from '../core/evidence.ts';
import type { Verdict } from '../core/verdict.ts';
import { instant } from '../lib/clock.ts';
import { executionId } from '../lib/id.ts';
import { allExecutions } from './all-executions.ts';
import { bodyOf, type EnvelopeBody, type ResultBody } from './evidence-rows.ts';
import { executionsNotPassed } from './not-passed.ts';
import { readSnapshot } from './run-context.ts';
import { type RunView, viewRun } from './run-view.ts';

/** The document about a run: from its stored verdict when it has ended, from the counters while it runs; never a scan. */
export async function describeRun(store: RunReaders, run: RunRow, given?: RunView): Promise<RunDocument> {
  const [snapshot, progress, budgets, view] = await Promise.all([
    readSnapshot(store, run),
    store.progress(run.run_id),
    store.budgets(run.run_id),
    given ?? viewRun(store, run),
  ]);
  const left_out = run.stop_reason !== null && run.finished_at !== null ? progress.pending : 0;
  const { verdict } = view;
  const { profile, dataset } = snapshot;
  const { completed, failed, timed_out, cancelled, pending, running, retry_scheduled, waiting, total } = progress;
  const { kind, name, version, provider } = profile.agent;
  return {
    run_id: run.run_id,
    run_key: run.run_key,
    regrade_of: snapshot.regrade_of?.run_id ?? null,
    status: run.status,
    gate_status: view.gate_status,
    reason: verdict === null ? run.reason : verdict.reason,
    profile: { profile_id: profile.profile_id, profile_version: profile.profile_version },
    agent: { kind, name, version, provider },
    dataset: { dataset_id: dataset.dataset_id, dataset_version: dataset.dataset_version, cases: dataset.cases },
    repeats: run.repeats,
    executions: {
      total,
      completed,
      failed,
      timed_out,
      cancelled,
      pending: pending - left_out,
      running,
      retry_scheduled,
      waiting,
      left_out,
    },
    faults: verdict === null ? null : { configuration: 0, ...verdict.faults },
    graded: verdict?.graded ?? null,
    passed: verdict?.passed ?? progress.passed,
    pass_rate: verdict?.pass_rate ?? null,
    pass_rate_strict: verdict?.pass_rate_strict ?? null,
    interval: verdict?.interval ? [verdict.interval[0], verdict.interval[1]] : null,
    interval_method: verdict?.interval_method ?? null,
    mean_score: verdict?.mean_score ?? null,
    scores: { ...verdict?.scores },
    conditions: (verdict?.conditions ?? []).map((condition) => ({ ...condition })),
    baseline: (verdict?.baseline ?? null) as RunDocument['baseline'],
    stopped:
      run.stop_reason === null
        ? null
        : { reason: run.stop_reason, after_cases: run.stop_after === null ? null : run.stop_after / run.repeats },
    spent: progress.spent,
    budgets: budgets.map((budget) => ({
      kind: budget.kind,
      cap: budget.cap,
      spent: spentOf(budget),
      known: budget.known,
      assumed: assumedOf(budget),
      untold: budget.untold,
      reserve: reserveOf(budget),
    })),
    revision: revisionOf(view),
    attempts: progress.attempts,
    stale_attempts: progress.stale,
    created_at: instant(run.created_at),
    started_at: run.started_at === null ? null : instant(run.started_at),
    finished_at: run.finished_at === null ? null : instant(run.finished_at),
    duration_ms: run.started_at === null || run.finished_at === null ? null : run.finished_at - run.started_at,
    snapshot_digest: run.snapshot_digest,
    content_digest: view.content_digest,
    evidence_root: run.evidence_root,
  };
}

function revisionOf({ run, revision, latest, corrections }: RunView): RunDocument['revision'] {
  if (latest === 0 || run.verdict === null) return null;
  const last = corrections.at(-1);
  const { gate_status, reason, passed, pass_rate, content_digest } = JSON.parse(run.verdict) as Verdict;
  return {
    number: revision,
    latest,
    corrected_by: last?.principal ?? null,
    corrected_at: last === undefined ? null : instant(last.corrected_at),
    revision_root: revisionRoots(run, corrections).at(-1) ?? '',
    own: { gate_status, reason, passed, pass_rate, content_digest },
  };
}

/** The execution by the corrections of its grades: people's results in place of the evaluators', and the aggregate with them. */
function withCorrections(document: ExecutionDocument, rows: readonly CorrectionRow[]): ExecutionDocument {
  const last = rows.at(-1);
  if (last === undefined) return document;
  const evaluator_results = [...document.evaluator_results];
  const own = new Map<number, Pick<EvaluatorResult, 'index' | 'status' | 'score' | 'reason'>>();
  for (const row of rows) {
    const result = JSON.parse(row.result) as EvaluatorResult;
    const before = document.evaluator_results[result.index];
    if (before !== undefined) {
      const { index, status, score, reason } = before;
      own.set(index, { index, status, score, reason });
    }
    evaluator_results[result.index] = result as ExecutionDocument['evaluator_results'][number];
  }
  const { passed = false, score = 0 } = document.aggregate ?? {};
  const aggregate = JSON.parse(last.aggregate) as Aggregate as ExecutionDocument['aggregate'];
  const corrected = { corrected_by: last.principal, own: { passed, score, results: [...own.values()] } };
  return { ...document, aggregate, evaluator_results, corrected };
}

/** Which executions of a run to describe: all, those that did not pass, or those of one case. */
export type ExecutionFilter =
  | { readonly type: 'all' }
  | { readonly type: 'not_passed' }
  | { readonly type: 'case'; readonly case_id: string };

/** The documents about executions of a run, streamed; all of them come in (case_id, repeat) order, those not passed in plan order. */
export async function* describeExecutions(
  deps: { store: RunReaders; artifacts: ArtifactStore },
  view: RunView,
  filter: ExecutionFilter = { type: 'all' },
): AsyncGenerator<ExecutionDocument> {
  const { run } = view;
  const corrections = Map.groupBy(view.corrections, (row) => row.ordinal);
  for await (const rows of pages(deps.store, view, filter)) {
    const ordinals = rows.map((row) => row.ordinal);
    const evidence = Map.groupBy(await deps.store.evidence(run.run_id, ordinals), (record) => record.ordinal);
    const attempts = Map.groupBy(await deps.store.attempts(run.run_id, ordinals), (attempt) => attempt.ordinal);
    for (const row of rows) {
      const own = (evidence.get(row.ordinal) ?? []).filter((record) => record.attempt === row.attempt);
      const all = attempts.get(row.ordinal) ?? [];
      const document = await describeExecution(deps.artifacts, view, row, own, {
        count: all.length,
        reason: all.at(-1)?.reason ?? null,
      });
      yield withCorrections(document, corrections.get(row.ordinal) ?? []);
    }
  }
}

const PAGE = 100;

async function* pages(store: RunReaders, view: RunView, filter: ExecutionFilter): AsyncGenerator<ExecutionRow[]> {
  const { run_id, repeats } = view.run;
  if (filter.type === 'all') yield* allExecutions(store, run_id);
  else if (filter.type === 'not_passed') yield* executionsNotPassed(store, view, PAGE);
  else {
    const rows = await store.executions(run_id, { after: { case_id: filter.case_id, repeat: 0 }, limit: repeats });
    yield rows.filter((row) => row.case_id === filter.case_id);
  }
}

async function describeExecution(
  artifacts: ArtifactStore,
  { run, revision }: RunView,
  row: ExecutionRow,
  evidence: readonly EvidenceRecord[],
  attempts: { count: number; reason: string | null },
): Promise<ExecutionDocument> {
  let envelope: Envelope | null = null;
  let latency_ms: number | null = null;
  let failure: unknown = null;
  const results: EvaluatorResult[] = [];
  for (const record of evidence) {
    const body = JSON.parse(await bodyOf(artifacts, record)) as unknown;
    if (record.kind === 'envelope') ({ envelope, latency_ms } = body as EnvelopeBody);
    else if (record.kind === 'failure') failure = body;
    else {
      const { duration_ms: _duration, reused: _reused, ...result } = body as ResultBody;
      results.push(result);
    }
  }
  return {
    run_id: run.run_id,
    execution_id: executionId(run.run_id, row.ordinal),
    case_id: row.case_id,
    repeat: row.repeat,
    revision,
    status: row.status,
    fault: row.fault,
    reason: row.status === 'completed' ? null : attempts.reason,
    aggregate:
      row.aggregate === null ? null : (JSON.parse(row.aggregate) as Aggregate as ExecutionDocument['aggregate']),
    attempts: attempts.count,
    latency_ms,
    evaluator_results: results,
    corrected: null,
    output: (envelope?.structured ?? envelope?.text ?? null) as ExecutionDocument['output'],
    failure: failure as ExecutionDocument['failure'],
    beyond_stop: run.stop_after !== null && row.ordinal >= run.stop_after,
  };
}
