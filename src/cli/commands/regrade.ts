import { loadProfile } from '../../adapters/profiles/load-profile.ts';
import { ProctorError } from '../../contract/problem.ts';
import { planRegrade } from '../../engine/regrade.ts';
import { createRun, findRun } from '../../engine/run.ts';
import type { Command } from '../context.ts';
import { type Working, workOn } from '../work.ts';

interface RegradeOptions extends Working {
  readonly run: string;
  readonly profile?: string;
}

/** `proctor regrade RUN`: a new run over the kept answers of a completed one, by other evaluators or the same; nobody is asked again. */
export const regrade: Command<RegradeOptions> = async (context, options) => {
  await using app = await context.openApp({ existing: true, writes: true });
  const run = await findRun(app.store, options.run);
  const loaded =
    options.profile === undefined
      ? null
      : await loadProfile(options.profile, context.cwd, (value) => app.plugins.checkNames(value));
  const { plan, base_dir, not_recomputable } = await planRegrade(app, run, loaded).catch((error: unknown) => {
    if (!ProctorError.is(error) || loaded === null) throw error;
    throw new ProctorError(error.code, error.message, { cause: error, diagnostics: loaded.locate(error.diagnostics) });
  });
  for (const webhook of plan.snapshot.profile.webhooks) app.webhooks.check(webhook);
  const { run_id } = await createRun(app, plan, {
    run_key: null,
    base_dir,
    created_by: app.principal,
    concurrency: options.concurrency ?? null,
  });
  context.output.note(`proctor: ${run_id} grades the answers of ${run.run_id} anew`);
  if (not_recomputable > 0)
    context.output.note(
      `proctor: not_recomputable: ${not_recomputable} of them held a secret and are kept without it, so they end as grader faults`,
    );
  return await workOn(context, app, await findRun(app.store, run_id), options);
};
