import { cp, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { run, temporaryFolder } from '../support/cli.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** Runs a shell script in a copy of an example, with `proctor` and `node` on the path as after an install. */
async function inCopy(example: string, script: string, environment: Readonly<Record<string, string>> = {}) {
  const folder = await temporaryFolder();
  await cp(path.join(root, 'examples', example), folder.path, { recursive: true });
  await symlink(path.join(root, 'node_modules'), path.join(folder.path, 'node_modules'));
  const PATH = [path.join(root, 'bin'), path.dirname(process.execPath), process.env['PATH']].join(':');
  const done = await run('bash', ['-euo', 'pipefail', '-c', script], folder.path, {
    PATH,
    PROCTOR_NODE: process.execPath,
    ...environment,
  });
  return { done, folder };
}

test.each([
  [
    'classification-gate',
    ['is the baseline of ticket-triage', 'INCONCLUSIVE', ' PASS ', ' FAIL ', 'against the baseline'],
  ],
  ['rag-quality', ['alpha', 'expected from', 'question-11', 'quality']],
  [
    'assistant',
    [
      'Design review: a very long title that a calendar folds over two lines, as RFC 5545 has it',
      '✓ too loud',
      'louder than 60 is never played',
      'all 4 graded executions passed',
      'VERIFIED',
      'volume 20',
    ],
  ],
  ['tool-agent', ['pass_hat_k (k=3)', ' FAIL ', 'task-3', 'VERIFIED']],
])('the commands of examples/%s do what its README says', async (example, told) => {
  const readme = await readFile(path.join(root, 'examples', example, 'README.md'), 'utf8');
  const script = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map((block) => block[1]).join('\n');
  const { done, folder } = await inCopy(example, script);
  await using _folder = folder;
  expect(done, `${done.stdout}\n${done.stderr}`).toMatchObject({ code: 0 });
  for (const text of told) expect(done.stdout).toContain(text);
});

test('the steps of the CI workflow run: the gate decides, and everything is handed on', async () => {
  const workflow = parse(await readFile(path.join(root, 'examples/ci/github-workflow.yml'), 'utf8')) as {
    jobs: { gate: { env: Record<string, string>; steps: { run?: string; if?: string; name?: string }[] } };
  };
  const { env, steps } = workflow.jobs.gate;
  const commands = steps.filter((step) => step.run !== undefined && step.name !== 'install');
  expect(commands.map((step) => step.name)).toEqual(['the profile fits', 'examine', 'hand on']);
  // As the runner does: a step that fails fails the job, and those with `if: always()` run all the same.
  const script = commands
    .map(
      (step, index) =>
        `step${index}() { (set -euo pipefail\n${step.run}\n) }\nstep${index} && echo "ok ${step.name}" || echo "failed ${step.name}: $?"`,
    )
    .join('\n');
  const { done, folder } = await inCopy('tool-agent', `set +e\n${script}`, env);
  await using _folder = folder;
  expect(done.stdout).toContain('ok the profile fits');
  expect(done.stdout).toContain('failed examine: 1');
  expect(done.stdout).toContain('::error title=FAIL tool-use');
  expect(done.stdout).toContain('VERIFIED');
  expect(done.stdout).toContain('ok hand on');
  for (const name of ['results.xml', 'report.html', 'run.proctor'])
    expect((await readFile(path.join(folder.path, name))).length).toBeGreaterThan(500);
});
