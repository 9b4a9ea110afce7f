import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { proctor, temporaryFolder } from '../support/cli.ts';

const CONFIG = `description: Capitals
prompts:
  - "What is the capital of {{ country }}? Answer in {{language}}."
  - "second"
providers: [openai:gpt-4o-mini]
defaultTest:
  vars: { language: English }
  assert: [{ type: latency, threshold: 60000 }]
tests:
  - description: France
    vars: { country: France }
    assert: [{ type: equals, value: Paris }]
  - vars: { country: Japan }
    assert: [{ type: contains, value: Tokyo, weight: 2, metric: fact }, { type: not-icontains, value: sorry }]
  - vars: { country: Kenya }
    assert: [{ type: contains-any, value: [Nairobi, nairobi] }, { type: regex, value: "^N" }, { type: starts-with, value: "Nai(" }]
  - vars: { country: Peru }
    assert: [{ type: javascript, value: "output.length > 3" }, { type: llm-rubric, value: is polite }]
  - file://more.yaml
  - file://tests.csv
`;

test('a promptfoo configuration becomes a profile and a dataset that check and run; what has no counterpart is told', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await writeFile(path.join(at, 'promptfooconfig.yaml'), CONFIG);
  await writeFile(
    path.join(at, 'more.yaml'),
    '- { vars: { country: Chad }, assert: [{ type: is-json }, { type: equals, value: { capital: x } }] }\n',
  );
  expect(await proctor(at, ['run', 'promptfooconfig.yaml'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('`proctor import promptfoo promptfooconfig.yaml` makes a profile of it'),
  });
  const done = await proctor(at, ['import', 'promptfoo', 'promptfooconfig.yaml', '--out', 'mine', '--json']);
  expect(done, done.stdout).toMatchObject({ code: 1 }); // something was left out
  const report = JSON.parse(done.stdout) as { cases: number; left_out: string[] };
  expect(report.cases).toBe(4);
  expect(report.left_out.join('\n')).toContain('tests[3]: it has nothing that can be graded');
  expect(report.left_out.join('\n')).toContain('tests[3].assert[0]: `javascript` has no counterpart');
  expect(report.left_out.join('\n')).toContain('tests[3].assert[1]: `llm-rubric` has no counterpart');
  expect(report.left_out.join('\n')).toContain('tests[5]: `file://tests.csv`');
  expect(report.left_out.join('\n')).toContain('the first of 2');

  const cases = (await readFile(path.join(at, 'mine/cases.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(cases[0]).toMatchObject({
    id: 'France',
    input: 'What is the capital of France? Answer in English.',
    expected: 'Paris',
  });
  const profile = parse(await readFile(path.join(at, 'mine/profile.yaml'), 'utf8'));
  const groups = Object.fromEntries(
    profile.case_groups.map((group: { id: string; evaluators: unknown[] }) => [group.id, group.evaluators]),
  );
  expect(groups[cases[0].case_group]).toMatchObject([{ ref: 'latency@1' }, { ref: 'exact_match@1', config: {} }]);
  expect(groups[cases[1].case_group]).toMatchObject([
    { ref: 'latency@1' },
    { ref: 'contains@1', dimension: 'fact', weight: 2 },
    { ref: 'contains@1', config: { not: ['sorry'], ignore_case: true } },
  ]);
  expect(groups[cases[2].case_group]).toMatchObject([
    {},
    { ref: 'contains@1', config: { values: ['Nairobi', 'nairobi'], all: false } },
    { ref: 'regex@1', config: { pattern: '^N' } },
    { ref: 'regex@1', config: { pattern: '^Nai\\(' } },
  ]);
  expect(profile.agent).toMatchObject({ kind: 'http', endpoint: { body: { model: 'gpt-4o-mini' } } });
  const unsettled = await proctor(at, ['check', 'mine/profile.yaml', '--json'], { OPENAI_API_KEY: 'x' });
  expect(unsettled.code).toBe(2);
  const problems = JSON.parse(unsettled.stdout) as { errors: { message: string; field: string; line: number }[] };
  expect(problems.errors.map(({ message }) => message)).toEqual(
    report.left_out.map((sentence) => `not settled yet: ${sentence}`),
  );
  expect(problems.errors[0]).toMatchObject({ field: 'unfinished[0]', line: 2 });
  const { unfinished, ...settled } = profile;
  expect(unfinished).toEqual(report.left_out);
  await writeFile(path.join(at, 'mine/settled.json'), JSON.stringify(settled));
  expect((await proctor(at, ['check', 'mine/settled.json'], { OPENAI_API_KEY: 'x' })).code).toBe(0);

  // The same dataset with answers that are there: a replay in the agent's place.
  const answers = ['Paris', 'It is Tokyo.', 'Nai(robi', '{"capital":"x"}'];
  const lines = cases.map((item, index) => JSON.stringify({ case_id: item.id, text: answers[index] }));
  await writeFile(path.join(at, 'mine/answers.jsonl'), `${lines.join('\n')}\n`);
  await writeFile(
    path.join(at, 'mine/replay.json'),
    JSON.stringify({
      ...settled,
      agent: { kind: 'replay', name: 'a', version: '1', replay: { path: 'answers.jsonl' } },
      gate: {},
    }),
  );
  const run = JSON.parse((await proctor(at, ['run', 'mine/replay.json', '--json', '--quiet'])).stdout);
  expect(run).toMatchObject({ graded: 4, passed: 3 }); // `Nai(robi` holds no Nairobi

  expect((await proctor(at, ['import', 'promptfoo', 'promptfooconfig.yaml', '--out', 'mine'])).stderr).toContain(
    '--force',
  );
  expect((await proctor(at, ['import', 'inspect', 'promptfooconfig.yaml'])).stderr).toContain('replay');
  await writeFile(path.join(at, 'broken.yaml'), 'a: [');
  expect(await proctor(at, ['import', 'promptfoo', 'broken.yaml'])).toMatchObject({ code: 2 });
});

test('prompts in files, variables in values, lists in texts and schemas in texts mean what they mean; what is not read is told', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await writeFile(path.join(at, 'p.txt'), 'Say {{user.name}}.');
  const config = {
    prompts: ['file://p.txt'],
    providers: ['https://agent.example/a', 'https://agent.example/b'],
    scenarios: [],
    tests: [
      {
        vars: { user: { name: 'Ada' }, word: 'yes' },
        options: { transform: 'x' },
        assert: [
          { type: 'contains', value: '{{word}}' },
          { type: 'contains-any', value: 'a, b' },
          { type: 'is-json', value: '{"type":"object"}' },
          { type: 'equals', value: 'x', transform: 'output.trim()' },
        ],
      },
    ],
  };
  await writeFile(path.join(at, 'c.json'), JSON.stringify(config));
  const done = JSON.parse((await proctor(at, ['import', 'promptfoo', 'c.json', '--json'])).stdout) as {
    left_out: string[];
  };
  const told = done.left_out.join('\n');
  for (const text of ['scenarios', 'tests[0].options', 'first of 2', 'assert[3]: its `transform`'])
    expect(told).toContain(text);
  const [item] = (await readFile(path.join(at, 'imported/cases.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(item).toMatchObject({ input: 'Say Ada.', expected: 'yes' });
  const profile = parse(await readFile(path.join(at, 'imported/profile.yaml'), 'utf8'));
  expect(profile.case_groups[0].evaluators).toMatchObject([
    { ref: 'contains@1', config: {} },
    { ref: 'contains@1', config: { values: ['a', 'b'], all: false } },
    { ref: 'json_schema@1', config: { schema: { type: 'object' } } },
  ]);
  await writeFile(path.join(at, 'd.json'), JSON.stringify({ ...config, prompts: ['file://p.py'] }));
  expect((await proctor(at, ['import', 'promptfoo', 'd.json', '--out', 'x'])).stderr).toContain('not imported');
});

const AGENT = `const [prompt, options, context] = process.argv.slice(2).map((text, index) => (index === 0 ? text : JSON.parse(text)));
process.stdin.on('data', () => process.exit(9)); // promptfoo writes nothing to it
if (prompt === 'silent') process.stderr.write('I have nothing to say');
else console.log('\\u001b[1m' + [context.vars.question, options.config.tone, context.prompt.raw].join('|') + '\\u001b[0m\\n');
`;

test('an unknown provider gives no agent that could pass; an exec provider is called as promptfoo calls it', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const config = {
    prompts: ['{{question}}'],
    providers: ['llama'],
    tests: [{ vars: { question: 'hello' }, assert: [{ type: 'contains', value: 'hello' }] }],
  };
  await writeFile(path.join(at, 'c.json'), JSON.stringify(config));
  const done = await proctor(at, ['import', 'promptfoo', 'c.json', '--out', 'a']);
  expect(done, done.stdout).toMatchObject({ code: 1 });
  expect(done.stderr).toContain('left out providers: `llama` has no counterpart');
  expect(done.stdout).toContain('1 thing left out, listed under `unfinished` in a/profile.yaml');
  for (const command of ['run', 'check']) {
    const refused = await proctor(at, [command, 'a/profile.yaml']);
    expect(refused, refused.stderr).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain('`to_fill_in` stands where your agent belongs');
  }
  // The line deleted and the agent not filled in is as far from a verdict.
  const text = await readFile(path.join(at, 'a/profile.yaml'), 'utf8');
  await writeFile(path.join(at, 'a/profile.yaml'), text.replace(/^unfinished:\n(?: .*\n)+/, ''));
  expect(await proctor(at, ['run', 'a/profile.yaml'])).toMatchObject({ code: 2 });

  await mkdir(path.join(at, 'own'));
  await writeFile(path.join(at, 'own/agent.mjs'), AGENT);
  const exec = {
    ...config,
    providers: [{ id: `exec:"${process.execPath}" agent.mjs`, config: { tone: 'kind' } }],
    tests: [
      { vars: { question: 'hello' }, assert: [{ type: 'equals', value: '{{question}}|kind|hello' }] },
      { vars: { question: 'silent' }, assert: [{ type: 'contains', value: 'x' }] },
    ],
  };
  await writeFile(path.join(at, 'own/c.json'), JSON.stringify(exec));
  expect(await proctor(at, ['import', 'promptfoo', 'own/c.json', '--out', 'deep/b'])).toMatchObject({ code: 0 });
  const run = await proctor(at, ['run', 'deep/b/profile.yaml', '--json', '--quiet']);
  expect(JSON.parse(run.stdout), run.stderr).toMatchObject({ graded: 2, passed: 1 });
  const shown = await proctor(at, ['show', 'last', '--executions', '--json']);
  expect(shown.stdout.split('\n').map((line) => (line === '' ? null : JSON.parse(line).reason))).toContain(
    'only_stderr',
  );
});
