import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { ExecutionDocument, RunDocument } from '../../src/contract/documents.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';
import { examine, writeExamination } from '../support/examined.ts';

/** An agent whose answers cost what their number says: 1,000 to 3,000 micro-USD. */
const PRICED = `export const answer = async ({ case: item }) => {
  const number = Number(item.case_id.slice(1));
  await new Promise((resolve) => setTimeout(resolve, 5 + number % 20));
  const tokens = 1000 * (1 + number % 3);
  return { text: 'yes', usage: { input_tokens: tokens, output_tokens: 0 } };
};\n`;
const PRICE = {
  agent: {
    kind: 'module',
    name: 'priced',
    version: '1',
    module: { path: 'agent.mjs', export: 'answer' },
    price: { input_per_mtok_usd: 1, output_per_mtok_usd: 1 },
  },
};
const MOST = 3_000;

test('eight workers stay within a cap but for one call each; what is left is not made, and the verdict is inconclusive', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await writeExamination(at, {
    cases: 400,
    profile: { ...PRICE, limits: { concurrency: 24, run: { cost_usd: 0.2 } } },
  });
  await writeFile(path.join(at, 'agent.mjs'), PRICED);
  const done = await proctor(at, ['run', 'profile.json', '--json', '--quiet', '--workers', '7']);
  expect(done, done.stderr).toMatchObject({ code: 5 });
  const run = JSON.parse(done.stdout) as RunDocument;
  expect(run).toMatchObject({ status: 'completed', gate_status: 'inconclusive', stopped: { reason: 'budget' } });
  expect(run.reason).toContain('a budget of the run is spent');
  expect(run.spent.cost_micro_usd).toBeLessThanOrEqual(200_000 + 8 * MOST);
  expect(run.spent.cost_micro_usd).toBeGreaterThan(200_000 - 2 * MOST);
  const { total, completed, cancelled, left_out, pending } = run.executions;
  expect(completed + cancelled + left_out).toBe(total);
  expect(pending).toBe(0);
  expect(await proctor(at, ['verify', 'last'])).toMatchObject({ code: 0 });
  expect((await proctor(at, ['doctor', '--verify'])).code).toBe(0);
  expect((await proctor(at, ['show', 'last'])).stdout).toContain('of $0.2000');

  const planned = await proctor(at, ['run', 'profile.json', '--plan', '--json']);
  expect(planned).toMatchObject({ code: 0 });
  const expected = JSON.parse(planned.stdout);
  expect(expected).toMatchObject({
    executions: 400,
    from_run: run.run_id,
    budgets: [{ kind: 'cost_micro_usd', enough: false }],
  });
  expect(expected.cost_micro_usd).toBeGreaterThan(400 * 1_500);
  expect(expected.cost_micro_usd).toBeLessThan(400 * 2_500);
  expect(JSON.parse((await proctor(at, ['runs', '--json'])).stdout.split('\n')[0] ?? '').run_id).toBe(run.run_id);
  const bundle = await proctor(at, ['export', 'last', '--format', 'bundle', '--out', 'x.proctor']);
  expect(bundle, bundle.stderr).toMatchObject({ code: 0 });
  expect((await proctor(at, ['verify', 'x.proctor'])).code).toBe(0);
});

test('a declared reserve keeps the cap to the last micro-USD; a run of thousands leaves its rest unmade at once', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const limits = { concurrency: 10, execution: { cost_usd: 0.003 }, run: { cost_usd: 0.1 } };
  await writeExamination(at, { cases: 9_000, profile: { ...PRICE, limits } });
  await writeFile(path.join(at, 'agent.mjs'), PRICED);
  const run = JSON.parse((await proctor(at, ['run', 'profile.json', '--json', '--quiet'])).stdout) as RunDocument;
  expect(run.spent.cost_micro_usd).toBeLessThanOrEqual(100_000);
  expect(run.executions.left_out).toBeGreaterThan(3_000);
  expect(await proctor(at, ['verify', 'last'])).toMatchObject({ code: 0 });
});

