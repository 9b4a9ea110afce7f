import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { evaluatorKinds } from '../../src/adapters/evaluators/index.ts';
import { openPlugins } from '../../src/adapters/plugins.ts';
import { envelope } from '../../src/contract/agent.ts';
import type { EvaluatorInput } from '../../src/contract/evaluator.ts';
import { evaluatorReferenceSchema, profileSchema } from '../../src/contract/profile.ts';
import { Secrets } from '../../src/core/redaction/secrets.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';

/** A config for each built-in evaluator under which it reads `expected`, where it ever does, and one under which it need not. */
const CONFIGS: Readonly<Record<string, readonly object[]>> = {
  exact_match: [{}, { field: '/structured' }, { expected: 'x' }],
  contains: [{}, { values: 'x' }, { not: ['x'] }],
  regex: [{ pattern: 'x' }],
  json_schema: [{ schema: { type: 'object' } }],
  json_fields: [{}, { fields: [{ actual: '/a' }] }, { fields: [{ actual: '/a', value: 1 }] }],
  numeric: [{}, { expected: 1 }],
  similarity: [{}, { metric: 'rouge_l', max_chars: 4 }, { metric: 'jaccard', max_chars: 4 }, { expected: 'x' }],
  tool_calls: [{}, { called: ['a'] }],
  latency: [{ max_ms: 1 }],
  usage: [{ max_total_tokens: 1 }],
};

/** What a dataset may hold as `expected`, sensible or not. */
const EXPECTED: readonly unknown[] = [
  null,
  '',
  ' ',
  'yes',
  'no number',
  '1,234.5',
  '12 of 15',
  'longer than four',
  0,
  7,
  -1,
  true,
  false,
  [],
  ['a'],
  ['a', ''],
  ['a', 1],
  [[]],
  {},
  { text: 'yes' },
  { text: 5 },
  { text: '' },
  { a: 1 },
  { b: 1 },
  { a: null },
  { tool_calls: [] },
  { tool_calls: ['a'] },
  { tool_calls: 'a' },
  { tool_calls: [{ nam: 'a' }] },
  { tool_calls: [{ name: 'a', times: -1 }] },
  { turns: ['a'] },
];

const ANSWERS = [
  envelope({ text: 'yes' }),
  envelope({ text: '7' }),
  envelope({ structured: { a: 1 } }),
  envelope({ text: '{"a": 1}', tool_calls: [{ name: 'a', arguments: null, result: null, source: 'gated' }] }),
];

const plugins = openPlugins(new Secrets(() => ''), {});

describe('what is expected', () => {
  const refs = evaluatorKinds
    .filter(({ name }) => name !== 'judge')
    .map(({ name, version }) => ({ name, ref: `${name}@${version}` }));

  test.each(refs)('of $ref is refused ahead exactly where no answer could be graded by it', async ({ name, ref }) => {
    for (const config of CONFIGS[name] ?? []) {
      const reference = evaluatorReferenceSchema.parse({ ref, config });
      const profile = profileSchema.parse({
        profile_id: 'p',
        agent: { kind: 'echo', name: 'a', version: '1' },
        case_groups: [{ id: 'all', evaluators: [reference] }],
      });
      const check = plugins.ungradable(profile)[0]?.[0];
      const evaluator = await plugins.openEvaluator(reference, { base_dir: '/', concurrency: 1 });
      for (const expected of EXPECTED) {
        const ahead = check?.(expected) ?? null;
        const found = await Promise.all(
          ANSWERS.map(
            async (answer) =>
              await evaluator.evaluate(inputOf(expected, answer), { signal: new AbortController().signal }),
          ),
        );
        const erred = found.filter(({ status }) => status === 'error');
        const told = { ref, config, expected, ahead, erred: erred.length };
        expect(told).toEqual({ ...told, erred: ahead === null ? 0 : ANSWERS.length });
        for (const { reason, fault } of erred)
          expect({ reason, fault }).toEqual({ reason: ahead, fault: 'configuration' });
      }
    }
  });

  test('has a config here for every evaluator, so that a new one is not forgotten', () => {
    expect(refs.map(({ name }) => name).toSorted()).toEqual(Object.keys(CONFIGS).toSorted());
  });
});

