import type { Agent, AgentFailure } from '../contract/agent.ts';
import type { ArtifactStore } from '../contract/artifact.ts';
import type { Evaluator } from '../contract/evaluator.ts';
import type { Plugins } from '../contract/ports.ts';
import { ProctorError } from '../contract/problem.ts';
import type { CaseGroup, EvaluatorReference, Profile } from '../contract/profile.ts';
import type { PlanManifest, PlannedCase, Snapshot } from '../contract/snapshot.ts';
import type { RunReaders, RunRow, Store } from '../contract/store.ts';
import { type RetryRules, retryRules } from '../core/decide.ts';
import { type Method, methodOf } from '../core/method.ts';
import { digest } from '../lib/canonical-json.ts';
import type { Clock } from '../lib/clock.ts';
import { Lru } from '../lib/lru.ts';
import { Pacer } from '../lib/pacer.ts';
import type { KeptAnswer } from './evidence-rows.ts';
import { codeOf, recordedAnswer } from './recorded.ts';

/** One evaluator of a group, opened. */
export interface OpenEvaluator {
  readonly index: number;
  readonly reference: EvaluatorReference;
  readonly evaluator: Evaluator;
}

/** Reads the frozen snapshot of a run and checks that it is what its digest says. */
export async function readSnapshot(
  store: Pick<RunReaders, 'snapshot'>,
  run: Pick<RunRow, 'run_id' | 'snapshot_digest'>,
): Promise<Snapshot> {
  const body = await store.snapshot(run.snapshot_digest);
  if (body === null)
    throw new ProctorError(
      'store_altered',
      `the snapshot ${run.snapshot_digest} of run ${run.run_id} is missing from the store`,
    );
  const snapshot = JSON.parse(body) as Snapshot;
  if (digest('proctor/snapshot/1', snapshot) !== run.snapshot_digest) {
    throw new ProctorError(
      'store_altered',
      `the snapshot of run ${run.run_id} is not the one its digest ${run.snapshot_digest} names`,
    );
  }
  return snapshot;
}

/**
 * The cases of a plan by ordinal, read from their chunks. A few chunks are kept, as bytes: parsed cases would live long enough
 * to become old garbage, some megabytes a second of it.
 */
export class PlanCases {
  readonly #artifacts: ArtifactStore;
  readonly #planDigest: string;
  readonly #repeats: number;
  readonly #chunks: Lru<number, Promise<Chunk>>;
  #manifest: Promise<PlanManifest> | undefined;

  constructor(
    artifacts: ArtifactStore,
    planDigest: string,
    repeats: number,
    options: { chunks: number } = { chunks: 6 },
  ) {
    this.#artifacts = artifacts;
    this.#planDigest = planDigest;
    this.#repeats = repeats;
    this.#chunks = new Lru(options.chunks);
  }

  /** The case and repeat of an execution; ordinals go case by case, its repeats together. */
  async at(ordinal: number): Promise<{ case: PlannedCase; repeat: number }> {
    const { line, repeat } = await this.line(ordinal);
    return { case: JSON.parse(line.toString()) as PlannedCase, repeat };
  }

