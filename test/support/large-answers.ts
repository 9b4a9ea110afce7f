import { closeSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { proctor } from './cli.ts';
import { examine } from './examined.ts';

const RAW_BYTES = 32 * 1024 * 1024 - 2_000; // with the rest of the answer, just what a bundle carries in one piece

/** Runs an examination whose answers are as large as a bundle carries them, and writes its bundle into the folder; answers the bundle's name. */
export async function bundleOfLargeAnswers(folder: string, answers: number): Promise<string> {
  const said = openSync(path.join(folder, 'said.jsonl'), 'w');
  for (let number = 1; number <= answers; number += 1) {
    // One wide letter makes every letter of a text take two bytes in memory.
    const raw = `${number}€${'x'.repeat(RAW_BYTES)}`;
    const envelope = { text: 'yes', raw };
    writeSync(said, `${JSON.stringify({ case_id: `c000${number}`, repeat: 1, envelope })}\n`);
  }
  closeSync(said);
  const agent = { kind: 'replay', name: 'large', version: '1', replay: { path: 'said.jsonl' } };
  await examine(folder, { cases: answers, profile: { agent } });
  const { code, stderr } = await proctor(folder, ['export', 'last', '--format', 'bundle', '--out', 'large.proctor']);
  if (code !== 0) throw new Error(`the bundle of large answers was not written: ${stderr}`);
  return path.join(folder, 'large.proctor');
}
