import { ProctorError } from '../contract/problem.ts';
import type { ExecutionKey, ExecutionRow, RunReaders } from '../contract/store.ts';

const PAGE = 1_000;

/** Streams the executions of a run in verdict order; between pages other work goes on. */
export async function* allExecutions(store: RunReaders, runId: string): AsyncGenerator<ExecutionRow[]> {
  let after: ExecutionKey | null = null;
  const ends = new Set<number>();
  for (;;) {
    const page: ExecutionRow[] = await store.executions(runId, { after, limit: PAGE });
    const last = page.at(-1);
    if (last === undefined) return;
    // A case id that is no text comes back as another one, which sorts elsewhere: the pages would go round for ever.
    if (ends.has(last.ordinal))
      throw new ProctorError(
        'store_altered',
        `case ${last.case_id} of run ${runId} has an id that Proctor never wrote`,
      );
    ends.add(last.ordinal);
    yield page;
    await new Promise<void>((resolve) => setImmediate(resolve)); // a page is a few ms of work; heartbeats go between
    after = { case_id: last.case_id, repeat: last.repeat };
  }
}
