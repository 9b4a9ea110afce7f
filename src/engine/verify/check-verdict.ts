import type { ArtifactStore } from '../../contract/artifact.ts';
import type { Snapshot } from '../../contract/snapshot.ts';
import type { ExecutionRow, RunReaders, RunRow } from '../../contract/store.ts';
import { dedupeKey } from '../../core/delivery.ts';
import { evidenceRoot } from '../../core/evidence.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { allExecutions } from '../all-executions.ts';
import { concludeRun } from '../conclude.ts';
import { nameOf } from './check-rows.ts';
import type { Differences } from './differences.ts';
import type { Told } from './told.ts';

interface VerdictInput {
  readonly run: RunRow;
  readonly snapshot: Snapshot;
  /** The hash that the event chain had before `run_completed`. */
  readonly event_head: string | null;
}

/** Concludes the run anew from its results, in verdict order, and holds it against what is stored; names rows beside the plan. */
export async function checkVerdict(
  deps: { readonly store: RunReaders; readonly artifacts: ArtifactStore },
  input: VerdictInput,
  differences: Differences,
): Promise<void> {
  const { run, snapshot, event_head } = input;
  const { run_id, snapshot_digest } = run;
  const planned = snapshot.dataset.cases * snapshot.profile.repeats;
  const check = (row: ExecutionRow) => {
    const stray = row.ordinal < 0 || row.ordinal >= planned;
    if (stray) differences.add('execution', nameOf(row), 'the plan has no such execution', { found: row.ordinal });
  };
  if (run.status !== 'completed') {
    for await (const page of allExecutions(deps.store, run_id)) page.forEach(check);
    const { verdict, merkle_root } = run;
    for (const [column, value] of Object.entries({ verdict, merkle_root, event_head: run.event_head })) {
      differences.same('run', run_id, `${column} of a run that did not complete`, null, value);
    }
    return;
  }
  const { verdict, merkle_root } = await concludeRun(deps, run, snapshot, check);
  const stop = verdict.early_stop == null ? null : verdict.early_stop.after_cases * snapshot.profile.repeats;
  if (run.stop_reason === 'early_stop')
    differences.same('run', run_id, 'where the gate was decided', stop, run.stop_after);
  differences.same('verdict', run_id, 'verdict', canonicalJson(verdict), run.verdict);
  differences.same('verdict', run_id, 'gate_status', verdict.gate_status, run.gate_status);
  differences.same('verdict', run_id, 'content_digest', verdict.content_digest, run.content_digest);
  differences.same('run', run_id, 'merkle_root', merkle_root, run.merkle_root);
  differences.same('run', run_id, 'event_head', event_head, run.event_head);
  const finished_at = run.finished_at ?? 0;
  const root = evidenceRoot({ snapshot_digest, merkle_root, event_head: event_head ?? '', finished_at });
  differences.same('run', run_id, 'evidence_root', root, run.evidence_root);
}

/** A run whose events say that its end was published stands once in the outbox, as it ended, and so does each stop; anything else not at all. */
export async function checkOutbox(
  store: RunReaders,
  run: RunRow,
  { published, stops }: Pick<Told, 'published' | 'stops'>,
  differences: Differences,
): Promise<void> {
  const { run_id, status, finished_at } = run;
  const rows = await store.outbox(run_id);
  const paused = rows.filter(({ type }) => type === 'run_paused');
  differences.same('outbox', run_id, 'ends', published ? 1 : 0, rows.length - paused.length);
  differences.same('outbox', run_id, 'stops', stops.length, paused.length);
  for (const row of rows) {
    const stop = row.type === 'run_paused' ? stops[paused.indexOf(row)] : undefined;
    const expected =
      stop === undefined
        ? { type: `run_${status}`, body: canonicalJson(bodyOf(run)), created_at: finished_at }
        : { type: 'run_paused', body: canonicalJson(stop.body), created_at: stop.at };
    const key = dedupeKey(run_id, expected.type, stop?.seq ?? 0);
    if (stop !== undefined)
      differences.same('event', row.dedupe_key, 'the key of what was published', key, stop.outbox);
    for (const [column, value] of Object.entries({ dedupe_key: key, ...expected }))
      differences.same('outbox', row.dedupe_key, column, value, row[column as keyof typeof row]);
  }
}

function bodyOf({ run_id, status, gate_status, content_digest, evidence_root, reason }: RunRow): object {
  if (status === 'completed') return { run_id, gate_status, content_digest, evidence_root };
  return status === 'failed' ? { run_id, reason } : { run_id };
}
