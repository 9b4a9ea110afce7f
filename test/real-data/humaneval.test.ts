import { spawnSync } from 'node:child_process';
import { copyFile, readFile, symlink, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { ExecutionDocument } from '../../src/contract/documents.ts';
import { storeIn, type TemporaryFolder, temporaryFolder } from '../support/chaos-exam.ts';
import { leavesOut } from '../support/chaos-needs.ts';
import { proctor, startNode } from '../support/chaos-process.ts';
import { realData } from '../support/real-data.ts';

const DATA = realData('humaneval/HumanEval.jsonl.gz');
const BROKEN = 'HumanEval/7';
const example = (name: string) => fileURLToPath(new URL(`../../examples/humaneval/${name}`, import.meta.url));

const leftOut = leavesOut(withoutPython(), 'HumanEval');

test.skipIf(leftOut)('the canonical solutions of HumanEval pass their own tests: 164 of 164, exit 0', async () => {
  await using folder = await temporaryFolder('humaneval');
  await using _agent = await startExample(folder);

  const run = await proctor(
    ['run', 'profile.yaml', '--json', '--quiet'],
    { cwd: folder.path, environment: storeIn(folder.path) },
    280_000,
  );

  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(run.stdout)).toMatchObject({
    status: 'completed',
    gate_status: 'pass',
    executions: { total: 164, completed: 164 },
    graded: 164,
    passed: 164,
    pass_rate: 1,
    scores: { correctness: 1 },
    attempts: 164,
  });
});

test.skipIf(leftOut)(
  'with one solution broken 163 of 164 pass, the gate fails with exit 1, and every report names the case',
  async () => {
    await using folder = await temporaryFolder('humaneval');
    await using _agent = await startExample(folder, '--break', BROKEN);
    const at = { cwd: folder.path, environment: storeIn(folder.path) };

    const run = await proctor(['run', 'profile.yaml', '--quiet'], at, 280_000);
    const shown = await proctor(['show', 'last', '--json'], at);
    const failed = await proctor(['show', 'last', '--executions', '--failed', '--json'], at);

    expect(run).toMatchObject({ code: 1, stderr: '' });
    expect(run.stdout).toMatch(/^ FAIL {2}1 of 164 graded executions did not pass$/m);
    expect(run.stdout).toMatch(/pass rate +99\.4 % 163\/164/);
    expect(run.stdout).toMatch(
      /^ {2}not passed \(1\)\n {2}✗ HumanEval\/7 +command:grade\.py: NotImplementedError: broken on purpose$/m,
    );
    expect(JSON.parse(shown.stdout)).toMatchObject({
      gate_status: 'fail',
      graded: 164,
      passed: 163,
      executions: { completed: 164 },
    });
    const lines = failed.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ExecutionDocument);
    expect(lines).toMatchObject([
      {
        case_id: BROKEN,
        status: 'completed',
        aggregate: { passed: false, blocking_failures: ['command:grade.py'] },
        evaluator_results: [{ status: 'failed', reason: 'NotImplementedError: broken on purpose' }],
      },
    ]);
    const verified = await proctor(['verify', 'last', '--json'], at);
    expect(verified.code).toBe(0);
  },
);

/** The example as its README has it, in a folder of the test, with the agent on a free port. */
async function startExample(folder: TemporaryFolder, ...args: string[]) {
  await symlink(DATA, folder.file('HumanEval.jsonl.gz'));
  await copyFile(example('grade.py'), folder.file('grade.py'));
  const agent = startNode([example('agent.ts'), '--data', DATA, '--port', '0', ...args], { cwd: folder.path });
  const [line] = await agent.says('stdout', /\{.*\}/);
  const { url } = JSON.parse(line) as { url: string };
  const profile = await readFile(example('profile.yaml'), 'utf8');
  const moved = profile.replace('http://127.0.0.1:4164/invoke', url);
  expect(moved).not.toBe(profile);
  await writeFile(folder.file('profile.yaml'), moved);
  return agent;
}

function withoutPython(): string | null {
  const found = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']);
  return found.status === 0 ? null : 'python3 3.9 or later is not here';
}
