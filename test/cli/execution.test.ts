import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { parse as parseCsv } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { columnsOf, wrapped } from '../../src/cli/format.ts';
import { type ExecutionDocument, executionDocumentSchema } from '../../src/contract/documents.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';
import { proctorHere } from '../support/in-process.ts';

// What hides, moves, colours or runs; behind it a mark that has to be seen.
const HOSTILE = '<b onclick="x">&\u001b[31m\u202e\u200b\u0007';
const mark = (name: string) => `${HOSTILE}seen-${name}`;

/** Where something can stand, by case: an answer with everything, and what comes in place of an answer. */
const MARKED: Readonly<Record<string, readonly string[]>> = {
  answer: ['input', 'expected', 'context', 'text', 'structured', 'argument', 'result', 'trace', 'reason', 'evidence'],
  'status 500': ['body-500'],
  'status 400': ['body-400'],
  'not json': ['body-200'],
  traceback: ['stderr', 'stdout'],
  'second try': ['first-body', 'second-text'],
};

const GRADER = `export const grade = ({ envelope }) => ({ status: 'failed', severity: 'high', reason: ${JSON.stringify(mark('reason'))}, evidence: { found: ${JSON.stringify(mark('evidence'))} } });\n`;
const ANSWER = {
  text: mark('text'),
  structured: { label: mark('structured') },
  tool_calls: [{ name: 'look', arguments: { at: mark('argument') }, result: mark('result') }],
  trace: [{ step: mark('trace') }],
  usage: { input_tokens: 1234, output_tokens: 567, cost_micro_usd: 89 },
};
const CRASH = `import sys\nsys.stdin.read()\nprint(${JSON.stringify(mark('stdout'))})\nsys.stderr.write('Traceback (most recent call last):\\n  File "x.py", line 1\\n' + ${JSON.stringify(mark('stderr'))})\nsys.exit(3)\n`;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let server: Server;
const runs = new Map<string, string>();

beforeAll(async () => {
  folder = await temporaryFolder();
  let asked = 0;
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { case_id } = (JSON.parse(Buffer.concat(chunks).toString()) as { case: { case_id: string } }).case;
      const send = (status: number, body: string, type = 'application/json') =>
        response.writeHead(status, { 'content-type': type }).end(body);
      if (case_id === 'status 500') send(500, mark('body-500'), 'text/plain');
      else if (case_id === 'status 400') send(400, JSON.stringify({ message: mark('body-400') }));
      else if (case_id === 'not json') send(200, `{${mark('body-200')}`);
      else if (case_id === 'second try' && asked++ === 0) send(500, mark('first-body'), 'text/plain');
      else if (case_id === 'second try') send(200, JSON.stringify({ text: mark('second-text') }));
      else send(200, JSON.stringify(ANSWER));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await writeFile(path.join(folder.path, 'grade.mjs'), GRADER);
  await writeFile(path.join(folder.path, 'crash.py'), CRASH);
  const retried = { retry: { agent_errors: true }, defaults: { max_attempts: 2 } };
  await examined(['answer', 'status 500', 'status 400', 'not json'], { kind: 'http', endpoint: { url } });
  await examined(['second try'], { kind: 'http', endpoint: { url } }, retried);
  await examined(['traceback'], { kind: 'command', command: ['python3', 'crash.py'] });
  return async () => {
    server.close();
    await folder[Symbol.asyncDispose]();
  };
});
afterAll(() => server.closeAllConnections());

async function examined(ids: readonly string[], agent: object, more: object = {}): Promise<void> {
  const cases = ids.map((id) => ({
    id,
    task_type: 'q',
    input: mark('input'),
    expected: { text: mark('expected') },
    context: [mark('context')],
  }));
  await writeFile(path.join(folder.path, 'cases.jsonl'), cases.map((item) => JSON.stringify(item)).join('\n'));
  const profile = {
    profile_id: 'marked',
    agent: { name: 'marked', version: '1', ...agent },
    dataset: { path: 'cases.jsonl' },
    retry: { backoff: { base_ms: 1, cap_ms: 1 } },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'module:grade.mjs#grade', blocking: true }] }],
    ...more,
  };
  await writeFile(path.join(folder.path, 'profile.json'), JSON.stringify(profile));
  const done = await proctor(folder.path, ['run', 'profile.json', '--json', '--quiet']);
  expect([0, 1], done.stdout).toContain(done.code);
  for (const id of ids) runs.set(id, (JSON.parse(done.stdout) as { run_id: string }).run_id);
}

async function here(...argv: string[]): Promise<string> {
  const done = await proctorHere(folder.path, argv);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  return done.stdout;
}

async function documentOf(id: string): Promise<ExecutionDocument> {
  const document = JSON.parse(await here('show', runs.get(id) ?? '', '--case', id, '--json')) as ExecutionDocument;
  expect(executionDocumentSchema.parse(document)).toEqual(document);
  return document;
}

