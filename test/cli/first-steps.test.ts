import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { JSON_SCHEMAS } from '../../src/adapters/json-schemas.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';

const ajv = new Ajv2020.default({ strict: false, allowUnionTypes: true });
const validators = Object.fromEntries(Object.entries(JSON_SCHEMAS).map(([name, make]) => [name, ajv.compile(make())]));

function valid(name: string, document: unknown): string | null {
  const validate = validators[name];
  return validate?.(document) ? null : ajv.errorsText(validate?.errors);
}

test('init, check --probe, run, show and verify: the road of the README', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  expect(await proctor(at, ['init'])).toMatchObject({ code: 0 });
  const again = await proctor(at, ['init']);
  expect(again.code).toBe(2);
  expect(again.stderr).toContain('--force');

  const check = await proctor(at, ['check', 'profile.yaml', '--probe', '--json']);
  expect(check.code).toBe(0);
  const probed = JSON.parse(check.stdout) as { ok: boolean; cases: number; probe: { trial: string; ok: boolean }[] };
  expect({ ...probed, probe: probed.probe.map(({ trial, ok }) => ({ trial, ok })) }).toMatchObject({
    ok: true,
    cases: 4,
    probe: [
      { trial: 'oracle', ok: true },
      { trial: 'no_op', ok: true },
      { trial: 'wrong', ok: true },
      { trial: 'agent', ok: true },
    ],
  });

  const run = await proctor(at, ['run', 'profile.yaml', '--json']);
  expect(run.code).toBe(0);
  for (const kept of ['.proctor', '.proctor/proctor.db'])
    expect((await stat(path.join(at, kept))).mode & 0o077, `nobody else reads ${kept}`).toBe(0);
  const document = JSON.parse(run.stdout) as Record<string, unknown>;
  expect(document).toMatchObject({
    status: 'completed',
    gate_status: 'pass',
    executions: { total: 4, completed: 4, failed: 0, timed_out: 0, cancelled: 0 },
    passed: 4,
    pass_rate: 1,
    scores: { correctness: 1 },
    attempts: 4,
  });
  expect(valid('run_document', document)).toBeNull();
  expect(JSON.parse((await proctor(at, ['show', 'last', '--json'])).stdout)).toEqual(document);

  const lines = (await proctor(at, ['show', 'last', '--executions', '--json'])).stdout.trim().split('\n');
  const executions = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(executions.map((execution) => execution['case_id'])).toEqual(['france', 'japan', 'kenya', 'peru']);
  for (const execution of executions) expect(valid('execution_document', execution)).toBeNull();

  const verify = await proctor(at, ['verify', 'last', '--expect', String(document['evidence_root'])]);
  expect(verify).toMatchObject({ code: 0 });
  expect(verify.stdout).toContain('VERIFIED');
  for (const [argv, said] of [
    [['verify', 'last', '--expect', 'abc'], 'must be a root of 64 hexadecimal digits'],
    [['webhooks', 'replay', 'nobody'], '`webhooks replay` takes no `nobody`'],
    [['show', 'last', '--case', 'nobody'], '--executions` lists them'],
  ] as const)
    expect(await proctor(at, argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(said) });
  const wrong = await proctor(at, ['verify', 'last', '--expect', '0'.repeat(64), '--json']);
  expect(wrong.code).toBe(1);
  expect(JSON.parse(wrong.stdout)).toMatchObject({ ok: false, differences: 1 });
  expect((await proctor(at, ['doctor', '--verify', '--json'])).code).toBe(0);
});

test('the profile that init writes is valid by the schema beside it, and the schema refuses a misspelt member', async () => {
  await using folder = await temporaryFolder();
  await proctor(folder.path, ['init']);
  const profile = parse(await readFile(path.join(folder.path, 'profile.yaml'), 'utf8')) as Record<string, unknown>;
  const validate = new Ajv2020.default({ strict: false, allowUnionTypes: true }).compile(
    JSON.parse(await readFile(path.join(folder.path, 'profile.schema.json'), 'utf8')) as object,
  );
  expect(validate(profile)).toBe(true);
  expect(validate({ ...profile, repeat: 2 })).toBe(false);
  const group = { id: 'all', evaluators: [{ ref: 'exact_match@1', config: { ignore_cas: true } }] };
  expect(validate({ ...profile, case_groups: [group] })).toBe(false);
  expect(validate({ ...profile, agent: { kind: 'http', name: 'a', version: '1' } })).toBe(false);
});

