import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ProblemDocument } from '../../src/contract/problem.ts';
import type { ApprovalDocument, ToolRunDocument } from '../../src/contract/tool-documents.ts';
import { startProctor } from '../support/chaos-process.ts';
import { proctor } from '../support/cli.ts';
import { type ToolProject, toolProject } from '../support/tool-project.ts';
import { eventually } from '../support/waiting.ts';

const run = (project: ToolProject, tool: string, text: string, more: readonly string[] = []) =>
  project.json<ToolRunDocument>(['tool', 'run', tool, '--args', JSON.stringify({ text }), ...more]);
const done = async (project: ToolProject) =>
  (await readFile(path.join(project.path, 'done.log'), 'utf8').catch(() => ''))
    .split('\n')
    .filter((line) => line !== '');

describe('proctor tool run', () => {
  test('an allowed call is carried out: exit 0; a denied one is not: exit 1; one that is asked for waits: exit 4', async () => {
    await using project = await toolProject();
    const read = await run(project, 'box.read', 'a');
    expect([read.code, read.documents[0]]).toMatchObject([
      0,
      { status: 'ok', decision: 'allow', rules: ['reading'], output: { structured: { read: 'a' } } },
    ]);
    const denied = await run(project, 'box.read', 'my secret');
    expect([denied.code, denied.documents[0]]).toMatchObject([
      1,
      { status: 'denied', reason: 'policy', rules: ['nothing-secret'], error: { message: 'secrets stay here' } },
    ]);
    const asked = await run(project, 'box.write', 'b');
    expect([asked.code, asked.documents[0]]).toMatchObject([
      4,
      { status: 'approval_required', rules: ['writing'], dispatched_at: null },
    ]);
    expect(await done(project)).toEqual(['read a']);
  });

  test('`proctor approve` carries it out, once; the identical call meanwhile joins it', async () => {
    await using project = await toolProject();
    const first = await run(project, 'box.write', 'b');
    const again = await run(project, 'box.write', 'b');
    expect(again.documents[0]?.tool_run_id).toBe(first.documents[0]?.tool_run_id);
    const id = first.documents[0]?.approval_id ?? '';
    const approved = await project.json<{ tool_run: ToolRunDocument }>(['approve', id, '--comment', 'go on']);
    expect([approved.code, approved.documents[0]?.tool_run]).toMatchObject([
      0,
      { status: 'ok', output: { content: [{ text: 'written b' }] } },
    ]);
    const twice = await project.json<ProblemDocument>(['approve', id]);
    expect([twice.code, twice.documents[0]?.code]).toEqual([2, 'illegal_transition']);
    expect(await done(project)).toEqual(['write b']);
    const next = await run(project, 'box.write', 'b');
    expect([next.code, next.documents[0]?.tool_run_id === first.documents[0]?.tool_run_id]).toEqual([4, false]);
  });

  test('a denial ends it, and its caller is told who and why', async () => {
    await using project = await toolProject();
    const { documents } = await run(project, 'box.write', 'b');
    expect((await proctor(project.path, ['deny', documents[0]?.approval_id ?? '', '--comment', 'not now'])).code).toBe(
      0,
    );
    const again = await run(project, 'box.write', 'b');
    expect([again.code, again.documents[0]]).toMatchObject([
      1,
      {
        status: 'denied',
        reason: 'approval_denied',
        error: { message: expect.stringContaining('denied it: not now') },
      },
    ]);
    expect(await done(project)).toEqual([]);
  });

  test('a changed call takes the place of the one that was made', async () => {
    await using project = await toolProject();
    const { documents } = await run(project, 'box.write', 'long live the king');
    const old = documents[0]?.tool_run_id ?? '';
    const edited = await project.json<{ tool_run: ToolRunDocument }>([
      'approve',
      documents[0]?.approval_id ?? '',
      '--edit',
      '{"text":"hello"}',
    ]);
    expect([edited.code, edited.documents[0]?.tool_run]).toMatchObject([
      0,
      { status: 'ok', edited_from: old, arguments: { text: 'hello' } },
    ]);
    const before = await project.json<ToolRunDocument>(['tool', 'show', old]);
    expect(before.documents[0]).toMatchObject({
      status: 'error',
      reason: 'superseded',
      edited_into: edited.documents[0]?.tool_run.tool_run_id,
    });
    expect(await done(project)).toEqual(['write hello']);
  });

  test('a change into what policy would allow is carried out by the answer, as the call it replaces would have been', async () => {
    await using project = await toolProject({
      policy: `version: 1
approvals: { self_approval: true }
rules:
  - { id: writing, tools: box.write, effect: allow }
  - { id: kings, tools: box.write, when: { args.text: { glob: "*king*" } }, effect: { ask: { edit: true, execute: on_approval } } }
`,
    });
    const { documents } = await run(project, 'box.write', 'long live the king');
    const edited = await project.json<{ tool_run: ToolRunDocument }>([
      'approve',
      documents[0]?.approval_id ?? '',
      '--edit',
      '{"text":"hello"}',
    ]);
    expect([edited.code, edited.documents[0]?.tool_run]).toMatchObject([0, { status: 'ok', decision: 'ask' }]);
    expect(await done(project)).toEqual(['write hello']);
  });

  test('a change that policy denies leaves the call as it was', async () => {
    await using project = await toolProject();
    const { documents } = await run(project, 'box.write', 'b');
    const refused = await project.json<ProblemDocument>([
      'approve',
      documents[0]?.approval_id ?? '',
      '--edit',
      '{"text":"the secret"}',
    ]);
    expect([refused.code, refused.documents[0]?.detail]).toEqual([2, expect.stringContaining('secrets stay here')]);
    const [still] = (await project.json<ApprovalDocument>(['approvals'])).documents;
    expect(still).toMatchObject({ approval_id: documents[0]?.approval_id, status: 'pending' });
  });

  test('who asked may not answer, unless policy says so', async () => {
    await using project = await toolProject({
      policy: 'version: 1\nrules: [{ id: all, effect: ask }]\n',
    });
    const { documents } = await run(project, 'box.write', 'b');
    const refused = await project.json<ProblemDocument>(['approve', documents[0]?.approval_id ?? '']);
    expect([refused.code, refused.documents[0]]).toMatchObject([
      2,
      { code: 'forbidden', detail: expect.stringContaining('self_approval') },
    ]);
  });

  test('a long call is answered only with the digest at the end of what was shown', async () => {
    await using project = await toolProject();
    const { documents } = await run(project, 'box.write', `${'x '.repeat(4_000)}and now the worst of it`);
    const id = documents[0]?.approval_id ?? '';
    const blind = await proctor(project.path, ['approve', id]);
    expect([blind.code, blind.stderr]).toEqual([2, expect.stringContaining('--seen')]);
    const [view] = (await project.json<ApprovalDocument>(['approvals', id])).documents;
    expect(view?.preview).toContain('and now the worst of it');
    expect((await proctor(project.path, ['approve', id, '--seen', view?.preview_digest.slice(0, 16) ?? ''])).code).toBe(
      0,
    );
  });

  test('--wait holds the call until somebody answers', async () => {
    await using project = await toolProject();
    const call = ['tool', 'run', 'box.write', '--args', '{"text":"b"}', '--wait', '600000'];
    const waiting = project.jsonProcess<ToolRunDocument>(call);
    const id = await eventually(
      'the question',
      async () => (await project.json<ApprovalDocument>(['approvals'])).documents[0]?.approval_id ?? null,
    );
    await proctor(project.path, ['approve', id]);
    expect(await waiting).toMatchObject({ code: 0, documents: [{ status: 'ok' }] });
    expect(await done(project)).toEqual(['write b']);
  });

  test('an idempotency key carries a call out once; for another call it is taken', async () => {
    await using project = await toolProject();
    const key = ['--idempotency-key', 'order-7'];
    const [first, second, other] = [
      await run(project, 'box.read', 'a', key),
      await run(project, 'box.read', 'a', key),
      await run(project, 'box.read', 'z', key),
    ];
    expect(second.documents[0]?.tool_run_id).toBe(first.documents[0]?.tool_run_id);
    expect([other.code, other.documents[0]]).toMatchObject([2, { code: 'idempotency_conflict' }]);
    expect(await done(project)).toEqual(['read a']);
  });

  test('a tool that throws, a tool that does not exist, arguments that do not fit: one reason each', async () => {
    await using project = await toolProject();
    const reasons = [];
    for (const argv of [
      ['box.fails'],
      ['box.none'],
      ['nowhere.none'],
      ['box.fails', '--args', '{"text":1}'],
      ['box.read', '--args', '[1]'],
      ['box.read', '--args', '{"text":"a","text":"b"}'],
    ]) {
      const { code, documents } = await project.json<ToolRunDocument>(['tool', 'run', ...argv]);
      reasons.push([code, documents[0]?.status, documents[0]?.reason]);
    }
    expect(reasons).toEqual([
      [1, 'error', 'tool_error'],
      [1, 'denied', 'unknown_tool'],
      [1, 'denied', 'unknown_tool'],
      [1, 'error', 'invalid_arguments'],
      [1, 'denied', 'invalid_arguments'],
      [1, 'denied', 'invalid_arguments'],
    ]);
  });

  test('`tool cancel` stops a call that another process carries out', async () => {
    await using project = await toolProject();
    const running = project.jsonProcess<ToolRunDocument>(['tool', 'run', 'box.slow']);
    const id = await eventually('the dispatch', async () => {
      const { documents } = await project.json<ToolRunDocument>(['tool', 'ls', '--runs', '--status', 'started']);
      return documents.find((row) => row.dispatched_at !== null)?.tool_run_id ?? null;
    });
    expect((await proctor(project.path, ['tool', 'cancel', id, '--reason', 'enough'])).code).toBe(0);
    expect(await running).toMatchObject({
      code: 1,
      documents: [{ status: 'error', reason: 'cancelled', error: { message: expect.stringContaining('enough') } }],
    });
  });

  test('the process that makes a call is killed: the outcome is unknown, and nothing is repeated', async () => {
    await using project = await toolProject();
    await using caller = startProctor(['tool', 'run', 'box.slow'], { cwd: project.path });
    await eventually('the call', async () => ((await done(project)).includes('slow') ? true : null));
    caller.kill('SIGKILL');
    await caller.exit;
    await project.json(['approvals']); // any look settles what the dead left
    const [row] = (await project.json<ToolRunDocument>(['tool', 'ls', '--runs'])).documents;
    expect(row).toMatchObject({ status: 'error', reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(await done(project)).toEqual(['slow']);
  });

  test('the kill switch holds for a tool, a source and everything, until it is switched on again', async () => {
    await using project = await toolProject();
    for (const scope of [['box.read'], ['box'], []]) {
      await proctor(project.path, ['tool', 'disable', ...scope, '--reason', 'audit']);
      const off = await run(project, 'box.read', 'a');
      expect(off.documents[0]).toMatchObject({
        status: 'denied',
        reason: 'switched_off',
        error: { message: expect.stringContaining('audit') },
      });
      const { stdout } = await proctor(project.path, ['tool', 'enable', 'box']);
      expect(stdout.includes('the whole gateway is still switched off')).toBe(scope.length === 0);
      await proctor(project.path, ['tool', 'enable', ...scope]);
      expect((await run(project, 'box.read', 'a')).code).toBe(0);
    }
    for (const slip of ['box.raed', 'bx', 'box.*']) {
      const refused = await project.json<ProblemDocument>(['tool', 'disable', slip]);
      expect([slip, refused.code, refused.documents[0]?.code]).toEqual([slip, 2, 'not_found']);
    }
  });

  test('who asks again for what was cancelled has it asked anew', async () => {
    await using project = await toolProject();
    const first = (await run(project, 'box.write', 'b')).documents[0];
    await proctor(project.path, ['tool', 'cancel', first?.tool_run_id ?? '']);
    expect((await run(project, 'box.write', 'b')).documents[0]).toMatchObject({
      status: 'approval_required',
      tool_run_id: expect.not.stringMatching(first?.tool_run_id ?? ''),
    });
  });

  test('a switch, and a stricter policy, hold for calls that were approved already', async () => {
    await using project = await toolProject({
      policy: `version: 1\napprovals: { self_approval: true }\nrules: [{ id: w, effect: { ask: { execute: attended } } }]\n`,
    });
    const first = await run(project, 'box.write', 'b');
    await proctor(project.path, ['approve', first.documents[0]?.approval_id ?? '']);
    await project.write('policy.yaml', 'version: 1\nrules: [{ id: never, effect: deny }]\n');
    const again = await run(project, 'box.write', 'b');
    expect(again.documents[0]).toMatchObject({ status: 'denied', reason: 'policy' });
    expect(await done(project)).toEqual([]);
  });
});

test('without a policy, with a broken one, or with none at all, every call is denied', async () => {
  await using project = await toolProject();
  const { rm } = await import('node:fs/promises');
  for (const text of ['version: 2\n', 'rules: [', null]) {
    if (text === null) await rm(path.join(project.path, 'policy.yaml'));
    else await project.write('policy.yaml', text);
    const { code, documents } = await run(project, 'box.read', 'a');
    expect([code, documents[0]]).toMatchObject([1, { status: 'denied', reason: 'policy_error' }]);
    const hint = text === null ? 'proctor policy init' : 'proctor policy check';
    expect(documents[0]?.error?.message).toContain(hint);
    const listed = await project.json<{ state: string }>(['tool', 'ls']);
    expect([listed.code, new Set(listed.documents.map(({ state }) => state))]).toEqual([2, new Set(['no_policy'])]);
    expect(listed.stderr).toContain(hint);
  }
  expect(await done(project)).toEqual([]);
});
