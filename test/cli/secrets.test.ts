import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proctor, proctorProcess, temporaryFolder } from '../support/cli.ts';
import { allBytes, channelCases, leaks, leakyServer, SECRETS, writeLeakers } from '../support/secret-channels.ts';

const EXPORTS = ['junit', 'jsonl', 'csv', 'html', 'annotations', 'bundle'];
const NAMES = Object.keys(SECRETS);
const HEADERS = Object.fromEntries(NAMES.map((name) => [`x-${name.toLowerCase()}`, `\${secret:${name}}`]));

interface Tried {
  /** Everything that the processes printed. */
  readonly said: string;
  readonly folder: string;
  readonly document: Record<string, unknown>;
  readonly jsonl: string;
  readonly verified: { readonly ok: boolean; readonly not_recomputable: number };
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let server: Awaited<ReturnType<typeof leakyServer>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  server = await leakyServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** One run over the channels, every export of it, and its verification. */
async function tried(name: string, agent: object, channels: readonly string[], evaluators: object[]): Promise<Tried> {
  const at = path.join(folder.path, name);
  await writeLeakers(at);
  await mkdir(path.join(at, 'out'));
  await writeFile(path.join(at, 'cases.json'), JSON.stringify(channelCases(channels)));
  const profile = {
    profile_id: name,
    profile_version: '1',
    dataset: { path: 'cases.json' },
    agent: { name, version: '1', ...agent },
    retry: { infrastructure: 0, grader: 0 },
    limits: { concurrency: 4 },
    case_groups: [{ id: 'all', evaluators }],
    webhooks: [],
  };
  await writeFile(path.join(at, 'profile.json'), JSON.stringify(profile));
  const ran = await proctorProcess(at, ['run', 'profile.json', '--json'], SECRETS);
  const shown = [ran, await proctor(at, ['show', 'last', '--failed'], SECRETS)];
  for (const format of EXPORTS)
    shown.push(await proctor(at, ['export', 'last', '--format', format, '--out', `out/run.${format}`], SECRETS));
  const checked = await proctor(at, ['verify', 'last', '--json'], SECRETS);
  return {
    said: [...shown, checked].map(({ stdout, stderr }) => stdout + stderr).join('\n'),
    folder: at,
    document: JSON.parse(ran.stdout.trim().split('\n').at(-1) ?? '{}') as Record<string, unknown>,
    jsonl: await readFile(path.join(at, 'out/run.jsonl'), 'utf8'),
    verified: JSON.parse(checked.stdout) as Tried['verified'],
  };
}

/** Nothing that was kept, exported or printed holds any form. */
async function expectNowhere({ folder: at, said }: Tried): Promise<void> {
  const kept = [...(await allBytes(path.join(at, '.proctor'))), ...(await allBytes(path.join(at, 'out')))];
  expect(kept.length).toBeGreaterThan(EXPORTS.length);
  for (const { name, bytes } of kept) expect([name, leaks(bytes)]).toEqual([name, []]);
  expect(leaks(Buffer.from(said))).toEqual([]);
  for (const name of NAMES)
    expect(said + kept.map(({ bytes }) => bytes.toString('latin1')).join()).toContain(`[secret ${name}]`);
}

const evaluator = (ref: string, more: object = {}) => ({ ref, dimension: ref.replace(/\W/g, '_'), ...more });

describe('no form of a secret is kept, exported or printed', () => {
  test('of what an agent behind HTTP says, in each part of an answer and of an error', async () => {
    const parts = ['text', 'structured', 'keys', 'tool_calls', 'trace', 'usage', 'metadata', 'plain'];
    const channels = [...parts, 'header', 'error', 'cut', 'invalid'];
    const run = await tried('http', { kind: 'http', endpoint: { url: server.url, headers: HEADERS } }, channels, [
      evaluator('exact_match@1'),
      evaluator('module:grade.ts#says'),
      evaluator('module:grade.ts#came'),
    ]);
    await expectNowhere(run);
    expect(run.verified.ok).toBe(true);
  });

  test('of what a module throws, prints and returns, and of evaluators that fail', async () => {
    const env = { kind: 'module', module: { path: 'agent.ts' } };
    const run = await tried(
      'module',
      env,
      ['text', 'structured', 'thrown'],
      [evaluator('similarity@1'), evaluator('module:grade.ts#throws', { config: HEADERS })],
    );
    await expectNowhere(run);
  });

  test('of what a program prints on stdout and stderr, and of an evaluator that is one', async () => {
    const agent = {
      kind: 'command',
      command: ['node', 'program.ts'],
      env: Object.fromEntries(NAMES.map((name) => [`MY_${name}`, `\${secret:${name}}`])),
    };
    const run = await tried('command', agent, ['stdout', 'exit'], [evaluator('command:grade-program.ts')]);
    await expectNowhere(run);
    expect(run.verified.ok).toBe(true);
  });
});

describe('a secret that is a number of the answer', () => {
  const SCHEMA = { type: 'object', properties: { structured: { type: 'object' } } };

  test('changes no grade: it is graded as it came, kept redacted, marked, and not graded again', async () => {
    const at = path.join(folder.path, 'number');
    await mkdir(at);
    const answers = `export default () => ({ structured: { balance: ${SECRETS['PIN']} }, usage: { input_tokens: ${SECRETS['PIN']} } });`;
    await writeFile(path.join(at, 'agent.mjs'), answers);
    await writeFile(
      path.join(at, 'grade.mjs'),
      `export const exact = ({ envelope }) => ({ status: envelope.structured.balance === 19650000 + 611122 ? 'passed' : 'failed' });
export const flaky = ({ case: { input } }) => { if (input === 'two') throw new Error('out of order'); return true; };`,
    );
    await writeFile(
      path.join(at, 'cases.json'),
      JSON.stringify([
        { id: 'one', input: 'one' },
        { id: 'two', input: 'two' },
      ]),
    );
    const profile = {
      profile_id: 'number',
      profile_version: '1',
      dataset: { path: 'cases.json' },
      agent: { kind: 'module', name: 'number', version: '1', module: { path: 'agent.mjs' } },
      retry: { grader: 3 },
      case_groups: [
        {
          id: 'all',
          evaluators: [
            evaluator('module:grade.mjs#exact', { config: { header: `\${secret:PIN}`, weak: `\${secret:WEAK}` } }),
            evaluator('json_schema@1', { config: { schema: SCHEMA } }),
            evaluator('module:grade.mjs#flaky'),
          ],
        },
      ],
    };
    await writeFile(path.join(at, 'profile.json'), JSON.stringify(profile));
    const environment = { ...SECRETS, WEAK: 'true' };
    const ran = await proctor(at, ['run', 'profile.json'], environment);
    expect(ran.stderr).toContain('the secret `WEAK` cannot be told from ordinary text, so it is not redacted');
    const lines = (await proctor(at, ['export', 'last', '--format', 'jsonl'])).stdout.trim().split('\n');
    const found = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => 'case_id' in line);
    expect(found.map(({ case_id, status, fault }) => ({ case_id, status, fault }))).toEqual([
      { case_id: 'one', status: 'completed', fault: null },
      { case_id: 'two', status: 'failed', fault: 'grader' },
    ]);
    expect(found[0]).toMatchObject({ aggregate: { passed: true } });
    using db = new DatabaseSync(path.join(at, '.proctor/proctor.db'), { readOnly: true });
    expect(db.prepare('select count(*) as attempts from attempt').get()).toEqual({ attempts: 2 });
    const [kept] = db.prepare("select body from evidence where kind = 'envelope'").all();
    expect(JSON.parse(String(kept?.['body']))).toMatchObject({
      envelope: { structured: { balance: '[secret PIN]' }, usage: { input_tokens: null } },
      redacted: ['structured', 'usage'],
    });
    expect(leaks(Buffer.from(lines.join('\n')))).toEqual([]);
    const verified = JSON.parse((await proctor(at, ['verify', 'last', '--json'])).stdout) as object;
    expect(verified).toMatchObject({ ok: true, not_recomputable: 2 });
    const because = ['--status', 'failed', '--reason', `no, ${SECRETS['PIN']} is wrong`];
    const corrected = await proctor(at, ['correct', 'last', 'one', '--evaluator', '0', ...because], environment);
    expect(corrected.code).toBe(0);
    for (const { name, bytes } of await allBytes(path.join(at, '.proctor')))
      expect([name, leaks(bytes)]).toEqual([name, []]);
    const again = await proctor(at, ['regrade', 'last', '--json'], environment);
    expect(again.stderr).toContain('not_recomputable: 2 of them held a secret');
    expect(JSON.parse(again.stdout)).toMatchObject({ faults: { grader: 2 } });
  });
});