test('a failing gate exits 1 and the report names the case with its reason; --failed-of runs only what failed', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await proctor(at, ['init']);
  const cases = await readFile(path.join(at, 'cases.yaml'), 'utf8');
  await writeFile(path.join(at, 'cases.yaml'), cases.replace('expected: Lima', 'expected: Cusco'));
  const run = await proctor(at, ['run', 'profile.yaml']);
  expect(run.code).toBe(1);
  expect(run.stdout).toContain(' FAIL ');
  expect(run.stdout).toMatch(/✗ peru .*exact_match@1: expected "cusco" but the text is "lima"/);
  const again = await proctor(at, ['run', 'profile.yaml', '--failed-of', 'last', '--json']);
  expect(again.code).toBe(1);
  expect(JSON.parse(again.stdout)).toMatchObject({ dataset: { cases: 1 }, passed: 0 });
  expect(await proctor(at, ['show', 'last', '--gate'])).toMatchObject({ code: 1 });
});

test('a run key creates once, attaches afterwards, and refuses another snapshot', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await proctor(at, ['init']);
  const first = JSON.parse((await proctor(at, ['run', 'profile.yaml', '--run-key', 'ci-7', '--json'])).stdout) as {
    run_id: string;
  };
  const second = JSON.parse((await proctor(at, ['run', 'profile.yaml', '--run-key', 'ci-7', '--json'])).stdout) as {
    run_id: string;
  };
  expect(second).toEqual(first);
  const other = await proctor(at, ['run', 'profile.yaml', '--run-key', 'ci-7', '--case', 'peru', '--json']);
  expect(other.code).toBe(2);
  expect(JSON.parse(other.stdout)).toMatchObject({ code: 'run_key_conflict', status: 409 });
  expect((await proctor(at, ['runs', '--json'])).stdout.trim().split('\n')).toHaveLength(1);
});

test('code that changed since the run was frozen is not run', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await proctor(at, ['init']);
  const { run_id } = JSON.parse((await proctor(at, ['run', 'profile.yaml', '--detach', '--json'])).stdout) as {
    run_id: string;
  };
  await writeFile(path.join(at, 'agent.mjs'), 'console.log("Paris")\n');
  const resumed = await proctor(at, ['resume', run_id, '--json']);
  expect(resumed.code).toBe(2);
  expect(JSON.parse(resumed.stdout)).toMatchObject({ code: 'code_mismatch' });
});

test('watch --events prints the chain of a run once, in order', async () => {
  await using folder = await temporaryFolder();
  await proctor(folder.path, ['init']);
  await proctor(folder.path, ['run', 'profile.yaml']);
  const { stdout } = await proctor(folder.path, ['watch', 'last', '--events', '--json']);
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { seq: number; type: string });
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(0)?.type).toBe('run_created');
  expect(events.at(-1)?.type).toBe('run_completed');
});

test('a folder that cannot be made is a plain error, whatever is wrong with its name', async () => {
  await using folder = await temporaryFolder();
  await writeFile(path.join(folder.path, 'file'), '');
  for (const [name, code] of [
    ['file', 'EEXIST'],
    ['file/below', 'ENOTDIR'],
    ['a'.repeat(3_000), 'ENAMETOOLONG'],
  ] as const) {
    const found = await proctor(folder.path, ['init', name]);
    expect({ code: found.code, stdout: found.stdout }).toEqual({ code: 2, stdout: '' });
    expect(found.stderr).toContain(`cannot be read or written (${code}); check its name`);
    expect(found.stderr).not.toContain('    at ');
  }
});
