import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { proctor } from '../support/cli.ts';

const FIXTURES = path.resolve(import.meta.dirname, '../fixtures/format-1');
const RUNS = ['wilson', 'better', 'repeats', 'clusters', 'early'];
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'proctor-older-'));
  mkdirSync(path.join(folder, '.proctor'));
  cpSync(path.join(FIXTURES, 'artifacts'), path.join(folder, '.proctor/artifacts'), { recursive: true });
  const unpack = (name: string, to: string) =>
    writeFileSync(path.join(folder, to), gunzipSync(readFileSync(path.join(FIXTURES, `${name}.gz`))));
  unpack('proctor.db', '.proctor/proctor.db');
  for (const name of RUNS) unpack(`${name}.proctor`, `${name}.proctor`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Listed {
  readonly run_id: string;
  readonly run_key: string;
}

async function idOf(key: string): Promise<string> {
  const { stdout } = await proctor(folder, ['runs', '--json']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Listed);
  return rows.find((row) => row.run_key === key)?.run_id ?? '';
}

describe('runs that an older Proctor wrote', () => {
  it.each(RUNS)('%s verifies in the store, by the method that it was made with', async (key) => {
    const { code, stdout } = await proctor(folder, ['verify', await idOf(key), '--json']);
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, ok: true, differences: 0, method: 1 });
  });

  it.each(RUNS)('%s verifies as a bundle', async (key) => {
    const { code, stdout } = await proctor(folder, ['verify', `${key}.proctor`, '--json']);
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, ok: true, differences: 0, method: 1 });
  });

  it('says that the older method computed it', async () => {
    const { stdout } = await proctor(folder, ['verify', await idOf('repeats')]);
    expect(stdout).toContain('method 1');
  });
});
