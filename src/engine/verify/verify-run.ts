import type { ArtifactStore } from '../../contract/artifact.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { Snapshot } from '../../contract/snapshot.ts';
import type { RunReaders, RunRow } from '../../contract/store.ts';
import { budgetsOf } from '../../core/budget.ts';
import { revisionRoots } from '../../core/evidence.ts';
import { methodOf } from '../../core/method.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { readSnapshot } from '../run-context.ts';
import { checkCorrections } from './check-corrections.ts';
import { checkEvents } from './check-events.ts';
import { checkExpected, type ExpectedRoot } from './check-expected.ts';
import { checkGateway } from './check-gateway.ts';
import { checkLate } from './check-late.ts';
import { checkRows } from './check-rows.ts';
import { checkOutbox, checkVerdict } from './check-verdict.ts';
import { type Difference, Differences } from './differences.ts';

/** What `verify` found. */
export interface Verification {
  readonly run_id: string;
  readonly status: RunRow['status'];
  /** True when everything recomputes to what is stored. */
  readonly ok: boolean;
  readonly differences: number;
  /** True when so many places differ that the rest was not looked at. */
  readonly stopped: boolean;
  /** The first of them. */
  readonly found: readonly Difference[];
  readonly checked: {
    readonly executions: number;
    readonly attempts: number;
    readonly evidence: number;
    readonly events: number;
    /** Calls of gated tools. */
    readonly tool_runs: number;
  };
  /** Executions of which something is not there: their scores were checked, what was graded and found was taken as recorded. */
  readonly not_recomputable: number;
  /** What is not there, by executions: persistence left it out, or it held secrets. */
  readonly left_out: { readonly output: number; readonly evaluator_evidence: number; readonly secrets: number };
  /** The method that computed the run (`core/method.ts`); null when the snapshot cannot be read. */
  readonly method: number | null;
  readonly evidence_root: string | null;
  readonly content_digest: string | null;
  /** Corrections by hand that were checked too. */
  readonly revision: number;
  /** The root of that revision; null without corrections, where the evidence root is the verdict's. */
  readonly revision_root: string | null;
  /** What the root given with `--expect` proves; null when none was given, or no revision has it. */
  readonly expected: ExpectedRoot | null;
}

type Deps = { readonly store: RunReaders; readonly artifacts: ArtifactStore };

const TRIES = 3;

/**
 * Recomputes a run from raw evidence: the frozen snapshot and plan, every chain and seal, aggregates, content digests, the
 * event chain, statistics, gate and evidence root; names each place that differs. `expect` is a root noted elsewhere, the run's or
 * one of its revisions': only it finds a rewrite in which every hash was made anew. A run that moved meanwhile is checked again; `store_busy` when it
 * does not rest.
 */
export async function verifyRun(deps: Deps, run: RunRow, expect: string | null): Promise<Verification> {
  const { run_id } = run;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const now = (await deps.store.run(run_id)) ?? run;
    const before = await stateOf(deps.store, now);
    const verification = await verifyOnce(deps, now, expect);
    if (verification.ok) return verification;
    const after = await stateOf(deps.store, (await deps.store.run(run_id)) ?? run);
    if (after === before) return verification;
  }
  throw new ProctorError(
    'store_busy',
    `run ${run_id} changed while it was verified, ${TRIES} times over: its workers are at work; verify it once it has ended, or stop them first`,
  );
}

/** Changes whenever a row that verify reads is added. */
async function stateOf(store: RunReaders, run: RunRow): Promise<string> {
  return JSON.stringify([run, await store.rowCounts(run.run_id)]);
}

async function verifyOnce(deps: Deps, run: RunRow, expect: string | null): Promise<Verification> {
  const { store } = deps;
  const { run_id, status, evidence_root, content_digest } = run;
  const differences = new Differences();
  const snapshot = await snapshotOf(store, run, differences);
  const { told, head_before_completion: event_head, count: events } = await checkEvents(store, run, differences);
  const counts = await store.rowCounts(run_id);
  differences.same('event', run_id, 'rows that the chain does not reach', events, counts.event);
  const late = await checkLate(deps, run_id, told.late, differences);
  differences.same('late_evidence', run_id, 'rows that no page reaches', late, counts.late_evidence);
  const checked = await checkRows(deps, { run, snapshot, counts, told }, differences);
  const { executions, attempts, evidence, results } = checked;
  for (const [table, seen] of Object.entries({ execution: executions, attempt: attempts, evidence, result: results })) {
    const rows = counts[table as keyof typeof counts];
    differences.same(table, run_id, 'rows that belong to no execution of the plan', seen, rows);
  }
  differences.same('queue', run_id, 'what has no result is queued, and only that', executions - results, counts.queue);
  differences.same('run', run_id, 'materialized', executions, run.materialized);
  const due = run.stop_reason === null ? run.total : run.materialized;
  if (status === 'completed') differences.same('result', run_id, 'every execution has a result', due, results);
  if (snapshot !== null) {
    await differences.step('verdict', run_id, () => checkVerdict(deps, { run, snapshot, event_head }, differences));
  }
  if (snapshot !== null) {
    await differences.step('budget', run_id, async () => {
      const caps = (await store.budgets(run_id)).map(({ kind, cap, reserve }) => ({ kind, cap, reserve }));
      const frozen = budgetsOf(snapshot.profile).toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
      differences.same('budget', run_id, 'the budgets of the profile', canonicalJson(frozen), canonicalJson(caps));
    });
  }
  if (snapshot !== null)
    await differences.step('correction', run_id, () =>
      checkCorrections(deps, run, snapshot, told.corrections, differences),
    );
  const tool_runs = await checkGateway(deps, run, told.gateway, differences);
  await differences.step('outbox', run_id, () => checkOutbox(store, run, told, differences));
  const basis = await differences.step('store', run_id, async () => (await store.basis?.(run_id)) ?? []);
  for (const { where, row, what } of basis ?? []) differences.add(where, row, what);
  const roots = revisionRoots(
    run,
    (await differences.step('correction', run_id, () => store.corrections(run_id))) ?? [],
  );
  const expected = expect === null ? null : checkExpected(run_id, roots, expect, differences);
  return {
    run_id,
    status,
    ok: differences.count === 0,
    differences: differences.count,
    stopped: differences.enough,
    found: differences.list,
    checked: { executions, attempts, evidence, events, tool_runs },
    not_recomputable: differences.notRecomputable,
    left_out: { ...differences.leftOut },
    method: snapshot === null ? null : methodOf(snapshot).version,
    evidence_root,
    content_digest,
    revision: told.corrections.size,
    revision_root: roots.length > 1 ? (roots.at(-1) ?? null) : null,
    expected,
  };
}

async function snapshotOf(store: RunReaders, run: RunRow, differences: Differences): Promise<Snapshot | null> {
  const { run_id, snapshot_digest } = run;
  return await differences.step('snapshot', snapshot_digest, async () => {
    const snapshot = await readSnapshot(store, run);
    const stored = await store.snapshot(snapshot_digest);
    differences.same('snapshot', snapshot_digest, 'body', canonicalJson(snapshot), stored);
    const { dataset, profile } = snapshot;
    methodOf(snapshot); // one that this Proctor does not know ends the check here
    differences.same('run', run_id, 'plan_digest', dataset.plan_digest, run.plan_digest);
    differences.same('run', run_id, 'cases', dataset.cases, run.cases);
    differences.same('run', run_id, 'repeats', profile.repeats, run.repeats);
    differences.same('run', run_id, 'total', dataset.cases * profile.repeats, run.total);
    return snapshot;
  });
}
