import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlanManifest, PlannedCase, Snapshot } from '../../src/contract/snapshot.ts';
import { canonicalJson, digest } from '../../src/lib/canonical-json.ts';
import { evidenceOf, regrade, setCell } from '../support/tampered-cells.ts';
import { LEVELS, rewrite } from '../support/tampered-rewrite.ts';
import { dropTriggers, makeTamperedProject, type TamperedProject } from '../support/tampered-run.ts';
import { type Tamper, Tampering } from '../support/tampered-store.ts';

let project: TamperedProject;
let tampering: Tampering;

beforeAll(async () => {
  project = await makeTamperedProject(mkdtempSync(path.join(tmpdir(), 'proctor-rewrite-')));
  dropTriggers(project.store);
  tampering = new Tampering(project);
});

afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

describe('a rewrite of one evaluator result from failed to passed', () => {
  const flip: Tamper = (db) => regrade(db, project.runs.completed, { status: 'passed', score: null });

  it.each(LEVELS.slice(0, -1))('is found by verify alone when it goes no further than: %s', async (level) => {
    const { completed } = project.runs;
    const { ok } = await tampering.verify(completed, (db) =>
      rewrite(db, completed, flip, LEVELS.slice(0, LEVELS.indexOf(level) + 1)),
    );
    expect(ok).toBe(false);
  });

  it.each(LEVELS.filter((level) => level !== 'change' && level !== 'late'))(
    'is found by verify alone when it leaves out: %s',
    async (left) => {
      const { completed } = project.runs;
      const levels = LEVELS.filter((level) => level !== left);
      const { ok } = await tampering.verify(completed, (db) => rewrite(db, completed, flip, levels));
      expect(ok).toBe(false);
    },
  );

  it('is found by the root that was noted elsewhere, and by nothing else, when every hash was made anew', async () => {
    const { completed } = project.runs;
    const tamper: Tamper = (db) => rewrite(db, completed, flip);
    const alone = await tampering.verify(completed, tamper);
    expect({ ok: alone.ok, found: alone.found }).toEqual({ ok: true, found: [] });
    expect(alone.content_digest).not.toBe(completed.content_digest);
    const expected = await tampering.verify(completed, tamper, completed.evidence_root);
    expect({ ok: expected.ok, found: expected.found }).toEqual({
      ok: false,
      found: [
        {
          where: 'run',
          row: completed.run_id,
          what: 'the root that was expected is not the evidence root, and there are no corrections: the run was rewritten, or corrections were taken away',
          expected: completed.evidence_root,
          found: alone.evidence_root,
        },
      ],
    });
  });
});

describe('verify does not break over', () => {
  const BODIES = ['not json', '', 'null', '5', '"text"', '[]', '{}', '{"envelope":{}}', '{"envelope":5}'];

  it.each([...BODIES, '{"status":"passed"}'])('the body %j under hashes that are right', async (text) => {
    const { completed } = project.runs;
    for (const kind of ['evaluator_result', 'envelope', 'failure'] as const) {
      const change: Tamper = (db) => {
        const { row } = evidenceOf(db, completed, kind === 'failure' ? 'failed' : 'completed', kind);
        setCell(db, 'evidence', row, 'body', text);
      };
      const { ok, found } = await tampering.verify(completed, (db) => rewrite(db, completed, change));
      const named = found.every((item) => item.row.startsWith('case c') && !item.what.includes('hash'));
      expect({ kind, ok, named }).toEqual({ kind, ok: false, named: true });
    }
  });

  it.each([
    '{}',
    'null',
    '[]',
    '{"dataset":{},"profile":{}}',
    '{"dataset":{"cases":1e15,"plan_digest":"x"},"profile":{"repeats":2}}',
    'of a plan that is none',
  ])('the snapshot %s under its own digest', async (text) => {
    const { completed } = project.runs;
    const body = text.startsWith('of') ? snapshotWith(planOf().manifest.chunks[0]).body : text;
    const made = digest('proctor/snapshot/1', JSON.parse(body));
    const { ok, found } = await tampering.verify(completed, (db) => {
      db.prepare('insert into snapshot (digest, body) values (?, ?)').run(made, body);
      db.prepare('update run set snapshot_digest = ? where run_id = ?').run(made, completed.run_id);
    });
    expect(ok).toBe(false);
    expect(found).toContainEqual({
      where: 'run',
      row: completed.run_id,
      what: 'snapshot_digest, by the events',
      expected: completed.snapshot_digest,
      found: made,
    });
  });

  it('a plan that asks something else under digests that are right: it names the case', async () => {
    const { completed } = project.runs;
    const { manifest, chunk } = planOf();
    const [first = '', ...rest] = chunk.split('\n');
    const asked = canonicalJson({ ...(JSON.parse(first) as PlannedCase), input: { say: 'something else' } });
    const chunks = [tampering.putArtifact([asked, ...rest].join('\n'))];
    const { made, body } = snapshotWith(tampering.putArtifact(canonicalJson({ ...manifest, chunks })));
    const { found } = await tampering.verify(completed, (db) => {
      db.prepare('insert into snapshot (digest, body) values (?, ?)').run(made, body);
      db.prepare('update run set snapshot_digest = ? where run_id = ?').run(made, completed.run_id);
    });
    const named = found.filter((item) => item.where === 'plan').map((item) => [item.row, item.what]);
    expect(named).toEqual([
      ['case c12', 'case_content'],
      ['case c12', 'case_content'],
    ]);
  });
});

function planOf(): { manifest: PlanManifest; chunk: string } {
  const read = (name: string) => readFileSync(tampering.artifactFile(name), 'utf8');
  const manifest = JSON.parse(read(project.runs.completed.plan_digest)) as PlanManifest;
  return { manifest, chunk: read(manifest.chunks[0] ?? '') };
}

/** The snapshot of the run with another plan, and its digest. */
function snapshotWith(plan_digest: string | undefined): { made: string; body: string } {
  const { snapshot_digest } = project.runs.completed;
  const row = tampering.read((db) => db.prepare('select body from snapshot where digest = ?').get(snapshot_digest));
  const snapshot = JSON.parse(String(row?.['body'])) as Snapshot;
  const altered = { ...snapshot, dataset: { ...snapshot.dataset, plan_digest } };
  return { made: digest('proctor/snapshot/1', altered), body: canonicalJson(altered) };
}
