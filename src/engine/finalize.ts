import { createHash } from 'node:crypto';
import type { Fault, TerminalStatus } from '../contract/state.ts';
import type { ExecutionKey, ExecutionRow, RunRow, Store } from '../contract/store.ts';
import type { Aggregate } from '../core/aggregate.ts';
import { MerkleTree } from '../core/merkle.ts';
import { type Verdict, VerdictBuilder } from '../core/verdict.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { readSnapshot } from './run-context.ts';

const PAGE = 1_000;

/** What a run's results come to: the verdict, and the root of the tree over their hashes. */
export interface Conclusion {
  readonly verdict: Verdict;
  readonly merkle_root: string;
}

/** Concludes a run from rows in (case_id, repeat) order; the same rows give the same bytes in any process. */
export class Concluder {
  readonly #verdict: VerdictBuilder;
  readonly #tree = new MerkleTree();
  readonly #content = createHash('sha256');

  constructor(profile: ConstructorParameters<typeof VerdictBuilder>[0], snapshotDigest: string) {
    this.#verdict = new VerdictBuilder(profile, snapshotDigest);
    this.#content.update(`proctor/content/1\n${snapshotDigest}\n`);
  }

  add(row: ExecutionRow): void {
    const aggregate = row.aggregate === null ? null : (JSON.parse(row.aggregate) as Aggregate);
    this.#content.update(`${canonicalJson([row.case_id, row.repeat, row.content])}\n`);
    this.#tree.add(row.hash ?? '');
    const { case_id, repeat, cluster } = row;
    this.#verdict.add({
      case_id,
      repeat,
      cluster,
      status: row.status as TerminalStatus,
      fault: row.fault as Fault | null,
      aggregate,
    });
  }

  end(): Conclusion {
    return { verdict: this.#verdict.end(this.#content.digest('hex')), merkle_root: this.#tree.root() };
  }
}

/** Streams the executions of a run in verdict order; between pages other work goes on. */
export async function* allExecutions(store: Store, runId: string): AsyncGenerator<ExecutionRow[]> {
  let after: ExecutionKey | null = null;
  for (;;) {
    const page: ExecutionRow[] = await store.executions(runId, { after, limit: PAGE });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    await new Promise<void>((resolve) => setImmediate(resolve)); // a page is a few ms of work; heartbeats go between
    after = { case_id: last.case_id, repeat: last.repeat };
  }
}

/** finalizing → completed: computes the verdict from the evidence and writes it; false when another finalizer was first. */
export async function finalizeRun({ store }: { readonly store: Store }, run: RunRow): Promise<boolean> {
  const snapshot = await readSnapshot(store, run);
  const concluder = new Concluder(snapshot.profile, run.snapshot_digest);
  for await (const page of allExecutions(store, run.run_id)) for (const row of page) concluder.add(row);
  const { verdict, merkle_root } = concluder.end();
  const { gate_status, content_digest } = verdict;
  return await store.finalize(run.run_id, {
    gate_status,
    verdict: canonicalJson(verdict),
    content_digest,
    merkle_root,
  });
}
