import { ProctorError } from '../contract/problem.ts';
import type { CorrectionRow, RunReaders, RunRow } from '../contract/store.ts';
import type { Verdict } from '../core/verdict.ts';

/** A run as of one revision of its verdict: whatever is told of the run goes by it. */
export interface RunView {
  readonly run: RunRow;
  /** How many corrections it takes in; 0 is the run's own verdict. */
  readonly revision: number;
  /** The last revision there is. */
  readonly latest: number;
  /** The corrections up to the revision, in order. */
  readonly corrections: readonly CorrectionRow[];
  /** Canonical JSON of the verdict; null until the run has completed. */
  readonly verdict_json: string | null;
  readonly verdict: Verdict | null;
  readonly gate_status: RunRow['gate_status'];
  readonly content_digest: string | null;
}

/** The run as of a revision; null: the last. */
export async function viewRun(store: RunReaders, run: RunRow, revision: number | null = null): Promise<RunView> {
  const all = await store.corrections(run.run_id);
  const latest = all.length;
  if (revision !== null && revision > latest)
    throw new ProctorError(
      'usage',
      latest === 0
        ? `${run.run_id} has no revision ${revision}: no grade of it was corrected`
        : `${run.run_id} has no revision ${revision}; it has 0 (its own verdict) to ${latest}`,
    );
  const corrections = all.slice(0, revision ?? latest);
  const verdict_json = corrections.at(-1)?.verdict ?? run.verdict;
  const verdict = verdict_json === null ? null : (JSON.parse(verdict_json) as Verdict);
  return {
    run,
    revision: corrections.length,
    latest,
    corrections,
    verdict_json,
    verdict,
    gate_status: verdict?.gate_status ?? run.gate_status,
    content_digest: verdict?.content_digest ?? run.content_digest,
  };
}

/** The aggregates that stand in place of the evaluators', by ordinal. */
export function correctedAggregates({ corrections }: RunView): ReadonlyMap<number, string> {
  return new Map(corrections.map(({ ordinal, aggregate }) => [ordinal, aggregate]));
}
