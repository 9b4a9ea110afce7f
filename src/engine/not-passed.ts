import type { ExecutionRow, RunReaders } from '../contract/store.ts';
import type { Aggregate } from '../core/aggregate.ts';
import { correctedAggregates, type RunView } from './run-view.ts';

const PAGE = 1_000;

/** The executions that ended without passing by the view's revision, in plan order, a page at a time. */
export async function* executionsNotPassed(
  store: RunReaders,
  view: RunView,
  pageSize = PAGE,
): AsyncGenerator<ExecutionRow[]> {
  const { run_id } = view.run;
  const corrected = correctedAggregates(view);
  const passes = (ordinal: number) =>
    (JSON.parse(corrected.get(ordinal) ?? '{}') as Partial<Aggregate>).passed === true;
  const failed = [...corrected.keys()].filter((ordinal) => !passes(ordinal));
  const added = (await store.executionsAt(run_id, failed)).filter((row) => row.passed === 1); // in plan order
  for (let after: number | null = -1; after !== null; ) {
    const rows: ExecutionRow[] = await store.executionsNotPassed(run_id, { after, limit: pageSize });
    after = rows.at(-1)?.ordinal ?? null;
    const end = after ?? Number.POSITIVE_INFINITY;
    const page = rows.filter(({ ordinal }) => !passes(ordinal));
    while (added[0] !== undefined && added[0].ordinal < end) page.push(...added.splice(0, 1));
    yield page.sort((one, other) => one.ordinal - other.ordinal);
  }
}
