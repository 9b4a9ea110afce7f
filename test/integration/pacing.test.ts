import { readFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { RunDocument } from '../../src/contract/documents.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';

async function run(folder: string, profile: object, rows: readonly object[]): Promise<RunDocument> {
  await writeFile(path.join(folder, 'cases.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const whole = {
    profile_id: 'paced',
    dataset: { path: 'cases.jsonl' },
    agent: { kind: 'echo', name: 'a', version: '1' },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'exact_match@1' }] }],
    ...profile,
  };
  await writeFile(path.join(folder, 'profile.json'), JSON.stringify(whole));
  return JSON.parse((await proctor(folder, ['run', 'profile.json', '--json', '--quiet'])).stdout) as RunDocument;
}

test('an execution that waits for its turn under rate_per_s loses none of its own time', async () => {
  await using folder = await temporaryFolder();
  const rows = Array.from({ length: 12 }, (_, index) => ({ id: `c${index}`, input: 'x', expected: 'x' }));
  const limits = { concurrency: 12, rate_per_s: 3, execution: { time_ms: 2_500 } };
  const document = await run(folder.path, { limits }, rows);
  expect(document).toMatchObject({ gate_status: 'pass', passed: 12, executions: { completed: 12, timed_out: 0 } });
  expect(document.duration_ms).toBeGreaterThan(3_000);
});

test('cases too large for a thousand of them to be held together are planned, run and verified', async () => {
  await using folder = await temporaryFolder();
  const long = 'long '.repeat(4_000);
  const rows = Array.from({ length: 1_250 }, (_, index) => {
    const input = index % 5 === 0 ? `${long}${index}` : `short ${index}`;
    return { id: `c${index}`, input, expected: input };
  });
  const document = await run(folder.path, { repeats: 2, limits: { concurrency: 64 } }, rows);
  expect(document).toMatchObject({ gate_status: 'pass', passed: 2_500 });
  const files = await readdir(path.join(folder.path, '.proctor', 'artifacts'), {
    recursive: true,
    withFileTypes: true,
  });
  const texts = files
    .filter((file) => file.isFile())
    .map((file) => readFileSync(path.join(file.parentPath, file.name), 'utf8'));
  const starts = texts
    .flatMap((text) => /"starts":(\[[^\]]*\])/.exec(text)?.[1] ?? [])
    .map((text) => JSON.parse(text) as number[]);
  expect(starts, 'one plan, whose chunks are cut by size').toEqual([expect.arrayContaining([0])]);
  expect(starts[0]?.length).toBeGreaterThan(2);
  expect((await proctor(folder.path, ['verify', document.run_id])).code).toBe(0);
});
