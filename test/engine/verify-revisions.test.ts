import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openArtifactFolder } from '../../src/artifacts/folder.ts';
import type { ArtifactStore } from '../../src/contract/artifact.ts';
import type { Store } from '../../src/contract/store.ts';
import { revisionRoots } from '../../src/core/evidence.ts';
import { type Correction, correctGrade } from '../../src/engine/corrections.ts';
import { type Verification, verifyRun } from '../../src/engine/verify/verify-run.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { dropTriggers, makeTamperedProject, type TamperedProject } from '../support/tampered-run.ts';

const CORRECTIONS: readonly Correction[] = ['c12', 'c11', 'c10', 'c12'].map((case_id, index) => ({
  case_id,
  repeat: 1,
  evaluator: 0,
  status: index === 0 || index === 2 ? 'failed' : 'passed',
  score: null,
  reason: `correction ${index + 1}`,
}));
const COUNT = CORRECTIONS.length;

let project: TamperedProject;
let artifacts: ArtifactStore;
/** The root of each revision as it was noted when it was made; 0 is the run's. */
let noted: readonly string[];

beforeAll(async () => {
  project = await makeTamperedProject(mkdtempSync(path.join(tmpdir(), 'proctor-revisions-')));
  dropTriggers(project.store);
  artifacts = openArtifactFolder(project.artifacts);
  copyFileSync(project.store, fileOf('revision-0'));
  for (const [index, correction] of CORRECTIONS.entries()) {
    copyFileSync(fileOf(`revision-${index}`), fileOf(`revision-${index + 1}`));
    await inStore(`revision-${index + 1}`, (store) => correctAll(store, [correction]));
  }
  noted = await inStore(`revision-${COUNT}`, async (store) =>
    revisionRoots(project.runs.completed, await store.corrections(project.runs.completed.run_id)),
  );
});

afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

/**
 * A forger who makes every hash, aggregate, verdict and event anew is the engine itself, put to work on the store as it was before the first
 * correction that he wants changed.
 */
const FORGERIES = CORRECTIONS.flatMap((correction, index) => {
  const before = CORRECTIONS.slice(0, index);
  const after = CORRECTIONS.slice(index + 1);
  const other: Correction = { ...correction, status: correction.status === 'passed' ? 'failed' : 'passed' };
  const next = after[0];
  return [
    { name: `rewrites correction ${index + 1}`, from: index, list: [...before, other, ...after] },
    {
      name: `rewrites the reason of correction ${index + 1}`,
      from: index,
      list: [...before, { ...correction, reason: 'better' }, ...after],
    },
    { name: `drops correction ${index + 1}`, from: index, list: [...before, ...after] },
    { name: `drops correction ${index + 1} and all after it`, from: index, list: before },
    { name: `adds one before correction ${index + 1}`, from: index, list: [...before, other, correction, ...after] },
    ...(next === undefined
      ? []
      : [
          {
            name: `exchanges corrections ${index + 1} and ${index + 2}`,
            from: index,
            list: [...before, next, correction, ...after.slice(1)],
          },
        ]),
  ];
});

describe.each(FORGERIES)('a forger who $name', ({ from, list }) => {
  it('is found by every root from there on, and by no hash', async () => {
    copyFileSync(fileOf(`revision-${from}`), fileOf('forged'));
    await inStore('forged', async (store) => {
      await correctAll(store, list.slice(from));
      const alone = await verify(store, null);
      expect({ ok: alone.ok, found: alone.found, revision: alone.revision }).toEqual({
        ok: true,
        found: [],
        revision: list.length,
      });
      for (const [revision, root] of noted.entries()) {
        const { ok, expected, found } = await verify(store, root);
        const kept = revision <= from;
        expect({ revision, ok, expected }).toEqual({
          revision,
          ok: kept,
          expected: kept ? { root, revision, later_revisions: list.length - revision } : null,
        });
        if (!kept)
          expect(found.map(({ what }) => what).join()).toMatch(/rewritten, or (later )?corrections were taken/);
      }
    });
  });
});

it('tells which revision a root proves, and how many later ones it does not cover', async () => {
  await inStore(`revision-${COUNT}`, async (store) => {
    const { ok, expected, revision_root } = await verify(store, noted[1] ?? '');
    expect({ ok, expected, revision_root }).toEqual({
      ok: true,
      expected: { root: noted[1], revision: 1, later_revisions: COUNT - 1 },
      revision_root: noted[COUNT],
    });
  });
});

it('finds a last correction that was added after its root was noted, by the root of the last, not by that of the run', async () => {
  copyFileSync(fileOf(`revision-${COUNT}`), fileOf('forged'));
  await inStore('forged', async (store) => {
    await correctAll(store, CORRECTIONS.slice(0, 1));
    expect((await verify(store, noted[COUNT] ?? '')).expected).toMatchObject({ revision: COUNT, later_revisions: 1 });
    expect((await verify(store, 'f'.repeat(64))).ok).toBe(false);
  });
});

function fileOf(name: string): string {
  return path.join(project.folder, `${name}.db`);
}

async function inStore<T>(name: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = openSqliteStore({ path: fileOf(name) });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function correctAll(store: Store, corrections: readonly Correction[]): Promise<void> {
  for (const correction of corrections)
    await correctGrade({ store, artifacts }, project.runs.completed, correction, 'human:ada');
}

async function verify(store: Store, expected: string | null): Promise<Verification> {
  return await verifyRun({ store, artifacts }, project.runs.completed, expected);
}
