import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parse as parseCsv } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import type { ExecutionDocument } from '../../src/contract/documents.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';
import { examine } from '../support/examined.ts';
import { proctorHere } from '../support/in-process.ts';

const BUILT_IN = [
  { ref: 'exact_match@1', dimension: 'a', severity: 'high' },
  { ref: 'contains@1', dimension: 'b', severity: 'low' },
  { ref: 'regex@1', dimension: 'c', severity: 'medium', config: { pattern: '^yes$' } },
  { ref: 'similarity@1', dimension: 'd', severity: 'critical' },
  { ref: 'json_schema@1', dimension: 'e', severity: 'low', config: { schema: { const: 'yes' }, target: 'text' } },
  { ref: 'latency@1', dimension: 'f', severity: 'high', config: { max_ms: 60_000 } },
  { ref: 'exact_match@1', dimension: 'g' },
];

test('severity is what the profile says of a failure: set by built-in evaluators, shown in every report, filtered by, deciding nothing', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const groups = (evaluators: readonly object[]) => ({ case_groups: [{ id: 'all', evaluators }] });
  const run = await examine(at, { cases: 4, wrong: [2], profile: groups(BUILT_IN) });
  const here = async (...argv: string[]) => (await proctorHere(at, argv)).stdout;
  const lines = (text: string) =>
    text
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as ExecutionDocument);
  const [good, wrong] = lines(await here('show', run.run_id, '--executions', '--json'));
  expect(good?.evaluator_results.map(({ severity }) => severity)).toEqual(
    BUILT_IN.map((_, index) => (index === 4 ? 'low' : 'none')),
  );
  expect(wrong?.evaluator_results.map(({ status, severity }) => [status, severity])).toEqual([
    ['failed', 'high'],
    ['failed', 'low'],
    ['failed', 'medium'],
    ['failed', 'critical'],
    ['failed', 'low'],
    ['passed', 'none'],
    ['failed', 'none'],
  ]);
  expect(await here('show', run.run_id, '--case', 'c0002')).toContain('a, severity high');
  const rows = parseCsv(await here('export', run.run_id, '--format', 'csv'), { columns: true }) as Record<
    string,
    string
  >[];
  expect(rows.map((row) => row['severity'])).toEqual(['low', 'critical', 'low', 'low']);
  for (const format of ['html', 'junit', 'jsonl'])
    expect(await here('export', run.run_id, '--format', format)).toContain('critical');
  expect(
    lines(await here('show', run.run_id, '--executions', '--severity', 'medium', '--json')).map(
      ({ case_id }) => case_id,
    ),
  ).toEqual(['c0002']);
  expect(lines(await here('show', run.run_id, '--executions', '--severity', 'low', '--json'))).toHaveLength(4);
  expect(await proctorHere(at, ['show', run.run_id, '--executions', '--severity', 'terrible'])).toMatchObject({
    code: 2,
  });

  const plain = await examine(at, {
    cases: 4,
    wrong: [2],
    profile: groups(BUILT_IN.map(({ severity: _severity, ...rest }) => rest)),
  });
  expect([plain.gate_status, plain['passed'], plain['mean_score']]).toEqual([
    run.gate_status,
    run['passed'],
    run['mean_score'],
  ]);
  expect((await proctor(at, ['verify', run.run_id])).code).toBe(0);
});

test('what persistence left out is counted as not recomputable, with what it was', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  for (const [persistence, left_out] of [
    [{ persist_evaluator_evidence: false }, { output: 0, evaluator_evidence: 3, secrets: 0 }],
    [{ mode: 'summary' }, { output: 0, evaluator_evidence: 3, secrets: 0 }],
    [{ persist_raw_outputs: 'none' }, { output: 3, evaluator_evidence: 0, secrets: 0 }],
    [
      { persist_raw_outputs: 'failures_only', persist_evaluator_evidence: false },
      { output: 2, evaluator_evidence: 3, secrets: 0 },
    ],
    [{}, { output: 0, evaluator_evidence: 0, secrets: 0 }],
  ] as const) {
    const run = await examine(at, { cases: 3, wrong: [2], profile: { persistence } });
    const found = await proctorHere(at, ['verify', run.run_id, '--json']);
    const not_recomputable = Math.max(left_out.output, left_out.evaluator_evidence);
    expect(JSON.parse(found.stdout), JSON.stringify(persistence)).toMatchObject({
      ok: true,
      not_recomputable,
      left_out,
    });
    const text = (await proctorHere(at, ['verify', run.run_id])).stdout;
    expect(text.includes('without the evidence of evaluators')).toBe(left_out.evaluator_evidence > 0);
  }
});

test('the view of evaluator results has a row for results that stand in artifacts, and verify holds its columns against them', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await writeFile(
    path.join(at, 'grade.mjs'),
    "export const grade = () => ({ status: 'failed', severity: 'high', score: 0.25, reason: 'large', evidence: 'x'.repeat(40_000) });\n",
  );
  const run = await examine(at, {
    cases: 2,
    profile: {
      case_groups: [
        { id: 'all', evaluators: [{ ref: 'module:grade.mjs#grade', dimension: 'size' }, { ref: 'exact_match@1' }] },
      ],
    },
  });
  const db = new DatabaseSync(path.join(at, '.proctor/proctor.db'));
  const rows = db
    .prepare(
      'select ref, dimension, status, severity, score, reason, artifact is not null as large from evaluator_result order by ordinal, seq',
    )
    .all();
  const large = {
    ref: 'module:grade.mjs#grade',
    dimension: 'size',
    status: 'failed',
    severity: 'high',
    score: 0.25,
    reason: 'large',
    large: 1,
  };
  expect(rows.map((row) => ({ ...row }))).toMatchObject([
    large,
    { ref: 'exact_match@1', large: 0 },
    large,
    { large: 0 },
  ]);
  expect((await proctorHere(at, ['verify', run.run_id])).code).toBe(0);
  db.exec(
    "drop trigger evidence_no_update; update evidence set body = replace(body, 'failed', 'passed') where artifact is not null",
  );
  db.close();
  const forged = await proctor(at, ['verify', run.run_id, '--json']);
  expect(forged.code).toBe(1);
  expect(forged.stdout).toContain('status beside its artifact');
});
