import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { proctor, temporaryFolder } from '../support/cli.ts';

/** Prints and exits as the agent's answer says: the answer is the script. */
const GRADER = `const { envelope } = JSON.parse(await new Response(process.stdin).text());
const [said, code] = JSON.parse(envelope.text);
process.stderr.write('Traceback: no module named grader\\n');
process.stdout.write(said, () => process.exit(code));
`;

const FAILED = '{"status":"failed","score":0}';
const CASES: Readonly<Record<string, readonly [said: string, code: number]>> = {
  verbose: [`Loading model ... done\n${FAILED}\n`, 0],
  wrapper: [`Relevancy: 0.1 ❌\n${FAILED}\nsee the dashboard\n`, 1],
  fine: ['Loading model ... done\n{"status":"passed"}\n', 0],
  number: ['0.2', 0],
  boolean: ['false', 0],
  list: [`[${FAILED}]`, 0],
  nothing: ['', 0],
  crash: ['', 1],
  crash_after: ['{"status":"passed"}', 1],
  torn: ['{"status":"passed"}\n{"status":"fai', 0],
};

test('a command evaluator grades by what it prints, and its own failures are not the agent’s', async () => {
  await using folder = await temporaryFolder();
  await writeFile(path.join(folder.path, 'grade.mjs'), GRADER);
  const cases = Object.entries(CASES).map(([id, said]) => ({ id, input: JSON.stringify(said), expected: null }));
  await writeFile(path.join(folder.path, 'cases.json'), JSON.stringify({ cases }));
  const profile = {
    profile_id: 'verbose',
    dataset: { path: 'cases.json' },
    agent: { kind: 'echo', name: 'echo', version: '1' },
    retry: { grader: 0 },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'command:grade.mjs' }] }],
  };
  await writeFile(path.join(folder.path, 'p.json'), JSON.stringify(profile));
  const ran = await proctor(folder.path, ['run', 'p.json', '--quiet', '--json']);
  const { stdout } = await proctor(folder.path, ['show', 'last', '--executions', '--json']);
  const ended = stdout
    .trim()
    .split('\n')
    .map(
      (line) => JSON.parse(line) as { case_id: string; fault: string | null; aggregate: { passed: boolean } | null },
    );
  const outcomes = ended.map(({ case_id, fault, aggregate }) => [case_id, fault ?? aggregate?.passed]);
  expect(Object.fromEntries(outcomes)).toEqual({
    verbose: false,
    wrapper: false,
    fine: true,
    number: 'grader',
    boolean: 'grader',
    list: 'grader',
    nothing: 'grader',
    crash: 'grader',
    crash_after: 'grader',
    torn: 'grader',
  });
  expect(ran.code, 'too many grader faults decide nothing').toBe(5);
  const shown = await proctor(folder.path, ['show', 'last', '--case', 'number']);
  expect(shown.stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /printed no JSON object with a `status`; stdout ends with: 0\.2; stderr ends with: Traceback/,
  );

  const misplaced = {
    ...profile,
    case_groups: [{ id: 'all', evaluators: [{ ref: 'exact_match@1', grade_by: 'exit_code' }] }],
  };
  await writeFile(path.join(folder.path, 'misplaced.json'), JSON.stringify(misplaced));
  const refused = await proctor(folder.path, ['check', 'misplaced.json']);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/`exact_match@1` has no exit code.*it is for/s),
  ]);
});
