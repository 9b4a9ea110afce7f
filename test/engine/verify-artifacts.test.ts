import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlanManifest } from '../../src/contract/snapshot.ts';
import { dropTriggers, makeTamperedProject, type TamperedProject } from '../support/tampered-run.ts';
import { Tampering } from '../support/tampered-store.ts';

let project: TamperedProject;
let tampering: Tampering;
let digests: Record<(typeof ARTIFACTS)[number]['name'], string>;

/** Every kind of artifact that a run names, and as what it is named when it is not what its name says. */
const ARTIFACTS = [
  { name: 'plan manifest', where: 'plan' },
  { name: 'plan chunk', where: 'plan' },
  { name: 'envelope of the attempt that decided', where: 'artifact' },
  { name: 'envelope of an attempt before', where: 'artifact' },
  { name: 'late evidence', where: 'artifact' },
] as const;

const CHANGES: Readonly<Record<string, (bytes: Buffer) => Buffer | null>> = {
  'one byte altered': (bytes) => {
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    return bytes;
  },
  'its last byte cut off': (bytes) => bytes.subarray(0, -1),
  'nothing left in it': () => Buffer.alloc(0),
  'a byte more': (bytes) => Buffer.concat([bytes, Buffer.from('\n')]),
  'been deleted': () => null,
};

beforeAll(async () => {
  project = await makeTamperedProject(mkdtempSync(path.join(tmpdir(), 'proctor-artifacts-')));
  dropTriggers(project.store);
  tampering = new Tampering(project);
  digests = findDigests();
});

afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

describe.each(ARTIFACTS.map(({ name, where }) => [name, where] as const))('the %s', (name, where) => {
  it.each(Object.entries(CHANGES))('is named by its digest when it has %s', async (_title, change) => {
    const digest = digests[name];
    const verification = await tampering.withArtifact(project.runs.completed, digest, change);
    expect(verification.ok).toBe(false);
    expect(verification.found.some((item) => item.where === where && item.what.includes(digest))).toBe(true);
    expect(verification.found.filter((item) => !['plan', 'artifact', 'execution'].includes(item.where))).toEqual([]);
  });

  it('is named by its digest when it has changed places with another', async () => {
    const digest = digests[name];
    const other = digests[name === 'plan chunk' ? 'plan manifest' : 'plan chunk'];
    const bytes = readFileSync(tampering.artifactFile(other));
    const verification = await tampering.withArtifact(project.runs.completed, digest, () => bytes);
    expect(verification.ok).toBe(false);
    expect(verification.found.some((item) => item.where === where && item.what.includes(digest))).toBe(true);
  });
});

it('finds the artifacts of a plan altered in a run that executed little of it', async () => {
  const verification = await tampering.withArtifact(project.runs.cancelled, digests['plan chunk'], () => null);
  expect(verification.found.some((item) => item.where === 'plan' && item.what.includes(digests['plan chunk']))).toBe(
    true,
  );
});

function findDigests(): typeof digests {
  const { plan_digest } = project.runs.completed;
  const manifest = JSON.parse(readFileSync(tampering.artifactFile(plan_digest), 'utf8')) as PlanManifest;
  return tampering.read((db) => {
    const envelopes = db
      .prepare(
        `select e.artifact, e.attempt = r.attempt as decided from evidence e join result r on r.run_no = e.run_no and r.ordinal = e.ordinal
where e.artifact is not null and e.ordinal in (select ordinal from attempt where run_no = e.run_no and status = 'failed_evaluation')`,
      )
      .all();
    const late = db.prepare('select body from late_evidence where body like \'%artifact":"%\'').get();
    return {
      'plan manifest': plan_digest,
      'plan chunk': manifest.chunks[0] ?? '',
      'envelope of the attempt that decided': String(envelopes.find((row) => row['decided'] === 1)?.['artifact']),
      'envelope of an attempt before': String(envelopes.find((row) => row['decided'] === 0)?.['artifact']),
      'late evidence': /"artifact":"([0-9a-f]{64})"/.exec(String(late?.['body']))?.[1] ?? '',
    };
  });
}
