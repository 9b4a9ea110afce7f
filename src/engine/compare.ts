import type { ArtifactStore } from '../contract/artifact.ts';
import type { PlanManifest, PlannedCase, Snapshot } from '../contract/snapshot.ts';
import type { RunReaders, RunRow } from '../contract/store.ts';
import { type CaseChange, type Comparison, ComparisonBuilder, type ComparisonPolicy } from '../core/comparison.ts';
import { gradingDigest } from '../core/grading.ts';
import { CURRENT_METHOD, methodOf } from '../core/method.ts';
import { comparable } from './baseline.ts';
import { caseSummaries, type PlacedSummary } from './case-summaries.ts';
import { CasePairing } from './pair-cases.ts';
import { readSnapshot } from './run-context.ts';
import { type RunView, viewRun } from './run-view.ts';

/** Overrides of what the candidate's profile declares. */
export interface CompareOptions {
  readonly alpha?: number;
  readonly max_regressions?: number;
  /** Which revision of each run; left out: the last. */
  readonly baseline_revision?: number;
  readonly candidate_revision?: number;
  readonly min_cases?: number;
  /** Compare runs that were graded by different evaluators or rules too. */
  readonly any_grading?: boolean;
}

/** Two runs compared: which they are, the numbers, and the cases that changed. */
export interface RunComparison extends Comparison {
  readonly baseline: ComparedRun;
  readonly candidate: ComparedRun;
  /** The first cases of each kind, in case_id order; the counts say how many there are. */
  readonly changes: readonly CaseChange[];
  readonly changes_left_out: number;
  /** Tags of the candidate's cases beyond the most frequent ones, which are not compared. */
  readonly tags_left_out: number;
}

/** What names a run in a comparison. */
export interface ComparedRun {
  readonly run_id: string;
  readonly agent: { readonly name: string; readonly version: string };
  readonly repeats: number;
  /** The revision of the verdict that the grades are of; 0 is the run's own. */
  readonly revision: number;
  readonly content_digest: string;
}

const MOST_CHANGES = 1_000;
const MOST_TAGS = 50;

/**
 * Compares two completed runs case by case, by what the candidate's gate declares or the defaults for its repeats (exact McNemar for
 * one, else the paired bootstrap; alpha 0.05). The same two runs give the same numbers on every machine.
 */
export async function compareRuns(
  deps: { readonly store: RunReaders; readonly artifacts: ArtifactStore },
  baseline: RunRow,
  candidate: RunRow,
  options: CompareOptions = {},
): Promise<RunComparison> {
  const runs = [comparable(baseline), comparable(candidate)];
  const [old, now] = (await Promise.all(runs.map((run) => readSnapshot(deps.store, run)))) as [Snapshot, Snapshot];
  const policy = policyOf(old, now, options);
  const before = await viewRun(deps.store, baseline, options.baseline_revision ?? null);
  const after = await viewRun(deps.store, candidate, options.candidate_revision ?? null);
  const builder = new ComparisonBuilder({
    policy,
    seed: `${before.content_digest}/${after.content_digest}`,
    same_grading: gradingDigest(old) === gradingDigest(now),
  });
  const tags = await TagIndex.read(deps.artifacts, candidate);
  const changes: CaseChange[] = [];
  let told = 0;
  const pairing = new CasePairing<PlacedSummary>(summariesOf(deps.store, before), (pair) => {
    const placed = pair.candidate;
    const change = builder.add(pair.baseline, placed?.summary ?? null, placed === null ? [] : tags.of(placed.ordinal));
    if (change.change === 'equal') return;
    told += 1;
    if (changes.length < MOST_CHANGES) changes.push(change);
  });
  for await (const page of caseSummaries(deps.store, after)) for (const placed of page) await pairing.add(placed);
  await pairing.end();
  return {
    baseline: named(before, old),
    candidate: named(after, now),
    ...builder.end(),
    changes,
    changes_left_out: told - changes.length,
    tags_left_out: tags.leftOut,
  };
}

function policyOf(old: Snapshot, now: Snapshot, options: CompareOptions): ComparisonPolicy {
  const single = old.profile.repeats === 1 && now.profile.repeats === 1;
  const declared = methodOf({ method: CURRENT_METHOD }).comparisonPolicy(now.profile) ?? {
    test: 'exact_mcnemar',
    alpha: 0.05,
    max_regressions: null,
    min_cases: null,
    max_infra_rate: now.profile.gate.max_infra_rate,
  };
  return {
    test: single ? declared.test : 'paired_bootstrap',
    alpha: options.alpha ?? declared.alpha,
    max_regressions: options.max_regressions ?? declared.max_regressions,
    min_cases: options.min_cases ?? declared.min_cases ?? null,
    max_infra_rate: declared.max_infra_rate ?? 0,
    ...(options.any_grading === true ? { any_grading: true } : {}),
  };
}

function named({ run, revision, content_digest }: RunView, { profile }: Snapshot): ComparedRun {
  const { name, version } = profile.agent;
  return {
    run_id: run.run_id,
    agent: { name, version },
    repeats: run.repeats,
    revision,
    content_digest: content_digest ?? '',
  };
}

async function* summariesOf(store: RunReaders, view: RunView) {
  for await (const page of caseSummaries(store, view)) for (const { summary } of page) yield summary;
}

/** The tags of a run's cases by ordinal: a number a case, the sets of tags once each. */
class TagIndex {
  readonly #sets: readonly (readonly string[])[];
  readonly #codes: Int32Array;
  readonly #repeats: number;
  /** How many tags are not among those kept. */
  readonly leftOut: number;

  private constructor(
    sets: readonly (readonly string[])[],
    codes: Int32Array,
    { repeats, leftOut }: { readonly repeats: number; readonly leftOut: number },
  ) {
    this.#sets = sets;
    this.#codes = codes;
    this.#repeats = repeats;
    this.leftOut = leftOut;
  }

  /** Reads the plan once; the tags that most cases have are kept, at most `MOST_TAGS`. */
  static async read(artifacts: ArtifactStore, run: RunRow): Promise<TagIndex> {
    const manifest = JSON.parse((await artifacts.get(run.plan_digest)).toString()) as PlanManifest;
    const codes = new Int32Array(run.cases);
    const known = new Map<string, number>();
    const sets: string[][] = [];
    const counts = new Map<string, number>();
    let index = 0;
    for (const chunk of manifest.chunks) {
      for (const line of (await artifacts.get(chunk)).toString().split('\n')) {
        const tags = [...new Set((JSON.parse(line) as PlannedCase).tags)].sort();
        for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
        const key = JSON.stringify(tags);
        const code = known.get(key) ?? sets.push(tags) - 1;
        known.set(key, code);
        codes[index] = code;
        index += 1;
      }
    }
    const ordered = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    const kept = new Set(ordered.slice(0, MOST_TAGS).map(([tag]) => tag));
    return new TagIndex(
      sets.map((tags) => tags.filter((tag) => kept.has(tag))),
      codes,
      { repeats: run.repeats, leftOut: Math.max(0, ordered.length - MOST_TAGS) },
    );
  }

  of(ordinal: number): readonly string[] {
    return this.#sets[this.#codes[Math.floor(ordinal / this.#repeats)] ?? -1] ?? [];
  }
}
