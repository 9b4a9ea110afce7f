import type { ArtifactPlace } from '../contract/artifact.ts';
import { ProctorError } from '../contract/problem.ts';
import type { RunRow, Store } from '../contract/store.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { concludeRun } from './conclude.ts';
import { PlanCases, readSnapshot } from './run-context.ts';

/** finalizing → completed: computes the verdict from the evidence and writes it; false when another finalizer was first. */
export async function finalizeRun(
  deps: { readonly store: Store; readonly artifacts: ArtifactPlace },
  run: RunRow,
): Promise<boolean> {
  const { verdict, merkle_root } = await concludeRun(deps, run, await readSnapshot(deps.store, run));
  const { gate_status, content_digest } = verdict;
  await confirmKept(deps, run);
  return await deps.store.finalize(run.run_id, {
    gate_status,
    verdict: canonicalJson(verdict),
    content_digest,
    merkle_root,
  });
}

const PAGE = 500;

/** A verdict stands on what is kept: throws `artifact_missing` when an artifact of the run is not there any more. */
async function confirmKept(
  { store, artifacts }: { readonly store: Store; readonly artifacts: ArtifactPlace },
  { run_id, plan_digest, repeats }: RunRow,
): Promise<void> {
  await artifacts.confirm();
  const { chunks } = await new PlanCases(artifacts, plan_digest, repeats).manifest();
  await confirmAll(artifacts, chunks);
  for (let after: string | null = null; ; ) {
    const names: string[] = await store.artifactNames(run_id, { after, limit: PAGE });
    await confirmAll(artifacts, names);
    if (names.length < PAGE) return;
    after = names.at(-1) ?? null;
  }
}

async function confirmAll(artifacts: ArtifactPlace, names: readonly string[]): Promise<void> {
  const there = await Promise.all(names.map((name) => artifacts.has(name)));
  const missing = names.filter((_, index) => !there[index]);
  if (missing.length === 0) return;
  throw new ProctorError(
    'artifact_missing',
    `artifact ${missing[0]} is gone from \`${artifacts.location}\`${missing.length > 1 ? ` with ${missing.length - 1} more` : ''}, so the run cannot be proven; restore the folder from a backup, or run again`,
  );
}
