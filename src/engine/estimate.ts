import type { RunRow, Store } from '../contract/store.ts';
import { budgetsOf, reserveOf } from '../core/budget.ts';
import type { Plan } from './plan.ts';
import { readSnapshot } from './run-context.ts';

/** What a run is expected to take, before it is begun. */
export interface Estimate {
  readonly cases: number;
  readonly repeats: number;
  readonly executions: number;
  readonly concurrency: number;
  /** The run that the expectation comes from: the newest completed one of the same profile and agent; null when there is none. */
  readonly from_run: string | null;
  /** Null where nobody told what the earlier run took. */
  readonly cost_micro_usd: number | null;
  readonly tokens: number | null;
  readonly tool_calls: number | null;
  readonly duration_ms: number | null;
  /** The run's budgets, and how many executions each is expected to pay for; null when that is not known. */
  readonly budgets: readonly {
    readonly kind: string;
    readonly cap: number;
    readonly executions: number | null;
    readonly enough: boolean | null;
  }[];
}

const LOOK_BACK = 200; // runs

/** Expects of a plan what the newest completed run of the same profile and agent took an execution; nothing is created. */
export async function estimate(store: Store, plan: Plan, concurrency: number | null): Promise<Estimate> {
  const { profile } = plan.snapshot;
  const executions = plan.cases * profile.repeats;
  const before = await earlier(store, profile.profile_id, profile.agent.name);
  const progress = before === null ? null : await store.progress(before.run_id);
  const ended = progress === null ? 0 : progress.completed + progress.failed + progress.timed_out;
  const each = (taken: number | undefined) =>
    taken === undefined || taken === 0 || ended === 0 ? null : taken / ended;
  const cost = each(progress?.spent.cost_micro_usd);
  const perExecution = {
    cost_micro_usd: cost,
    tokens: each(progress?.spent.tokens),
    tool_calls: each(progress?.spent.tool_calls),
  };
  const lasted =
    before?.started_at != null && before.finished_at !== null ? before.finished_at - before.started_at : undefined;
  const slots = concurrency ?? profile.limits.concurrency;
  const scaled = each(lasted);
  return {
    cases: plan.cases,
    repeats: profile.repeats,
    executions,
    concurrency: slots,
    from_run: before?.run_id ?? null,
    cost_micro_usd: whole(perExecution.cost_micro_usd, executions),
    tokens: whole(perExecution.tokens, executions),
    tool_calls: whole(perExecution.tool_calls, executions),
    duration_ms: scaled === null ? null : Math.round((scaled * executions * (before?.concurrency ?? slots)) / slots),
    budgets: budgetsOf(profile).map((budget) => {
      const one = perExecution[budget.kind] ?? (reserveOf({ ...budget, highest: 0 }) || null);
      const pays = one === null ? null : Math.floor(budget.cap / one);
      return {
        kind: budget.kind,
        cap: budget.cap,
        executions: pays,
        enough: pays === null ? null : pays >= executions,
      };
    }),
  };
}

async function earlier(store: Store, profileId: string, agent: string): Promise<RunRow | null> {
  for (const run of await store.runs({ after: null, limit: LOOK_BACK })) {
    if (run.status !== 'completed') continue;
    const { profile, regrade_of } = await readSnapshot(store, run);
    if (regrade_of === undefined && profile.profile_id === profileId && profile.agent.name === agent) return run;
  }
  return null;
}

function whole(each: number | null, executions: number): number | null {
  return each === null ? null : Math.ceil(each * executions);
}
