import { writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { ExecutionDocument } from '../../src/contract/documents.ts';
import { systemClock } from '../../src/lib/clock.ts';
import {
  badAgent,
  type Conduct,
  drip,
  flood,
  half,
  json,
  MAX_BODY_BYTES,
  redirect,
} from '../support/chaos-bad-agent.ts';
import { storeIn, type TemporaryFolder, temporaryFolder } from '../support/chaos-exam.ts';
import { type Ended, proctor } from '../support/chaos-process.ts';
import { leftBehind } from '../support/chaos-soak.ts';

const TIMEOUT_MS = 800;

/** What the agent does to a case, by its id, and what becomes of the execution. */
const AGENT_FAULTS: Record<string, Conduct> = {
  garbage: {
    does: (response) => void json(response, 200, '{"text": "half an ans'),
    ends: ['failed', 'agent', 'invalid_body'],
  },
  'not an envelope': {
    does: (response) => void json(response, 200, '{"text": 7}'),
    ends: ['failed', 'agent', 'invalid_body'],
  },
  'an empty body': { does: (response) => void json(response, 200, ''), ends: ['failed', 'agent', 'invalid_body'] },
  'broken http': {
    does: (response) => void response.socket?.end('HTTP/1.1 two hundred\r\n\r\n'),
    ends: ['failed', 'agent', 'invalid_response'],
  },
  'a hang': { does: () => undefined, ends: ['timed_out', 'agent', 'timeout'] },
  'a drip': { does: drip, ends: ['timed_out', 'agent', 'timeout'] },
  'a redirect without end': {
    does: (response) => void response.writeHead(307, { location: '/again' }).end(),
    ends: ['failed', 'agent', 'redirect_refused'],
  },
  'a redirect to a private address': {
    does: redirect('http://10.11.12.13/'),
    ends: ['failed', 'agent', 'redirect_refused'],
  },
  'a redirect to the metadata service': {
    does: redirect('http://169.254.169.254/latest/meta-data/'),
    ends: ['failed', 'agent', 'redirect_refused'],
  },
  'a redirect to a file': { does: redirect('file:///etc/passwd'), ends: ['failed', 'agent', 'redirect_refused'] },
  'status 500': {
    does: (response) => void json(response, 500, '{"error": "oops"}'),
    ends: ['failed', 'agent', 'http_status'],
  },
  'status 422': { does: (response) => void json(response, 422, '{}'), ends: ['failed', 'agent', 'http_status'] },
  'a body too large': {
    does: (response) => void json(response, 200, `{"text": "${'x'.repeat(MAX_BODY_BYTES)}"}`),
    ends: ['failed', 'agent', 'oversize_body'],
  },
  'a body without end': { does: flood, ends: ['failed', 'agent', 'oversize_body'] },
};

const INFRASTRUCTURE_FAULTS: Record<string, Conduct> = {
  'a closed socket': {
    does: (response) => void response.socket?.destroy(),
    ends: ['failed', 'infrastructure', 'connection_reset'],
  },
  'half a response': { does: half, ends: ['failed', 'infrastructure', 'connection_reset'] },
  'status 502': { does: (response) => void json(response, 502, ''), ends: ['failed', 'infrastructure', 'http_status'] },
  'status 503': { does: (response) => void json(response, 503, ''), ends: ['failed', 'infrastructure', 'http_status'] },
};

const RETRIES = 2;

test('every agent fault is recorded after one attempt, the run completes, and the gate fails with exit 1', async () => {
  await using folder = await temporaryFolder('bad-agent');
  await using server = await badAgent(AGENT_FAULTS);
  await writeExam(folder, Object.keys(AGENT_FAULTS), server.agent);

  const { run, executions } = await examine(folder);

  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 1, stderr: '' });
  expect(executions.map(outcome)).toEqual(expected(AGENT_FAULTS, 1));
  expect(JSON.parse(run.stdout)).toMatchObject({
    status: 'completed',
    gate_status: 'fail',
    pass_rate: 0,
    faults: { agent: executions.length, infrastructure: 0, grader: 0 },
  });
  expect(server.calls()).toEqual(
    Object.fromEntries(Object.keys(AGENT_FAULTS).map((id) => [id, id === 'a redirect without end' ? 3 : 1])),
  );
});

test('infrastructure faults use up their retries, and too many of them make the gate inconclusive with exit 5', async () => {
  await using folder = await temporaryFolder('bad-agent');
  const answer: Conduct = {
    does: (response) => void json(response, 200, '{"text": "right"}'),
    ends: ['completed', null, null],
  };
  await using server = await badAgent({ 'an answer': answer, ...INFRASTRUCTURE_FAULTS });
  await writeExam(folder, ['an answer', ...Object.keys(INFRASTRUCTURE_FAULTS)], server.agent);

  const { run, executions } = await examine(folder);

  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 5, stderr: '' });
  const faults = executions.filter(({ case_id }) => case_id !== 'an answer');
  expect(faults.map(outcome)).toEqual(expected(INFRASTRUCTURE_FAULTS, 1 + RETRIES));
  expect(JSON.parse(run.stdout)).toMatchObject({
    status: 'completed',
    gate_status: 'inconclusive',
    graded: 1,
    faults: { agent: 0, infrastructure: faults.length },
  });
  const calls = Object.keys(INFRASTRUCTURE_FAULTS).map((id) => [id, 1 + RETRIES]);
  expect(server.calls()).toEqual(Object.fromEntries([['an answer', 1], ...calls]));
});

