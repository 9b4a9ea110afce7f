import { ProctorError } from '../contract/problem.ts';
import type { RunRow, Store } from '../contract/store.ts';
import { budgetsOf } from '../core/budget.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/id.ts';
import type { Plan } from './plan.ts';

/** What a run gets besides its plan. */
export interface CreateRunOptions {
  readonly run_key: string | null;
  readonly base_dir: string;
  readonly created_by: string;
  /** Overrides the profile's `limits.concurrency`; provenance, not part of the snapshot. */
  readonly concurrency: number | null;
}

/** Creates the run of a plan, or attaches to the one with the same run key and snapshot. */
export async function createRun(
  deps: { readonly store: Store; readonly clock: Clock },
  plan: Plan,
  options: CreateRunOptions,
): Promise<{ run_id: string; created: boolean }> {
  const { profile } = plan.snapshot;
  return await deps.store.createRun({
    run_id: newId('run', deps.clock.now()),
    run_key: options.run_key,
    snapshot_digest: plan.snapshot_digest,
    snapshot: plan.snapshot_json,
    plan_digest: plan.plan_digest,
    cases: plan.cases,
    repeats: profile.repeats,
    concurrency: options.concurrency ?? profile.limits.concurrency,
    base_dir: options.base_dir,
    created_by: options.created_by,
    budgets: budgetsOf(profile),
  });
}

/** The run, or `not_found`; `last` means the newest. */
export async function findRun(store: Store, runId: string): Promise<RunRow> {
  if (runId === 'last') {
    const [newest] = await store.runs({ after: null, limit: 1 });
    if (newest) return newest;
    throw new ProctorError('not_found', `\`${store.location}\` holds no run yet; \`proctor run PROFILE\` makes one`);
  }
  const run = (await store.run(runId)) ?? (await store.runByKey(runId));
  if (run) return run;
  throw new ProctorError(
    'not_found',
    `there is no run \`${runId}\` in \`${store.location}\`; \`proctor runs\` lists them`,
  );
}
