import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { seededRandom, seedOf } from '../../src/core/statistics/seeded-random.ts';
import { proctor } from '../support/cli.ts';
import { endlessTable, PAGE_DAMAGES } from '../support/page-damages.ts';
import type { Tally } from './tally.ts';

const FIXTURE = path.resolve(import.meta.dirname, '../fixtures/format-1/wilson.proctor.gz');
const TABLES = ['run', 'run_head', 'event', 'outbox', 'bundle'];

/** Damages the pages of a bundle of format 1: whatever SQLite finds there, `verify` ends plainly. Spare bytes may be anything, so exit code 0 is right too. */
export async function attackPages(
  tally: Tally,
  folder: string,
  { seed, each }: { readonly seed: number; readonly each: number },
): Promise<void> {
  const sound = gunzipSync(readFileSync(FIXTURE));
  const file = path.join(folder, 'old.proctor');
  for (const [name, damage] of Object.entries(PAGE_DAMAGES))
    for (let trial = 1; trial <= each; trial += 1) {
      writeFileSync(file, damage(sound, seededRandom(seedOf(`attack ${seed}`, `${name} ${trial}`))));
      tally.tried('pages of format 1', `${name}, number ${trial}`, await faultOf(folder));
    }
  for (const table of TABLES) {
    writeFileSync(file, sound);
    writeFileSync(file, endlessTable(file, sound, table));
    tally.tried('tables without an end', table, await faultOf(folder, [3]));
  }
}

async function faultOf(folder: string, right: readonly number[] = [0, 1, 2, 3]): Promise<string | null> {
  const { code, stdout, stderr } = await proctor(folder, ['verify', 'old.proctor', '--json']);
  const said = `${stdout}${stderr}`;
  if (code === null || !right.includes(code)) return `exit code ${code}: ${said.slice(0, 300)}`;
  if (/\n\s+at |node:internal|"code":\s*"internal"|Proctor failed/.test(said))
    return `a stack trace: ${said.slice(0, 300)}`;
  return said.trim() === '' ? 'not a word' : null;
}
