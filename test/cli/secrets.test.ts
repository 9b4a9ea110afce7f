import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FORMS } from '../core/redaction/forms.ts';
import { proctor, proctorProcess, temporaryFolder } from '../support/cli.ts';
import { type Asked, startModelServer } from '../support/model-server.ts';
import { startReceiver } from '../support/receiver.ts';
import {
  allBytes,
  channelCases,
  leaks,
  leakyServer,
  SECRETS,
  spoken,
  writeLeakers,
} from '../support/secret-channels.ts';

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

/** What a run is made of. */
interface Setup {
  readonly agent: object;
  readonly channels: readonly string[];
  readonly evaluators: readonly object[];
  readonly webhooks?: readonly object[];
}

/** One run over the channels, every export of it, and its verification. */
async function tried(name: string, setup: Setup): Promise<Tried> {
  const { agent, channels, evaluators, webhooks = [] } = setup;
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
    webhooks,
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

const MODULE = { kind: 'module', module: { path: 'agent.ts' } };
const evaluator = (ref: string, more: object = {}) => ({ ref, dimension: ref.replace(/\W/g, '_'), ...more });

describe('no form of a secret is kept, exported or printed', () => {
  test('of what an agent behind HTTP says, in each part of an answer and of an error', async () => {
    const parts = ['text', 'structured', 'keys', 'tool_calls', 'trace', 'usage', 'metadata', 'plain'];
    const channels = [...parts, 'header', 'error', 'cut', 'invalid'];
    const agent = { kind: 'http', endpoint: { url: server.url, headers: HEADERS } };
    const evaluators = ['exact_match@1', 'module:grade.ts#says', 'module:grade.ts#came'].map((ref) => evaluator(ref));
    const run = await tried('http', { agent, channels, evaluators });
    await expectNowhere(run);
    expect(run.verified.ok).toBe(true);
  });

  test('of what a module throws, prints and returns, of evaluators that fail, and of files that they name', async () => {
    const run = await tried('module', {
      agent: MODULE,
      channels: ['text', 'structured', 'thrown', 'files', 'missing'],
      evaluators: [
        evaluator('similarity@1'),
        evaluator('module:grade.ts#throws', { config: HEADERS }),
        evaluator('module:grade.ts#missing'),
      ],
    });
    await expectNowhere(run);
    expect(run.jsonl).toMatch(/open '\/nowhere\/\[secret PIN\]/);
  });

  test('of what a program prints on stdout and stderr, and of an evaluator that is one', async () => {
    const agent = {
      kind: 'command',
      command: ['node', 'program.ts'],
      env: Object.fromEntries(NAMES.map((name) => [`MY_${name}`, `\${secret:${name}}`])),
    };
    const evaluators = [evaluator('command:grade-program.ts')];
    const run = await tried('command', { agent, channels: ['stdout', 'exit'], evaluators });
    await expectNowhere(run);
    expect(run.verified.ok).toBe(true);
  });
});

/** What a model says that is to grade the case in its prompt: a reason, an answer that is no grade, or an error. */
function judgement({ user }: Asked): string | { readonly status: number; readonly message: string } {
  const { task } = JSON.parse(user) as { task: { channel: string; name: string; from: number } };
  const forms = spoken(task);
  const said = forms.join(' | ');
  if (task.channel === 'refused') return { status: 500, message: said };
  if (task.channel === 'unreadable') return `${'-'.repeat(150)}${said}`;
  const reason = task.channel === 'long' ? `${'-'.repeat(1_990)}${said}` : said;
  return JSON.stringify({ criteria: [{ id: 'fair', reason, points: 2, [forms[0] ?? '']: said }] });
}

describe('no form of a secret is kept, exported or printed, either', () => {
  test('of what a judge gives as its reason, says instead of a grade, or refuses with, nor told to a webhook', async () => {
    await using model = await startModelServer(judgement);
    await using hook = await startReceiver(() => ({ status: 204 }));
    const all = FORMS.map(({ write }) => encodeURIComponent(write(SECRETS['WORD'] ?? ''))).join();
    await using broken = await startReceiver(() => ({ status: 500, headers: { 'x-said': all, server: all } }));
    const one = { provider: 'openai_compatible', base_url: model.url, model: 'judge-1', api_key: `\${secret:PIN}` };
    const config = { judges: [one], criteria: [{ id: 'fair', description: 'It is fair.' }], threshold: 0.4 };
    const run = await tried('judge', {
      agent: MODULE,
      channels: ['reason', 'long', 'unreadable', 'refused'],
      evaluators: [evaluator('judge@1', { config }), evaluator('module:grade.ts#says', { config: HEADERS })],
      webhooks: [hook, broken].map(({ url }) => ({ url, secret: `\${secret:PHRASE}` })),
    });
    const listed = await proctor(run.folder, ['webhooks', 'list'], SECRETS);
    const tested = await proctor(run.folder, ['webhooks', 'test', 'profile.json'], SECRETS);
    const told = [...hook.received, ...broken.received].map(
      ({ headers, body }) => `${JSON.stringify(headers)} ${body}`,
    );
    expect([hook.received.length, broken.received.length]).toEqual([2, 2]);
    const said = [run.said, listed.stdout, listed.stderr, tested.stdout, tested.stderr, ...told].join('\n');
    await expectNowhere({ ...run, said });
    expect(run.verified.ok).toBe(true);
    expect(model.asked.length).toBeGreaterThan(0);
    expect(run.jsonl).toContain('fair: [secret ');
    expect(run.jsonl).not.toMatch(/-(pässwö|202611|Correct)/);
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
    expect(found[0]).toMatchObject({ aggregate: { passed: true }, redacted: ['structured', 'usage'] });
    expect((await proctor(at, ['show', 'last', '--case', 'one'])).stdout).toContain(
      'structured, usage: a secret was taken out after grading',
    );
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
