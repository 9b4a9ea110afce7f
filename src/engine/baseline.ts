import type { ArtifactStore } from '../contract/artifact.ts';
import { ProctorError } from '../contract/problem.ts';
import type { Profile } from '../contract/profile.ts';
import type { BaselineManifest, FrozenBaseline } from '../contract/snapshot.ts';
import type { RunRow, Store } from '../contract/store.ts';
import { type CaseSummary, summaryLine, summaryOf } from '../core/case-summary.ts';
import { gradingDigest } from '../core/grading.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { caseSummaries } from './case-summaries.ts';
import { findRun } from './run.ts';
import { readSnapshot } from './run-context.ts';
import { type RunView, viewRun } from './run-view.ts';

const CHUNK = 1_000; // cases

/**
 * Freezes the baseline that a profile's gate names: its cases as artifacts, so that the verdict can be recomputed where the baseline's
 * run is not. Null when the gate has no baseline, or names `blessed` and no run of the profile is blessed yet (the gate is then
 * inconclusive).
 */
export async function freezeBaseline(
  deps: { readonly store: Store; readonly artifacts: ArtifactStore },
  profile: Profile,
): Promise<FrozenBaseline | null> {
  const wanted = profile.gate.baseline?.run;
  if (wanted === undefined) return null;
  const run_id = wanted === 'blessed' ? await deps.store.blessed(profile.profile_id) : wanted;
  if (run_id === null) return null;
  const view = await viewRun(deps.store, comparable(await findRun(deps.store, run_id)));
  return {
    run_id: view.run.run_id,
    content_digest: view.content_digest ?? '',
    grading: gradingDigest(await readSnapshot(deps.store, view.run)),
    summaries: await writeSummaries(deps, view),
    ...(view.revision === 0 ? {} : { revision: view.revision }),
  };
}

/** The run, if it completed; a run without a verdict can be no baseline, cannot be compared and has no grades (`what` says which). */
export function comparable(run: RunRow, what = 'compare'): RunRow {
  if (run.status === 'completed') return run;
  const next = run.finished_at === null ? `; \`proctor resume ${run.run_id}\` goes on with it` : '';
  throw new ProctorError('illegal_transition', `${run.run_id} is ${run.status}: only completed runs ${what}${next}`);
}

async function writeSummaries(
  { store, artifacts }: { readonly store: Store; readonly artifacts: ArtifactStore },
  view: RunView,
): Promise<string> {
  const chunks: string[] = [];
  let lines: string[] = [];
  let cases = 0;
  const close = async () => {
    chunks.push(await artifacts.put(lines.join('\n')));
    cases += lines.length;
    lines = [];
  };
  for await (const page of caseSummaries(store, view)) {
    for (const { summary } of page) {
      lines.push(summaryLine(summary));
      if (lines.length === CHUNK) await close();
    }
  }
  if (lines.length > 0) await close();
  const manifest: BaselineManifest = { format: 'proctor/case-summaries/1', cases, chunks };
  return await artifacts.put(canonicalJson(manifest));
}

/** Streams the cases of a frozen baseline, in case_id order. */
export async function* baselineSummaries(artifacts: ArtifactStore, digest: string): AsyncGenerator<CaseSummary> {
  const manifest = JSON.parse((await artifacts.get(digest)).toString()) as BaselineManifest;
  for (const chunk of manifest.chunks)
    for (const line of (await artifacts.get(chunk)).toString().split('\n')) yield summaryOf(line);
}
