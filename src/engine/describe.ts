import type { RunDocument } from '../contract/documents.ts';
import type { RunReaders, RunRow } from '../contract/store.ts';
import { assumedOf, reserveOf, spentOf } from '../core/budget.ts';
import { revisionRoots } from '../core/evidence.ts';
import { instant } from '../core/instant.ts';
import type { Verdict } from '../core/verdict.ts';
import { pausedOf, pausedText } from './paused.ts';
import { readSnapshot } from './run-context.ts';
import { type RunView, viewRun } from './run-view.ts';

/** The document about a run: from its stored verdict when it has ended, from the counters while it runs; never a scan. */
export async function describeRun(store: RunReaders, run: RunRow, given?: RunView): Promise<RunDocument> {
  const [snapshot, progress, budgets, view, tripped] = await Promise.all([
    readSnapshot(store, run),
    store.progress(run.run_id),
    store.budgets(run.run_id),
    given ?? viewRun(store, run),
    run.finished_at === null ? store.breaker(run.run_id) : null,
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
    reason: tripped !== null ? pausedText(tripped) : verdict === null ? run.reason : verdict.reason,
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
    paused: tripped === null ? null : pausedOf(tripped),
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
