import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { proctor } from './cli.ts';

/** An examination whose outcome is known: cases `c0001`… of which the agent answers some wrongly. */
export interface Examination {
  readonly cases: number;
  /** Numbers of the cases that are answered wrongly, from 1. */
  readonly wrong?: readonly number[];
  readonly repeats?: number;
  readonly version?: string;
  /** Tags and cluster by case number. */
  readonly tags?: (number: number) => readonly string[];
  readonly cluster?: (number: number) => string;
  /** Further members of the profile: `gate`, `webhooks`, `limits`. */
  readonly profile?: Readonly<Record<string, unknown>>;
}

/** Writes the profile, its dataset and its agent into a folder. */
export async function writeExamination(folder: string, examination: Examination): Promise<void> {
  const { cases, wrong = [], repeats = 1, version = '1', tags, cluster, profile = {} } = examination;
  const lines = Array.from({ length: cases }, (_, index) => {
    const number = index + 1;
    return JSON.stringify({
      id: `c${String(number).padStart(4, '0')}`,
      task_type: 'question',
      input: `is ${number} a number?`,
      expected: 'yes',
      ...(tags ? { tags: tags(number) } : {}),
      ...(cluster ? { cluster: cluster(number) } : {}),
    });
  });
  await writeFile(path.join(folder, 'cases.jsonl'), `${lines.join('\n')}\n`);
  await writeFile(
    path.join(folder, 'agent.mjs'),
    `const wrong = new Set(${JSON.stringify(wrong)});
export const answer = ({ case: item }) => ({ text: wrong.has(Number(item.case_id.slice(1))) ? 'no' : 'yes' });\n`,
  );
  await writeFile(
    path.join(folder, 'profile.json'),
    JSON.stringify({
      profile_id: 'known',
      agent: { kind: 'module', name: 'known', version, module: { path: 'agent.mjs', export: 'answer' } },
      dataset: { path: 'cases.jsonl' },
      repeats,
      case_groups: [{ id: 'all', evaluators: [{ ref: 'exact_match@1', dimension: 'correctness' }] }],
      gate: { all: [{ metric: 'pass_rate', min: 0.1 }] },
      ...profile,
    }),
  );
}

/** Writes and runs an examination; answers its run document. */
export async function examine(
  folder: string,
  examination: Examination,
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly run_id: string; readonly gate_status: string } & Readonly<Record<string, unknown>>> {
  await writeExamination(folder, examination);
  const run = await proctor(folder, ['run', 'profile.json', '--json', '--quiet'], environment);
  expect([0, 1, 5], run.stderr + run.stdout).toContain(run.code);
  return JSON.parse(run.stdout) as { run_id: string; gate_status: string };
}
