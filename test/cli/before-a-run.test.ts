import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { JSON_SCHEMAS } from '../../src/adapters/json-schemas.ts';
import { proctor, proctorProcess, temporaryFolder } from '../support/cli.ts';

const PROFILE = {
  profile_id: 'capitals',
  dataset: { path: 'cases.json' },
  agent: { kind: 'echo', name: 'echo', version: '1' },
  case_groups: [{ id: 'all', evaluators: [{ ref: 'exact_match@1' }] }],
};
const CASES = ['france', 'japan', 'peru'].map((id) => ({ id, input: id, expected: id, tags: [id.slice(0, 1)] }));

async function project(change: object = {}, cases: readonly object[] = CASES) {
  const folder = await temporaryFolder();
  await writeFile(path.join(folder.path, 'p.json'), JSON.stringify({ ...PROFILE, ...change }));
  await writeFile(path.join(folder.path, 'cases.json'), JSON.stringify({ cases }));
  return { at: folder.path, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

test('what cannot be run here is told before a run exists, all of it at once', async () => {
  const agent = { kind: 'command', name: 'none', version: '1', command: ['no-such-program'] };
  const evaluators = [{ ref: 'exact_match@1' }, { ref: 'command:missing.py' }];
  await using folder = await project({ agent, case_groups: [{ id: 'all', evaluators }] });
  await writeFile(path.join(folder.at, 'missing.py'), '');
  const ran = await proctor(folder.at, ['run', 'p.json'], { PATH: folder.at });
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('nothing was created');
  expect(ran.stderr).toMatch(/no-such-program[\s\S]*python3/);
  expect((await proctor(folder.at, ['runs'])).stdout).toBe('');

  const endpoint = { url: 'http://127.0.0.1:9/x', headers: { authorization: `Bearer ${'$'}{secret:TOK}` } };
  await using other = await project({ agent: { kind: 'http', name: 'x', version: '1', endpoint } });
  const secret = await proctor(other.at, ['run', 'p.json']);
  expect([secret.code, secret.stderr]).toEqual([2, expect.stringContaining('TOK')]);
  expect((await proctor(other.at, ['run', 'p.json', '--detach'])).code, 'workers elsewhere may have it').toBe(0);
});

test('a dataset that is not there is one problem among the others', async () => {
  await using folder = await project({
    dataset: { path: 'nowhere.json' },
    agent: { kind: 'module', name: 'm', version: '1', module: { path: 'nowhere.mjs' } },
  });
  const { code, stderr } = await proctor(folder.at, ['check', 'p.json']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/2 problems/);
  expect(stderr).toMatch(/nowhere\.json[^\n]*dataset\.path[^\n]*there is no dataset/);
  expect(stderr).toContain('nowhere.mjs');
});

test('a case id that the dataset does not have is refused with a limit too, and one that a tag leaves out is not called missing', async () => {
  await using folder = await project();
  const missing = await proctor(folder.at, ['run', '--case', 'france', '--case', 'nope', 'p.json', '--limit', '5']);
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('`nope` was asked for')]);
  const left = await proctor(folder.at, ['check', 'p.json', '--case', 'france', '--tag', 'j']);
  expect(left.stderr).not.toContain('does not have it');
  expect(left.stderr).toContain('no case');
});

test('--failed-of waits for the end of the run, and --case narrows it further', async () => {
  await using folder = await project({}, [...CASES, { id: 'wrong', input: 'a', expected: 'b', tags: [] }]);
  await proctor(folder.at, ['run', 'p.json', '--detach']);
  const early = await proctor(folder.at, ['run', 'p.json', '--failed-of', 'last']);
  expect([early.code, early.stderr]).toEqual([2, expect.stringMatching(/is pending.*proctor resume/)]);
  expect((await proctor(folder.at, ['resume', 'last', '--quiet'])).code).toBe(1);
  const [id] = (await proctor(folder.at, ['runs', '--json'])).stdout
    .split('\n')
    .map((line) => line && JSON.parse(line));
  const again = JSON.parse((await proctor(folder.at, ['run', 'p.json', '--failed-of', id.run_id, '--json'])).stdout);
  expect(again.executions.total).toBe(1);
  const both = await proctor(folder.at, ['run', 'p.json', '--failed-of', id.run_id, '--case', 'france']);
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('none of the cases')]);

  const verdicts = await Promise.all([
    proctor(folder.at, ['show', id.run_id, '--verdict']),
    proctor(folder.at, ['show', id.run_id, '--verdict', '--json']),
  ]);
  expect(verdicts[0].stdout).toBe(verdicts[1].stdout);
  expect(JSON.parse(verdicts[0].stdout)).toMatchObject({ gate_status: 'fail', passed: 3 });
  expect((await proctor(folder.at, ['runs', '--after', 'nope'])).code).toBe(2);
  expect((await proctor(folder.at, ['runs', '--after', id.run_id])).stderr).toContain('no run is older');
});