test('limits of one execution are the agent’s failure; cost without a price is refused unless it is waived', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await writeExamination(at, {
    cases: 6,
    profile: { ...PRICE, limits: { execution: { tokens: 2_500 } }, gate: { all: [{ metric: 'pass_rate', min: 0.5 }] } },
  });
  await writeFile(path.join(at, 'agent.mjs'), PRICED);
  const run = JSON.parse((await proctor(at, ['run', 'profile.json', '--json', '--quiet'])).stdout) as RunDocument;
  expect(run).toMatchObject({
    executions: { completed: 4, failed: 2 },
    faults: { agent: 2 },
    passed: 4,
    spent: { tokens: 12_000 },
  });
  const failed = await proctor(at, ['show', 'last', '--executions', '--failed', '--json']);
  expect(JSON.parse(failed.stdout.split('\n')[0] ?? '')).toMatchObject({ reason: 'limit_tokens', fault: 'agent' });

  await writeExamination(at, { cases: 6, profile: { limits: { run: { cost_usd: 5 } } } });
  const refused = await proctor(at, ['check', 'profile.json']);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain('limits.unpriced: allow');
  await writeExamination(at, { cases: 6, profile: { limits: { unpriced: 'allow', run: { cost_usd: 5 } } } });
  expect((await proctor(at, ['run', 'profile.json', '--quiet'])).code).toBe(0);
});

test('a gate that is decided early stops the run, by a prefix that is the same in every process', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const profile = {
    early_stop: 'decided',
    limits: { concurrency: 4 },
    gate: { min_cases: 20, all: [{ metric: 'pass_rate', bound: 'lower', min: 0.7 }] },
  };
  const first = (await examine(at, { cases: 3_000, wrong: [5, 50, 500], profile })) as unknown as RunDocument;
  expect(first).toMatchObject({
    status: 'completed',
    gate_status: 'pass',
    interval_method: 'beta_mixture',
    stopped: { reason: 'early_stop' },
  });
  const after = first.stopped?.after_cases ?? 0;
  expect(after).toBeGreaterThanOrEqual(20);
  expect(after).toBeLessThan(60);
  expect(first.executions.left_out + first.executions.cancelled).toBeGreaterThan(2_000);
  expect(first.graded).toBe(after);
  const second = JSON.parse(
    (await proctor(at, ['run', 'profile.json', '--json', '--quiet', '--workers', '3'])).stdout,
  ) as RunDocument;
  expect(second).toMatchObject({ content_digest: first.content_digest, stopped: first.stopped });
  const verdict = async (run: string) => (await proctor(at, ['show', run, '--verdict'])).stdout;
  expect(await verdict(second.run_id)).toBe(await verdict(first.run_id));
  for (const run of [first, second]) expect((await proctor(at, ['verify', run.run_id])).code).toBe(0);
  expect((await proctor(at, ['show', 'last'])).stdout).toMatch(
    /stopped +early, after \d+ cases: [\d,]+ executions saved/,
  );

  const failing = await examine(at, {
    cases: 500,
    wrong: Array.from({ length: 400 }, (_, index) => index + 101),
    profile,
  });
  expect(failing).toMatchObject({ gate_status: 'fail', stopped: { reason: 'early_stop' } });
  const through = await examine(at, { cases: 30, wrong: Array.from({ length: 9 }, (_, index) => index + 1), profile });
  expect(through).toMatchObject({ stopped: null, graded: 30 });

  for (const [more, told] of [
    [{ gate: { all: [{ metric: 'infra_rate', max: 0.1 }] } }, 'no always-valid interval'],
    [{ gate: {} }, 'without conditions'],
    [{ gate: { all: [{ metric: 'pass_rate', min: 0.5 }], baseline: {} } }, 'needs every case'],
  ] as const) {
    await writeExamination(at, { cases: 3, profile: { ...profile, ...more } });
    expect((await proctor(at, ['check', 'profile.json'])).stderr).toContain(told);
  }
  await writeExamination(at, { cases: 3, profile, cluster: (number) => `k${number % 2}` });
  expect((await proctor(at, ['run', 'profile.json'])).stderr).toContain('not independent');
});

