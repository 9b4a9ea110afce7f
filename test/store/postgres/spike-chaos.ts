import { setTimeout as pause } from 'node:timers/promises';
import type { Fence, WriteResult } from '../../../src/contract/store.ts';
import { completionOf, type Spike } from './spike-fixture.ts';
import { claim, complete, type OpenedClaim, reap } from './spike-store.ts';

/** What happened while the workers of a spike worked its run off. */
export interface Chaos {
  readonly ms: number;
  /** Attempts whose worker let the lease run out. */
  readonly abandoned: number;
  /** Answers to completions in time, to the same sent again, and to those after the lease was taken. */
  readonly steady: ReadonlyMap<WriteResult, number>;
  readonly repeated: ReadonlyMap<WriteResult, number>;
  readonly late: ReadonlyMap<WriteResult, number>;
  /** Most executions seen running at once, and how often was looked. */
  readonly sampled: number;
  readonly samples: number;
}

const BATCH = 10;
// What a worker does with the batch it claimed: a crash leaves it, a zombie completes once it was reaped, a sleeper at the very end.
const FATES = ['steady', 'crash', 'steady', 'zombie', 'twice', 'steady', 'sleeper', 'twice', 'steady'] as const;

/** One worker a session works the run off, each on its own connection, beside a reaper and a sampler. */
export async function runChaos(spike: Spike): Promise<Chaos> {
  const begun = performance.now();
  const { rows } = await spike.client.query<{ total: number }>('select total from run');
  const state = new State(rows[0]?.total ?? 0);
  await Promise.all([
    reaper(spike, state),
    sampler(spike, state),
    ...spike.sessions.map((id, index) => worker(spike, state, id, index)),
  ]);
  return { ms: performance.now() - begun, ...state };
}

class State {
  readonly steady = new Map<WriteResult, number>();
  readonly repeated = new Map<WriteResult, number>();
  readonly late = new Map<WriteResult, number>();
  abandoned = 0;
  sampled = 0;
  samples = 0;
  readonly #total: number;
  readonly #reaped = new Set<string>();
  #changed = Promise.withResolvers<void>();

  constructor(total: number) {
    this.#total = total;
  }

  get ended(): boolean {
    return this.steady.get('written') === this.#total;
  }

  /** Resolves when executions ended or leases were taken: there may be something to claim. */
  change(): Promise<void> {
    return this.#changed.promise;
  }

  count(outcomes: Map<WriteResult, number>, answers: readonly WriteResult[]): void {
    for (const answer of answers) outcomes.set(answer, (outcomes.get(answer) ?? 0) + 1);
    this.#announce();
  }

  reaped(fences: readonly Fence[]): void {
    for (const fence of fences) this.#reaped.add(`${fence.ordinal}/${fence.attempt}`);
    if (fences.length > 0) this.#announce();
  }

  async untilReaped(held: readonly Fence[]): Promise<void> {
    while (!held.every(({ ordinal, attempt }) => this.#reaped.has(`${ordinal}/${attempt}`))) await this.change();
  }

  #announce(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

async function worker(spike: Spike, state: State, session_id: string, index: number): Promise<void> {
  const client = await spike.connect();
  const asleep: OpenedClaim[] = [];
  for (let round = index; !state.ended; round += 1) {
    const fate = FATES[round % FATES.length] ?? 'steady';
    const abandons = fate === 'crash' || fate === 'zombie' || fate === 'sleeper';
    const changed = state.change();
    const held = await claim(client, { session_id, run_id: spike.run_id, n: BATCH, lease_ms: abandons ? 1 : 60_000 });
    if (held.length === 0) {
      if (!state.ended) await changed;
      continue;
    }
    const completions = held.map((one) => completionOf(one));
    if (abandons) state.abandoned += held.length;
    else state.count(state.steady, await complete(client, completions));
    if (fate === 'twice') state.count(state.repeated, await complete(client, completions));
    if (fate === 'sleeper') asleep.push(...held);
    if (fate === 'zombie') {
      await state.untilReaped(held);
      state.count(state.late, await complete(client, completions));
    }
  }
  if (asleep.length > 0)
    state.count(
      state.late,
      await complete(
        client,
        asleep.map((one) => completionOf(one)),
      ),
    );
}

async function reaper(spike: Spike, state: State): Promise<void> {
  const client = await spike.connect();
  while (!state.ended) {
    state.reaped(await reap(client));
    await pause(5);
  }
}

async function sampler(spike: Spike, state: State): Promise<void> {
  const client = await spike.connect();
  while (!state.ended) {
    const { rows } = await client.query<{ n: number }>("select count(*) as n from queue where status = 'running'");
    state.sampled = Math.max(state.sampled, rows[0]?.n ?? 0);
    state.samples += 1;
    await pause(2);
  }
}
