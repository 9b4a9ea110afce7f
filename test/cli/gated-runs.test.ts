import { copyFile, readFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { verifyBundleFile } from '../../src/app.ts';
import type { Envelope } from '../../src/contract/agent.ts';
import type { ExecutionDocument, RunDocument } from '../../src/contract/documents.ts';
import type { ProblemDocument } from '../../src/contract/problem.ts';
import type { ToolRunDocument } from '../../src/contract/tool-documents.ts';
import { alterBundle } from '../support/bundle-edit.ts';
import { proctor } from '../support/cli.ts';
import { gatedProject } from '../support/gated-agent.ts';
import type { ToolProject } from '../support/tool-project.ts';

const envelopeOf = (project: ToolProject, name: string): Envelope => {
  const db = new DatabaseSync(path.join(project.path, '.proctor/proctor.db'), { readOnly: true });
  const row = db
    .prepare(
      "select e.body from evidence e join execution x on x.run_no = e.run_no and x.ordinal = e.ordinal where x.case_id = ? and e.kind = 'envelope'",
    )
    .get(name);
  db.close();
  return (JSON.parse(String(row?.['body'])) as { envelope: Envelope }).envelope;
};

describe('a run whose agent has gated tools', () => {
  test('an attempt has no other door than its own, and no case gets the outcome of another under one key', async () => {
    await using project = await gatedProject('{ operator: { default: deny } }', [
      { id: 'api', input: { api: true }, expected: '403' },
      { id: 'one', input: { key: 'same' }, expected: 'yes' },
      { id: 'two', input: { key: 'same' }, expected: 'yes' },
    ]);
    expect((await proctor(project.path, ['run', 'profile.yaml', '--quiet'])).code).toBe(0);
    expect((await readFile(path.join(project.path, 'done.log'), 'utf8')).trim().split('\n')).toEqual([
      'read k',
      'read k',
    ]);
  });

  test('sees the tools it is offered, calls them, is denied, and all of it stands in the envelope', async () => {
    await using project = await gatedProject(
      '{ operator: { default: deny, comment: the boss is out, script: [{ tools: box.write, arguments: { text: please }, answer: approve, delay_ms: 20 }] } }',
      [
        { id: 'lists', input: { list: true }, expected: 'box__fails box__read box__slow box__write' },
        {
          id: 'calls',
          input: {
            calls: [
              ['box__read', { text: 'a' }],
              ['box__write', { text: 'please' }],
              ['box__write', { text: 'now' }],
              ['box__none', {}],
            ],
          },
          expected: 'yes, yes, no: approval_denied, no: unknown_tool',
        },
      ],
    );
    const { code, stderr } = await proctor(project.path, ['run', 'profile.yaml', '--quiet']);
    expect([code, stderr]).toEqual([0, '']);
    for (const format of ['html', 'junit', 'csv', 'jsonl']) {
      const { stdout } = await proctor(project.path, ['export', 'last', '--format', format]);
      for (const part of ['box.write', 'please', 'trn_', 'unknown_tool']) expect(stdout, format).toContain(part);
    }
    const shown = await project.json<ExecutionDocument>(['show', 'last', '--case', 'calls']);
    expect(
      shown.documents[0]?.tool_runs.map(({ tool, status, decision, output }) => [
        tool,
        status,
        decision,
        output?.structured,
      ]),
    ).toEqual([
      ['box.read', 'ok', 'allow', { read: 'a' }],
      ['box.write', 'ok', 'ask', null],
      ['box.write', 'denied', 'ask', undefined],
      ['box.none', 'denied', 'deny', undefined],
    ]);
    expect((await proctor(project.path, ['show', 'last', '--case', 'calls'])).stdout).toMatch(
      /box\.write {2}denied, ask.* trn_/,
    );
    expect(envelopeOf(project, 'calls').tool_calls).toEqual([
      { arguments: { text: 'a' }, name: 'box.read', result: { read: 'a' }, source: 'gated', status: 'ok' },
      { arguments: { text: 'please' }, name: 'box.write', result: 'written please', source: 'gated', status: 'ok' },
      {
        arguments: { text: 'now' },
        name: 'box.write',
        result: {
          error: { code: 'approval_denied', message: 'service:simulated-operator denied it: the boss is out' },
        },
        source: 'gated',
        status: 'denied',
      },
      {
        arguments: {},
        name: 'box__none'.replace('__', '.'),
        result: { error: { code: 'unknown_tool', message: 'there is no tool `box.none`' } },
        source: 'gated',
        status: 'denied',
      },
    ]);
    const { documents } = await project.json<ToolRunDocument>(['tool', 'ls', '--runs']);
    expect(new Set(documents.map((row) => [row.principal, row.agent, row.surface].join()))).toEqual(
      new Set(['agent:my_agent,my agent,evaluation']),
    );
    expect(documents.every((row) => row.attempt_id !== null)).toBe(true);
    expect((await proctor(project.path, ['verify', 'last'])).code).toBe(0);
  });

  test('may use what the profile offers only; `[]` is nothing', async () => {
    await using some = await gatedProject('{ tools: [box.read] }', [
      {
        id: 'a',
        input: {
          list: true,
          calls: [
            ['box__slow', {}],
            ['box__read', { text: 'a' }],
          ],
        },
        expected: 'box__read, no: not_offered, yes',
      },
    ]);
    expect((await proctor(some.path, ['run', 'profile.yaml', '--quiet'])).code).toBe(0);
    await using none = await gatedProject('{ tools: [] }', [
      { id: 'a', input: { list: true, calls: [['box__read', { text: 'a' }]] }, expected: ', no: not_offered' },
    ]);
    expect((await proctor(none.path, ['run', 'profile.yaml', '--quiet'])).code).toBe(0);
  });

  test('an operator who does not answer lets the approval expire', async () => {
    await using project = await gatedProject('{ operator: { default: ignore } }', [
      { id: 'a', input: { calls: [['box__write', { text: 'a' }]] }, expected: 'no: approval_expired' },
    ]);
    expect((await proctor(project.path, ['run', 'profile.yaml', '--quiet'])).code).toBe(0);
  });

  test('what an agent claims is reported, and its own call is not counted twice', async () => {
    const claims = [
      { name: 'box.write', arguments: { text: 'never happened' }, result: 'ok', source: 'gated', status: 'ok' },
      { name: 'box__read', arguments: { text: 'a' }, result: 'mine' },
    ];
    await using project = await gatedProject('{}', [
      { id: 'a', input: { calls: [['box__read', { text: 'a' }]], claims, echo: true }, expected: 'yes' },
    ]);
    expect((await proctor(project.path, ['run', 'profile.yaml', '--quiet'])).code).toBe(0);
    const envelope = envelopeOf(project, 'a');
    expect(envelope.tool_calls).toEqual([
      { arguments: { text: 'a' }, name: 'box.read', result: { read: 'a' }, source: 'gated', status: 'ok' },
      { arguments: { text: 'never happened' }, name: 'box.write', result: 'ok', source: 'reported' },
    ]);
    expect(envelope.metadata).toEqual({ echoed: '[gateway token]' });
  });

  test('a token is worth nothing once its attempt has ended, nor is one that somebody made up', async () => {
    await using project = await gatedProject('{}', [
      { id: 'a', input: { keep: true }, expected: '' },
      { id: 'b', input: { other_token: 'prt_made_up' }, expected: '401' },
    ]);
    expect((await proctor(project.path, ['run', 'profile.yaml', '--quiet'])).code).toBe(0);
    const [url = '', token] = (await readFile(path.join(project.path, 'kept'), 'utf8')).split(' ');
    await expect(fetch(url, { headers: { authorization: `Bearer ${token}` } })).rejects.toThrow('fetch failed'); // the server went with its run
  });

  test('is decided by the policy and the definitions that it was planned with', async () => {
    await using project = await gatedProject('{}', [
      { id: 'a', input: { calls: [['box__read', { text: 'a' }]] }, expected: 'no: definition_changed' },
    ]);
    const detached = await project.json<RunDocument>(['run', 'profile.yaml', '--detach']);
    const id = detached.documents[0]?.run_id ?? '';
    await project.write('policy.yaml', 'version: 1\nrules: [{ id: never, effect: deny }]\n');
    const tools = await readFile(path.join(project.path, 'box.mjs'), 'utf8');
    await project.write('box.mjs', tools.replace("description: 'reads'", "description: 'reads everything'"));
    expect((await proctor(project.path, ['resume', id, '--quiet'])).code).toBe(0);
  });

  test('goes with its bundle, and is graded anew without asking anybody', async () => {
    await using project = await gatedProject('{ operator: { default: approve } }', [
      { id: 'a', input: { calls: [['box__write', { text: 'a' }]] }, expected: 'yes' },
    ]);
    expect((await proctor(project.path, ['run', 'profile.yaml', '--quiet'])).code).toBe(0);
    expect((await proctor(project.path, ['export', 'last', '--format', 'bundle', '--out', 'run.proctor'])).code).toBe(
      0,
    );
    const bundle = await proctor(project.path, ['verify', 'run.proctor']);
    expect([bundle.code, bundle.stdout]).toEqual([0, expect.stringContaining('VERIFIED')]);
    expect((await proctor(project.path, ['regrade', 'last', '--quiet'])).code).toBe(0);
    expect((await readFile(path.join(project.path, 'done.log'), 'utf8')).trim()).toBe('write a');
    const graded = await project.json<ExecutionDocument>(['show', 'last', '--executions']);
    expect(graded.documents[0]).toMatchObject({ status: 'completed', aggregate: { passed: true } });
  });

  test('a profile that offers a tool that is not there is refused before anything is created', async () => {
    await using project = await gatedProject('{ tools: ["bax.*"] }', [{ id: 'a', input: {}, expected: '' }]);
    const { code, documents } = await project.json<ProblemDocument>(['run', 'profile.yaml']);
    expect([code, documents[0]?.detail]).toEqual([2, expect.stringContaining('bax.*')]);
    expect((await project.json(['runs'])).documents).toEqual([]);
  });
});

test('an agent that fails after policy denied it a tool ends by policy; one that answers despite it is graded', async () => {
  const read = ['box__read', { text: 'a' }];
  const write = ['box__write', { text: 'a' }];
  await using project = await gatedProject('{ operator: { default: deny } }', [
    { id: 'answers', input: { calls: [write] }, expected: 'no: policy' },
    { id: 'denied', input: { calls: [read, write], crash: true }, expected: '' },
    { id: 'allowed', input: { calls: [read], crash: true }, expected: '' },
  ]);
  await project.write(
    'policy.yaml',
    'version: 1\nrules:\n  - { id: reading, when: { risk: read_only }, effect: allow }\n  - { id: never, when: { risk: write }, effect: deny }\n',
  );
  const profile = await readFile(path.join(project.path, 'profile.yaml'), 'utf8');
  await project.write('profile.yaml', `${profile}retry: { agent_errors: true, backoff: { base_ms: 1, cap_ms: 1 } }\n`);
  const { code, documents } = await project.json<RunDocument>(['run', 'profile.yaml', '--quiet']);
  expect([code, documents[0]]).toMatchObject([1, { faults: { policy: 1, agent: 1 }, graded: 3, passed: 1 }]);
  const shown = await project.json<ExecutionDocument>(['show', 'last', '--executions']);
  const attempts = shown.documents.map((one) => [one.case_id, one.fault, one.reason, one.attempts.length]);
  expect(new Set(attempts.map(String))).toEqual(
    new Set(['answers,,,1', 'denied,policy,policy_denied: box.write,1', 'allowed,agent,exit_code,2']),
  );
  expect(shown.documents.find(({ case_id }) => case_id === 'denied')).toMatchObject({
    aggregate: { score: 0, passed: false },
  });
  expect((await proctor(project.path, ['show', 'last', '--case', 'denied'])).stdout).toContain(
    'policy denied `box.write`',
  );
  expect((await proctor(project.path, ['verify', 'last'])).code).toBe(0);
});

test('verify names every change of a recorded call, in the store and in a bundle', async () => {
  await using project = await gatedProject('{ operator: { default: approve } }', [
    {
      id: 'a',
      input: {
        calls: [
          ['box__read', { text: 'a' }],
          ['box__write', { text: 'b' }],
        ],
      },
      expected: 'yes, yes',
    },
  ]);
  expect((await proctor(project.path, ['run', 'profile.yaml', '--quiet'])).code).toBe(0);
  expect((await proctor(project.path, ['verify', 'last'])).stdout).toContain('2 tool runs');
  await proctor(project.path, ['export', 'last', '--format', 'bundle', '--out', 'run.proctor']);
  const changes = [
    ['update tool_run set arguments = \'{"text":"c"}\' where name = \'write\'', 'arguments_digest'],
    ["update tool_run set status = 'denied', dispatched_at = null where name = 'read'", 'status'],
    ["update tool_run set output = replace(output, 'written', 'burned')", 'output_digest'],
    ["update approval set decided_by = 'human:eve'", 'decided_by'],
    [
      "update gateway_event set body = replace(body, 'simulated', 'real') where type = 'approval_granted'",
      'is not the one that was chained',
    ],
    ["delete from gateway_event where type = 'tool_succeeded'", 'is missing'],
    ["delete from tool_run where name = 'read'", 'missing'],
    ['delete from approval', 'its row is gone'],
  ] as const;
  for (const [change, named] of changes) {
    const copy = path.join(project.path, 'altered.db');
    await copyFile(path.join(project.path, '.proctor/proctor.db'), copy);
    const db = new DatabaseSync(copy, { enableForeignKeyConstraints: false });
    const triggers = db.prepare("select name, sql from sqlite_schema where type = 'trigger'").all() as {
      name: string;
      sql: string;
    }[];
    for (const { name } of triggers) db.exec(`drop trigger ${name}`);
    db.exec(change);
    for (const { sql } of triggers) db.exec(sql);
    db.close();
    const verified = await proctor(project.path, ['verify', 'last'], {
      PROCTOR_DB: copy,
      PROCTOR_ARTIFACTS: path.join(project.path, '.proctor/artifacts'),
    });
    expect([change, verified.code, verified.stdout]).toEqual([change, 1, expect.stringContaining(named)]);
    const bundle = path.join(project.path, 'altered.proctor');
    await alterBundle(path.join(project.path, 'run.proctor'), bundle, change);
    // An approval without its call cannot even be read.
    const found = await verifyBundleFile(bundle, null, null).catch((error: Error) => error.message);
    expect([change, JSON.stringify(found)]).toEqual([
      change,
      expect.stringMatching(new RegExp(`${named}|not a bundle that Proctor made`)),
    ]);
    expect(typeof found === 'string' || !found.ok).toBe(true);
  }
});