test('calls that end without an answer, and interrupted ones, are spent too', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const limits = { concurrency: 4, execution: { time_ms: 200, cost_usd: 0.01 }, run: { cost_usd: 0.05 } };
  await writeExamination(at, { cases: 40, profile: { ...PRICE, limits } });
  await writeFile(
    path.join(at, 'agent.mjs'),
    'export const answer = () => new Promise(() => setTimeout(() => {}, 1e6));\n',
  );
  const run = JSON.parse((await proctor(at, ['run', 'profile.json', '--json', '--quiet'])).stdout) as RunDocument;
  expect(run).toMatchObject({ stopped: { reason: 'budget' }, attempts: 5, spent: { cost_micro_usd: 0 } });
  expect(run.budgets).toEqual([
    { kind: 'cost_micro_usd', cap: 50_000, spent: 50_000, known: 0, assumed: 50_000, untold: 5, reserve: 10_000 },
  ]);
  expect((await proctor(at, ['show', 'last'])).stdout).toContain(
    '$0.0500 of $0.0500 ($0.0000 known, $0.0500 assumed for 5 attempts that did not tell)',
  );
  const page = (await proctor(at, ['export', 'last', '--format', 'html'])).stdout;
  expect(page).toContain('of $0.0500: $0.0000 known, $0.0500 assumed for 5 attempts that did not tell');

  await writeFile(path.join(at, 'agent.mjs'), "export const answer = () => ({ text: 'yes' });\n");
  const blind = JSON.parse((await proctor(at, ['run', 'profile.json', '--json', '--quiet'])).stdout) as RunDocument;
  expect(blind.faults).toMatchObject({ agent: expect.any(Number) });
  const [first] = (await proctor(at, ['show', 'last', '--executions', '--failed', '--json'])).stdout.split('\n');
  expect(JSON.parse(first ?? '')).toMatchObject({ reason: 'usage_missing' });
});

test('an early stop reads as what it is: nothing failed that was not made, and JUnit counts what it lists', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const profile = {
    early_stop: 'decided',
    limits: { concurrency: 4 },
    gate: { all: [{ metric: 'pass_rate', min: 0.7, confidence: 0.8 }] },
  };
  const run = (await examine(at, { cases: 400, profile })) as unknown as RunDocument;
  expect(run).toMatchObject({ gate_status: 'pass', stopped: { reason: 'early_stop' } });
  expect((await proctor(at, ['show', 'last'])).stdout).not.toContain('not passed');
  const junit = (await proctor(at, ['export', 'last', '--format', 'junit'])).stdout;
  const suite = /<testsuite name="known" tests="(\d+)" failures="(\d+)" errors="(\d+)" skipped="(\d+)"/
    .exec(junit)
    ?.slice(1)
    .map(Number);
  expect(suite).toEqual([junit.split('<testcase').length - 2, 0, 0, junit.split('<skipped').length - 1]);
  expect((await proctor(at, ['export', 'last', '--format', 'annotations'])).stdout.trim().split('\n')).toHaveLength(1);
  expect((await proctor(at, ['run', 'profile.json', '--failed-of', 'last'])).stderr).toContain('every case');
  // Compared is what the verdict is about, whatever was in flight.
  const again = await examine(at, { cases: 400, profile });
  const compared = JSON.parse((await proctor(at, ['compare', run.run_id, again.run_id, '--json'])).stdout);
  expect(compared.pairing).toMatchObject({
    baseline_cases: run.stopped?.after_cases,
    candidate_cases: run.stopped?.after_cases,
  });
});

