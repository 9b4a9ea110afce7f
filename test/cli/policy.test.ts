import { describe, expect, test } from 'vitest';
import type { ProblemDocument } from '../../src/contract/problem.ts';
import type { ToolRunDocument } from '../../src/contract/tool-documents.ts';
import { proctor } from '../support/cli.ts';
import { toolProject } from '../support/tool-project.ts';

describe('proctor policy', () => {
  test('check names every problem with its line and column', async () => {
    await using project = await toolProject({
      policy: `version: 1
rules:
  - id: a
    tools: box.read
    when: { args.txt: { glob: "*" }, rsik: read_only }
    effect: allow
  - id: a
    tools: bxo.read
    when: { risk: netwrok, args.text: { under: workspace } }
    effect: allow
`,
    });
    const { code, documents } = await project.json<ProblemDocument>(['policy', 'check']);
    expect(code).toBe(2);
    expect(documents[0]?.errors.map(({ file, line, column, message }) => [file, line, column, message])).toEqual([
      ['policy.yaml', 5, 13, '`box.read` has no argument `txt`'],
      ['policy.yaml', 5, 38, '`rsik` is nothing that a condition can look at'],
      ['policy.yaml', 7, 5, 'duplicate id `a`'],
      ['policy.yaml', 8, 5, 'no tool is named `bxo.read`'],
      ['policy.yaml', 9, 13, '`risk` is never `netwrok`'],
      ['policy.yaml', 9, 28, '`workspace` is not a plain absolute path'],
    ]);
  });

  test('check refuses what the language does not have, each where it stands', async () => {
    await using project = await toolProject({
      policy: `version: 1
default: allow
rules:
  - { id: r, when: { args.text: { regex: "(a+)+" } }, effect: allow }
  - { id: s, then: allow }
  - { id: t, effect: { ask: { approvers: ["agent:me"] } } }
`,
    });
    const { code, documents } = await project.json<ProblemDocument>(['policy', 'check']);
    expect(code).toBe(2);
    expect(documents[0]?.errors.map(({ line, field }) => [line, field])).toEqual(
      expect.arrayContaining([
        [2, 'default'],
        [5, 'rules[1].then'],
        [6, expect.stringContaining('rules[2].effect')],
      ]),
    );
    expect(documents[0]?.errors.some(({ line }) => line === 4)).toBe(true);
  });

  test('test holds a policy to a table; exit 1 names the lines that it breaks', async () => {
    await using project = await toolProject();
    const table = (expected: string) => `cases:
  - { tool: box.read, args: { text: a }, expect: allow, rules: [reading] }
  - { name: writing is asked for, tool: box.write, args: { text: a }, expect: ${expected} }
  - { tool: box.read, args: { text: the secret }, expect: deny }
`;
    await project.write('good.yaml', table('ask'));
    await project.write('bad.yaml', table('allow'));
    expect((await proctor(project.path, ['policy', 'test', 'good.yaml'])).code).toBe(0);
    const bad = await proctor(project.path, ['policy', 'test', 'bad.yaml']);
    expect([bad.code, bad.stdout]).toEqual([
      1,
      expect.stringContaining('expected allow, got ask by writing (bad.yaml:3)'),
    ]);
  });

  test('explain tells which rule decided, and how the others stood', async () => {
    await using project = await toolProject();
    const { documents } = await project.json<ToolRunDocument>(['tool', 'run', 'box.write', '--arg', 'text=a']);
    const told = await proctor(project.path, ['policy', 'explain', documents[0]?.tool_run_id ?? '']);
    expect(told.stdout).toContain('decided ask by writing');
    expect(told.stdout).toMatch(/○ reading +allow +its conditions do not hold/);
    expect(told.stdout).toMatch(/● writing +ask +its conditions hold/);
  });

  test('diff finds the recorded calls that another policy decides otherwise', async () => {
    await using project = await toolProject();
    for (const text of ['a', 'b', 'c']) await project.json(['tool', 'run', 'box.read', '--arg', `text=${text}`]);
    await project.write('new.yaml', 'version: 1\nrules: [{ id: only-a, when: { args.text: a }, effect: allow }]\n');
    const same = await project.json<{ calls: number; flipped: number }>([
      'policy',
      'diff',
      'policy.yaml',
      'policy.yaml',
    ]);
    expect([same.code, same.documents[0]]).toMatchObject([0, { calls: 3, flipped: 0 }]);
    const other = await project.json<{ flips: { arguments: unknown; before: string; after: string }[] }>([
      'policy',
      'diff',
      'policy.yaml',
      'new.yaml',
    ]);
    expect(other.code).toBe(1);
    expect(other.documents[0]?.flips.map(({ arguments: input, before, after }) => [input, before, after])).toEqual([
      [{ text: 'c' }, 'allow', 'deny'],
      [{ text: 'b' }, 'allow', 'deny'],
    ]);
  });

  test('explain tells each decision of a call by the policy of its moment', async () => {
    const rule = (id: string, effect: string) =>
      `version: 1\napprovals: { self_approval: true }\nrules: [{ id: ${id}, effect: ${effect} }]\n`;
    await using project = await toolProject({ policy: rule('first', '{ ask: { execute: attended } }') });
    const call = () => project.json<ToolRunDocument>(['tool', 'run', 'box.write', '--arg', 'text=a']);
    const asked = (await call()).documents[0];
    await proctor(project.path, ['approve', asked?.approval_id ?? '']);
    const other = '{ id: other, when: { args.text: z }, effect: ask }'; // what may be asked is joined
    await project.write('policy.yaml', rule('second', 'deny').replace(']', `, ${other}]`));
    expect((await call()).documents[0]?.reason).toBe('policy');
    const told = await proctor(project.path, ['policy', 'explain', asked?.tool_run_id ?? '']);
    expect(told.stdout).toMatch(
      /decided ask by first.*\n +● first +ask.*\n +again +deny \(policy\) by second.*\n +● second +deny/,
    );
  });

  test('a rule about definitions that are not pinned is explained as it was decided', async () => {
    await using project = await toolProject({
      policy: 'version: 1\nrules: [{ id: loose, when: { pinned: false }, effect: deny }, { id: all, effect: allow }]\n',
    });
    const { documents } = await project.json<ToolRunDocument>(['tool', 'run', 'box.read', '--arg', 'text=a']);
    const told = await proctor(project.path, ['policy', 'explain', documents[0]?.tool_run_id ?? '']);
    expect(told.stdout).toMatch(/○ loose +deny +its conditions do not hold/);
  });

  test('what a tool of the open world answered before counts in both, as it was at the time', async () => {
    const rules = (...more: string[]) => `version: 1\nrules: [{ id: all, effect: allow }${more.join('')}]\n`;
    const tainted = ', { id: steered, tools: box.write, when: { run.tainted: true }, effect: deny }';
    await using project = await toolProject({
      project: 'version: 1\ntools: { box: { kind: module, path: box.mjs, open_world: { read: true } } }\n',
      policy: rules(),
    });
    await project.write('new.yaml', rules(tainted));
    for (const tool of ['write', 'read', 'write'])
      await project.json(['tool', 'run', `box.${tool}`, '--arg', 'text=a']);
    const diff = await project.json<{ calls: number; flipped: number; flips: { tool_run_id: string; tool: string }[] }>(
      ['policy', 'diff', 'policy.yaml', 'new.yaml'],
    );
    expect(diff.documents[0]).toMatchObject({ calls: 3, flipped: 1, flips: [{ tool: 'box.write', after: 'deny' }] });
    expect((await proctor(project.path, ['tool', 'ls', '--runs', '--json'])).stdout.split('\n')[0]).toContain(
      diff.documents[0]?.flips[0]?.tool_run_id ?? 'none',
    );

    await project.write('policy.yaml', rules(tainted));
    const denied = await project.json<ToolRunDocument>(['tool', 'run', 'box.write', '--arg', 'text=b']);
    const told = await proctor(project.path, ['policy', 'explain', denied.documents[0]?.tool_run_id ?? '']);
    expect(told.stdout).toContain('decided deny (policy) by steered, tainted by a tool of the open world');
    expect(told.stdout).toMatch(/● steered +deny +its conditions hold/);
  });

  test('init writes a policy that fits, and writes over none', async () => {
    await using project = await toolProject();
    expect((await proctor(project.path, ['policy', 'init'])).code).toBe(2);
    expect((await proctor(project.path, ['policy', 'init', '--force'])).code).toBe(0);
    expect((await proctor(project.path, ['policy', 'check'])).code).toBe(0);
    expect(
      (await project.json<ToolRunDocument>(['tool', 'run', 'box.read', '--arg', 'text=a'])).documents[0]?.status,
    ).toBe('ok');
  });
});

test('the project file is refused with every problem where it stands', async () => {
  await using project = await toolProject({
    project: `version: 1
tools:
  box: { kind: modul, path: box.mjs }
  ops: { kind: command, tools: { ls: { command: [ls], input_schema: {} } } }
  far: { kind: mcp }
principals:
  - { id: "human:ada", token: abc }
  - { id: "human:ada" }
`,
  });
  const { code, documents } = await project.json<ProblemDocument>(['tool', 'ls']);
  expect(code).toBe(2);
  expect(documents[0]?.errors.map(({ line, field }) => [line, field])).toEqual([
    [3, 'tools.box.kind'],
    [4, 'tools.ops.kind'],
    [5, expect.stringContaining('tools.far')],
    [7, 'principals[0].token'],
    [8, 'principals[1].id'],
  ]);
});
