import type { Snapshot } from '../contract/snapshot.ts';
import type { ExecutionRow, RunReaders, RunRow, Store } from '../contract/store.ts';
import { allowance } from '../core/budget.ts';
import type { CaseSummary } from '../core/case-summary.ts';
import type { StopDecision } from '../core/early-stop.ts';
import { type Method, methodOf } from '../core/method.ts';
import { outcomeOf } from './case-summaries.ts';

const PAGE = 1_000;

/** Where a run's gate is decided by the completed prefix of its plan, looked for further each time it is asked. */
export class StopSearch {
  readonly #method: Method;
  readonly #stop: ReturnType<Method['earlyStop']>;
  readonly #repeats: number;
  readonly #cases: number;
  #next = 0; // the first case that has not been seen whole

  constructor(snapshot: Snapshot) {
    const { profile, dataset } = snapshot;
    this.#method = methodOf(snapshot);
    this.#stop = this.#method.earlyStop(snapshot);
    this.#repeats = profile.repeats;
    this.#cases = dataset.cases;
  }

  /** The decision, as far as the prefix has got; null while there is none. */
  async look(store: RunReaders, runId: string): Promise<StopDecision | null> {
    const step = Math.max(1, Math.floor(PAGE / this.#repeats));
    while (this.#stop.decision === null && this.#next < this.#cases) {
      const count = Math.min(step, this.#cases - this.#next);
      const from = this.#next * this.#repeats;
      const ordinals = Array.from({ length: count * this.#repeats }, (_, index) => from + index);
      const rows = await store.executionsAt(runId, ordinals);
      for (let at = 0; at < count; at += 1) {
        const summary = this.#caseOf(rows.slice(at * this.#repeats, (at + 1) * this.#repeats));
        if (summary === null) return null;
        this.#next += 1;
        if (this.#stop.add(summary) !== null) break;
      }
    }
    return this.#stop.decision;
  }

  /** The case of the rows, or null unless every repeat has ended by itself. */
  #caseOf(rows: readonly ExecutionRow[]): CaseSummary | null {
    if (rows.length < this.#repeats || rows.some((row) => row.hash === null || row.status === 'cancelled')) return null;
    return this.#method.summarize(rows.map(outcomeOf));
  }
}

/** The decision of a run whose evidence is there: a pure function of its prefix. */
export async function decisionOf(store: RunReaders, runId: string, snapshot: Snapshot): Promise<StopDecision | null> {
  return snapshot.profile.early_stop === 'off' ? null : await new StopSearch(snapshot).look(store, runId);
}

/** Stops a run whose budget leaves no room for another execution, once nothing of it is in flight; true when it stopped it. */
export async function stopAtBudget(store: Store, run: RunRow): Promise<boolean> {
  const budgets = await store.budgets(run.run_id);
  if (budgets.length === 0) return false;
  const { running, total, completed, failed, timed_out, cancelled } = await store.progress(run.run_id);
  if (running > 0 || completed + failed + timed_out + cancelled === total || allowance(budgets, 0, 0) > 0) return false;
  return await store.stopRun(run.run_id, { reason: 'budget', after: null });
}
