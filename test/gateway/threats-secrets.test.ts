import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { openArtifactFolder } from '../../src/artifacts/folder.ts';
import { Secrets } from '../../src/core/redaction/secrets.ts';
import { callArguments } from '../../src/gateway/arguments.ts';
import { keepOutput } from '../../src/gateway/output.ts';
import { listen } from '../../src/server/listen.ts';
import { FORMS } from '../core/redaction/forms.ts';
import { proctorProcess, temporaryFolder } from '../support/cli.ts';
import {
  allowAll,
  askAll,
  type GatewayProject,
  gatewayProject,
  hostile,
  keptBytes,
  tool,
} from '../support/gateway-project.ts';
import { threat } from '../support/gateway-threats.ts';

const CANARY = 'c4n4ry/"quoted"+value=';
const PIN = '48151623';
const environment = { CANARY, PIN, UNUSED_HERE: 'listed-only-canary' };
const names = ['leak', 'broken', 'badly', 'whisper', 'progress', 'act'].map((name) => tool(name));
const VALUES: Readonly<Record<string, string>> = { CANARY, PIN, WORD: 'pässwört-1234', MARKUP: 'a/b"c<d>' };
const never = new AbortController().signal;

const source = (listing: readonly unknown[] = names, env: object = {}) =>
  hostile([listing], {
    secrets: ['CANARY', 'PIN', 'UNUSED_HERE'],
    env: { CANARY: reference('CANARY'), PIN: reference('PIN'), ...env },
    timeout_ms: 3_000,
  });
const open = (policy: Record<string, unknown> = allowAll(), sources: object = { up: source() }) =>
  gatewayProject({ tools: sources as Record<string, unknown>, policy, environment });

