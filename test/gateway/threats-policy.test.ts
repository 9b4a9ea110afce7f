import { rename, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { policySchema } from '../../src/contract/policy.ts';
import { policyProblems } from '../../src/core/policy/problems.ts';
import { Gateway } from '../../src/gateway/gateway.ts';
import { allowAll, askAll, calls, gatewayProject, RECORDING } from '../support/gateway-project.ts';
import { threat } from '../support/gateway-threats.ts';

const never = new AbortController().signal;

describe(threat(25, 'without a policy that can be asked everything is denied'), () => {
  const broken: Readonly<Record<string, string>> = {
    'no YAML': 'version: 1\nrules: [\n',
    'another version': 'version: 2\nrules: []\n',
    'an unknown key': 'version: 1\nrule: []\n',
    'an unknown key in a rule': 'version: 1\nrules:\n  - { id: a, tool: own.act, effect: allow }\n',
    'an unknown subject': 'version: 1\nrules:\n  - { id: a, when: { arg.path: x }, effect: allow }\n',
    'an unknown matcher': 'version: 1\nrules:\n  - { id: a, when: { args.path: { startsWith: x } }, effect: allow }\n',
    'an empty matcher': 'version: 1\nrules:\n  - { id: a, when: { args.path: {} }, effect: allow }\n',
    'an unknown effect': 'version: 1\nrules:\n  - { id: a, effect: permit }\n',
    'a default of allow': 'version: 1\ndefault: allow\n',
    'an agent as approver': 'version: 1\nrules:\n  - { id: a, effect: { ask: { approvers: ["agent:a"] } } }\n',
    'the same id twice': 'version: 1\nrules:\n  - { id: a, effect: allow }\n  - { id: a, effect: deny }\n',
    'the same key twice': 'version: 1\nrules: []\nrules:\n  - { id: a, effect: allow }\n',
    'a condition that never holds': 'version: 1\nrules:\n  - { id: a, when: { risk: harmless }, effect: allow }\n',
    'a folder that is none':
      'version: 1\nrules:\n  - { id: a, when: { args.path: { under: "../x" } }, effect: allow }\n',
    'no text': '\u0000\u0001',
    nothing: '',
  };

  test.each(Object.entries(broken))('%s', async (_, text) => {
    await using project = await gatewayProject({ ...RECORDING, policy: text });
    const { ended, message, run } = await project.call('own.act', { path: '/x' });
    expect(ended).toBe('denied policy_error');
    expect(message).toMatch(/policy\.yaml/);
    expect(await project.events(run.tool_run_id)).toEqual(['tool_called', 'policy_decided', 'tool_denied']);
    expect(await project.gateway.gateway.visible(project.caller(), never)).toEqual([]);
    expect(await calls(project)).toEqual([]);
  });

  test('a condition on an argument that no tool has is a mistake with its place; at run time it opens no door', async () => {
    await using project = await gatewayProject({
      files: {
        'tools.ts': `export const tools = { act: { input_schema: { type: 'object', properties: { path: {} } }, run: () => 'done' } };`,
      },
      tools: { own: { kind: 'module', path: 'tools.ts' } },
      policy: { rules: [{ id: 'a', when: { 'args.pathh': '/x' }, effect: 'allow' }] },
    });
    const { tools } = await project.gateway.gateway.catalogue(never);
    const known = tools.map(({ tool, definition }) => ({ tool, input_schema: definition.input_schema }));
    const document = policySchema.parse({
      version: 1,
      rules: [{ id: 'a', when: { 'args.pathh': '/x' }, effect: 'allow' }],
    });
    expect(policyProblems(document, known)).toMatchObject([
      { field: 'rules[0].when.args.pathh', message: '`own.act` has no argument `pathh`', hint: 'known: path' },
    ]);
    expect((await project.call('own.act', { path: '/x' })).ended).toBe('denied policy');
  });

  test('a source that is down is named as that; why it is down is told to operators and to who may call its tools', async () => {
    await using project = await gatewayProject({
      tools: { own: { kind: 'module', path: 'gone.ts' } },
      policy: { rules: [{ id: 'read', when: { risk: 'read_only' }, effect: 'allow' }] },
    });
    for (const [as, why] of [
      ['human:operator', /cannot be loaded: `gone\.ts`/],
      ['agent:stranger', /^`own` cannot be asked for its tools now$/],
    ] as const) {
      const { ended, message } = await project.call('own.act', {}, { as });
      expect([as, ended, message]).toEqual([as, 'denied source_unavailable', expect.stringMatching(why)]);
    }
  });

  test('broken, gone, empty and whole again under load: what is allowed is only ever allowed by a whole policy that says so', async () => {
    await using project = await gatewayProject({ ...RECORDING, policy: allowAll() });
    await using second = await project.another();
    const file = project.file('policy.yaml');
    const replace = async (text: string) => {
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
    };
    const deny = JSON.stringify({ version: 1, rules: [{ id: 'none', effect: 'deny' }] });
    await replace(deny);
    expect((await project.call('own.act', { n: 'first' })).ended).toBe('denied policy');
    let stop = false;
    const load = [project, second].map(async (one) => {
      const ended: string[] = [];
      for (let n = 0; !stop; n += 1) ended.push((await one.call('own.act', { n })).ended);
      return ended;
    });
    const states = [
      () => replace('rules: ['),
      () => rm(file, { force: true }),
      () => replace(''),
      () => replace(deny),
      () => writeFile(file, deny.slice(0, 20)),
      () => replace(`${deny} # ${'x'.repeat(100)}`),
    ];
    for (let round = 0; round < 8; round += 1)
      for (const state of states) {
        await state();
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    stop = true;
    const ended = (await Promise.all(load)).flat();

    expect(ended.length).toBeGreaterThan(50);
    expect(new Set(ended)).toEqual(new Set(['denied policy', 'denied policy_error']));
    expect(await calls(project)).toEqual([]);
    await replace(JSON.stringify({ version: 1, ...allowAll() }));
    expect((await project.call('own.act', { n: 'last' })).ended).toBe('ok');
  });

  test('an approval that is used while the policy is broken is not used', async () => {
    await using project = await gatewayProject({ ...RECORDING, policy: askAll() });
    const { run } = await project.call('own.act', {});
    await project.answer(run.approval_id ?? '');
    await writeFile(project.file('policy.yaml'), 'rules: [');
    expect((await project.call('own.act', {}, { hold_ms: 5_000 })).ended).toBe('denied policy_error');
    expect(await calls(project)).toEqual([]);
  });

  test('an evaluator that throws denies', async () => {
    await using project = await gatewayProject({
      ...RECORDING,
      policy: { rules: [{ id: 'a', when: { 'args.path': { under: '/workspace' } }, effect: 'allow' }] },
    });
    const gateway = new Gateway({
      ...project.gateway.gateway.deps,
      surroundings: {
        ...project.gateway.gateway.deps.surroundings,
        realPath: () => {
          throw new Error('the file system is gone');
        },
      },
    });
    const call = await gateway.start(project.caller(), { tool: 'own.act', arguments: { path: '/workspace/a' } }, never);
    const { run } = await call.next({ hold_ms: 1_000, signal: never });
    expect([run.status, run.reason, run.error]).toEqual([
      'denied',
      'policy_error',
      expect.stringMatching(/the file system is gone/),
    ]);
    expect(await calls(project)).toEqual([]);
    await gateway.close();
  });

  test('a switch stops everything at once, also what was approved', async () => {
    await using project = await gatewayProject({ ...RECORDING, policy: askAll() });
    const { run } = await project.call('own.act', {});
    await project.answer(run.approval_id ?? '');
    await project.app.store.switchTool('own', true, 'something is wrong', 'human:operator');
    const { ended, message } = await project.call('own.act', {}, { hold_ms: 5_000 });
    expect([ended, message]).toEqual(['denied switched_off', '`own` is switched off: something is wrong']);
    expect(await calls(project)).toEqual([]);
  });
});
