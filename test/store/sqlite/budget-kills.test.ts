import { expect, test } from 'vitest';
import type { BudgetKind, Store } from '../../../src/contract/store.ts';
import { MOST_LOST_BLIND, reserveOf, spentOf } from '../../../src/core/budget.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { type KillPlan, type KillReport, runWithKills } from '../../support/budget-kills.ts';
import { completion, FakeClock, newRun, newSession, plain, planned } from '../../support/store-fixture.ts';

const MOST = 40;
const KINDS: readonly BudgetKind[] = ['cost_micro_usd', 'tokens', 'tool_calls'];

async function inMemory<T>(use: (store: Store, clock: FakeClock) => Promise<T>): Promise<T> {
  const clock = new FakeClock();
  const store = openSqliteStore({ path: ':memory:', clock });
  try {
    const came = await use(store, clock);
    expect(plain(await store.invariants())).toEqual([]);
    return came;
  } finally {
    await store.close();
  }
}

const killed = (plan: KillPlan): Promise<KillReport> =>
  inMemory((store, clock) => runWithKills(store, plan, (ms) => clock.advance(ms)));

const WORKERS = [1, 2, 5];
const plans = Array.from({ length: 15 }, (_, seed) => seed + 1).flatMap((seed) =>
  WORKERS.map((workers) => ({ seed, kind: KINDS[seed % KINDS.length] ?? 'tokens', workers })),
);

/** Ways to die by seed: from hardly ever to nearly always. */
const ENDS = [
  { killed: 10, silent: 5, released: 5, late: 10 },
  { killed: 60, silent: 10, released: 10, late: 10 },
  { killed: 0, silent: 70, released: 20, late: 0 },
  { killed: 95, silent: 0, released: 0, late: 5 },
  { killed: 30, silent: 0, released: 0, late: 60 },
] as const;

test('a declared limit keeps the cap to the last unit, whatever dies, tells nothing or tells late', async () => {
  for (const { seed, kind, workers } of plans) {
    const takes = (call: number) => 1 + ((call * 7 + seed) % MOST);
    const plan = { seed, kind, workers, cap: 400, declared: MOST, takes, ...(ENDS[seed % ENDS.length] ?? ENDS[0]) };
    const { really, told, untold, budget, stopped } = await killed(plan);
    expect({ plan, over: Math.max(0, really - plan.cap) }).toEqual({ plan, over: 0 });
    expect({ plan, known: budget.known, untold: budget.untold }).toEqual({ plan, known: told, untold });
    expect(spentOf(budget)).toBeGreaterThanOrEqual(really);
    if (stopped) expect(spentOf(budget)).toBeGreaterThan(plan.cap - MOST);
  }
});

test('without a declared limit only the first calls, of which nothing is known, go beyond the cap', async () => {
  for (const { seed, kind, workers } of plans) {
    const plan = {
      seed,
      kind,
      workers,
      cap: 400,
      declared: null,
      takes: () => MOST,
      ...(ENDS[seed % ENDS.length] ?? ENDS[0]),
    };
    const { really, told, untold, blind, budget } = await killed(plan);
    expect({ plan, known: budget.known, untold: budget.untold }).toEqual({ plan, known: told, untold });
    expect({ plan, blind: blind <= Math.max(workers, MOST_LOST_BLIND) }).toEqual({ plan, blind: true });
    expect({ plan, over: really > Math.max(plan.cap, blind * MOST) }).toEqual({ plan, over: false });
    if (told > 0) expect({ plan, spent: spentOf(budget) }).toEqual({ plan, spent: really });
  }
});

test('calls of other sizes are counted as they tell, and those that never tell as the most that any did', async () => {
  for (const { seed, kind, workers } of plans) {
    const takes = (call: number) => (call * 13 + seed) % MOST;
    const plan = { seed, kind, workers, cap: 300, declared: null, takes, ...(ENDS[seed % ENDS.length] ?? ENDS[0]) };
    const { told, untold, budget } = await killed(plan);
    expect({ plan, known: budget.known, untold: budget.untold }).toEqual({ plan, known: told, untold });
    expect({ plan, spent: spentOf(budget) }).toEqual({ plan, spent: told + untold * reserveOf(budget) });
  }
});

test('one worker killed in each of its calls, with a cap of two calls: three are made, then the run has no room', async () => {
  const plan = {
    seed: 1,
    kind: 'cost_micro_usd',
    workers: 1,
    cap: 1_000_000,
    declared: null,
    takes: () => 500_000,
  } as const;
  const { calls, budget } = await killed({ ...plan, killed: 100, silent: 0, released: 0, late: 0 });
  expect({ calls, untold: budget.untold, known: budget.known }).toEqual({ calls: 3, untold: 3, known: 0 });
});

test('evaluators and permitted silence: what graders took is known, and an agent that need not tell stops nothing', async () => {
  await inMemory(async (store) => {
    const budgets = [{ kind: 'tokens', cap: 1_000, reserve: null }] as const;
    await store.createRun(newRun('run_1', { cases: 9, repeats: 1, budgets }));
    await store.materialize('run_1', 0, planned(0, 9, 1));
    await store.openSession(newSession('wse_1'));
    const request = { session_id: 'wse_1', run_ids: null, capacity: 4, lease_ms: 9, ahead: 0, max_losses: 5 };
    for (let made = 0; made < 9; made += 1) {
      const [claim, ...more] = await store.claim(request);
      if (claim === undefined) throw new Error('an agent that need not tell is asked on');
      expect(more).toEqual([]);
      const agent = { cost_micro_usd: null, tokens: null, tool_calls: 0 };
      const evaluators = { cost_micro_usd: 0, tokens: 7, tool_calls: 0 };
      await store.complete(completion(claim, { spend: { agent, evaluators, waived: true } }));
    }
    expect(plain(await store.budgets('run_1'))).toMatchObject([{ known: 63, untold: 9, waived: 9, answers: 0 }]);
  });
});
