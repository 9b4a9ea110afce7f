import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { ExecutionDocument, RunDocument } from '../../src/contract/documents.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';
import { examine, writeExamination } from '../support/examined.ts';

test('regrade grades kept answers by changed evaluators: a new run, nobody asked, the old one untouched to the byte', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const old = await examine(at, { cases: 20, wrong: [3, 4], repeats: 2 });
  const shown = async (run: string) => (await proctor(at, ['show', run, '--executions', '--json'])).stdout;
  const before = [await shown(old.run_id), (await proctor(at, ['show', old.run_id, '--json'])).stdout];

  // The agent is gone, and says so when it is asked.
  await writeFile(path.join(at, 'agent.mjs'), "throw new Error('nobody is to be asked');\n");
  const lenient = JSON.parse(await readFile(path.join(at, 'profile.json'), 'utf8')) as Record<string, unknown>;
  lenient['agent'] = { kind: 'echo', name: 'other', version: '9' };
  lenient['case_groups'] = [
    {
      id: 'all',
      evaluators: [
        { ref: 'contains@1', dimension: 'says_something', config: { values: ['yes', 'no'], all: false } },
        { ref: 'latency@1', dimension: 'speed', config: { max_ms: 60_000 } },
      ],
    },
  ];
  await writeFile(path.join(at, 'lenient.json'), JSON.stringify(lenient));
  const done = await proctor(at, [
    'regrade',
    old.run_id,
    '--profile',
    'lenient.json',
    '--json',
    '--quiet',
    '--workers',
    '2',
  ]);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  const run = JSON.parse(done.stdout) as RunDocument;
  expect(run).toMatchObject({
    passed: 40,
    graded: 40,
    agent: { kind: 'module', name: 'known', version: '1' },
    repeats: 2,
    regrade_of: old.run_id,
  });
  expect(run.scores).toEqual({ says_something: 1, speed: 1 });
  const answers = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => {
        const { case_id, repeat, output, latency_ms } = JSON.parse(line) as ExecutionDocument;
        return { case_id, repeat, output, latency_ms };
      });
  expect(answers(await shown(run.run_id))).toEqual(answers(before[0] ?? ''));
  for (const id of [old.run_id, run.run_id]) expect((await proctor(at, ['verify', id])).code).toBe(0);
  expect([await shown(old.run_id), (await proctor(at, ['show', old.run_id, '--json'])).stdout]).toEqual(before);
  expect((await proctor(at, ['compare', old.run_id, run.run_id])).stdout).toContain('4');

  const same = JSON.parse((await proctor(at, ['regrade', old.run_id, '--json', '--quiet'])).stdout) as RunDocument;
  expect(same).toMatchObject({ passed: 36, pass_rate: old['pass_rate'], scores: old['scores'] });
  await proctor(at, ['export', same.run_id, '--format', 'bundle', '--out', 'again.proctor']);
  expect((await proctor(at, ['verify', 'again.proctor'])).code).toBe(0);
});

test('failures stay what they were and cost no retries; what cannot be graded anew is told', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await writeExamination(at, {
    cases: 4,
    profile: { retry: { infrastructure: 0 }, gate: { max_infra_rate: 1, all: [{ metric: 'pass_rate', min: 0.1 }] } },
  });
  await writeFile(
    path.join(at, 'agent.mjs'),
    "export const answer = ({ case: item }) => { if (item.case_id === 'c0002') throw new Error('broken'); return { text: 'yes' }; };\n",
  );
  const old = JSON.parse((await proctor(at, ['run', 'profile.json', '--json', '--quiet'])).stdout) as RunDocument;
  const run = JSON.parse((await proctor(at, ['regrade', 'last', '--json', '--quiet'])).stdout) as RunDocument;
  expect(run).toMatchObject({ executions: old.executions, faults: old.faults, attempts: 4, passed: 3 });
  expect((await proctor(at, ['verify', 'last'])).code).toBe(0);

  const profile = JSON.parse(await readFile(path.join(at, 'profile.json'), 'utf8')) as Record<string, unknown>;
  await writeFile(
    path.join(at, 'narrow.json'),
    JSON.stringify({
      ...profile,
      case_groups: [{ id: 'other', applies_to: { task_type: 'none' }, evaluators: [{ ref: 'exact_match@1' }] }],
    }),
  );
  const refused = await proctor(at, ['regrade', old.run_id, '--profile', 'narrow.json']);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain('no case group takes case');
  await writeExamination(at, { cases: 2, profile: { persistence: { persist_raw_outputs: 'failures_only' } } });
  await proctor(at, ['run', 'profile.json', '--quiet']);
  const unkept = await proctor(at, ['regrade', 'last']);
  expect(unkept).toMatchObject({ code: 2 });
  expect(unkept.stderr).toContain('failures_only');
});

test('regrading by a profile with a baseline compares with it; a secret that is missing is told before the run', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const old = await examine(at, { cases: 10, wrong: [1] });
  await proctor(at, ['bless', old.run_id]);
  const profile = JSON.parse(await readFile(path.join(at, 'profile.json'), 'utf8')) as Record<string, unknown>;
  await writeFile(path.join(at, 'gated.json'), JSON.stringify({ ...profile, gate: { baseline: {} } }));
  const run = JSON.parse(
    (await proctor(at, ['regrade', old.run_id, '--profile', 'gated.json', '--json', '--quiet'])).stdout,
  ) as RunDocument;
  expect(run).toMatchObject({ gate_status: 'pass', baseline: { pairing: { paired: 10 }, regressed: 0 } });
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference as a profile writes it
  const webhooks = [{ url: 'https://hooks.example/', secret: '${secret:MISSING}' }];
  await writeFile(path.join(at, 'hooked.json'), JSON.stringify({ ...profile, webhooks }));
  const refused = await proctor(at, ['regrade', old.run_id, '--profile', 'hooked.json']);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain('MISSING');
});
