import type { Fault, TerminalStatus } from '../contract/state.ts';
import type { ExecutionRow, RunReaders, RunRow } from '../contract/store.ts';
import type { Aggregate } from '../core/aggregate.ts';
import { CaseSummaries, type CaseSummary, type ContentOutcome, summarize } from '../core/case-summary.ts';
import type { Verdict } from '../core/verdict.ts';
import { allExecutions } from './all-executions.ts';

/** An ended execution as verdict and comparison see it. */
export function outcomeOf(row: ExecutionRow): ContentOutcome {
  const { case_id, case_content, repeat, cluster } = row;
  return {
    case_id,
    case_content,
    repeat,
    cluster,
    status: row.status as TerminalStatus,
    fault: row.fault as Fault | null,
    aggregate: row.aggregate === null ? null : (JSON.parse(row.aggregate) as Aggregate),
  };
}

/** A case of a run with the ordinal of one of its executions, by which its plan is found. */
export interface PlacedSummary {
  readonly summary: CaseSummary;
  readonly ordinal: number;
}

/** The cases of a run in case_id order, a page at a time; only executions that have ended count, and those that the verdict is about. */
export async function* caseSummaries(
  store: RunReaders,
  run: Pick<RunRow, 'run_id' | 'verdict' | 'repeats'>,
): AsyncGenerator<PlacedSummary[]> {
  const verdict = run.verdict === null ? null : (JSON.parse(run.verdict) as Verdict);
  const stop = (verdict?.early_stop?.after_cases ?? Number.POSITIVE_INFINITY) * run.repeats;
  const corrected = new Map((await store.corrections(run.run_id)).map((row) => [row.ordinal, row.aggregate]));
  let found: PlacedSummary[] = [];
  let ordinal = 0;
  const summaries = new CaseSummaries(summarize, (summary) => found.push({ summary, ordinal }));
  for await (const page of allExecutions(store, run.run_id)) {
    for (const row of page) {
      if (row.hash === null || row.ordinal >= stop) continue;
      summaries.add(outcomeOf({ ...row, aggregate: corrected.get(row.ordinal) ?? row.aggregate }));
      ordinal = row.ordinal; // after `add`, which hands on the case before
    }
    if (found.length > 0) yield found;
    found = [];
  }
  summaries.end();
  if (found.length > 0) yield found;
}
