import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parse as parseCsv } from 'csv-parse/sync';
import { beforeAll, expect, test } from 'vitest';
import { proctor, run, temporaryFolder } from '../support/cli.ts';
import { examine, writeExamination } from '../support/examined.ts';

const HOSTILE = '<script>alert(1)</script> & "quoted" \u0007\u202e =1+1';
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let runId = '';

beforeAll(async () => {
  folder = await temporaryFolder();
  await writeExamination(folder.path, {
    cases: 30,
    repeats: 2,
    profile: { gate: { all: [{ metric: 'pass_rate', bound: 'lower', min: 0.9 }] } },
  });
  await writeFile(
    path.join(folder.path, 'agent.mjs'),
    `export const answer = ({ case: item }) => ({ text: item.case_id === 'c0007' ? ${JSON.stringify(HOSTILE)} : item.case_id === 'c0009' ? '=HYPERLINK("x")' : 'yes' });\n`,
  );
  const done = await proctor(folder.path, ['run', 'profile.json', '--json', '--quiet']);
  runId = (JSON.parse(done.stdout) as { run_id: string }).run_id;
  return async () => await folder[Symbol.asyncDispose]();
});

async function exported(format: string): Promise<string> {
  const out = path.join(folder.path, `out.${format}`);
  const done = await proctor(folder.path, ['export', runId, '--format', format, '--out', out]);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  const text = await readFile(out, 'utf8');
  expect((await proctor(folder.path, ['export', runId, '--format', format])).stdout).toBe(text);
  return text;
}

test('junit is XML that a strict parser reads, with the counts of the run and the gate as a test', async () => {
  const text = await exported('junit');
  const parsed = await run(
    'python3',
    [
      '-c',
      `import sys, xml.etree.ElementTree as tree, json
root = tree.parse(sys.argv[1]).getroot()
suites = [dict(suite.attrib, cases=len(suite.findall('testcase')), failed=len(suite.findall('testcase/failure'))) for suite in root]
print(json.dumps([dict(root.attrib), suites, [case.attrib['name'] for case in root[1] if case.find('failure') is not None]]))`,
      path.join(folder.path, 'out.junit'),
    ],
    folder.path,
  );
  const [root, [gate, cases], failing] = JSON.parse(parsed.stdout);
  expect(root).toMatchObject({ tests: '61', failures: '5', errors: '0' });
  expect(gate).toMatchObject({ name: 'gate', tests: '1', failures: '1', failed: 1 });
  expect(cases).toMatchObject({ name: 'known', tests: '60', failures: '4', cases: 60, failed: 4 });
  expect(failing).toEqual(['c0007 #1', 'c0007 #2', 'c0009 #1', 'c0009 #2']);
  expect(text).not.toContain('<script>');
});

test('csv has a row an execution and nothing that a spreadsheet would execute', async () => {
  const rows = parseCsv(await exported('csv'), { columns: true }) as Record<string, string>[];
  expect(rows).toHaveLength(60);
  expect(Object.keys(rows[0] ?? {})).toEqual([
    'case_id',
    'repeat',
    'status',
    'fault',
    'passed',
    'score',
    'dimension.correctness',
    ...[
      'attempts',
      'latency_ms',
      'severity',
      'reason',
      'input',
      'context',
      'expected',
      'output',
      'structured',
      'tool_calls',
      'tool_runs',
    ],
    ...['turns', 'trace', 'input_tokens', 'output_tokens', 'total_tokens', 'cost_micro_usd'],
    ...['findings', 'attempt_details', 'failure', 'corrected', 'not_kept', 'redacted', 'revision'],
  ]);
  expect(rows.find((row) => row['case_id'] === 'c0009')).toMatchObject({
    passed: 'false',
    output: '\'=HYPERLINK("x")',
  });
});

test('jsonl is what show prints', async () => {
  expect(await exported('jsonl')).toBe((await proctor(folder.path, ['show', runId, '--executions', '--json'])).stdout);
});

test('annotations are one line each, the gate first, whatever a case says', async () => {
  const lines = (await exported('annotations')).trimEnd().split('\n');
  expect(lines).toHaveLength(5);
  expect(lines[0]).toMatch(/^::error title=FAIL known%3A known 1::the lower 95%25 bound of pass_rate is /);
  for (const line of lines.slice(1)) expect(line).toMatch(/^::warning title=not passed%3A c000[79]/);
});

test('html is one page that loads nothing and executes nothing of what an agent said', async () => {
  const page = await exported('html');
  expect(page).not.toContain('<script>alert(1)');
  expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot;');
  for (const hidden of ['\u0007', '\u202e']) expect(page).not.toContain(hidden);
  expect(page).not.toMatch(/(?:src|href)=/);
  expect(page).toContain("default-src 'none'");
});

test('what cannot be exported is told: a format that is not there, a bundle without a place, a run that has not ended', async () => {
  const unknown = await proctor(folder.path, ['export', runId, '--format', 'pdf']);
  expect(unknown).toMatchObject({ code: 2 });
  expect(unknown.stderr).toContain('junit, jsonl, csv, html, annotations, bundle');
  expect((await proctor(folder.path, ['export', runId, '--format', 'bundle'])).stderr).toContain('--out');
  const nowhere = await proctor(folder.path, ['export', runId, '--format', 'csv', '--out', 'no/such/folder.csv']);
  expect(nowhere).toMatchObject({ code: 2 });
  expect(nowhere.stderr).toContain('ENOENT');
  await using other = await temporaryFolder();
  await writeExamination(other.path, { cases: 2 });
  await proctor(other.path, ['run', 'profile.json', '--detach']);
  expect((await proctor(other.path, ['export', 'last', '--format', 'csv'])).stderr).toContain('proctor resume');
});

test('a run of 10,000 executions: the page stays under 5 MB and says where it ends, the bundle verifies where nothing else is', async () => {
  await using large = await temporaryFolder();
  await examine(large.path, { cases: 10_000, wrong: Array.from({ length: 2_000 }, (_, index) => 5 * index + 1) });
  const page = (await proctor(large.path, ['export', 'last', '--format', 'html'])).stdout;
  expect(Buffer.byteLength(page)).toBeLessThan(5e6);
  const cut = /the first ([\d,]+) are here, up to <code>(c\d+)<\/code>.*shows the other ([\d,]+), and/.exec(page);
  const [, shown = '', last = '', left = ''] = cut ?? [];
  expect(Number(shown.replace(',', '')) + Number(left.replace(',', ''))).toBe(9_600);
  expect(page.match(/<span class="name">/g)).toHaveLength(Number(shown.replace(',', '')));
  expect(page).toContain(`is ${Number(last.slice(1))} a number?`);
  expect(page).not.toContain(`is ${Number(last.slice(1)) + 2} a number?`);
  expect(page).toContain('c10000');
  await using elsewhere = await temporaryFolder();
  const bundle = path.join(elsewhere.path, 'run.proctor');
  expect((await proctor(large.path, ['export', 'last', '--format', 'bundle', '--out', bundle])).code).toBe(0);
  const verified = await proctor(elsewhere.path, ['verify', 'run.proctor', '--json']);
  expect(JSON.parse(verified.stdout)).toMatchObject({ ok: true, checked: { executions: 10_000 }, not_recomputable: 0 });
});