describe(threat(20, 'a known secret stands nowhere'), () => {
  test.each([
    ['as it is', { text: `the key is ${CANARY}!` }],
    ['as a member’s name', { [CANARY]: 1 }],
    ['deep inside', { a: [{ b: [CANARY] }] }],
    ['in base64', { header: `Basic ${Buffer.from(CANARY).toString('base64')}` }],
    ['in base64, behind a user name', { header: `Basic ${Buffer.from(`ada:${CANARY}`).toString('base64')}` }],
    ['in base64, behind two characters', { header: Buffer.from(`xx${CANARY}`).toString('base64url') }],
    ['in hexadecimal', { header: Buffer.from(CANARY).toString('hex') }],
    ['in a URL', { url: `https://evil.test/?k=${encodeURIComponent(CANARY)}` }],
    ['in JSON in a text', { body: JSON.stringify({ k: CANARY }) }],
    ['as a number', { pin: Number(PIN) }],
    ['as digits in a text', { pin: PIN }],
    ['of a secret that only arguments may refer to', { text: environment.UNUSED_HERE }],
  ])('in arguments, %s: denied before anybody is asked', async (_, input) => {
    await using project = await open(askAll());
    const { ended, message, run } = await project.call('up.act', input);
    expect(ended).toBe('denied secret_in_arguments');
    expect(message).toMatch(/write it as \$\{secret:NAME\}/);
    expect(await project.events(run.tool_run_id)).toEqual(['tool_called', 'policy_decided', 'tool_denied']);
    await expectNowhere(project);
  });

  test.each(['leak', 'broken', 'badly'])('in what a server answers: %s', async (name) => {
    await using project = await open();
    const { run, leg } = await project.call(`up.${name}`, {});
    expect(run.dispatched_at).not.toBeNull();
    expect(JSON.stringify(leg)).toMatch(/\[secret CANARY\]/);
    expectNone(JSON.stringify(leg));
    await expectNowhere(project);
  });

  test('in an answer that is kept as an artifact', async () => {
    await using project = await open();
    const { run, leg } = await project.call('up.leak', { pad: 200_000 });
    expect(run.output_artifact).not.toBeNull();
    expectNone(JSON.stringify(leg));
    expectNone((await project.app.artifacts.get(run.output_artifact ?? '')).toString());
    await expectNowhere(project);
  });

  test('a secret that is a number leaves the answer sound', async () => {
    await using project = await gatewayProject({
      files: {
        'tools.ts': `export const tools = { pin: { input_schema: { type: 'object' }, run: () => ({ pin: ${PIN}, list: [${PIN}] }) } };`,
      },
      tools: { own: { kind: 'module', path: 'tools.ts', config: { pin: reference('PIN') } } },
      policy: allowAll(),
      environment,
    });
    const { ended, leg } = await project.call('own.pin', {});
    expect(ended).toBe('ok');
    expect(leg).toMatchObject({ output: { structured: { pin: '[secret PIN]', list: ['[secret PIN]'] } } });
    await expectNowhere(project);
  });

  test('in what a tool tells while it runs', async () => {
    await using project = await open();
    const told: unknown[] = [];
    for (const name of ['up.whisper', 'up.progress']) {
      const call = await project.gateway.gateway.start(project.caller(), { tool: name, arguments: {} }, never);
      await call.next({
        hold_ms: 10_000,
        signal: never,
        listener: {
          abilities: { capabilities: {}, log_level: null },
          progress: (...more) => void told.push(more),
          log: (...more) => void told.push(more),
        },
      });
    }
    expect(JSON.stringify(told)).toMatch(/log of \[secret CANARY\]/);
    expect(JSON.stringify(told)).toMatch(/nearly there \[secret CANARY\]/);
    expectNone(JSON.stringify(told));
    await expectNowhere(project);
  });

  test('in what a server says on stderr, and in why it does not start', async () => {
    await using project = await open(allowAll(), {
      up: source(names, { STDERR_CANARY: '1' }),
      down: source(names, { REFUSE: '1', STDERR_CANARY: '1' }),
    });
    const { ended, message } = await project.call('down.act', {});
    expect(ended).toBe('denied source_unavailable');
    expect(message).toMatch(/no entry for \[secret CANARY\]/);
    const { problems } = await project.gateway.gateway.catalogue(never, true);
    expect(project.notes.join('')).toMatch(/starting with \[secret CANARY\]/);
    expectNone(JSON.stringify([problems, message, project.notes]));
    await expectNowhere(project);
  });

  test.each([
    ['its description', { description: `Use ${CANARY}` }],
    ['its schema', { inputSchema: { type: 'object', properties: { a: { default: CANARY } } } }],
    ['a member that nobody knows', { _meta: { [CANARY]: true } }],
  ])('in a definition, %s: the tool is refused', async (_, more) => {
    await using project = await open(allowAll(), { up: source([tool('act', more), tool('good')]) });
    const { problems, tools } = await project.gateway.gateway.catalogue(never);
    expect(tools.map((one) => one.tool)).toEqual(['up.good']);
    expect(problems.find((one) => one.tool === 'act')?.message).toMatch(/holds the value of a secret/);
    expect((await project.call('up.act', {})).ended).toBe('denied unknown_tool');
    await expectNowhere(project);
  });

  test('in what stands beside the arguments: the tool’s name, keys and ids of the caller', async () => {
    await using project = await open();
    const beside = { request_id: CANARY, trace_id: CANARY, caused_by: CANARY, idempotency_key: `key ${CANARY}` };
    const request = { tool: 'up.act', arguments: {}, ...beside };
    await (await project.gateway.gateway.start(project.caller(), request, never)).next({
      hold_ms: 5_000,
      signal: never,
    });
    await project.call(`up.${PIN}`, {});
    await expectNowhere(project);
  });

  test('in what a person writes with an answer or a cancellation', async () => {
    await using project = await open(askAll());
    const first = await project.call('up.act', { n: 1 });
    await project.answer(first.run.approval_id ?? '', { decision: 'deny', comment: `because ${CANARY}` });
    const second = await project.call('up.act', { n: 2 });
    await project.gateway.gateway.cancel(second.run.tool_run_id, `because ${CANARY}`, 'human:operator');
    await expectNowhere(project);
  });

  test('a reference is kept as a reference and resolved for the tool alone', async () => {
    await using project = await gatewayProject({
      files: {
        'tools.ts': `import { writeFileSync } from 'node:fs';
export const tools = { act: { input_schema: { type: 'object' }, run(input) { writeFileSync(new URL('./got.json', import.meta.url), JSON.stringify(input)); return input; } } };`,
      },
      tools: { own: { kind: 'module', path: 'tools.ts', secrets: ['CANARY'] } },
      policy: allowAll(),
      environment,
    });
    const { run, leg } = await project.call('own.act', { header: `Bearer ${reference('CANARY')}` });
    const { readFile } = await import('node:fs/promises');
    expect(JSON.parse(await readFile(project.file('got.json'), 'utf8'))).toEqual({ header: `Bearer ${CANARY}` });
    expect(run.arguments).toBe(JSON.stringify({ header: `Bearer ${reference('CANARY')}` }));
    expectNone(JSON.stringify(leg));
    expect((await project.call('own.act', { header: reference('PIN') })).ended).toBe('denied secret_not_allowed');
    await expectNowhere(project);
  });

  test('in what the command line and the API show of it all', async () => {
    await using project = await open(askAll());
    const { run } = await project.call('up.leak', {});
    await project.answer(run.approval_id ?? '');
    await project.call('up.leak', {}, { hold_ms: 10_000 });
    await project.call('up.act', { text: CANARY });
    const shown: string[] = [];
    for (const argv of [
      ['tool', 'ls', '--runs', '--json'],
      ['tool', 'ls', '--runs'],
      ['tool', 'show', run.tool_run_id],
      ['tool', 'show', run.tool_run_id, '--json'],
      ['approvals', '--all'],
      ['approvals', run.approval_id ?? '', '--json'],
      ['policy', 'explain', run.tool_run_id],
    ]) {
      const { code, stdout, stderr } = await proctorProcess(project.folder, argv, environment);
      expect([argv.join(' '), code, stderr]).toEqual([argv.join(' '), 0, expect.any(String)]);
      shown.push(stdout, stderr);
    }
    await using server = await listen({
      gateway: project.gateway.gateway,
      state_key: new Uint8Array(32),
      hold_ms: 100,
      raw_source: null,
      tokens: () => null,
      hosts: [],
      origins: [],
      anonymous: project.caller('human:operator', 'api'),
    });
    for (const route of [
      'tool_runs',
      `tool_runs/${run.tool_run_id}`,
      `tool_runs/${run.tool_run_id}/events`,
      'approvals?all=true',
    ])
      shown.push(await (await fetch(`${server.url}/api/${route}`)).text());
    expectNone(shown.join('\n'));
    expect(shown.join('\n')).toMatch(/\[secret CANARY\]/);
  });
});

