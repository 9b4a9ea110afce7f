import { hostname } from 'node:os';
import { pausedText } from '../../engine/paused.ts';
import { findRun } from '../../engine/run.ts';
import { Worker } from '../../engine/worker.ts';
import { openToolDoors } from '../../gateway-doors.ts';
import type { Command } from '../context.ts';
import { startPublisher } from '../publisher.ts';
import { onInterrupt } from '../signals.ts';

interface WorkerCommandOptions {
  readonly run?: readonly string[];
  readonly concurrency?: number;
  readonly name?: string;
  readonly leaseMs: number;
  readonly drainMs: number;
  readonly baseDir?: string;
  /** Leaves it to the exit code that a run was stopped: whoever started the worker tells. */
  readonly quiet?: boolean;
}

const DEFAULT_CONCURRENCY = 64; // a run's own `limits.concurrency`, shared over the live workers, is what usually binds

/** `proctor worker`: works on the runs of this store until it is stopped, or until the runs it was given have ended. */
export const worker: Command<WorkerCommandOptions> = async (context, options) => {
  await using app = await context.openApp({ existing: options.run !== undefined, writes: true });
  const { output } = context;
  const run_ids =
    options.run === undefined
      ? null
      : await Promise.all(options.run.map(async (id) => (await findRun(app.store, id)).run_id));
  await using _publisher = startPublisher(app, output);
  using interruption = onInterrupt(output, () => undefined);
  const name = options.name ?? `${hostname()}-${process.pid}`;
  await using doors = openToolDoors(app, context);
  const working = new Worker(
    { ...app, doors },
    {
      name,
      run_ids,
      concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
      lease_ms: options.leaseMs,
      base_dir: options.baseDir ?? null,
      drain: interruption.drain,
      drain_ms: options.drainMs,
      notice: (message) => output.note(`proctor worker ${name}: ${message}`),
    },
  );
  if (run_ids === null) output.note(`proctor worker ${name}: working on ${app.places.store}; ctrl-c to stop`);
  await working.run();
  output.result({ session_id: working.session_id, name, statistics: app.store.statistics }, '');
  for (const id of run_ids ?? []) {
    const tripped = await app.store.breaker(id);
    if (tripped === null) continue;
    if (!options.quiet)
      output.note(`proctor worker ${name}: ${id} stopped: ${pausedText(tripped)}; then: proctor resume ${id}`);
    return 3;
  }
  return interruption.exitCode() ?? 0;
};