  /** The same, with the case as it stands in the plan. */
  async line(ordinal: number): Promise<{ line: Buffer; repeat: number }> {
    const index = Math.floor(ordinal / this.#repeats);
    const { chunk_size, starts } = await this.manifest();
    const number =
      starts === undefined ? Math.floor(index / chunk_size) : starts.findLastIndex((start) => start <= index);
    const place = index - (starts?.[number] ?? number * chunk_size);
    const { bytes, ends } = await this.#chunk(number);
    const end = ends[place];
    if (end === undefined)
      throw new ProctorError('artifact_corrupt', `plan ${this.#planDigest} has no case for execution ${ordinal}`);
    const line = bytes.subarray(place === 0 ? 0 : (ends[place - 1] ?? 0) + 1, end);
    return { line, repeat: (ordinal % this.#repeats) + 1 };
  }

  manifest(): Promise<PlanManifest> {
    this.#manifest ??= this.#artifacts
      .get(this.#planDigest)
      .then((bytes) => JSON.parse(bytes.toString()) as PlanManifest);
    return this.#manifest;
  }

  #chunk(number: number): Promise<Chunk> {
    return this.#chunks.get(number, async () => {
      const name = (await this.manifest()).chunks[number];
      return chunkOf(name === undefined ? Buffer.alloc(0) : await this.#artifacts.get(name));
    });
  }
}

/** The lines of a chunk, a case each, and where each ends. */
export interface Chunk {
  readonly bytes: Buffer;
  readonly ends: readonly number[];
}

/** Finds the lines of a chunk. */
export function chunkOf(bytes: Buffer): Chunk {
  const ends: number[] = [];
  for (let from = 0; from < bytes.length; ) {
    const found = bytes.indexOf(0x0a, from);
    const end = found < 0 ? bytes.length : found;
    ends.push(end);
    from = end + 1;
  }
  return { bytes, ends };
}

/** Everything a worker needs for the executions of one run: the frozen profile, its cases, and its plug-ins, opened once. */
export class RunContext implements AsyncDisposable {
  readonly run_id: string;
  /** Most executions of the run at once, over all workers. */
  readonly concurrency: number;
  readonly snapshot: Snapshot;
  readonly method: Method;
  readonly retries: RetryRules;
  readonly cases: PlanCases;
  /** Null when answers are graded anew: nobody is asked. */
  readonly agent: Agent | null;
  /** The answer that is there already, of a run that grades anew; null otherwise. */
  readonly recorded: ((ordinal: number) => Promise<KeptAnswer | AgentFailure>) | null;
  readonly #groups: readonly (readonly OpenEvaluator[])[];
  readonly #pacer: Pacer | null;

  private constructor(
    run: RunRow,
    snapshot: Snapshot,
    cases: PlanCases,
    agent: Agent | null,
    recorded: RunContext['recorded'],
    groups: readonly (readonly OpenEvaluator[])[],
    pacer: Pacer | null,
  ) {
    this.run_id = run.run_id;
    this.concurrency = run.concurrency;
    this.snapshot = snapshot;
    this.method = methodOf(snapshot);
    this.retries = retryRules(snapshot);
    this.cases = cases;
    this.agent = agent;
    this.recorded = recorded;
    this.#groups = groups;
    this.#pacer = pacer;
  }

  /** Opens the agent and every evaluator; refuses when the code here is not the code that was frozen. */
  static async open(
    deps: { store: Store; artifacts: ArtifactStore; plugins: Plugins; clock: Clock },
    run: RunRow,
    baseDir: string,
    concurrency: number,
  ): Promise<RunContext> {
    const { store, artifacts, plugins } = deps;
    const snapshot = await readSnapshot(store, run);
    await checkCode(plugins, snapshot, baseDir);
    plugins.learn(snapshot.profile);
    const { regrade_of } = snapshot;
    const options = { base_dir: baseDir, concurrency };
    const cases = new PlanCases(artifacts, run.plan_digest, run.repeats);
    await using opened = new AsyncDisposableStack();
    const agent = regrade_of === undefined ? await plugins.openAgent(snapshot.profile, options) : null;
    opened.defer(async () => agent?.close());
    const groups: OpenEvaluator[][] = [];
    for (const group of snapshot.profile.case_groups) {
      const evaluators: OpenEvaluator[] = [];
      for (const [index, reference] of group.evaluators.entries()) {
        const evaluator = await plugins.openEvaluator(reference, options);
        opened.defer(() => evaluator.close());
        evaluators.push({ index, reference, evaluator });
      }
      groups.push(evaluators);
    }
    const rate = snapshot.profile.limits.rate_per_s;
    const context = new RunContext(
      run,
      snapshot,
      cases,
      agent,
      regrade_of === undefined ? null : (ordinal) => recordedAnswer({ store, artifacts }, regrade_of.run_id, ordinal),
      groups,
      rate === null ? null : new Pacer(rate, deps.clock),
    );
    opened.move(); // from here on the context closes them
    return context;
  }

  get profile(): Profile {
    return this.snapshot.profile;
  }

  group(index: number): CaseGroup {
    const group = this.profile.case_groups[index];
    if (group === undefined) throw new ProctorError('store_altered', `run ${this.run_id} has no case group ${index}`);
    return group;
  }

  /** Waits for this process' turn under `limits.rate_per_s`. */
  async pace(signal: AbortSignal): Promise<void> {
    await this.#pacer?.turn(signal);
  }

  /** Tells how many workers share `limits.rate_per_s`. */
  shareRate(workers: number): void {
    if (this.#pacer) this.#pacer.sharers = Math.max(1, workers);
  }

  evaluators(group: number): readonly OpenEvaluator[] {
    return this.#groups[group] ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent?.close();
    for (const { evaluator } of this.#groups.flat()) await evaluator.close();
  }
}

async function checkCode(plugins: Plugins, snapshot: Snapshot, baseDir: string): Promise<void> {
  if (snapshot.code.length === 0) return;
  const here = new Map(
    (await codeOf(plugins, snapshot.profile, baseDir, snapshot.regrade_of !== undefined)).map((file) => [
      file.path,
      file.digest,
    ]),
  );
  const changed = snapshot.code.filter((file) => here.get(file.path) !== file.digest);
  if (changed.length === 0) return;
  const names = changed.map((file) => `\`${file.path}\``).join(', ');
  throw new ProctorError(
    'code_mismatch',
    `${names} in \`${baseDir}\` changed since the run was created; put the frozen code back, or start a new run`,
  );
}
