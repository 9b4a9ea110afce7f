import type { ArtifactStore } from '../../contract/artifact.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { PlannedCase, Snapshot } from '../../contract/snapshot.ts';
import type { RunRow, Store } from '../../contract/store.ts';
import { evidenceRoot } from '../../core/evidence.ts';
import { canonicalJson, digest } from '../../lib/canonical-json.ts';
import { allExecutions, Concluder } from '../finalize.ts';
import { PlanCases, readSnapshot } from '../run-context.ts';
import { type ChainSummary, checkEvents } from './check-events.ts';
import { checkExecution } from './check-execution.ts';
import { type Difference, Differences } from './differences.ts';

/** What `verify` found. */
export interface Verification {
  readonly run_id: string;
  readonly status: RunRow['status'];
  /** True when everything recomputes to what is stored. */
  readonly ok: boolean;
  readonly differences: number;
  /** The first of them. */
  readonly found: readonly Difference[];
  readonly checked: {
    readonly executions: number;
    readonly attempts: number;
    readonly evidence: number;
    readonly events: number;
  };
  /** Executions whose envelope persistence left out: their scores were checked, their content was taken as recorded. */
  readonly not_recomputable: number;
  readonly evidence_root: string | null;
  readonly content_digest: string | null;
}

/**
 * Recomputes a run from raw evidence: the frozen snapshot and plan, every chain and seal, aggregates, content digests, the
 * event chain, statistics, gate and evidence root; names each place that differs. `expect` is a root noted elsewhere: only
 * it finds a rewrite in which every hash was made anew.
 */
export async function verifyRun(
  deps: { readonly store: Store; readonly artifacts: ArtifactStore },
  run: RunRow,
  expect: string | null,
): Promise<Verification> {
  const { store } = deps;
  const differences = new Differences();
  const checked = { executions: 0, attempts: 0, evidence: 0, events: 0 };
  const snapshot = await snapshotOf(store, run, differences);
  const chain = await checkEvents(store, run, differences);
  checked.events = chain.count;
  if (snapshot !== null) await checkRows(deps, run, snapshot, chain, checked, differences);
  const counts = await store.rowCounts(run.run_id);
  for (const table of ['execution', 'attempt', 'evidence'] as const) {
    const seen = { execution: checked.executions, attempt: checked.attempts, evidence: checked.evidence }[table];
    if (snapshot !== null)
      differences.same(table, run.run_id, 'rows that belong to no execution of the plan', seen, counts[table]);
  }
  if (run.finished_at !== null && run.status !== 'failed')
    differences.same('queue', run.run_id, 'nothing is queued of an ended run', 0, counts.queue);
  if (run.status === 'completed') await checkOutbox(store, run, differences);
  if (expect !== null)
    differences.same('run', run.run_id, 'the evidence root that was expected', expect, run.evidence_root);
  return {
    run_id: run.run_id,
    status: run.status,
    ok: differences.count === 0,
    differences: differences.count,
    found: differences.list,
    checked,
    not_recomputable: differences.notRecomputable,
    evidence_root: run.evidence_root,
    content_digest: run.content_digest,
  };
}

async function snapshotOf(store: Store, run: RunRow, differences: Differences): Promise<Snapshot | null> {
  try {
    const snapshot = await readSnapshot(store, run);
    differences.same('run', run.run_id, 'plan_digest', snapshot.dataset.plan_digest, run.plan_digest);
    differences.same('run', run.run_id, 'cases', snapshot.dataset.cases, run.cases);
    differences.same('run', run.run_id, 'repeats', snapshot.profile.repeats, run.repeats);
    differences.same('run', run.run_id, 'total', run.cases * run.repeats, run.total);
    return snapshot;
  } catch (error) {
    if (!ProctorError.is(error) && !(error instanceof SyntaxError)) throw error;
    differences.add('snapshot', run.snapshot_digest, error.message);
    return null;
  }
}