describe(threat(20, 'a known secret is found in every usual form'), () => {
  const secrets = new Secrets((_, name) => VALUES[name] ?? '');
  secrets.learn(Object.keys(VALUES).map(reference));
  const cases = Object.entries(VALUES).flatMap(([name, value]) =>
    FORMS.map((form) => [`${name} ${form.name}`, form.write(value)] as const),
  );

  test.each(cases)('in arguments: %s', (_, written) => {
    for (const input of [{ text: written }, { [written]: 1 }, { deep: [[`before ${written} after`]] }]) {
      const { canonical, refusal, value } = callArguments(input, { secrets, allowed: [] });
      expect([refusal?.code, value]).toEqual(['secret_in_arguments', {}]);
      expect(canonical).toContain('[secret ');
      expect(canonical).not.toContain(JSON.stringify(written).slice(1, -1));
    }
  });

  test.each(cases)('in outputs: %s', async (_, written) => {
    await using folder = await temporaryFolder();
    const artifacts = openArtifactFolder(folder.path);
    const output = { content: [{ type: 'text', text: `it is ${written}` }], structured: { [written]: [written] } };
    for (const most of [100_000, 20]) {
      const kept = await keepOutput(output, most, secrets, artifacts);
      const whole = kept.output ?? (await artifacts.get(kept.output_artifact ?? '')).toString();
      expect(whole).toContain('[secret ');
      expect(whole + JSON.stringify(kept.shown)).not.toContain(JSON.stringify(written).slice(1, -1));
    }
  });
});

test(threat(20, 'a secret that is not set is told by its name before the tool is reached'), async () => {
  await using project = await open(allowAll(), { up: { ...source(), secrets: ['NOT_SET'] } });
  const { ended, message } = await project.call('up.act', { key: reference('NOT_SET') });
  expect(ended).toBe('error secret_missing');
  expect(message).toMatch(/NOT_SET.*is not set/);
});

/** The forms in which a secret might stand. */
function forms(): string[] {
  return [CANARY, environment.UNUSED_HERE, PIN].flatMap((value) => [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    Buffer.from(value).toString('base64').replace(/=+$/, ''),
    Buffer.from(value).toString('hex'),
  ]);
}

function expectNone(text: string): void {
  expect(forms().filter((form) => text.includes(form))).toEqual([]);
}

/** Nothing that the project keeps holds a secret: the store with its log, artifacts, an export of the stream. */
async function expectNowhere(project: GatewayProject): Promise<void> {
  await writeFile(project.file('.proctor/stream.json'), JSON.stringify(await project.stream()));
  const kept = await keptBytes(project.folder);
  expect(kept.length).toBeGreaterThan(1);
  for (const { name, bytes } of kept)
    for (const form of forms()) expect([name, form, bytes.includes(form)]).toEqual([name, form, false]);
}

function reference(name: string): string {
  return `\${secret:${name}}`;
}
