import { instant } from '../../core/instant.ts';
import { findRun } from '../../engine/run.ts';
import { readSnapshot } from '../../engine/run-context.ts';
import { viewRun } from '../../engine/run-view.ts';
import type { Command } from '../context.ts';
import { printable } from '../output.ts';

/** `proctor bless RUN`: the run is from now on what `gate.baseline.run: blessed` of its profile means. */
export const bless: Command<{ readonly run: string }> = async ({ openApp, output }, options) => {
  await using app = await openApp({ existing: true, writes: true });
  const run = await findRun(app.store, options.run);
  const { gate_status, revision } = await viewRun(app.store, run);
  const { profile_id } = (await readSnapshot(app.store, run)).profile;
  const before = (await app.store.blessings(profile_id, 1))[0]?.run_id ?? null; // one that cannot be trusted is cured by another
  const changed = await app.store.bless(profile_id, run.run_id, app.principal);
  const [now] = await app.store.blessings(profile_id, 1);
  const document = {
    profile_id,
    run_id: run.run_id,
    gate_status,
    revision,
    blessed_by: now?.blessed_by ?? app.principal,
    blessed_at: now === undefined ? null : instant(now.blessed_at),
    before: changed ? before : null,
    changed,
  };
  const name = printable(profile_id);
  const blessed = `${run.run_id}${revision === 0 ? '' : ` (revision ${revision})`}`;
  if (changed && gate_status !== 'pass')
    output.note(`proctor: the gate of ${run.run_id} is ${gate_status}; it is the baseline all the same`);
  output.result(
    document,
    changed
      ? `${blessed} is the baseline of ${name}${before === null ? '' : `, in place of ${before}`}`
      : `${blessed} is the baseline of ${name} already`,
  );
  return 0;
};
