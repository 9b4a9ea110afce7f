import { createHash } from 'node:crypto';
import type { ArtifactStore } from '../contract/artifact.ts';
import type { Snapshot } from '../contract/snapshot.ts';
import type { ExecutionRow, RunReaders, RunRow } from '../contract/store.ts';
import { CaseSummaries, type CaseSummary, type ContentOutcome } from '../core/case-summary.ts';
import type { ComparisonPolicy } from '../core/comparison.ts';
import { gradingDigest } from '../core/grading.ts';
import { MerkleTree } from '../core/merkle.ts';
import { type Method, methodOf } from '../core/method.ts';
import type { Verdict, VerdictParts } from '../core/verdict.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { allExecutions } from './all-executions.ts';
import { baselineSummaries } from './baseline.ts';
import { outcomeOf } from './case-summaries.ts';
import { CasePairing } from './pair-cases.ts';
import { decisionOf } from './stop.ts';

/** What a run's results come to: the verdict, and the root of the tree over their hashes. */
export interface Conclusion {
  readonly verdict: Verdict;
  readonly merkle_root: string;
}

/** Concludes a run from its ended rows in (case_id, repeat) order; the same rows give the same bytes in any process. */
export class Concluder {
  readonly #verdict: ReturnType<Method['verdict']>;
  readonly #tree = new MerkleTree();
  readonly #content = createHash('sha256');

  constructor(snapshot: Snapshot, snapshotDigest: string) {
    this.#verdict = methodOf(snapshot).verdict(snapshot, snapshotDigest);
    this.#content.update(`proctor/content/1\n${snapshotDigest}\n`);
  }

  /** Takes the next row; answers it as an outcome. */
  add(row: ExecutionRow): ContentOutcome {
    this.#content.update(`${canonicalJson([row.case_id, row.repeat, row.content])}\n`);
    this.#tree.add(row.hash ?? '');
    const outcome = outcomeOf(row);
    this.#verdict.add(outcome);
    return outcome;
  }

  /** Takes a row beyond the stop: evidence like any other, but the verdict was decided without it. */
  addBeyond(row: ExecutionRow): void {
    this.#tree.add(row.hash ?? '');
  }

  end(parts: VerdictParts = {}): Conclusion {
    return { verdict: this.#verdict.end(this.#content.digest('hex'), parts), merkle_root: this.#tree.root() };
  }
}

/**
 * Concludes a run from its evidence and its frozen snapshot. `seen` gets every row, for a caller that checks them on the way; rows that
 * have not ended are left out. `corrected`: aggregates by ordinal that stand in place of the evaluators'.
 */
export async function concludeRun(
  deps: { readonly store: RunReaders; readonly artifacts: ArtifactStore },
  run: Pick<RunRow, 'run_id' | 'snapshot_digest'>,
  snapshot: Snapshot,
  seen: (row: ExecutionRow) => void = () => undefined,
  corrected: ReadonlyMap<number, string> = new Map(),
): Promise<Conclusion> {
  const concluder = new Concluder(snapshot, run.snapshot_digest);
  const baseline = baselineOf(deps.artifacts, snapshot, run.snapshot_digest);
  const decision = await decisionOf(deps.store, run.run_id, snapshot);
  const { repeats } = snapshot.profile;
  const stop = decision === null ? Number.POSITIVE_INFINITY : decision.after_cases * repeats;
  let made = 0;
  for await (const page of allExecutions(deps.store, run.run_id)) {
    for (const row of page) {
      seen(row);
      if (row.hash === null) continue;
      made += 1;
      if (row.ordinal >= stop) {
        concluder.addBeyond(row);
        continue;
      }
      const aggregate = corrected.get(row.ordinal);
      const outcome = concluder.add(aggregate === undefined ? row : { ...row, aggregate });
      baseline?.cases.add(outcome);
    }
    await baseline?.pair();
  }
  const left_out = decision === null ? snapshot.dataset.cases * repeats - made : 0;
  return concluder.end({
    baseline: (await baseline?.end()) ?? null,
    decision,
    left_out,
    corrected: corrected.size > 0,
  });
}

function baselineOf(artifacts: ArtifactStore, snapshot: Snapshot, snapshotDigest: string) {
  const method = methodOf(snapshot);
  const policy: ComparisonPolicy | null = method.comparisonPolicy(snapshot.profile);
  if (policy === null || snapshot.baseline === undefined) return null;
  const { content_digest, summaries, grading } = snapshot.baseline;
  const comparison = method.comparison({
    policy,
    seed: `${snapshotDigest}/${content_digest}`,
    same_grading: grading === undefined ? null : grading === gradingDigest(snapshot),
  });
  let ended: { summary: CaseSummary }[] = [];
  const cases = new CaseSummaries(method.summarize, (summary) => ended.push({ summary }));
  const pairing = new CasePairing<{ summary: CaseSummary }>(
    baselineSummaries(artifacts, summaries),
    ({ baseline, candidate }) => void comparison.add(baseline, candidate?.summary ?? null),
  );
  const pair = async () => {
    const now = ended;
    ended = [];
    for (const candidate of now) await pairing.add(candidate);
  };
  return {
    cases,
    pair,
    end: async () => {
      cases.end();
      await pair();
      await pairing.end();
      return { content_digest, ...comparison.end() };
    },
  };
}
