import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { proctor, temporaryFolder } from '../support/cli.ts';

interface Problem {
  readonly code: string;
  readonly errors: readonly {
    readonly file: string | null;
    readonly line: number | null;
    readonly column: number | null;
    readonly field: string | null;
    readonly message: string;
    readonly hint: string | null;
  }[];
}

async function problems(
  files: Readonly<Record<string, string>>,
  argv: readonly string[],
): Promise<{ code: number | null; problem: Problem; runs: string }> {
  await using folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder.path, name), text);
  const { code, stdout } = await proctor(folder.path, [...argv, '--json']);
  const runs = (await proctor(folder.path, ['runs', '--json'])).stdout;
  return { code, problem: JSON.parse(stdout) as Problem, runs };
}

const places = (problem: Problem) => problem.errors.map(({ file, line, field }) => `${file}:${line} ${field}`);

const PROFILE = `profile_id: x
dataset: { path: cases.jsonl }
agent: { kind: echo, name: a, version: "1" }
case_groups:
  - { id: a, applies_to: { tags_any: [x] }, evaluators: [{ ref: exact_match@1 }] }
  - { id: b, applies_to: { tags_any: [y] }, evaluators: [{ ref: exact_match@1 }] }
`;

test('a malformed profile lists every problem at once, with file, line, column, field and what would be right', async () => {
  const profile = `profile_id: x
profil_version: "1"
dataset: { path: cases.jsonl }
agent:
  kind: htp
  name: a
  version: 1
repeats: zero
case_groups:
  - id: a
    evaluators: [{ ref: exact_mach@1, weigth: 2 }]
`;
  const { code, problem } = await problems({ 'profile.yaml': profile }, ['check', 'profile.yaml']);
  expect(code).toBe(2);
  expect(problem.code).toBe('invalid_profile');
  expect(places(problem).toSorted()).toEqual(
    [
      'profile.yaml:2 profil_version',
      'profile.yaml:5 agent.kind',
      'profile.yaml:7 agent.version',
      'profile.yaml:8 repeats',
      'profile.yaml:11 case_groups[0].evaluators[0].weigth',
      'profile.yaml:11 case_groups[0].evaluators[0].ref',
    ].toSorted(),
  );
  expect(problem.errors.find((item) => item.field?.endsWith('weigth'))).toEqual({
    file: 'profile.yaml',
    line: 11,
    column: 39,
    field: 'case_groups[0].evaluators[0].weigth',
    message: '`weigth` is not known here',
    hint: 'did you mean `weight`?',
  });
});

test('where the shape is wrong, what an agent kind or an evaluator is configured with is told too', async () => {
  const profile = `profile_id: x
dataset: { path: cases.jsonl }
agent: { kind: http, name: a, version: "1", endpoint: { url: 5 }, typo: 1 }
limits: { concurrency: many }
case_groups:
  - { id: a, evaluators: [{ ref: contains@1, config: { needle: 4 } }] }
`;
  const { problem } = await problems({ 'profile.yaml': profile }, ['check', 'profile.yaml']);
  expect(places(problem).toSorted()).toEqual(
    [
      'profile.yaml:3 agent.endpoint.url',
      'profile.yaml:3 agent.typo',
      'profile.yaml:4 limits.concurrency',
      'profile.yaml:6 case_groups[0].evaluators[0].config.needle',
    ].toSorted(),
  );
});

test('duplicate ids, cases that no group or two groups take, broken rows and what no evaluator can grade by are refused together; nothing is created', async () => {
  const rows = [
    '{"id":"a","input":1,"tags":["x"]}',
    '{"id":"a","input":1,"tags":["x"]}',
    '{"id":"b","input":1,"tags":["x","y"]}',
    '{"id":"c","input":1}',
    '{"id":"d","input":1,"tags":["x"],"inptu":3}',
    '{"id":"e","input":',
    '{"id":"f","input":NaN,"tags":["x"]}',
  ];
  const { code, problem, runs } = await problems({ 'profile.yaml': PROFILE, 'cases.jsonl': `${rows.join('\n')}\n` }, [
    'run',
    'profile.yaml',
  ]);
  expect(code).toBe(2);
  expect(places(problem).map((place) => place.split(' ')[0])).toEqual(
    [2, 3, 4, 5, 6, 7, 1].map((line) => `cases.jsonl:${line}`),
  );
  for (const item of problem.errors) expect(item.hint).not.toBeNull();
  expect(runs).toBe('');
});

test.each([
  [['frobnicate'], 'usage'],
  [['run'], 'usage'],
  [['run', 'profile.yaml', '--limit', 'many'], 'usage'],
  [['show', 'run_nope'], 'not_found'],
  [['resume', 'last'], 'not_found'],
  [['schema', 'nope'], 'usage'],
  [['run', 'absent.yaml'], 'invalid_profile'],
])('%j exits 2 with a problem object', async (argv, code) => {
  const found = await problems({}, argv);
  expect(found).toMatchObject({ code: 2, problem: { code } });
});

test('a secret that is not set is named with its cure before anything runs', async () => {
  const profile =
    'profile_id: x\ndataset: { path: c.jsonl }\nagent: { kind: http, name: a, version: "1", endpoint: { url: "http://127.0.0.1:9/", headers: { authorization: "Bearer $' +
    '{secret:NOPE_TOKEN}" } } }\ncase_groups: [{ id: a, evaluators: [{ ref: exact_match@1 }] }]\n';
  const { code, problem } = await problems(
    { 'profile.yaml': profile, 'c.jsonl': '{"id":"a","input":"x","expected":"x"}\n' },
    ['run', 'profile.yaml'],
  );
  expect({ code, problem: problem.code }).toEqual({ code: 2, problem: 'secret_missing' });
});
