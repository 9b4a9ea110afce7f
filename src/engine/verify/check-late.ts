import type { ArtifactStore } from '../../contract/artifact.ts';
import type { EvidenceRow, LateRow, RunReaders } from '../../contract/store.ts';
import { lateHash } from '../../core/evidence.ts';
import type { Differences } from './differences.ts';

const PAGE = 100;

/** Holds late evidence against the hashes that its events carry, and reads the artifacts that it names; answers the rows seen. */
export async function checkLate(
  { store, artifacts }: { readonly store: RunReaders; readonly artifacts: ArtifactStore },
  runId: string,
  told: ReadonlyMap<unknown, unknown>,
  differences: Differences,
): Promise<number> {
  const seen = new Set<number>();
  let after: number | null = 0;
  while (after !== null) {
    const from: number = after;
    const place = `late evidence of ${runId} after ${from}`;
    const page = await differences.step('late_evidence', place, () =>
      store.lateEvidence(runId, { after: from, limit: PAGE }),
    );
    for (const row of page ?? []) {
      const name = `late evidence ${row.late_seq} of ordinal ${row.ordinal} attempt ${row.attempt}`;
      differences.same('late_evidence', name, 'the hash', lateHash({ run_id: runId, ...row }), row.hash);
      differences.same('late_evidence', name, 'the hash that its event tells of', told.get(row.late_seq), row.hash);
      await differences.step('late_evidence', name, () => readArtifacts(artifacts, row, name, differences));
      seen.add(row.late_seq);
    }
    after = page?.at(-1)?.late_seq ?? null;
  }
  for (const late of told.keys()) {
    if (seen.has(late as number)) continue;
    differences.add('late_evidence', `late evidence ${String(late)}`, 'the row that an event tells of is missing');
  }
  return seen.size;
}

async function readArtifacts(
  artifacts: ArtifactStore,
  { body }: LateRow,
  name: string,
  differences: Differences,
): Promise<void> {
  for (const { artifact } of JSON.parse(body) as EvidenceRow[]) {
    if (artifact !== null) await differences.step('artifact', name, () => artifacts.get(artifact));
  }
}
