import type { ArtifactStore } from '../../contract/artifact.ts';
import type { EvaluatorResult } from '../../contract/evaluator.ts';
import type { Snapshot } from '../../contract/snapshot.ts';
import type { CorrectionRow, RunReaders, RunRow } from '../../contract/store.ts';
import { correctionHash } from '../../core/evidence.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { aggregated, resultsOf, revisedVerdict } from '../corrections.ts';
import { PlanCases } from '../run-context.ts';
import type { Differences } from './differences.ts';

/**
 * Checks the corrections of a run: their chain from the evidence root, that events tell of each, the aggregate that follows from evidence and
 * corrections, and every revision's verdict, recomputed.
 */
export async function checkCorrections(
  deps: { readonly store: RunReaders; readonly artifacts: ArtifactStore },
  run: RunRow,
  snapshot: Snapshot,
  told: ReadonlyMap<unknown, unknown>,
  differences: Differences,
): Promise<void> {
  const rows = await deps.store.corrections(run.run_id);
  differences.same('correction', run.run_id, 'corrections that events tell of', told.size, rows.length);
  let previous = run.evidence_root ?? '';
  const cases = new PlanCases(deps.artifacts, run.plan_digest, run.repeats);
  for (const [index, row] of rows.entries()) {
    const name = `revision ${row.revision}`;
    differences.same('correction', name, 'revisions are numbered from 1 without a gap', index + 1, row.revision);
    differences.same(
      'correction',
      name,
      'the hash chain',
      correctionHash(previous, { run_id: run.run_id, ...row }),
      row.hash,
    );
    differences.same('correction', name, 'the hash that its event tells of', told.get(row.revision), row.hash);
    previous = row.hash;
    await differences.step('correction', name, async () => {
      const expected = await aggregateOf(deps, run, snapshot, cases, rows.slice(0, index), row, differences);
      differences.same('correction', name, 'aggregate', expected, row.aggregate);
      const verdict = await revisedVerdict(deps, run, snapshot, rows.slice(0, index + 1));
      differences.same('correction', name, 'verdict', canonicalJson(verdict), row.verdict);
    });
  }
}

async function aggregateOf(
  deps: { readonly store: RunReaders; readonly artifacts: ArtifactStore },
  run: RunRow,
  snapshot: Snapshot,
  cases: PlanCases,
  before: readonly CorrectionRow[],
  row: CorrectionRow,
  differences: Differences,
): Promise<string> {
  const [execution] = await deps.store.executionsAt(run.run_id, [row.ordinal]);
  if (execution === undefined) throw new Error(`there is no execution ${row.ordinal}`);
  const results = await resultsOf(deps, run.run_id, execution, before);
  const corrected = JSON.parse(row.result) as EvaluatorResult;
  const own = results[corrected.index];
  const name = `revision ${row.revision}`;
  for (const field of ['index', 'ref', 'dimension', 'blocking', 'weight'] as const)
    differences.same('correction', name, `${field} of the evaluator`, own?.[field], corrected[field]);
  const by = (corrected.evidence as { corrected_by?: unknown } | null)?.corrected_by;
  differences.same('correction', name, 'who corrected', row.principal, by);
  const { case: item } = await cases.at(row.ordinal);
  return canonicalJson(aggregated(snapshot, item, results.with(corrected.index, corrected)));
}
