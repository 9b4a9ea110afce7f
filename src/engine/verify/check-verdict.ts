import type { Snapshot } from '../../contract/snapshot.ts';
import type { RunRow, Store } from '../../contract/store.ts';
import { evidenceRoot } from '../../core/evidence.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { allExecutions, Concluder } from '../finalize.ts';
import { nameOf } from './check-rows.ts';
import type { Differences } from './differences.ts';

interface VerdictInput {
  readonly run: RunRow;
  readonly snapshot: Snapshot;
  /** The hash that the event chain had before `run_completed`. */
  readonly event_head: string | null;
}

/** Concludes the run anew from its results, in verdict order, and holds it against what is stored; names rows beside the plan. */
export async function checkVerdict(store: Store, input: VerdictInput, differences: Differences): Promise<void> {
  const { run, snapshot, event_head } = input;
  const { run_id, snapshot_digest } = run;
  const concluder = run.status === 'completed' ? new Concluder(snapshot.profile, snapshot_digest) : null;
  const planned = snapshot.dataset.cases * snapshot.profile.repeats;
  for await (const page of allExecutions(store, run_id)) {
    for (const row of page) {
      const stray = row.ordinal < 0 || row.ordinal >= planned;
      if (stray) differences.add('execution', nameOf(row), 'the plan has no such execution', { found: row.ordinal });
      else if (row.hash !== null) concluder?.add(row);
    }
  }
  if (concluder === null) {
    const { verdict, merkle_root } = run;
    for (const [column, value] of Object.entries({ verdict, merkle_root, event_head: run.event_head })) {
      differences.same('run', run_id, `${column} of a run that did not complete`, null, value);
    }
    return;
  }
  const { verdict, merkle_root } = concluder.end();
  differences.same('verdict', run_id, 'verdict', canonicalJson(verdict), run.verdict);
  differences.same('verdict', run_id, 'gate_status', verdict.gate_status, run.gate_status);
  differences.same('verdict', run_id, 'content_digest', verdict.content_digest, run.content_digest);
  differences.same('run', run_id, 'merkle_root', merkle_root, run.merkle_root);
  differences.same('run', run_id, 'event_head', event_head, run.event_head);
  const finished_at = run.finished_at ?? 0;
  const root = evidenceRoot({ snapshot_digest, merkle_root, event_head: event_head ?? '', finished_at });
  differences.same('run', run_id, 'evidence_root', root, run.evidence_root);
}

/** A completed run stands once in the outbox, as it ended; any other not at all. */
export async function checkOutbox(store: Store, run: RunRow, differences: Differences): Promise<void> {
  const rows = await store.outbox(run.run_id);
  const completed = run.status === 'completed';
  differences.same('outbox', run.run_id, 'completions', completed ? 1 : 0, rows.length);
  if (!completed) return;
  const { run_id, gate_status, content_digest, evidence_root } = run;
  for (const row of rows) {
    differences.same('outbox', row.dedupe_key, 'dedupe_key', `run:${run_id}:final`, row.dedupe_key);
    differences.same('outbox', row.dedupe_key, 'type', 'run_completed', row.type);
    const body = canonicalJson({ run_id, gate_status, content_digest, evidence_root });
    differences.same('outbox', row.dedupe_key, 'body', body, row.body);
    differences.same('outbox', row.dedupe_key, 'created_at', run.finished_at, row.created_at);
  }
}
