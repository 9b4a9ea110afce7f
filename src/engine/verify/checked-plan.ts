import type { ArtifactStore } from '../../contract/artifact.ts';
import type { PlannedCase, Snapshot } from '../../contract/snapshot.ts';
import { digest } from '../../lib/canonical-json.ts';
import { PlanCases } from '../run-context.ts';
import type { Differences } from './differences.ts';

/** An execution as the plan has it. */
export interface PlannedExecution {
  readonly case: PlannedCase;
  readonly repeat: number;
}

/** The frozen plan, every chunk of it read and every case that is asked for recomputed; what cannot be read is named. */
export class CheckedPlan {
  /** Executions in the plan. */
  readonly executions: number;
  readonly #cases: PlanCases;
  readonly #differences: Differences;

  private constructor(artifacts: ArtifactStore, { dataset, profile }: Snapshot, differences: Differences) {
    this.executions = dataset.cases * profile.repeats;
    this.#cases = new PlanCases(artifacts, dataset.plan_digest, profile.repeats);
    this.#differences = differences;
  }

  /** Reads every chunk, also of cases that were never executed. */
  static async read(artifacts: ArtifactStore, snapshot: Snapshot, differences: Differences): Promise<CheckedPlan> {
    const plan = new CheckedPlan(artifacts, snapshot, differences);
    const manifest = await differences.step('plan', 'manifest', () => plan.#cases.manifest());
    const found = (snapshot.group_cases ?? []).map(() => 0);
    for (const [index, chunk] of (manifest?.chunks ?? []).entries()) {
      const bytes = await differences.step('plan', `chunk ${index + 1}`, () => artifacts.get(chunk));
      if (bytes === null || snapshot.group_cases === undefined) continue;
      await differences.step('plan', `chunk ${index + 1}`, async () => {
        for (const line of bytes.toString().split('\n')) {
          const { group } = JSON.parse(line) as PlannedCase;
          found[group] = (found[group] ?? 0) + 1;
        }
      });
    }
    if (snapshot.group_cases !== undefined)
      differences.same('plan', 'groups', 'cases of each group', found.join(', '), snapshot.group_cases.join(', '));
    return plan;
  }

  /** The execution of an ordinal; null when the plan has none that can be read. Ask in order: a chunk is then read once. */
  async at(ordinal: number): Promise<PlannedExecution | null> {
    return await this.#differences.step('plan', `ordinal ${ordinal}`, async () => {
      const planned = await this.#cases.at(ordinal);
      const { id, task_type, input, expected, context, case_content } = planned.case;
      const content = digest('proctor/case/1', { task_type, input, expected, context });
      this.#differences.same('plan', `case ${id}`, 'case_content', content, case_content);
      return planned;
    });
  }
}
