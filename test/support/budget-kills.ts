import type { AttemptSpend, BudgetKind, Claim, Store } from '../../src/contract/store.ts';
import { completion, fenceOf, newRun, newSession, planned, retryLater } from './store-fixture.ts';

/** A run under a budget whose workers are killed at seeded points of their calls. */
export interface KillPlan {
  readonly seed: number;
  readonly kind: BudgetKind;
  readonly cap: number;
  /** What a call takes, by its number. */
  readonly takes: (call: number) => number;
  /** `limits.execution` of the kind; null: not declared. */
  readonly declared: number | null;
  readonly workers: number;
  /** Share of calls, in per cent, that end in each way; the others tell what they took. */
  readonly killed: number;
  readonly silent: number;
  readonly released: number;
  readonly late: number;
}

/** What a run under kills came to, beside what really happened. */
export interface KillReport {
  /** What every call took, told or not. */
  readonly really: number;
  readonly calls: number;
  /** What the attempts that told, took. */
  readonly told: number;
  /** Attempts that never told. */
  readonly untold: number;
  /** Calls begun before any was known to have taken something. */
  readonly blind: number;
  readonly stopped: boolean;
  readonly budget: Awaited<ReturnType<Store['budgets']>>[number];
}

const CASES = 24;
const NOTHING = { cost_micro_usd: 0, tokens: 0, tool_calls: 0 };
const UNKNOWN: AttemptSpend = {
  agent: { cost_micro_usd: null, tokens: null, tool_calls: null },
  evaluators: NOTHING,
};

/** A call that a worker holds, or held when it died. */
interface Call {
  readonly claim: Claim;
  readonly session: string;
  readonly took: number;
}

/** Runs workers against the store until nothing may be claimed any more, killing them as planned; the clock is moved past every wait. */
export async function runWithKills(store: Store, plan: KillPlan, advance: (ms: number) => void): Promise<KillReport> {
  const { kind, cap, declared } = plan;
  const budgets = [{ kind, cap, reserve: declared }];
  await store.createRun(newRun('run_1', { cases: CASES, repeats: 1, concurrency: 64, budgets }));
  await store.materialize('run_1', 0, planned(0, CASES, 1));
  const pool = new Pool(store, plan);
  for (let place = 0; place < plan.workers; place += 1) await pool.start(place);
  for (let idle = 0; idle < 2 * plan.workers; ) {
    advance(10);
    const claimed = await pool.claim();
    idle = claimed === 0 && pool.held.length === 0 ? idle + 1 : 0;
    await pool.end();
  }
  const [budget] = await store.budgets('run_1');
  if (budget === undefined) throw new Error('the run has a budget');
  const { pending, retry_scheduled } = await store.progress('run_1');
  return { ...pool.sum, budget, stopped: pending + retry_scheduled > 0 };
}

/** Workers that are killed, and what their calls really took. */
class Pool {
  readonly held: Call[] = [];
  readonly sum = { really: 0, calls: 0, told: 0, untold: 0, blind: 0 };
  readonly #store: Store;
  readonly #plan: KillPlan;
  readonly #sessions: string[] = [];
  readonly #random: (below: number) => number;
  #lives = 0;
  #known = false;

  constructor(store: Store, plan: KillPlan) {
    this.#store = store;
    this.#plan = plan;
    this.#random = generator(plan.seed);
  }

  async start(place: number): Promise<void> {
    this.#lives += 1;
    const id = `wse_${this.#lives}`;
    this.#sessions[place] = id;
    await this.#store.openSession(newSession(id));
  }

  /** One worker asks for work; what it gets is called at once. */
  async claim(): Promise<number> {
    const session = this.#sessions[this.#random(this.#sessions.length)] ?? '';
    const claims = await this.#store.claim({
      session_id: session,
      run_ids: null,
      capacity: 1 + this.#random(4),
      lease_ms: 1_000_000,
      ahead: 0,
      max_losses: 1_000_000,
    });
    for (const claim of claims) {
      const took = this.#plan.takes(this.sum.calls);
      this.sum.calls += 1;
      this.sum.really += took;
      if (!this.#known) this.sum.blind += 1;
      this.held.push({ claim, session, took });
    }
    return claims.length;
  }

  /** Perhaps one call ends, in a way that the plan draws. */
  async end(): Promise<void> {
    const call = this.held[this.#random(this.held.length || 1)];
    if (call === undefined || this.#random(3) === 0) return;
    const { killed, silent, released, late } = this.#plan;
    const point = this.#random(100);
    if (point < killed) return await this.#die(call.session);
    if (point < killed + silent + released) {
      this.#drop(call);
      this.sum.untold += 1;
      const fence = fenceOf(call.claim);
      if (point < killed + silent) await this.#store.fail(retryLater(fence, { delay_ms: 1, spend: UNKNOWN }));
      else await this.#store.release(fence, UNKNOWN);
      return;
    }
    const overtaken = point < killed + silent + released + late;
    if (overtaken) {
      await this.#die(call.session);
      this.sum.untold -= 1; // it tells after all, and only once although it says it twice
      await this.#tell(call);
    } else this.#drop(call);
    await this.#tell(call);
    this.sum.told += call.took;
    this.#known ||= call.took > 0;
  }

  async #tell({ claim, took }: Call): Promise<void> {
    const spend = { agent: { ...NOTHING, [this.#plan.kind]: took }, evaluators: NOTHING };
    await this.#store.complete(completion(fenceOf(claim), { spend }));
  }

  /** A worker is killed: what it held is taken from it, and another starts in its place. */
  async #die(session: string): Promise<void> {
    for (const call of this.held.filter((one) => one.session === session)) {
      this.#drop(call);
      this.sum.untold += 1;
    }
    const backoff = { base_ms: 1, cap_ms: 1 };
    await this.#store.reap({ dead_sessions: [session], limit: 100, max_losses: 1_000_000, backoff });
    await this.start(this.#sessions.indexOf(session));
  }

  #drop(call: Call): void {
    this.held.splice(this.held.indexOf(call), 1);
  }
}

/** A small generator of numbers below a bound, the same for the same seed. */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}
