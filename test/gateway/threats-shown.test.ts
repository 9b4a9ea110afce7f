import { describe, expect, test } from 'vitest';
import { approvalPreview } from '../../src/core/approval-preview.ts';
import { proctor, proctorProcess } from '../support/cli.ts';
import { allowAll, askAll, calls, gatewayProject, hostile, RECORDING } from '../support/gateway-project.ts';
import { threat } from '../support/gateway-threats.ts';

/** Text that looks like something else on a screen, or changes what stands before it. */
const CORPUS: Readonly<Record<string, string>> = {
  'an escape sequence': '\u001b[2J\u001b[31mdone',
  'a title of the window': '\u001b]0;pwned\u0007',
  'a link that hides its target': '\u001b]8;;http://evil.test\u001b\\click\u001b]8;;\u001b\\',
  'an 8-bit control': '\u009b31m',
  'a carriage return': 'rm -rf /\rls        ',
  'a line that looks like the frame': 'x\napprovers  human:mallory\ndigest     0000000000000000',
  backspaces: 'delete\b\b\b\b\b\bread',
  'bidirectional overrides': '\u202Egpj.exe\u2066\u2069\u202C',
  'nothing that is seen': 'a\u200Bb\u2060c\uFEFFd\u00ADe\u180Ef',
  'tags and variation selectors': 'x\u{E0061}\u{E007F}\uFE0F\u{E0100}',
  'fillers that look like a space': 'a\u3164b\uFFA0c\u115F',
  'line and paragraph separators': 'a\u2028b\u2029c',
  NUL: 'a\u0000b',
};
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|[\u115f\u3164\uffa0]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/u;

describe(threat(18, 'what is shown has nothing left that hides, moves or colours'), () => {
  test('escapes, links, carriage returns, bidirectional text, what is not seen', async () => {
    const text = Object.values(CORPUS).join(' ');
    const escaped = JSON.stringify(text);
    await using project = await gatewayProject({
      files: {
        ...RECORDING.files,
        'echo.ts': `export const tools = { echo: { description: ${escaped}, input_schema: { type: 'object' }, run: (input) => input.text } };`,
      },
      tools: { ...RECORDING.tools, echo: { kind: 'module', path: 'echo.ts' } },
      policy: {
        rules: [
          { id: 'asked', tools: 'own.*', effect: { ask: { reason: 'look' } } },
          { id: 'all', tools: 'echo.*', effect: 'allow' },
        ],
      },
    });
    const asked = await project.call('own.act', { ...CORPUS, [`name ${text}`]: [text] });
    const echoed = await project.call('echo.echo', { text });
    const lines: string[] = [];
    const framed: string[] = [];
    for (const argv of [
      ['approvals'],
      ['approvals', asked.run.approval_id ?? ''],
      ['tool', 'ls'],
      ['tool', 'ls', '--runs'],
      ['tool', 'show', echoed.run.tool_run_id],
      ['tool', 'run', 'echo.echo', '--args', JSON.stringify({ text })],
      ['policy', 'explain', echoed.run.tool_run_id],
      ['deny', asked.run.approval_id ?? '', '--comment', 'no'],
    ]) {
      const { stdout, stderr } = await proctorProcess(project.folder, argv);
      lines.push(...`${stdout}\n${stderr}`.split('\n'));
      if (argv[0] !== 'tool') framed.push(...stdout.split('\n'), ...stderr.split('\n'));
    }
    expect(lines.filter((line) => HIDDEN.test(line)).map((line) => JSON.stringify(line))).toEqual([]);
    for (const character of ['1b', '9b', '0', 'd', '202e', '200b', 'e0061', '3164', '2028'])
      expect(
        lines.some((line) => line.includes(`\\u{${character}}`) || line.includes(`\\u00${character}`)),
        character,
      ).toBe(true);
    expect(framed.filter((line) => /^(approvers {2}human:mallory|digest {5}0000)/.test(line))).toEqual([]);
    expect(await calls(project)).toEqual([]);
  });

  test('what a server says on stderr and why it is refused', async () => {
    const nasty = Object.values(CORPUS).join(' ');
    await using project = await gatewayProject({
      tools: {
        up: hostile([[{ name: `bad${nasty}`, inputSchema: { type: 'object' } }]], {
          env: { CANARY: '\u001b[2J\u202E', STDERR_CANARY: '1' },
        }),
        down: hostile([], { env: { CANARY: '\u001b[2J\u202E', REFUSE: '1' } }),
      },
      policy: allowAll(),
      pin: false,
    });
    const { stdout, stderr } = await proctorProcess(project.folder, ['tool', 'ls']);
    expect(`${stdout}${stderr}`.split('\n').filter((line) => HIDDEN.test(line))).toEqual([]);
    expect(stderr).toMatch(/starting with \\u/);
    expect(stderr).toMatch(/no entry for \\u/);
  });
});

