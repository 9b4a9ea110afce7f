import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunRow } from '../../src/contract/store.ts';
import { eventHash } from '../../src/core/evidence.ts';
import { dropTriggers, makeTamperedProject, type TamperedProject } from '../support/tampered-run.ts';
import { runNoOf, Tampering } from '../support/tampered-store.ts';

/** Every type that there is, and one that there is not. */
const TYPES = [
  'run_created',
  'run_started',
  'run_cancel_requested',
  'run_stopped',
  'run_finalizing',
  'gateway_sealed',
  'run_completed',
  'run_cancelled',
  'run_failed',
  'attempt_started',
  'attempt_suspended',
  'attempt_finished',
  'attempt_stale',
  'execution_finished',
  'late_evidence',
  'grade_corrected',
  'something_else',
];

let project: TamperedProject;
let tampering: Tampering;

beforeAll(async () => {
  project = await makeTamperedProject(mkdtempSync(path.join(tmpdir(), 'proctor-appended-')));
  dropTriggers(project.store);
  tampering = new Tampering(project);
});

afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

describe.each(['completed', 'cancelled', 'failed'] as const)('a %s run', (status) => {
  it.each(TYPES)('does not gain an event %s after its end, however well it is chained', async (type) => {
    const run = project.runs[status];
    for (const body of bodiesOf(run, type)) {
      const { ok } = await tampering.verify(run, (db) => append(db, run, type, body), run.evidence_root);
      expect({ type, body, ok }).toEqual({ type, body, ok: false });
    }
  });
});

it('a run in progress does not gain an event out of its order either', async () => {
  const { running } = project.runs;
  for (const type of TYPES.filter(
    (one) => !['run_cancel_requested', 'run_stopped', 'attempt_suspended'].includes(one),
  )) {
    const { ok } = await tampering.verify(running, (db) => append(db, running, type, null));
    expect({ type, ok }).toEqual({ type, ok: false });
  }
});

/** Nothing, and what the run's last event of the type says, so that it is told twice. */
function bodiesOf(run: RunRow, type: string): (string | null)[] {
  const said = tampering.read((db) =>
    db
      .prepare('select body from event where run_no = ? and type = ? order by seq desc limit 1')
      .get(runNoOf(db, run.run_id), type),
  );
  const body = said?.['body'];
  return typeof body === 'string' ? [null, body] : [null];
}

function append(db: DatabaseSync, run: RunRow, type: string, body: string | null): void {
  const runNo = runNoOf(db, run.run_id);
  const last = db.prepare('select seq, at, hash from event where run_no = ? order by seq desc limit 1').get(runNo);
  const seq = Number(last?.['seq']) + 1;
  const ofAttempt = /^(attempt|execution|late|grade)_/.test(type);
  const event = {
    seq,
    type,
    at: Number(last?.['at']),
    ordinal: ofAttempt ? 0 : null,
    attempt: ofAttempt ? 1 : null,
    body,
  };
  const hash = eventHash(String(last?.['hash']), { run_id: run.run_id, ...event });
  db.prepare(
    'insert into event (run_no, seq, type, at, ordinal, attempt, body, hash) values (?, ?, ?, ?, ?, ?, ?, ?)',
  ).run(runNo, seq, type, event.at, event.ordinal, event.attempt, body, hash);
  db.prepare('update run_head set event_count = ?, event_hash = ? where run_no = ?').run(seq, hash, runNo);
}
