import type { ArtifactStore } from '../contract/artifact.ts';
import type { NewExecution, RunRow, Store } from '../contract/store.ts';
import { PlanCases } from './run-context.ts';

const LOW_WATER = 4_000; // ready executions below which the next window is added
const WINDOW = 1_000; // executions in one transaction

/** Adds the plan's next executions to the queue while it is low; true when it added some. Any number of workers may call it. */
export async function materializeWindow(store: Store, artifacts: ArtifactStore, run: RunRow): Promise<boolean> {
  const cases = new PlanCases(artifacts, run.plan_digest, run.repeats);
  let at = run.materialized;
  let pending = (await store.progress(run.run_id)).pending - (run.total - at);
  while (at < run.total && pending < LOW_WATER) {
    const executions: NewExecution[] = [];
    for (let ordinal = at; ordinal < Math.min(at + WINDOW, run.total); ordinal += 1) {
      const { case: item, repeat } = await cases.at(ordinal);
      executions.push({ case_id: item.id, repeat, case_content: item.case_content, cluster: item.cluster });
    }
    const reached = await store.materialize(run.run_id, at, executions);
    if (reached <= at) return at > run.materialized; // another worker was first, or the run ended
    pending += reached - at;
    at = reached;
  }
  return at > run.materialized;
}
