import type { ArtifactPlace } from '../contract/artifact.ts';
import type { RunRow, Store } from '../contract/store.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { concludeRun } from './conclude.ts';
import { readSnapshot } from './run-context.ts';

/** finalizing → completed: computes the verdict from the evidence and writes it; false when another finalizer was first. */
export async function finalizeRun(
  deps: { readonly store: Store; readonly artifacts: ArtifactPlace },
  run: RunRow,
): Promise<boolean> {
  const { verdict, merkle_root } = await concludeRun(deps, run, await readSnapshot(deps.store, run));
  const { gate_status, content_digest } = verdict;
  await deps.artifacts.confirm();
  return await deps.store.finalize(run.run_id, {
    gate_status,
    verdict: canonicalJson(verdict),
    content_digest,
    merkle_root,
  });
}