async function checkRows(
  deps: { readonly store: Store; readonly artifacts: ArtifactStore },
  run: RunRow,
  snapshot: Snapshot,
  chain: ChainSummary,
  checked: { executions: number; attempts: number; evidence: number },
  differences: Differences,
): Promise<void> {
  const { store, artifacts } = deps;
  const plan = new PlanCases(artifacts, run.plan_digest, run.repeats);
  const concluder = new Concluder(snapshot.profile, run.snapshot_digest);
  for await (const page of allExecutions(store, run.run_id)) {
    const ordinals = page.map((row) => row.ordinal);
    const evidence = Map.groupBy(await store.evidence(run.run_id, ordinals), (record) => record.ordinal);
    const attempts = Map.groupBy(await store.attempts(run.run_id, ordinals), (attempt) => attempt.ordinal);
    for (const row of page) {
      const own = { attempts: attempts.get(row.ordinal) ?? [], evidence: evidence.get(row.ordinal) ?? [] };
      checked.executions += 1;
      checked.attempts += own.attempts.length;
      checked.evidence += own.evidence.length;
      const planned = await plannedAt(plan, run, row.ordinal, differences);
      await checkExecution(
        artifacts,
        { run_id: run.run_id, profile: snapshot.profile, row, planned, ...own },
        differences,
      );
      if (run.status === 'completed' && row.hash !== null) concluder.add(row);
    }
  }
  differences.same('run', run.run_id, 'materialized', checked.executions, run.materialized);
  if (run.status === 'completed') conclude(run, concluder, chain, checked.executions, differences);
}

async function plannedAt(
  plan: PlanCases,
  run: RunRow,
  ordinal: number,
  differences: Differences,
): Promise<{ case: PlannedCase; repeat: number } | null> {
  if (ordinal < 0 || ordinal >= run.total) return null;
  try {
    const planned = await plan.at(ordinal);
    const { task_type, input, expected, context } = planned.case;
    differences.same(
      'plan',
      `case ${planned.case.id}`,
      'case_content',
      digest('proctor/case/1', { task_type, input, expected, context }),
      planned.case.case_content,
    );
    return planned;
  } catch (error) {
    if (!ProctorError.is(error)) throw error;
    differences.add('plan', run.plan_digest, error.message);
    return null;
  }
}

function conclude(
  run: RunRow,
  concluder: Concluder,
  chain: ChainSummary,
  executions: number,
  differences: Differences,
): void {
  differences.same('run', run.run_id, 'every execution of the plan is there', run.total, executions);
  const { verdict, merkle_root } = concluder.end();
  differences.same('verdict', run.run_id, 'verdict', canonicalJson(verdict), run.verdict);
  differences.same('verdict', run.run_id, 'gate_status', verdict.gate_status, run.gate_status);
  differences.same('verdict', run.run_id, 'content_digest', verdict.content_digest, run.content_digest);
  differences.same('run', run.run_id, 'merkle_root', merkle_root, run.merkle_root);
  differences.same('run', run.run_id, 'event_head', chain.head_before_completion, run.event_head);
  const root = evidenceRoot({
    snapshot_digest: run.snapshot_digest,
    merkle_root,
    event_head: chain.head_before_completion ?? '',
    finished_at: run.finished_at ?? 0,
  });
  differences.same('run', run.run_id, 'evidence_root', root, run.evidence_root);
}

async function checkOutbox(store: Store, run: RunRow, differences: Differences): Promise<void> {
  const rows = await store.outbox(run.run_id);
  differences.same('outbox', run.run_id, 'one completion', 1, rows.length);
  const { run_id, gate_status, content_digest, evidence_root } = run;
  for (const row of rows) {
    differences.same('outbox', row.dedupe_key, 'dedupe_key', `run:${run_id}:final`, row.dedupe_key);
    differences.same('outbox', row.dedupe_key, 'type', 'run_completed', row.type);
    differences.same(
      'outbox',
      row.dedupe_key,
      'body',
      canonicalJson({ run_id, gate_status, content_digest, evidence_root }),
      row.body,
    );
    differences.same('outbox', row.dedupe_key, 'created_at', run.finished_at, row.created_at);
  }
}
