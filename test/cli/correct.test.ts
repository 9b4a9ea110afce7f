import path from 'node:path';
import { expect, test } from 'vitest';
import type { ExecutionDocument, RunDocument } from '../../src/contract/documents.ts';
import { alterBundle } from '../support/bundle-edit.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';
import { examine } from '../support/examined.ts';

test('a grade corrected by hand is a new record: the verdict is revised, the run’s own stays, and verify recomputes both', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const run = await examine(at, {
    cases: 10,
    wrong: [4, 5],
    profile: { gate: { all: [{ metric: 'pass_rate', min: 0.85 }] } },
  });
  expect(run.gate_status).toBe('fail');
  const own = (await proctor(at, ['show', 'last', '--verdict'])).stdout;

  const corrected = await proctor(at, [
    'correct',
    'last',
    'c0004',
    '--status',
    'passed',
    '--reason',
    '“no” is right here',
    '--json',
  ]);
  expect(corrected, corrected.stderr).toMatchObject({ code: 0 });
  expect(JSON.parse(corrected.stdout)).toMatchObject({
    revision: 1,
    gate_status: 'pass',
    gate_status_before: 'fail',
    passed: 9,
    pass_rate: 0.9,
  });
  const shown = JSON.parse((await proctor(at, ['show', 'last', '--json'])).stdout) as RunDocument;
  expect(shown).toMatchObject({
    gate_status: 'pass',
    passed: 9,
    revision: { number: 1, latest: 1, own: { gate_status: 'fail', passed: 8 } },
  });
  expect(shown.revision?.corrected_by).toMatch(/^human:/);
  const root = shown.revision?.revision_root ?? '';
  expect(JSON.parse(corrected.stdout)).toMatchObject({ revision_root: root });
  const checked = await proctor(at, ['verify', 'last', '--expect', root]);
  expect(checked, checked.stderr).toMatchObject({ code: 0 });
  expect(checked.stdout).toContain(`revision root ${root}`);
  expect(checked.stdout).toContain(
    'the root expected proves the run, its corrections up to revision 1, and that verdict',
  );
  expect((await proctor(at, ['show', 'last', '--gate'])).code).toBe(0);
  expect((await proctor(at, ['show', 'last', '--verdict', '--revision', '0'])).stdout).toBe(own);
  const report = (await proctor(at, ['show', 'last'])).stdout;
  expect(report).toMatch(/PASS .*revision 1 by human:.*own verdict is fail/);
  expect(report).toContain(root);
  const execution = JSON.parse(
    (await proctor(at, ['show', 'last', '--case', 'c0004', '--json'])).stdout,
  ) as ExecutionDocument;
  expect(execution).toMatchObject({
    aggregate: { passed: true },
    evaluator_results: [{ index: 0, status: 'passed', reason: '“no” is right here' }],
    corrected: { own: { passed: false, results: [{ index: 0, status: 'failed' }] } },
  });

  // Exports and comparisons go by the revision.
  const junit = (await proctor(at, ['export', 'last', '--format', 'junit'])).stdout;
  expect(junit).toMatch(/<testsuites name="known" tests="11" failures="1"/);
  expect(junit).toContain('name="gate_status" value="pass"');
  const told = /corrected to passed by human:[^<]*: [^<]+</; // also a case that passes by its correction
  expect(junit).toMatch(told);
  expect((await proctor(at, ['export', 'last', '--format', 'html'])).stdout).toMatch(told);
  expect(
    (await proctor(at, ['correct', 'last', 'c0005', '--status', 'passed', '--score', '0', '--reason', 'x'])).stderr,
  ).toContain('contradicts itself');
  await proctor(at, ['correct', 'last', 'c0004', '--status', 'failed', '--reason', 'I was wrong']);
  await proctor(at, ['correct', 'last', 'c0001', '--status', 'failed', '--score', '0.25', '--reason', 'too short']);
  expect(JSON.parse((await proctor(at, ['show', 'last', '--json'])).stdout)).toMatchObject({
    gate_status: 'fail',
    passed: 7,
    revision: { number: 3, latest: 3 },
  });
  const later = await proctor(at, ['verify', 'last', '--expect', root]);
  expect(later).toMatchObject({ code: 0, stdout: expect.stringContaining('not covered by it: 2 later revisions') });
  expect((await proctor(at, ['doctor', '--verify'])).code).toBe(0);
  expect((await proctor(at, ['export', 'last', '--format', 'bundle', '--out', 'x.proctor'])).code).toBe(0);
  expect((await proctor(at, ['verify', 'x.proctor'])).stdout).toContain('3 corrections by hand');
  // The last correction taken out whole, with its event: the statement, which a signature is over, tells.
  await alterBundle(
    path.join(at, 'x.proctor'),
    path.join(at, 'forged.proctor'),
    "delete from correction where revision = 3; delete from event where type = 'grade_corrected' and body ->> '$.revision' = 3; update run_head set event_count = event_count - 1, event_hash = (select hash from event order by seq desc limit 1)",
  );
  const found = JSON.parse((await proctor(at, ['verify', 'forged.proctor', '--json'])).stdout) as {
    found: { where: string; what: string }[];
  };
  expect(found.found.filter(({ where }) => where === 'bundle').map(({ what }) => what)).toContain('revision');

  for (const sql of [
    'update correction set verdict = replace(verdict, \'"passed":9\', \'"passed":10\') where revision = 1',
    "update correction set principal = 'human:somebody' where revision = 2",
    'update correction set result = replace(result, \'"failed"\', \'"passed"\') where revision = 3',
    'delete from correction where revision = 3',
  ]) {
    await alterBundle(path.join(at, 'x.proctor'), path.join(at, 'forged.proctor'), sql);
    const found = await proctor(at, ['verify', 'forged.proctor', '--json']);
    expect(found.code, sql).toBe(1);
    expect(JSON.parse(found.stdout).found.map((item: { where: string }) => item.where)).toContain('correction');
  }
});

test('what cannot be corrected is told: no such case, a failure without an answer, an evaluator that is not named, a run without a verdict', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const evaluators = [{ ref: 'exact_match@1' }, { ref: 'latency@1', dimension: 'speed', config: { max_ms: 60_000 } }];
  await examine(at, { cases: 2, wrong: [1], profile: { case_groups: [{ id: 'all', evaluators }] } });
  const correct = async (...more: string[]) => await proctor(at, ['correct', 'last', ...more, '--reason', 'because']);
  expect((await correct('c0009', '--status', 'passed')).stderr).toContain('no case `c0009`');
  expect((await correct('c0001', '--status', 'passed')).stderr).toContain(
    '--evaluator: 0 exact_match@1 (correctness), 1 latency@1 (speed)',
  );
  expect((await correct('c0001', '--status', 'better', '--evaluator', '0')).stderr).toContain('passed or failed');
  expect((await correct('c0001', '--status', 'passed', '--evaluator', '0')).code).toBe(0);
  await proctor(at, ['run', 'profile.json', '--detach']);
  expect((await correct('c0001', '--status', 'passed')).stderr).toContain('only completed runs');
});
