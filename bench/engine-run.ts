import path from 'node:path';
import { loadProfile } from '../src/adapters/profiles/load-profile.ts';
import { type App, createApp } from '../src/app.ts';
import type { Store } from '../src/contract/store.ts';
import { planRun } from '../src/engine/plan.ts';
import { createRun } from '../src/engine/run.ts';
import { Worker } from '../src/engine/worker.ts';

/** What to run in this process: a folder with `profile.json` and `cases.jsonl`, and how. */
export interface EngineRunOptions {
  readonly folder: string;
  readonly concurrency: number;
  readonly onClaims?: (ordinals: readonly number[]) => void;
  readonly onComplete?: (ordinal: number) => void;
  /** Called when the run is planned and created, before the worker starts. */
  readonly before?: () => Promise<void>;
}

/** A finished run of the engine, and where its store is. */
export interface EngineRun {
  readonly store_path: string;
  readonly run_id: string;
  /** From the worker's start to its end, finalization included. */
  readonly wall_ms: number;
  readonly commits: number;
}

/** Opens the application on a fresh store in the folder. */
export async function openApp(folder: string): Promise<App> {
  return await createApp({ cwd: folder, environment: { PROCTOR_DB: path.join(folder, 'store', 'proctor.db') } });
}

/** Plans, creates and works one run to its end in this process; throws unless the gate passed. */
export async function runEngine(app: App, options: EngineRunOptions): Promise<EngineRun> {
  const { folder, concurrency } = options;
  const { profile, base_dir } = await loadProfile('profile.json', folder);
  const plan = await planRun(app.plugins, app.artifacts, {
    profile,
    base_dir,
    dataset: { path: path.join(folder, 'cases.jsonl'), shown_path: 'cases.jsonl', fields: {} },
    select: { tags_any: [], cases: [], limit: null },
    signal: new AbortController().signal,
  });
  const { run_id } = await createRun(app, plan, { run_key: null, base_dir, created_by: 'bench', concurrency });
  const worker = new Worker(
    { ...app, store: observed(app.store, options) },
    {
      name: 'bench',
      run_ids: [run_id],
      concurrency,
      lease_ms: 30_000,
      base_dir: null,
      drain: new AbortController().signal,
      drain_ms: 0,
      notice: (message) => process.stderr.write(`bench: ${message}\n`),
    },
  );
  await options.before?.();
  const before = app.store.statistics.commits;
  const started = performance.now();
  await worker.run();
  const wall_ms = performance.now() - started;
  const run = await app.store.run(run_id);
  if (run?.gate_status !== 'pass')
    throw new Error(`run ${run_id} ended ${run?.status}, gate ${run?.gate_status}, where a pass was expected`);
  return { store_path: app.places.store, run_id, wall_ms, commits: app.store.statistics.commits - before };
}

/** The store with the moments told at which claims and completions were known to be durable. */
function observed(store: Store, { onClaims, onComplete }: EngineRunOptions): Store {
  return {
    ...store,
    claim: async (request) => {
      const claims = await store.claim(request);
      onClaims?.(claims.map((claim) => claim.ordinal));
      return claims;
    },
    complete: async (completion) => {
      const written = await store.complete(completion);
      onComplete?.(completion.ordinal);
      return written;
    },
  };
}
