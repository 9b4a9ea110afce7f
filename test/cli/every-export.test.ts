import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { json as parsed } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { proctorHere } from '../support/in-process.ts';

// Every format × every kind of case × every part of its document, with short parts and with parts that have to be cut.
const PADDING = { short: '', long: ` ${'padding '.repeat(6_000)}` };
const FORMATS = ['show', 'json', 'html', 'csv', 'jsonl', 'junit', 'annotations', 'bundle'];
const ASKED = ['input-part', 'context-part', 'expected-part', `run-${process.pid}`];
const ANSWERED = [...ASKED, 'text-part', 'structured-part', 'argument-part', 'result-part', 'trace-part', '4711'];
const KINDS: Readonly<Record<string, readonly string[]>> = {
  passed: ANSWERED,
  failed: ANSWERED,
  corrected: [...ANSWERED, 'correction-part'],
  'three-attempts': [...ASKED, 'body-part-1', 'body-part-2', 'body-part-3', '503'],
  'status-500': [...ASKED, 'body-part-1', '500'],
  session: [...ASKED, 'turn-input-1', 'turn-input-2', 'turn-part-1', 'turn-part-2', '4711'],
};

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let server: Server;
const reports = new Map<string, string>();

function answerOf(id: string, turn: number, call: number): { status: number; body: string } {
  const padding = id.endsWith('long') ? PADDING.long : '';
  if (id.startsWith('three-attempts')) return { status: 503, body: `body-part-${call}${padding}` };
  if (id.startsWith('status-500')) return { status: 500, body: `body-part-${call}${padding}` };
  const usage = { input_tokens: 4711 };
  const half = { input_tokens: turn === 1 ? 4700 : 11 };
  if (id.startsWith('session')) return json({ text: `turn-part-${turn}${padding}`, usage: half });
  return json({
    text: `text-part${id.startsWith('passed') || id.startsWith('corrected') ? ' right' : ''}${padding}`,
    structured: { label: `structured-part${padding}` },
    tool_calls: [{ name: 'look', arguments: { at: `argument-part${padding}` }, result: `result-part${padding}` }],
    trace: [{ step: `trace-part${padding}` }],
    usage,
  });
}

const json = (body: object) => ({ status: 200, body: JSON.stringify(body) });

beforeAll(async () => {
  folder = await temporaryFolder();
  const calls = new Map<string, number>();
  server = createServer(async (request, response) => {
    const { case: item, session } = (await parsed(request)) as {
      case: { case_id: string };
      session?: { turn: number };
    };
    const call = (calls.get(item.case_id) ?? 0) + 1;
    calls.set(item.case_id, call);
    const { status, body } = answerOf(item.case_id, session?.turn ?? 1, call);
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await writeFile(path.join(folder.path, 'cases.jsonl'), casesOf().join('\n'));
  const agent = { kind: 'http', name: 'a', version: '1', endpoint: { url: urlOf(server) } };
  const profile = {
    profile_id: 'parts',
    agent,
    dataset: { path: 'cases.jsonl' },
    retry: { infrastructure: 3, backoff: { base_ms: 1, cap_ms: 1 } },
    case_groups: [
      {
        id: 'talk',
        session: true,
        applies_to: { task_type: 'talk' },
        evaluators: [{ ref: 'contains@1', turns: 'last', config: { values: ['part-2'] } }],
      },
      {
        id: 'ask',
        applies_to: { task_type: 'ask' },
        evaluators: [{ ref: 'contains@1', config: { values: ['right'] } }],
      },
    ],
    gate: { all: [{ metric: 'pass_rate', min: 1 }] },
  };
  await writeFile(path.join(folder.path, 'profile.json'), JSON.stringify(profile));
  expect((await proctorHere(folder.path, ['run', 'profile.json', '--quiet'])).code).not.toBe(2);
  for (const size of Object.keys(PADDING)) {
    const correction = [`corrected-${size}`, '--status', 'failed', '--reason', 'correction-part'];
    expect((await proctorHere(folder.path, ['correct', 'last', ...correction])).code).toBe(0);
  }
  for (const format of FORMATS.slice(2)) reports.set(format, await exported(folder.path, format));
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await folder[Symbol.asyncDispose]();
});

const urlOf = (of: Server) => `http://127.0.0.1:${(of.address() as AddressInfo).port}/`;

function casesOf(): string[] {
  return Object.entries(PADDING).flatMap(([size, padding]) =>
    Object.keys(KINDS).map((kind) => {
      const talk = kind === 'session';
      const input = talk
        ? { turns: [`turn-input-1 input-part${padding}`, `turn-input-2${padding}`] }
        : `input-part${padding}`;
      const expected = `expected-part${padding}`;
      return JSON.stringify({
        id: `${kind}-${size}`,
        task_type: talk ? 'talk' : 'ask',
        input,
        context: [`context-part${padding}`],
        expected: talk ? { turns: [null, expected] } : expected,
      });
    }),
  );
}

async function exported(at: string, format: string): Promise<string> {
  const out = path.join(at, `out.${format}`);
  const done = await proctorHere(at, ['export', 'last', '--format', format, '--out', out]);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  return await readFile(out, 'utf8');
}

/** What a format says of one case alone. */
async function told(format: string, id: string): Promise<string> {
  if (format === 'show') return (await proctorHere(folder.path, ['show', 'last', '--case', id, '--full'])).stdout;
  if (format === 'json') return (await proctorHere(folder.path, ['show', 'last', '--case', id, '--json'])).stdout;
  const whole = reports.get(format) ?? '';
  const between: Readonly<Record<string, RegExp>> = {
    html: new RegExp(`class="(?:id|name)">${id}<.*?</details>`, 's'),
    csv: new RegExp(`^"${id}",.*?\r\n`, 'ms'),
    jsonl: new RegExp(`^.*"case_id":"${id}".*$`, 'm'),
    junit: new RegExp(`name="${id}".*?</testcase>`, 's'),
    annotations: new RegExp(`^::.*case(?:%3A)? *${id}::.*$|^::.*not passed%3A ${id}::.*$`, 'm'),
  };
  return between[format]?.exec(whole)?.[0] ?? '';
}

describe.each(Object.keys(PADDING))('%s parts', (size) => {
  test.each(Object.keys(KINDS))('%s: every format has every part', async (kind) => {
    const missing: string[] = [];
    for (const format of FORMATS) {
      if (format === 'annotations' && (kind === 'passed' || kind === 'session')) continue; // of what did not pass only
      const text = format === 'bundle' ? (reports.get('bundle') ?? '') : await told(format, `${kind}-${size}`);
      const wanted = (KINDS[kind] ?? []).filter((part) => format !== 'bundle' || !part.startsWith('run-')); // no workers in it
      const joined = format === 'show' ? text.replaceAll(/\n */g, '') : text;
      for (const part of wanted) if (!joined.includes(part)) missing.push(`${format}: ${part}`);
    }
    expect(missing).toEqual([]);
  });
});

test('what is cut says how long it is, and every format stays within bounds', () => {
  expect(reports.get('html')).toContain(`… (${PADDING.long.length + 'input-part'.length} characters)`);
  const sizes = Object.fromEntries([...reports].map(([format, text]) => [format, text.length / 12]));
  expect(sizes['html']).toBeLessThan(16_000);
  expect(sizes['junit']).toBeLessThan(20_000);
  expect(sizes['annotations']).toBeLessThan(4_200);
});
