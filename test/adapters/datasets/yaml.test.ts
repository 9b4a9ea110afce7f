import { expect, test } from 'vitest';
import { MAX_YAML_BYTES } from '../../../src/adapters/datasets/yaml.ts';
import { aCase, readDataset, told } from './dataset-fixture.ts';

test('reads a dataset with its identity and the line of each case', async () => {
  const text = `\ufeffdataset_id: triage
dataset_version: "1.2"
cases:
  - id: a
    input: &question {text: "hi", n: 1.5, ok: true, none: ~}
    expected: yes
    tags: [x]

  - id: 7
    input: *question
    metadata: {2024-01-01: 1, 3: "three", __proto__: p}
`;
  const read = await readDataset('a.yaml', text);
  const input = { text: 'hi', n: 1.5, ok: true, none: null };
  const metadata = JSON.parse('{"2024-01-01": 1, "3": "three", "__proto__": "p"}') as Record<string, string>;
  expect(read).toEqual({
    cases: [aCase({ id: 'a', input, expected: 'yes', tags: ['x'] }), aCase({ id: '7', input, metadata })],
    lines: [4, 9],
    problems: [],
    identity: { dataset_id: 'triage', dataset_version: '1.2' },
  });
});

test('reports what JSON cannot carry and what a case must not hold, by path, line and column', async () => {
  const text = `- {id: a, input: 1, input: 2}
- {id: b, input: .inf}
- {id: c, input: 12345678901234567890}
- {id: d, input: {? [x] : 1, <<: {y: 1}}}
- {id: e, input: 1, tag: [x]}
- id: f
  input: 1
  tags:
    - x
    - 3
- {id: g, input: "\\ud800"}
- {id: h, input: *late, context: &late 1}
- {id: i, input: 0xFF, expected: -0012, context: 1e400}
- {id: z, input: 0xFF, expected: -0012}
`;
  const read = await readDataset('a.yml', text);
  expect(told(read.problems)).toEqual([
    '1:21 [0].input duplicate key `input`',
    '2:18 [1].input `.inf` is not a JSON number',
    '3:18 [2].input the number `12345678901234567890` would be read as `12345678901234567000`',
    '4:21 [3].input a member name that is not a text has no form in JSON',
    '4:30 [3].input merge keys (`<<`) are not read',
    '5:26 [4].tag a case has no field `tag`',
    '10:7 [5].tags[1] `tags[1]` is not valid: expected string, received number',
    '11:18 [6].input the text `\ufffd` holds a lone surrogate',
    '12:18 [7].input the alias `*late` has no complete anchor before it',
    '13:50 [8].context the number `1e400` would be read as `Infinity`',
  ]);
  expect(read.cases).toEqual([aCase({ id: 'z', input: 255, expected: -12 })]);
});

test.each([
  ['cases:\n\t- id: a\n', ['2:1 - Tabs are not allowed as indentation']],
  ['a: 1\n---\nb: 2\n', ['2:1 - Source contains multiple documents; please use YAML.parseAllDocuments()']],
  ['- {id: a, input: !custom 1}\n', ['1:18 - Unresolved tag: !custom']],
  ['', ['-:- - the file is empty']],
  ['# nothing\n', ['-:- - the file is empty']],
  ['text\n', ['-:- - the file holds neither a list nor a map']],
  ['dataset_id: x\n', ['-:- - the file has no `cases`']],
  ['cases: 3\n', ['1:1 cases `cases` must be a list of cases']],
  ['cases: []\ncases: []\n', ['2:1 cases duplicate key `cases` in the dataset']],
  ['dataset_ID: x\ncases: []\n', ['1:1 dataset_ID a dataset has no field `dataset_ID`']],
])('says what is wrong with %j', async (content, problems) => {
  const read = await readDataset('a.yaml', content);
  expect([read.cases, told(read.problems)]).toEqual([[], problems]);
});

test('refuses aliases that would expand to billions of values', async () => {
  const levels = Array.from(
    { length: 12 },
    (_, i) =>
      `  l${i}: &l${i} [${Array(9)
        .fill(i === 0 ? 'x' : `*l${i - 1}`)
        .join(', ')}]`,
  );
  const read = await readDataset(
    'a.yaml',
    `- id: a\n  input:\n${levels.map((level) => `  ${level}`).join('\n')}\n- {id: b, input: 1}\n`,
  );
  expect(told(read.problems)).toEqual([
    '8:14 [0].input.l5[0] the aliases of one case expand to more than 100000 values',
  ]);
  expect(read.cases).toEqual([aCase({ id: 'b', input: 1 })]);
});

test.each([
  ['flow', `- {id: a, input: ${'['.repeat(1e5)}${']'.repeat(1e5)}}\n`, 'the file is nested too deeply'],
  ['block', `- id: a\n  input:\n    ${'- '.repeat(1e5)}x\n`, 'the file is nested too deeply'],
  ['unclosed', '{a: '.repeat(1e4), 'the file is nested too deeply'],
  [
    'moderate',
    `- {id: a, input: ${'['.repeat(300)}${']'.repeat(300)}}\n`,
    'the value is nested deeper than 200 levels',
  ],
])('refuses %s nesting that is too deep with a problem, not a crash', async (_, text, message) => {
  const read = await readDataset('a.yaml', text);
  expect([read.cases, read.problems.map((problem) => problem.message)]).toEqual([[], [message]]);
});

test('refuses a file over the limit and says to convert it', async () => {
  const read = await readDataset('a.yaml', `- id: ${'x'.repeat(MAX_YAML_BYTES)}`);
  expect(read.problems.map(({ message, hint }) => [message, hint])).toEqual([
    [`the YAML file is larger than ${MAX_YAML_BYTES} bytes`, 'convert it to JSONL, which is streamed'],
  ]);
});

test('refuses numbers that YAML would round even when they are mapped as text', async () => {
  const read = await readDataset('a.yaml', '- {n: 1, tests: [12345678901234567890], in: {a: 1}}\n', {
    id: '/n',
    input: 'text:/in',
    expected: 'text:/tests',
  });
  expect(told(read.problems)).toEqual([
    '1:18 [0].tests[0] the number `12345678901234567890` would be read as `12345678901234567000`',
  ]);
  const good = await readDataset('a.yaml', '- {n: 1, big: 12345678901234567890, in: {a: 1}}\n', {
    id: '/n',
    input: 'text:/in',
  });
  expect(good.cases).toEqual([aCase({ id: '1', input: '{"a":1}' })]);
});

test('names the byte of invalid UTF-8', async () => {
  const read = await readDataset('a.yaml', Buffer.from([45, 32, 0xff]));
  expect(told(read.problems)).toEqual(['-:- - byte 0xff at offset 2 of the file is not valid UTF-8']);
});