test('a run without a verdict is not called verified', async () => {
  await using folder = await project();
  await proctor(folder.at, ['run', 'p.json', '--detach']);
  const { stdout } = await proctor(folder.at, ['verify', 'last']);
  expect(stdout).toContain('NO VERDICT YET');
  expect(stdout).not.toContain('VERIFIED');
});

test('a command that finds nothing leaves nothing behind, and --json keeps stderr clean', async () => {
  await using folder = await temporaryFolder();
  for (const argv of [['show', 'x'], ['runs'], ['run', 'nope.yaml']])
    expect((await proctor(folder.path, argv)).code).toBe(2);
  expect(existsSync(path.join(folder.path, '.proctor'))).toBe(false);
  const wrong = await proctorProcess(folder.path, ['runs', '--limit', 'many', '--json']);
  expect([wrong.code, wrong.stderr, JSON.parse(wrong.stdout).code]).toEqual([2, '', 'usage']);
});

test('the published schema takes durations in every spelling that a profile may have', async () => {
  const validate = new Ajv2020.default({ strict: false, allowUnionTypes: true }).compile(
    JSON_SCHEMAS['profile']?.() ?? {},
  );
  const spelled = {
    ...PROFILE,
    defaults: { request_timeout_secs: 60 },
    limits: { execution: { time_minutes: 5 }, run: { time_secs: 7_200 } },
  };
  expect([validate(spelled), validate.errors]).toEqual([true, null]);
  expect(validate({ ...PROFILE, defaults: { request_timeout_hours: 1 } })).toBe(false);
  await using folder = await project(spelled);
  expect((await proctor(folder.at, ['check', 'p.json'])).code).toBe(0);
});

test('an oracle passes an evaluator of usage and one that trusts gated calls only', async () => {
  const evaluators = [
    { ref: 'usage@1', config: { max_total_tokens: 100 } },
    { ref: 'tool_calls@1', config: { allow_reported: false, called: ['weather'] } },
  ];
  const oracle = { text: 'sunny', tool_calls: [{ name: 'weather', arguments: {} }] };
  await using folder = await project({ case_groups: [{ id: 'all', evaluators }] }, [
    { id: 'a', input: 'x', expected: 'y', metadata: { oracle } },
  ]);
  const { stdout } = await proctor(folder.at, ['check', 'p.json', '--probe', '--json']);
  const { probe } = JSON.parse(stdout) as { probe: { trial: string; ok: boolean; detail: string }[] };
  expect(probe.find((trial) => trial.trial === 'oracle')).toMatchObject({ ok: true });
});

interface Probe {
  readonly trial: string;
  readonly ok: boolean;
  readonly warning: boolean;
  readonly passed: boolean;
  readonly detail: string;
}

const GRADERS = `export const lenient = () => ({ status: 'passed' });
export const nonEmpty = ({ envelope }) => envelope.text !== '';
export const strict = ({ envelope, case: { expected } }) => envelope.text === (typeof expected === 'string' ? expected : JSON.stringify(expected));
export const crashing = ({ envelope, case: { expected } }) => { if (!envelope.text.includes(expected)) throw new Error('no idea'); return true; };
`;