test('nobody listening stops the run, and nothing of it has ended', async () => {
  await using folder = await temporaryFolder('bad-agent');
  const server = await badAgent({});
  await writeExam(folder, ['nobody there'], server.agent);
  await server[Symbol.asyncDispose]();

  const { run, executions } = await examine(folder);

  expect({ code: run.code, stderr: run.stderr }).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('start the agent'),
  });
  expect(executions.map(({ case_id, status, fault }) => ({ case_id, status, fault }))).toEqual([
    { case_id: 'nobody there', status: 'retry_scheduled', fault: null },
  ]);
});

test('429 and 503 with `Retry-After` are asked again no sooner than they say, and the answer then counts', async () => {
  await using folder = await temporaryFolder('bad-agent');
  const calls: Record<string, number> = {};
  const later = (status: number, retryAfter: () => string) => (response: ServerResponse, id: string) => {
    calls[id] = (calls[id] ?? 0) + 1;
    if (calls[id] === 1) response.writeHead(status, { 'retry-after': retryAfter() }).end();
    else json(response, 200, '{"text": "right"}');
  };
  const inTwoSeconds = () => new Date(Math.ceil(systemClock.now() / 1000) * 1000 + 2_000).toUTCString();
  await using server = await badAgent({
    'in seconds': { does: later(429, () => '1'), ends: ['completed', null, null] },
    'as a date': { does: later(503, inTwoSeconds), ends: ['completed', null, null] },
  });
  await writeExam(folder, ['in seconds', 'as a date'], server.agent);

  const { run, executions } = await examine(folder);

  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: '' });
  expect(executions.map(outcome)).toEqual(
    ['as a date', 'in seconds'].map((case_id) => ({
      case_id,
      status: 'completed',
      fault: null,
      reason: null,
      attempts: 2,
      passed: true,
    })),
  );
  for (const [id, least] of [
    ['in seconds', 1_000],
    ['as a date', 2_000],
  ] as const) {
    const [first = Number.NaN, second] = server.instants(id);
    expect(second).toBeGreaterThanOrEqual(first + least);
  }
});

test('a command that loops for ever, one that ignores SIGTERM and one that floods its output are ended with all they started', async () => {
  await using folder = await temporaryFolder('bad-agent');
  await writeFile(folder.file('agent.mjs'), BAD_COMMAND);
  const cases = ['loops', 'ignores the end', 'has a child', 'floods', 'exits', 'dies'];
  await writeExam(folder, cases, {
    kind: 'command',
    command: [process.execPath, 'agent.mjs'],
    max_output_bytes: MAX_BODY_BYTES,
    env: { EXAM: folder.path },
  });

  const { run, executions } = await examine(folder);

  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 1, stderr: '' });
  const ends = (case_id: string, status: string, reason: string) => ({
    case_id,
    status,
    fault: 'agent',
    reason,
    attempts: 1,
    passed: false,
  });
  expect(executions.map(outcome)).toEqual([
    ends('dies', 'failed', 'killed_by_signal'),
    ends('exits', 'failed', 'exit_code'),
    ends('floods', 'failed', 'oversize_output'),
    ends('has a child', 'timed_out', 'timeout'),
    ends('ignores the end', 'timed_out', 'timeout'),
    ends('loops', 'timed_out', 'timeout'),
  ]);
  expect(await leftBehind(folder.path)).toEqual([]);
});

const BAD_COMMAND = `import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

const { case: item } = JSON.parse(await text(process.stdin));
switch (item.case_id) {
  case 'ignores the end':
    process.on('SIGTERM', () => undefined);
    setInterval(() => undefined, 1000);
    break;
  case 'has a child':
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'inherit' });
    break;
  case 'floods':
    for (;;) process.stdout.write('x'.repeat(1000));
  case 'exits':
    process.exit(3);
  case 'dies':
    process.kill(process.pid, 'SIGSEGV');
    break;
  default:
    for (;;);
}
`;

async function writeExam(
  folder: TemporaryFolder,
  ids: readonly string[],
  agent: Record<string, unknown>,
): Promise<void> {
  const profile = {
    profile_id: 'bad-agents',
    dataset: { path: 'cases.json' },
    agent: { ...agent, name: 'bad', version: '1' },
    defaults: { request_timeout_ms: TIMEOUT_MS * (agent['kind'] === 'command' ? 4 : 1) },
    limits: { concurrency: 3 },
    retry: { infrastructure: RETRIES, backoff: { base_ms: 10, cap_ms: 50 } },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'exact_match@1' }] }],
  };
  await writeFile(folder.file('profile.json'), JSON.stringify(profile));
  await writeFile(
    folder.file('cases.json'),
    JSON.stringify({ cases: ids.map((id) => ({ id, input: id, expected: 'right' })) }),
  );
}

/** Runs the exam to its end, verifies it, and reads its executions in the order of their ids. */
async function examine(folder: TemporaryFolder): Promise<{ run: Ended; executions: ExecutionDocument[] }> {
  const at = { cwd: folder.path, environment: storeIn(folder.path) };
  const run = await proctor(['run', 'profile.json', '--json', '--quiet'], at);
  const shown = await proctor(['show', 'last', '--executions', '--json'], at);
  const verified = await proctor(['verify', 'last', '--json'], at);
  expect(verified.code, verified.stdout).toBe(0);
  return {
    run,
    executions: shown.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ExecutionDocument),
  };
}

function outcome({ case_id, status, fault, reason, attempts, aggregate }: ExecutionDocument) {
  return { case_id, status, fault, reason, attempts: attempts.length, passed: aggregate?.passed ?? null };
}

function expected(conducts: Record<string, Conduct>, attempts: number) {
  return Object.entries(conducts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([
        case_id,
        {
          ends: [status, fault, reason],
        },
      ]) => ({ case_id, status, fault, reason, attempts, passed: fault === 'agent' ? false : null }),
    );
}
