import { type LoadedProfile, loadProfile } from '../../adapters/profiles/load-profile.ts';
import { type App, createPlugins } from '../../app.ts';
import { ProctorError } from '../../contract/problem.ts';
import { freezeBaseline } from '../../engine/baseline.ts';
import { estimate } from '../../engine/estimate.ts';
import { executionsNotPassed } from '../../engine/not-passed.ts';
import { preflight } from '../../engine/preflight.ts';
import { createRun, findRun } from '../../engine/run.ts';
import { readSnapshot } from '../../engine/run-context.ts';
import { viewRun } from '../../engine/run-view.ts';
import type { Command, CommandContext } from '../context.ts';
import { planFrom, type Selecting } from '../plan-from.ts';
import { planText } from '../plan-text.ts';
import { printRun, type Working, withNext, workOn } from '../work.ts';

interface RunOptions extends Selecting, Working {
  readonly runKey?: string;
  readonly failedOf?: string;
  readonly detach?: boolean;
  readonly plan?: boolean;
}

/** `proctor run PROFILE`: plan, create (or attach by run key), work until the run has ended, print the verdict. */
export const run: Command<RunOptions> = async (context, options) => {
  await readable(options.profile, context); // before a store is made for it
  const none = (error: unknown): never => {
    throw withNext(error, 'then run it again: no run was created');
  };
  await using app = await context.openApp({ writes: true }).catch(none);
  const run_id = await created(context, app, options).catch(none);
  if (run_id === null) return 0;
  if (options.detach) {
    await printRun(context, app, run_id);
    return 0;
  }
  return await workOn(context, app, await findRun(app.store, run_id), options);
};

/** Plans and creates the run; null where only the plan was asked for. */
async function created(context: CommandContext, app: App, options: RunOptions): Promise<string | null> {
  const cases = options.failedOf === undefined ? null : await casesNotPassed(app, options.failedOf);
  const signal = new AbortController().signal;
  const { plan, loaded } = await planFrom({ ...app, cwd: context.cwd, signal }, options, {
    cases,
    baselineOf: async (profile) => {
      // A run that is there already keeps the baseline that it was created with, whatever was blessed since.
      const known = options.runKey === undefined ? null : await app.store.runByKey(options.runKey);
      if (known !== null) return (await readSnapshot(app.store, known)).baseline ?? null;
      return await freezeBaseline(app, profile);
    },
    gatewayOf: async ({ profile, base_dir }) => {
      if (profile.gateway === undefined) return null;
      const known = options.runKey === undefined ? null : await app.store.runByKey(options.runKey);
      if (known !== null) return (await readSnapshot(app.store, known)).gateway ?? null;
      const { freezeGateway } = await import('../../gateway-freeze.ts');
      return await freezeGateway(app, context, profile, base_dir);
    },
  });
  if (options.plan) {
    const expected = await estimate(app.store, plan, options.concurrency ?? null);
    context.output.result(expected, planText(expected));
    return null;
  }
  if (!options.detach) await servable(app, loaded);
  const { run_id, created: fresh } = await createRun(app, plan, {
    run_key: options.runKey ?? null,
    base_dir: loaded.base_dir,
    created_by: app.principal,
    concurrency: options.concurrency ?? null,
  });
  if (!fresh) context.output.note(`proctor: run key \`${options.runKey}\` is known: going on with ${run_id}`);
  return run_id;
}

async function readable(profile: string, context: CommandContext): Promise<void> {
  const plugins = createPlugins(context);
  await loadProfile(profile, context.cwd, (value) => plugins.checkNames(value));
}

/** Refuses to create a run that this process cannot work on; a run that is left to workers may be served elsewhere. */
async function servable(app: App, { profile, base_dir, file, locate }: LoadedProfile): Promise<void> {
  for (const webhook of profile.webhooks) app.webhooks.check(webhook); // a secret that is missing now would be missing at the end
  const problems = await preflight(app.plugins, profile, base_dir);
  const [first] = problems;
  if (first === undefined) return;
  throw new ProctorError(first.code, `\`${file}\` cannot be run here; nothing was created`, {
    diagnostics: locate(problems.flatMap((problem) => problem.diagnostics)),
  });
}

/** The case ids of a run of which an execution did not pass, by its last revision. */
async function casesNotPassed(app: App, runId: string): Promise<string[]> {
  const before = await findRun(app.store, runId);
  if (before.finished_at === null)
    throw new ProctorError(
      'illegal_transition',
      `${before.run_id} is ${before.status}: what failed is known when it has ended; \`proctor resume ${before.run_id}\` goes on with it`,
    );
  const ids = new Set<string>();
  for await (const rows of executionsNotPassed(app.store, await viewRun(app.store, before)))
    for (const row of rows) if (before.stop_reason !== 'early_stop' || row.status !== 'cancelled') ids.add(row.case_id);
  if (ids.size === 0)
    throw new ProctorError('usage', `every case of ${before.run_id} passed; there is nothing to run again`);
  return [...ids];
}
