import { expect, test } from 'vitest';
import type { RunComparison } from '../../src/engine/compare.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';
import { examine } from '../support/examined.ts';

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

test('compare pairs two runs case by case, tells what changed, and exits 1 when the test finds a fall', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const tags = (number: number) => (number <= 20 ? ['early'] : ['late', 'odd']);
  const before = await examine(at, { cases: 40, wrong: [1, 2], tags });
  const after = await examine(at, { cases: 42, wrong: [2, ...numbers(31, 40)], tags, version: '2' });

  const compared = await proctor(at, ['compare', before.run_id, after.run_id, '--json']);
  expect(compared.code).toBe(1);
  const found = JSON.parse(compared.stdout) as RunComparison;
  expect(found).toMatchObject({
    outcome: 'regression',
    pairing: { baseline_cases: 40, candidate_cases: 42, paired: 40, only_candidate: 2, only_baseline: 0, changed: 0 },
    improved: 1,
    regressed: 10,
    equal: 29,
    policy: { test: 'exact_mcnemar', alpha: 0.05, max_regressions: null },
  });
  const [rate] = found.metrics;
  // Binomial(11, ½): 2·(1 + 11)/2¹¹
  expect(rate).toMatchObject({ metric: 'pass_rate', test: 'exact_mcnemar', p_value: 24 / 2048, delta: -9 / 40 });
  expect(found.metrics.map(({ metric }) => metric)).toEqual([
    'pass_rate',
    'mean_score',
    'dimension.correctness',
    'tag.early',
    'tag.late',
    'tag.odd',
  ]);
  const late = found.metrics.find(({ metric }) => metric === 'tag.late');
  expect(late).toMatchObject({ cases: 20, baseline: 1, candidate: 0.5 });
  expect(late?.p_adjusted).toBeCloseTo(3 * (late?.p_value ?? 0), 12); // Holm over three tags
  const changed = found.changes.filter(({ change }) => change === 'regressed').map(({ case_id }) => case_id);
  expect(changed).toEqual(numbers(31, 40).map((number) => `c00${number}`));

  const text = await proctor(at, ['compare', before.run_id, after.run_id]);
  expect(text.stdout).toContain('REGRESSION');
  expect(text.stdout).toContain('40 cases in both, 2 only in the candidate');
  expect(text.stdout).toContain('c0031');

  const back = await proctor(at, ['compare', after.run_id, before.run_id]);
  expect(back).toMatchObject({ code: 0 });
  expect(back.stdout).toContain('NO REGRESSION');
  expect((await proctor(at, ['compare', before.run_id, after.run_id, '--alpha', '0.01'])).code).toBe(0);
  expect((await proctor(at, ['compare', after.run_id, before.run_id, '--max-regressions', '0'])).code).toBe(1);
  const same = JSON.parse((await proctor(at, ['compare', before.run_id, after.run_id, '--json'])).stdout);
  expect(same).toEqual(found);
});

test('cases whose content changed are not compared, and runs without a common case are not comparable', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const before = await examine(at, { cases: 4, repeats: 2 });
  const after = await examine(at, { cases: 4, repeats: 2, wrong: [1, 2, 3, 4] });
  const compared = JSON.parse((await proctor(at, ['compare', before.run_id, after.run_id, '--json'])).stdout);
  expect(compared).toMatchObject({ policy: { test: 'paired_bootstrap' }, regressed: 4 });
  // Four cases cannot show more than the flip of four signs: 2^(1−4)
  expect(compared.metrics[0].p_value).toBe(0.125);
  expect(compared).toMatchObject({ outcome: 'not_comparable' });
  expect(compared.reason).toContain('4 cases or clusters cannot show a regression at alpha 0.05, which takes 6');

  const { readFile, writeFile } = await import('node:fs/promises');
  const cases = await readFile(`${at}/cases.jsonl`, 'utf8');
  await writeFile(`${at}/cases.jsonl`, cases.replaceAll('is ', 'was '));
  const other = JSON.parse((await proctor(at, ['run', 'profile.json', '--json', '--quiet'])).stdout);
  const none = await proctor(at, ['compare', before.run_id, other.run_id, '--json']);
  expect(none.code).toBe(5);
  expect(JSON.parse(none.stdout)).toMatchObject({ outcome: 'not_comparable', pairing: { paired: 0, changed: 4 } });
});

test('a gate with a baseline: inconclusive until a run is blessed, then it passes and fails by the comparison', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const profile = { gate: { baseline: { run: 'blessed', max_regressions: 1 } } };
  const first = await examine(at, { cases: 12, wrong: [12], profile });
  expect(first).toMatchObject({ gate_status: 'inconclusive', baseline: null });
  expect(String(first['reason'])).toContain('proctor bless');

  const blessed = await proctor(at, ['bless', first.run_id, '--json']);
  expect(JSON.parse(blessed.stdout)).toMatchObject({ profile_id: 'known', run_id: first.run_id, changed: true });
  expect((await proctor(at, ['bless', 'last'])).stdout).toContain('already');

  const second = await examine(at, { cases: 12, wrong: [1], profile, version: '2' });
  expect(second).toMatchObject({
    gate_status: 'pass',
    baseline: { content_digest: first['content_digest'], improved: 1, regressed: 1, outcome: 'no_regression' },
  });
  const third = await examine(at, { cases: 12, wrong: [1, 2, 12], profile, version: '3' });
  expect(third).toMatchObject({ gate_status: 'fail', baseline: { regressed: 2, outcome: 'regression' } });
  expect(String(third['reason'])).toContain('2 of 12 cases regressed');
  for (const run of [first, second, third]) expect((await proctor(at, ['verify', run.run_id])).code).toBe(0);

  // The same run key attaches to the run that is there, whatever was blessed since.
  const keyed = async () =>
    JSON.parse((await proctor(at, ['run', 'profile.json', '--run-key', 'k1', '--json', '--quiet'])).stdout);
  const created = await keyed();
  await proctor(at, ['bless', created.run_id]);
  expect(await keyed()).toMatchObject({ run_id: created.run_id });

  const named = { gate: { baseline: { run: 'no-such-run' } } };
  const { writeExamination } = await import('../support/examined.ts');
  await writeExamination(at, { cases: 12, profile: named });
  const missing = await proctor(at, ['run', 'profile.json']);
  expect(missing).toMatchObject({ code: 2 });
  expect(missing.stderr).toContain('no-such-run');
});
