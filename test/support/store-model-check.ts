import fc from 'fast-check';
import type { Store } from '../../src/contract/store.ts';
import { type Real, RUN_IDS, SESSION_IDS } from './store-acts.ts';
import { storeCommands } from './store-commands.ts';
import { compare } from './store-compare.ts';
import { FakeClock, newRun, newSession } from './store-fixture.ts';
import { StoreModel } from './store-model.ts';
import { ModelRun } from './store-model-run.ts';

export interface ModelCheck {
  /** Sequences of commands to draw. */
  readonly runs: number;
  readonly seed: number;
  /** Report the first failure as it was drawn, without making it smaller. */
  readonly quick?: boolean;
  readonly open: (clock: FakeClock) => Store;
}

/** Draws sequences of commands and compares store and model; rejects with seed and sequence on the first difference. Answers which answers were met. */
export async function checkAgainstModel(options: ModelCheck): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  const property = fc.asyncProperty(storeCommands(), async (commands) => {
    const clock = new FakeClock();
    await using real: Real & AsyncDisposable = {
      clock,
      seen,
      store: options.open(clock),
      [Symbol.asyncDispose]: () => real.store.close(),
    };
    const model = new StoreModel(clock.now());
    await prepare(real.store, model);
    await fc.asyncModelRun(() => ({ model, real }), commands);
    await compare(real.store, model);
  });
  const { runs, seed, quick = false } = options;
  await fc.assert(property, { numRuns: runs, seed, endOnFailure: quick });
  return seen;
}

async function prepare(store: Store, model: StoreModel): Promise<void> {
  for (const id of SESSION_IDS) {
    await store.openSession(newSession(id));
    model.openSession(id);
  }
  const shapes = [
    { cases: 5, repeats: 2, concurrency: 5 },
    { cases: 1, repeats: 2, concurrency: 3 },
  ];
  for (const [index, id] of RUN_IDS.entries()) {
    const shape = shapes[index] ?? { cases: 1, repeats: 2, concurrency: 1 };
    await store.createRun(newRun(id, shape));
    model.runs.set(id, new ModelRun(id, index, shape.cases * shape.repeats, shape.concurrency, model.instant()));
  }
}
