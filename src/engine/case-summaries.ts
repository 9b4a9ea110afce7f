import type { Fault, TerminalStatus } from '../contract/state.ts';
import type { ExecutionRow, RunReaders } from '../contract/store.ts';
import type { Aggregate } from '../core/aggregate.ts';
import { CaseSummaries, type CaseSummary, type ContentOutcome, summarize } from '../core/case-summary.ts';
import { allExecutions } from './all-executions.ts';
import { correctedAggregates, type RunView } from './run-view.ts';

/** The last aggregate that was read: most executions of a run end alike, and what is read is never changed. */
let last: { readonly text: string; readonly value: Aggregate } | null = null;

function aggregateOf(text: string): Aggregate {
  if (last?.text !== text) last = { text, value: JSON.parse(text) as Aggregate };
  return last.value;
}

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
    aggregate: row.aggregate === null ? null : aggregateOf(row.aggregate),
  };
}

/** A case of a run with the ordinal of one of its executions, by which its plan is found. */
export interface PlacedSummary {
  readonly summary: CaseSummary;
  readonly ordinal: number;
}

/** The cases of a run by a revision in case_id order, a page at a time; only executions that have ended count, and those that the verdict is about. */
export async function* caseSummaries(store: RunReaders, view: RunView): AsyncGenerator<PlacedSummary[]> {
  const { run, verdict } = view;
  const stop = (verdict?.early_stop?.after_cases ?? Number.POSITIVE_INFINITY) * run.repeats;
  const corrected = correctedAggregates(view);
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
