import type { ArtifactStore } from '../../contract/artifact.ts';
import type { PlannedCase, Snapshot } from '../../contract/snapshot.ts';
import { caseContentIn } from '../../core/large-content.ts';
import { isCanonicalBytes } from '../../lib/canonical-bytes.ts';
import { digest } from '../../lib/canonical-json.ts';
import { LARGE_BYTES, smallMembers } from '../large-bodies.ts';
import { chunkOf, PlanCases } from '../run-context.ts';
import type { Differences } from './differences.ts';

/** What of a case its executions are held against. */
type Identity = Pick<PlannedCase, 'id' | 'group' | 'cluster' | 'case_content'>;

/** An execution as the plan has it. */
export interface PlannedExecution {
  readonly case: Identity;
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
    this.#cases = new PlanCases(artifacts, dataset.plan_digest, profile.repeats, { chunks: 1 });
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
        let start = 0;
        for (const end of chunkOf(bytes).ends) {
          const { group } = identityOf(bytes.subarray(start, end));
          found[group] = (found[group] ?? 0) + 1;
          start = end + 1;
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
      const { line, repeat } = await this.#cases.line(ordinal);
      const planned = identityOf(line);
      const content = 'input' in planned ? contentOf(planned) : caseContentIn(line);
      this.#differences.same('plan', `case ${planned.id}`, 'case_content', content, planned.case_content);
      return { case: planned, repeat };
    });
  }
}

const IDENTITY = new Set(['id', 'group', 'cluster', 'case_content']);

/** A case, or of a large one its identity alone: parsed it may be many times as large. */
function identityOf(line: Buffer): PlannedCase | Identity {
  if (line.length <= LARGE_BYTES) return JSON.parse(line.toString()) as PlannedCase;
  if (isCanonicalBytes(line)) return smallMembers(line, IDENTITY) as unknown as Identity;
  throw new TypeError(`a case of ${line.length} bytes is not in canonical JSON, as Proctor writes it`);
}

function contentOf({ task_type, input, expected, context }: PlannedCase): string {
  return digest('proctor/case/1', { task_type, input, expected, context });
}
