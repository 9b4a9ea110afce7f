import { findRun } from '../../engine/run.ts';
import type { Command } from '../context.ts';
import { type Working, workOn } from '../work.ts';

/** `proctor resume RUN`: work on a run that was interrupted until it has ended. */
export const resume: Command<Working & { readonly run: string }> = async (context, options) => {
  await using app = await context.openApp({ existing: true, writes: true });
  const run = await findRun(app.store, options.run);
  if (run.finished_at !== null) context.output.note(`proctor: ${run.run_id} has ended already`);
  return await workOn(context, app, run, options);
};