test('mistakes of the evaluation are told all at once before anything is created, by `check` and by `run`, and by `regrade`', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const lines = Array.from({ length: 1_319 }, (_, index) => ({
    id: `g${index + 1}`,
    task_type: 'sum',
    input: 'x',
    expected: index < 1_300 ? 'the answer is many' : ['1'],
  }));
  const session = {
    id: 's1',
    task_type: 'talk',
    input: { turns: ['a', 'b'] },
    expected: { turns: [null, 'no number'] },
  };
  const fine = { id: 'f1', task_type: 'sum', input: 'x', expected: '#### 18'.slice(5), tags: ['fine'] };
  await writeFile(
    path.join(at, 'cases.jsonl'),
    `${[...lines, session, fine].map((line) => JSON.stringify(line)).join('\n')}\n`,
  );
  const evaluators = [{ ref: 'numeric@1' }, { ref: 'exact_match@1' }];
  const profile = {
    profile_id: 'sums',
    agent: { kind: 'echo', name: 'echo', version: '1' },
    dataset: { path: 'cases.jsonl' },
    case_groups: [
      { id: 'sums', applies_to: { task_type: 'sum' }, evaluators },
      { id: 'talks', applies_to: { task_type: 'talk' }, session: true, evaluators: [{ ref: 'numeric@1' }] },
    ],
  };
  await writeFile(path.join(at, 'profile.json'), JSON.stringify(profile));
  const checked = await proctor(at, ['check', 'profile.json', '--json']);
  expect(checked).toMatchObject({ code: 2 });
  const { errors } = JSON.parse(checked.stdout) as { errors: { message: string; field: string; line: number }[] };
  expect(errors.map(({ message, line, field }) => [message.split(';')[0], line, field])).toEqual([
    [
      "`numeric@1` cannot grade 1300 cases (`g1`, `g2`, `g3`, `g4`, `g5`, … 1295 more): the case's `expected` is not a single number",
      1,
      'expected',
    ],
    [
      "`numeric@1` cannot grade 19 cases (`g1301`, `g1302`, `g1303`, `g1304`, `g1305`, … 14 more): the case's `expected` is a list",
      1301,
      'expected',
    ],
    [
      "`exact_match@1` cannot grade 19 cases (`g1301`, `g1302`, `g1303`, `g1304`, `g1305`, … 14 more): the case's `expected` is a list",
      1301,
      'expected',
    ],
    ["`numeric@1` cannot grade 1 case (`s1`): the case's `expected` is not a single number", 1320, 'expected'],
  ]);
  const refused = await proctor(at, ['run', 'profile.json']);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('nothing was created');
  expect((await proctor(at, ['runs', '--json'])).stdout).toBe('');

  // What is not selected is not looked at; a run that is graded anew is.
  const made = await proctor(at, ['run', 'profile.json', '--tag', 'fine', '--json', '--quiet']);
  expect(made.code, made.stderr).toBe(1);
  const anew = { ...profile, case_groups: [{ id: 'sums', evaluators: [{ ref: 'json_fields@1' }] }] };
  await writeFile(path.join(at, 'anew.json'), JSON.stringify(anew));
  const regraded = await proctor(at, ['regrade', 'last', '--profile', 'anew.json']);
  expect(regraded).toMatchObject({ code: 2 });
  expect(regraded.stderr).toContain('`json_fields@1` cannot grade 1 case (`f1`)');
});

function inputOf(expected: unknown, answer: EvaluatorInput['envelope']): EvaluatorInput {
  const item = { case_id: 'c', task_type: 't', input: null, expected, context: null, tags: [], metadata: {} };
  const ids = { run_id: 'run', execution_id: 'exe', attempt_id: 'att', repeat: 1 };
  return { case: item, envelope: answer, latency_ms: 1, ...ids };
}