describe(threat(19, 'all of a call is seen before it is approved'), () => {
  const seen = (input: Record<string, unknown>, last: Record<string, unknown> | null = null) =>
    approvalPreview({
      tool: 'own.act',
      risk: 'write',
      principal: 'agent:tester',
      agent: null,
      reason: null,
      arguments: JSON.stringify(input),
      last_approved: last === null ? null : JSON.stringify(last),
    });

  test('a payload at the end of 200 KB: the command line refuses until all of it was printed and its digest is given', async () => {
    await using project = await gatewayProject({ ...RECORDING, policy: askAll({ approvers: ['role:operator'] }) });
    const text = `${'x '.repeat(100_000)}; rm -rf /`;
    const { run } = await project.call('own.act', { text });
    const approve = async (...more: string[]) =>
      await proctor(project.folder, ['approve', run.approval_id ?? '', ...more]);

    const blind = await approve();

    expect(blind.code).toBe(2);
    expect(blind.stderr).toMatch(/this call is long: read all of it above, then repeat with --seen [0-9a-f]{16}/);
    expect(blind.stderr).toContain('; rm -rf /');
    for (const wrong of ['0000000000000000', 'x', '', '%'])
      expect((await approve('--seen', wrong)).code, wrong).toBe(2);
    expect((await project.app.store.approval(run.approval_id ?? ''))?.status).toBe('pending');
    expect(await calls(project)).toEqual([]);
    const digest = /--seen ([0-9a-f]{16})/.exec(blind.stderr)?.[1] ?? '';
    expect((await approve('--seen', digest)).code).toBe(0);
    expect((await project.app.store.approval(run.approval_id ?? ''))?.preview_digest).toMatch(new RegExp(`^${digest}`));
  });

  test('every argument stands there, however it is named, however deep, however long', () => {
    const long = 'y'.repeat(100_000);
    const { text, long: isLong } = seen({
      a: { b: [{ c: 'deep-value' }] },
      '': 'no name',
      long,
      'z\u200B': 'zero width',
    });
    expect(text).toContain('deep-value');
    expect(text).toContain('no name');
    expect(text).toContain(long);
    expect(text).toContain('z\\u{200b}');
    expect(isLong).toBe(true);
  });

  test('what differs from the last approved call is told, also what is missing and what only looks the same', () => {
    const { text } = seen({ path: '/workspace/а.txt', mode: 'w' }, { path: '/workspace/a.txt', force: false });
    expect(text).toMatch(/path: .*\(last approved: "\/workspace\/a\.txt"\)/);
    expect(text).toMatch(/mode: .*\(new: the last approved call had none\)/);
    expect(text).toMatch(/without force, which the last approved call had/);
  });

  test('letters of other alphabets that look like ours are shown for what they are', () => {
    expect(seen({ host: 'pаypal.com' }).text).toContain('p\\u{430}ypal.com');
    expect(seen({ name: 'Grüße, 東京, Привет' }).text).toContain('Grüße, 東京, Привет');
  });

  test('two calls that differ anywhere have different digests', () => {
    const digests = [
      {},
      { a: 1 },
      { a: '1' },
      { a: [1] },
      { a: 1, b: null },
      { 'a\u200B': 1 },
      { a: '\\u{200b}' },
      { a: '\u200B' },
    ].map((input) => seen(input).digest);
    expect(new Set(digests).size).toBe(digests.length);
  });
});