test('a first call that tells nothing lifts no budget; a session is spent turn by turn and ended by its limit', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await writeExamination(at, { cases: 40, profile: { ...PRICE, limits: { concurrency: 20, run: { cost_usd: 3 } } } });
  await writeFile(
    path.join(at, 'agent.mjs'),
    "export const answer = ({ case: item }) => { if (item.case_id === 'c0001') throw new Error('broken'); return { text: 'yes', usage: { input_tokens: 1e6, output_tokens: 0 } }; };\n",
  );
  const run = JSON.parse((await proctor(at, ['run', 'profile.json', '--json', '--quiet'])).stdout) as RunDocument;
  expect(run.spent.cost_micro_usd).toBe(2_000_000);
  expect(run.budgets).toMatchObject([{ spent: 3_000_000, known: 2_000_000, assumed: 1_000_000, untold: 1 }]);

  const session = { case_groups: [{ id: 'all', session: true, evaluators: [{ ref: 'exact_match@1' }] }] };
  const turns = { turns: Array.from({ length: 30 }, (_, index) => `turn ${index + 1}`) };
  await writeExamination(at, { cases: 1, profile: { ...PRICE, ...session, limits: { run: { cost_usd: 3 } } } });
  await writeFile(
    path.join(at, 'cases.jsonl'),
    `${JSON.stringify({ id: 'long', input: turns, expected: { turns: turns.turns.map(() => 'yes') } })}\n`,
  );
  expect((await proctor(at, ['check', 'profile.json'])).stderr).toContain('a session may make many calls');
  const limits = { execution: { cost_usd: 2 }, run: { cost_usd: 3 } };
  await writeExamination(at, { cases: 1, profile: { ...PRICE, ...session, limits } });
  await writeFile(
    path.join(at, 'cases.jsonl'),
    `${JSON.stringify({ id: 'long', input: turns, expected: { turns: turns.turns.map(() => 'yes') } })}\n`,
  );
  await writeFile(
    path.join(at, 'agent.mjs'),
    "export const answer = () => ({ text: 'yes', usage: { input_tokens: 1e6, output_tokens: 0 } });\n",
  );
  const ended = JSON.parse((await proctor(at, ['run', 'profile.json', '--json', '--quiet'])).stdout) as RunDocument;
  expect(ended).toMatchObject({ spent: { cost_micro_usd: 3_000_000 }, faults: { agent: 1 } });
  const shown = JSON.parse((await proctor(at, ['show', 'last', '--executions', '--json'])).stdout) as {
    reason: string;
  };
  expect(shown.reason).toBe('limit_cost_usd');
});

test('what ends beyond the stop is marked and not counted, and the verdict does not depend on how much that was', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const profile = {
    agent: { kind: 'module', name: 'hurried', version: '1', module: { path: 'agent.mjs', export: 'answer' } },
    early_stop: 'decided',
    limits: { concurrency: 8 },
    gate: { min_cases: 20, all: [{ metric: 'pass_rate', min: 0.7, confidence: 0.8 }] },
  };
  await writeExamination(at, { cases: 6_000, profile });
  // The first call waits until so many others have been made; these end far beyond the prefix, from the 101st on wrong.
  await writeFile(
    path.join(at, 'agent.mjs'),
    `import { existsSync } from 'node:fs';
let calls = 0;
let enough = () => {};
export const answer = async () => {
  const call = ++calls;
  const others = existsSync(new URL('./slower', import.meta.url)) ? 2_500 : 250;
  if (call === 1) await new Promise((resolve) => { enough = resolve; });
  if (call > others) enough();
  return { text: call > 100 ? 'no' : 'yes' };
};\n`,
  );
  const runs: RunDocument[] = [];
  for (const slower of [false, true]) {
    if (slower) await writeFile(path.join(at, 'slower'), '');
    const done = await proctor(at, ['run', 'profile.json', '--json', '--quiet']);
    expect(done, done.stderr).toMatchObject({ code: 0 });
    runs.push(JSON.parse(done.stdout) as RunDocument);
  }
  const [one, two] = runs as [RunDocument, RunDocument];
  expect(two.executions.completed).toBeGreaterThan(one.executions.completed);
  expect(two.executions.left_out).toBeLessThan(one.executions.left_out);
  const verdict = async (run: string) => (await proctor(at, ['show', run, '--verdict'])).stdout;
  expect(await verdict(two.run_id)).toBe(await verdict(one.run_id));

  const lines = (await proctor(at, ['show', one.run_id, '--executions', '--json'])).stdout.trim().split('\n');
  const documents = lines.map((line) => JSON.parse(line) as ExecutionDocument);
  const after = one.stopped?.after_cases ?? 0;
  expect(documents.filter((document) => !document.beyond_stop)).toHaveLength(after);
  const wrong = documents.filter((document) => document.aggregate?.passed === false);
  expect(wrong.length).toBeGreaterThan(0);
  expect(wrong.every((document) => document.beyond_stop)).toBe(true);
  const shown = (await proctor(at, ['show', one.run_id])).stdout;
  expect(shown).not.toContain('not passed');
  expect((await proctor(at, ['show', one.run_id, '--executions', '--failed'])).stdout).toContain(
    'beyond the stop, not counted: exact_match@1',
  );
});
