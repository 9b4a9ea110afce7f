import { ProctorError } from '../../contract/problem.ts';
import { describeRun } from '../../engine/describe.ts';
import { findRun } from '../../engine/run.ts';
import type { Command } from '../context.ts';
import { said } from '../said.ts';

const SWEEP = 1_000;

/** `proctor cancel RUN`: requests the cancellation and ends what nobody holds; workers let go of the rest at their next look. */
export const cancel: Command<{ readonly run: string; readonly reason: string }> = async (context, options) => {
  await using app = await context.openApp({ existing: true, writes: true });
  const run = await findRun(app.store, options.run);
  if (!(await app.store.requestCancel(run.run_id, await said(app, run, options.reason)))) {
    throw new ProctorError('illegal_transition', `run ${run.run_id} is ${run.status} and cannot be cancelled any more`);
  }
  while ((await app.store.sweepCancelled(run.run_id, SWEEP)) > 0);
  const after = await findRun(app.store, run.run_id);
  const text =
    after.status === 'cancelled'
      ? `cancelled ${run.run_id}`
      : `cancelling ${run.run_id}: workers are letting go of what they hold`;
  context.output.result(await describeRun(app.store, after), text);
  return 0;
};
