import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openArtifactFolder } from '../../src/artifacts/folder.ts';
import { rawBodyOf, smallMembers } from '../../src/engine/large-bodies.ts';
import { Differences } from '../../src/engine/verify/differences.ts';
import { readBodies } from '../../src/engine/verify/read-bodies.ts';
import { canonicalJson } from '../../src/lib/canonical-json.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-large-bodies-'));
const artifacts = openArtifactFolder(path.join(folder, 'artifacts'));
afterAll(() => rmSync(folder, { recursive: true }));

const LARGE = 'x'.repeat(70_000);
const envelope = { metadata: {}, raw: LARGE, structured: null, text: 'yes', tool_calls: [], trace: [], usage: null };
const sound = canonicalJson({ content: null, envelope, latency_ms: 1, reused: false });
const ROW = { ordinal: 0, attempt: 1, seq: 1, hash: '', kind: 'envelope' as const };

/** Bodies that a forger could put in the place of a sound one, their names made anew. */
const FORGED = {
  'a space more': sound.replace(':', ': '),
  'members out of order': `{"reused":false,${sound.slice(1, -16)}}`,
  'a member twice': `{"content":null,${sound.slice(1)}`,
  'something behind it': `${sound}{}`,
  'its end cut off': sound.slice(0, -1),
  'a list around it': `[${sound}]`,
  'only a text': canonicalJson(LARGE),
  'no envelope': canonicalJson({ content: LARGE, latency_ms: 1, reused: false }),
  'a list for an envelope': canonicalJson({ content: null, envelope: [LARGE], latency_ms: 1, reused: false }),
};

describe('a large body', () => {
  it('is read as its bytes where it is canonical, from the row or its artifact', async () => {
    const artifact = await artifacts.put(sound);
    for (const row of [
      { ...ROW, body: sound, artifact: null },
      { ...ROW, body: '', artifact },
    ]) {
      expect(await rawBodyOf(artifacts, row)).toEqual({ type: 'bytes', bytes: Buffer.from(sound) });
      const differences = new Differences();
      const bodies = (await readBodies(artifacts, [row], 'case', differences)).get(1);
      expect(differences.list).toEqual([]);
      expect(bodies?.envelope).toMatchObject({ kept: true, redacted: undefined });
    }
  });

  it.each(Object.entries(FORGED))('differs with %s', async (_, body) => {
    const artifact = await artifacts.put(body);
    for (const row of [
      { ...ROW, body, artifact: null },
      { ...ROW, body: '', artifact },
    ]) {
      const differences = new Differences();
      expect((await readBodies(artifacts, [row], 'case', differences)).size).toBe(0);
      expect(differences.count).toBe(1);
    }
  });

  it('has its small members alone read', () => {
    const bytes = Buffer.from(canonicalJson({ a: 1, b: LARGE, c: { d: ['e'] }, f: 2 }));
    expect(smallMembers(bytes, new Set(['a', 'b', 'c']))).toEqual({ a: 1, c: { d: ['e'] } });
  });
});