test.each(Object.keys(MARKED))(
  '%s: everything that was stored is shown, everywhere, and nothing of it acts',
  async (id) => {
    const run = runs.get(id) ?? '';
    const wanted = MARKED[id] ?? [];
    const text = await here('show', run, '--case', id, '--full');
    const reports: Record<string, string> = { show: text, json: await here('show', run, '--case', id, '--json') };
    for (const format of ['html', 'csv', 'jsonl', 'junit'])
      reports[format] = await here('export', run, '--format', format);
    for (const [name, report] of Object.entries(reports)) {
      const joined = name === 'show' ? report.replaceAll(/\n */g, '') : report; // the lines are wrapped
      for (const place of wanted) expect(joined, name).toContain(`seen-${place}`);
    }
    for (const line of text.split('\n')) expect(columnsOf(line), line).toBeLessThanOrEqual(80);
    for (const hidden of ['\u001b', '\u202e', '\u200b', '\u0007']) {
      expect(text).not.toContain(hidden);
      for (const name of ['html', 'junit']) expect(reports[name]).not.toContain(hidden);
    }
    for (const name of ['html', 'junit']) expect(reports[name]).not.toContain('<b onclick');
  },
);

test('the document has every part in its place', async () => {
  expect(await documentOf('answer')).toMatchObject({
    case: {
      task_type: 'q',
      case_group: 'all',
      input: mark('input'),
      expected: { text: mark('expected') },
      context: [mark('context')],
    },
    output: { text: ANSWER.text, structured: ANSWER.structured },
    tool_calls: [{ name: 'look', source: 'reported' }],
    tool_runs: [],
    trace: ANSWER.trace,
    usage: { input_tokens: 1234, output_tokens: 567, total_tokens: 1801, cost_micro_usd: 89 },
    turns: null,
    evaluator_results: [{ status: 'failed', severity: 'high', evidence: { found: mark('evidence') } }],
    failure: null,
    attempts: [{ attempt: 1, status: 'completed', decides: true, fault: null, failure: null }],
    not_kept: [],
    redacted: [],
  });
  const second = await documentOf('second try');
  expect(second.attempts).toMatchObject([
    {
      attempt: 1,
      status: 'failed_agent_call',
      decides: false,
      fault: 'agent',
      reason: 'http_status',
      failure: { evidence: { status: 500, body: mark('first-body') } },
    },
    { attempt: 2, status: 'completed', decides: true },
  ]);
  const [{ worker, started_at, duration_ms } = { worker: null, started_at: '', duration_ms: null }] = second.attempts;
  expect(worker).toMatchObject({
    name: expect.stringMatching(/^run-\d+$/),
    host: expect.stringMatching(/./),
    pid: expect.any(Number),
  });
  expect(started_at).toMatch(/^\d{4}-.*Z$/);
  expect(duration_ms).toBeGreaterThanOrEqual(0);
  expect(await documentOf('traceback')).toMatchObject({
    output: null,
    failure: { code: 'exit_code', evidence: { exit_code: 3 } },
    attempts: [{ status: 'failed_agent_call', decides: true }],
  });
});

test('long parts are cut with how to see them whole; --repeat chooses; what is not there is told', async () => {
  const run = runs.get('answer') ?? '';
  const long = JSON.stringify({ ...ANSWER, text: Array.from({ length: 100 }, (_, line) => `line ${line}`).join('\n') });
  await writeFile(path.join(folder.path, 'long.mjs'), `export const answer = () => (${long});\n`);
  await examined(['long'], { kind: 'module', module: { path: 'long.mjs', export: 'answer' } }, { repeats: 2 });
  const shown = await here('show', 'last', '--case', 'long', '--repeat', '2');
  expect(shown).toContain('… 81 more lines: --full shows all');
  expect(shown).not.toContain('line 50');
  expect(shown).not.toContain('long #1');
  expect(await here('show', 'last', '--case', 'long', '--repeat', '2', '--full')).toContain('line 99');
  expect((await here('show', 'last', '--case', 'long', '--json')).trim().split('\n')).toHaveLength(2);
  const missing = await proctorHere(folder.path, ['show', 'last', '--case', 'long', '--repeat', '3']);
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('no case `long` with repeat 3') });
  expect(await proctorHere(folder.path, ['show', run, '--full'])).toMatchObject({ code: 2 });
});

test('csv holds what a spreadsheet can: a text that is too long for a cell says so', async () => {
  await writeFile(path.join(folder.path, 'large.mjs'), "export const answer = () => ({ text: 'x'.repeat(50_000) });\n");
  await examined(['large'], { kind: 'module', module: { path: 'large.mjs', export: 'answer' } });
  const [row] = parseCsv(await here('export', 'last', '--format', 'csv'), { columns: true }) as Record<
    string,
    string
  >[];
  expect(row?.['output']).toMatch(/^x{32000} … \(50000 characters; the jsonl export has them\)$/);
  expect(row).toMatchObject({ attempts: '1', severity: 'high', input: mark('input') });
  const page = await here('export', 'last', '--format', 'html');
  expect(page.length).toBeLessThan(40_000);
});

test('lines are wrapped by what they take on a terminal, and nothing is lost', () => {
  const texts = [
    '',
    'short',
    'a '.repeat(200),
    'x'.repeat(500),
    `    ${'indented words '.repeat(30)}`,
    '漢字'.repeat(90),
    '👩‍👩‍👧 '.repeat(60),
    'a\n\nb',
    ' '.repeat(300),
  ];
  for (const text of texts)
    for (const width of [20, 40, 76]) {
      const lines = wrapped(text, width);
      for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(width);
      expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(/[\n ]/g, ''));
    }
});
