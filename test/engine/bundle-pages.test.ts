import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { attackPages } from '../attack/bundle-pages.ts';
import { Tally } from '../attack/tally.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';

const FIXTURE = path.resolve(import.meta.dirname, '../fixtures/format-1/wilson.proctor.gz');

test('pages of a bundle of format 1 may hold anything: verify ends plainly', async () => {
  await using folder = await temporaryFolder();
  const tally = new Tally();
  await attackPages(tally, folder.path, { seed: 1, each: 3 });
  expect(tally.failures).toEqual([]);
  expect(tally.total).toBeGreaterThan(40);
});

test('a page of the schema with more cells than a page has room for is refused', async () => {
  await using folder = await temporaryFolder();
  const sound = gunzipSync(readFileSync(FIXTURE));
  const leaf = 4096 * (sound.readUInt32BE(108) - 1);
  for (const count of [2_045, 4_096, 65_535]) {
    const copy = Buffer.from(sound);
    copy.writeUInt16BE(count, leaf + 3);
    writeFileSync(path.join(folder.path, 'old.proctor'), copy);
    const { code, stdout } = await proctor(folder.path, ['verify', 'old.proctor', '--json']);
    expect([count, code, stdout]).toEqual([count, 3, expect.stringContaining('store_altered')]);
  }
});

test('a schema that names page 0, or pages beyond the file, is refused', async () => {
  await using folder = await temporaryFolder();
  const sound = gunzipSync(readFileSync(FIXTURE));
  const cells = sound.readUInt16BE(103);
  expect(sound[100]).toBe(0x05);
  for (const child of [0, 2 ** 32 - 1])
    for (const at of [108, ...Array.from({ length: cells }, (_, cell) => sound.readUInt16BE(112 + 2 * cell))]) {
      const copy = Buffer.from(sound);
      copy.writeUInt32BE(child, at);
      writeFileSync(path.join(folder.path, 'old.proctor'), copy);
      const { code, stdout } = await proctor(folder.path, ['verify', 'old.proctor', '--json']);
      expect([child, at, code, stdout]).toEqual([child, at, 3, expect.stringContaining('store_altered')]);
    }
});