test.each<[what: string, refs: readonly (string | object)[], expected: unknown, came: Partial<Probe>, detail: string]>([
  ['a careful one', ['strict'], 'Paris', { ok: true, warning: false, passed: false }, 'every evaluator fails one'],
  [
    'one that fails only what is empty',
    ['nonEmpty'],
    'Paris',
    { ok: true, warning: true, passed: true },
    'a wrong answer of the right shape passes; ',
  ],
  [
    'one that never fails',
    ['lenient'],
    'Paris',
    { ok: true, warning: true, passed: true },
    '`module:graders.mjs#lenient` fails no wrong answer; ',
  ],
  [
    'one that never fails among others',
    ['strict', 'lenient'],
    { a: 1 },
    { warning: true, passed: false },
    '`module:graders.mjs#lenient` fails no',
  ],
  [
    'several that never fail',
    ['lenient', { ref: 'regex@1', config: { pattern: '.*' } }],
    'x',
    { warning: true },
    '`module:graders.mjs#lenient`, `regex@1` fail no',
  ],
  [
    'one that crashes on wrong answers',
    ['crashing'],
    'Paris',
    { ok: false },
    'a wrong answer cannot be graded (module:graders.mjs#crashing: ',
  ],
  [
    'limits of time and cost',
    [
      { ref: 'latency@1', config: { max_ms: 1000 } },
      { ref: 'usage@1', config: { max_total_tokens: 9 } },
    ],
    null,
    { ok: true, warning: false },
    'every',
  ],
  [
    'one that looks at the form',
    [{ ref: 'json_schema@1', config: { schema: { type: 'object' } } }],
    { a: 1 },
    { ok: true, warning: true, passed: true },
    'a wrong answer of the right shape passes',
  ],
  [
    'every kind of value',
    [{ ref: 'exact_match@1', config: { field: '/structured' } }],
    { a: 1, b: [true], c: { d: 'x', e: null } },
    { warning: false, passed: false },
    'every',
  ],
])('a probe tries wrong answers on every evaluator: %s', async (_, refs, expected, came, detail) => {
  const evaluators = refs.map((ref) => (typeof ref === 'string' ? { ref: `module:graders.mjs#${ref}` } : ref));
  await using folder = await project({ case_groups: [{ id: 'all', evaluators }] }, [{ id: 'a', input: 'x', expected }]);
  await writeFile(path.join(folder.at, 'graders.mjs'), GRADERS);
  const { code, stdout } = await proctor(folder.at, ['check', 'p.json', '--probe', '--json']);
  const { probe } = JSON.parse(stdout) as { probe: Probe[] };
  const wrong = probe.find(({ trial }) => trial === 'wrong');
  expect(wrong).toMatchObject({ ...came, detail: expect.stringContaining(detail) });
  if (came.warning === true && wrong?.ok === true && probe.every(({ ok }) => ok)) expect(code, 'a warning').toBe(0);
});

test('a case may say what a wrong answer to it is', async () => {
  const evaluators = [{ ref: 'contains@1', config: { not: ['password'] } }, { ref: 'contains@1' }];
  const item = { id: 'a', input: 'x', expected: 'Paris' };
  const detailOf = async (metadata: object) => {
    await using folder = await project({ case_groups: [{ id: 'all', evaluators }] }, [{ ...item, metadata }]);
    return (await proctor(folder.at, ['check', 'p.json', '--probe'])).stdout;
  };
  expect(await detailOf({})).toMatch(/! all wrong on a: `contains@1` fails no wrong answer; .* as `metadata\.wrong`/);
  expect(await detailOf({ wrong: 'the password is 1234' })).toMatch(/✓ all wrong on a: .*every evaluator fails one/);
});

test('the own evaluator that the page shows grades as it says', async () => {
  const page = await readFile(path.resolve(import.meta.dirname, '../../docs/own-evaluators.md'), 'utf8');
  const source = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
  await using folder = await project(
    { case_groups: [{ id: 'all', evaluators: [{ ref: 'module:graders.mjs#polite', config: { threshold: 0.8 } }] }] },
    [
      { id: 'polite', input: 'Please, and thank you', expected: null },
      { id: 'rude', input: 'Now!', expected: null },
    ],
  );
  await writeFile(path.join(folder.at, 'graders.mjs'), source);
  await proctor(folder.at, ['run', 'p.json', '--quiet']);
  const lines = (await proctor(folder.at, ['show', 'last', '--executions', '--json'])).stdout.trim().split('\n');
  expect(
    lines
      .map((line) => JSON.parse(line).evaluator_results[0])
      .map(({ status, score, reason }) => [status, score, reason]),
  ).toEqual([
    ['passed', 1, '2 polite words'],
    ['failed', 0, '0 polite words'],
  ]);
});
