import { chmod, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { RunDocument } from '../../src/contract/documents.ts';
import { findRun } from '../../src/engine/run.ts';
import { verifyRun } from '../../src/engine/verify/verify-run.ts';
import { createExamRun, openApp, storeIn, temporaryFolder } from '../support/chaos-exam.ts';
import { proctor } from '../support/cli.ts';
import {
  type Answer,
  CASES,
  FINE,
  http,
  says,
  startAgent,
  unless,
  work,
  writeScene,
} from '../support/failing-agent.ts';

test.each([
  { what: 'status 401', conduct: says(401), of: 'http_401' },
  { what: 'status 403', conduct: says(403), of: 'http_403' },
  { what: 'status 407', conduct: says(407), of: 'http_407' },
  { what: 'a route that does not exist', conduct: says(404), of: 'http_404' },
  {
    what: 'a model that does not exist',
    conduct: says(400, { error: { code: 'model_not_found' } }),
    of: 'model_not_found',
  },
  { what: 'resets', conduct: ((response) => void response.socket?.destroy()) as Answer, of: 'connection_reset' },
  { what: 'status 502', conduct: says(502), of: 'http_502' },
])(
  'a run whose first calls all come to $what stops; once that is mended every case gets its grade',
  async ({ conduct, of }) => {
    await using folder = await temporaryFolder('breaker');
    await using agent = await startAgent(conduct);
    await writeScene(folder.file, { agent: http(agent.port) });
    await using app = await openApp(folder.path, folder.path);
    for (const workers of of === 'http_401' ? [1, 3] : [1]) {
      agent.conduct = conduct;
      agent.calls = 0;
      const runId = await createExamRun(app, folder.path);
      const stopped = await work(app, runId, workers);
      expect(stopped).toMatchObject({
        status: 'running',
        paused: { side: 'agent', class: of },
        executions: { completed: 0, failed: 0 },
      });
      expect(stopped.reason).toContain('all failed the same way');
      expect(agent.calls).toBeLessThan(40);
      expect(
        (await app.store.events(runId, { after: null, limit: 1_000 })).filter(({ type }) => type === 'run_paused'),
      ).toHaveLength(1);
      // Nobody goes on by himself, and who asks while it is as bad stops again.
      expect((await work(app, runId)).attempts).toBe(stopped.attempts);
      expect(await app.store.rearm(runId)).toBe(true);
      expect((await work(app, runId)).paused).toMatchObject({ class: of });

      agent.conduct = FINE;
      expect([await app.store.rearm(runId), await app.store.rearm(runId)]).toEqual([true, false]);
      const done = await work(app, runId, workers);
      expect(done).toMatchObject({ status: 'completed', gate_status: 'pass', passed: CASES, paused: null });
      const run = await findRun(app.store, runId);
      expect((await verifyRun(app, run, null)).found).toEqual([]);
      expect(await app.store.invariants()).toEqual([]);
    }
  },
);

test.each([
  {
    what: 'the first call works and the others are refused',
    conduct: unless((call) => call === 1, says(401)),
    faults: { configuration: CASES - 1 },
  },
  {
    what: 'one of the first cases is refused for itself',
    conduct: unless((_, id) => id !== 'c1', says(403)),
    faults: { configuration: 1 },
  },
  { what: 'a route is missing for one case', conduct: unless((_, id) => id !== 'c2', says(404)), faults: { agent: 1 } },
  {
    what: 'calls fail now this way, now that',
    conduct: ((...at) => says([401, 403][at[1] % 2] ?? 401)(...at)) as Answer,
    faults: { configuration: CASES },
  },
  {
    what: 'the agent answers with an error of its own before it refuses',
    conduct: ((...at) => says(at[1] === 1 ? 500 : 401)(...at)) as Answer,
    faults: { agent: 1, configuration: CASES - 1 },
  },
  {
    what: 'a storm of 429s',
    conduct: unless((call) => call > 60, says(429, {}, { 'retry-after': '0' })),
    faults: { configuration: 0, agent: 0 },
  },
])('a run goes on to its end when $what', async ({ conduct, faults }) => {
  await using folder = await temporaryFolder('breaker');
  await using agent = await startAgent(conduct);
  await writeScene(folder.file, { agent: http(agent.port), profile: { limits: { concurrency: 2 } } });
  await using app = await openApp(folder.path, folder.path);
  const document = await work(app, await createExamRun(app, folder.path));
  expect(document).toMatchObject({ status: 'completed', paused: null, faults });
});

test('a run ends at its time limit though its plan is longer than what is queued, and nobody answers', async () => {
  await using folder = await temporaryFolder('time');
  await using agent = await startAgent(() => undefined);
  await writeScene(folder.file, {
    agent: http(agent.port),
    cases: 5_001,
    profile: { limits: { run: { time_ms: 200 } } },
  });
  await using app = await openApp(folder.path, folder.path);
  const document = await work(app, await createExamRun(app, folder.path));
  expect(document).toMatchObject({ status: 'cancelled', reason: 'limits.run.time_ms (200 ms) was reached' });
});

test('runs smaller than the breaker’s count stop too, and refusals that stopped a run cost nothing', async () => {
  await using folder = await temporaryFolder('breaker');
  await using agent = await startAgent(says(401));
  const profile = { limits: { concurrency: 4, unpriced: 'allow', run: { cost_usd: 1 }, execution: { cost_usd: 0.1 } } };
  await writeScene(folder.file, { agent: http(agent.port), cases: 1, profile });
  await using app = await openApp(folder.path, folder.path);
  const document = await work(app, await createExamRun(app, folder.path));
  expect(document).toMatchObject({ status: 'running', paused: { failures: 1 }, budgets: [{ spent: 0, untold: 0 }] });
});

test.each([
  { what: 'a command that a shell does not find', argv: ['/bin/sh', '-c', 'no-such-program-here'], of: 'exit_127' },
  { what: 'a program that lost its executable bit', argv: ['./agent.sh'], of: 'spawn_failed' },
])('$what stops a run', async ({ argv, of }) => {
  await using folder = await temporaryFolder('breaker');
  await writeScene(folder.file, { agent: { kind: 'command', command: argv } });
  await writeFile(folder.file('agent.sh'), '#!/bin/sh\necho yes\n');
  await chmod(folder.file('agent.sh'), 0o755);
  await using app = await openApp(folder.path, folder.path);
  const open = app.plugins.openAgent;
  const plugins = {
    ...app.plugins,
    openAgent: async (...args: Parameters<typeof open>) => {
      const agent = await open(...args);
      await chmod(folder.file('agent.sh'), 0o644); // after it was found, as an operator may
      return agent;
    },
  };
  const document = await work({ ...app, plugins }, await createExamRun(app, folder.path));
  expect(document).toMatchObject({ status: 'running', paused: { side: 'agent', class: of } });
});

test('a judge that refuses everybody stops the run, and its answers are kept for the judge that does not', async () => {
  await using folder = await temporaryFolder('breaker');
  await using agent = await startAgent(FINE);
  await using judge = await startAgent(says(401));
  await writeScene(folder.file, { agent: http(agent.port), evaluators: [{ ref: `http://127.0.0.1:${judge.port}/` }] });
  await using app = await openApp(folder.path, folder.path);
  const runId = await createExamRun(app, folder.path);
  const stopped = await work(app, runId);
  expect(stopped).toMatchObject({ status: 'running', paused: { side: 'evaluators' }, executions: { failed: 0 } });
  expect(judge.calls).toBeLessThan(20);
  const asked = agent.calls;
  judge.conduct = says(200, { status: 'passed' });
  expect(await app.store.rearm(runId)).toBe(true);
  expect(await work(app, runId)).toMatchObject({ status: 'completed', passed: CASES });
  expect(agent.calls - asked).toBe(CASES - asked);
});

test('the command line says what failed and what to do, exits 3, and `resume` goes on', async () => {
  await using folder = await temporaryFolder('breaker');
  await using agent = await startAgent(says(401));
  await writeScene(folder.file, { agent: http(agent.port) });
  const environment = storeIn(folder.path);
  const run = await proctor(folder.path, ['run', 'profile.json', '--quiet', '--json', '--workers', '1'], environment);
  expect(run.code).toBe(3);
  const { run_id, paused } = JSON.parse(run.stdout) as RunDocument;
  expect(paused?.cure).toContain('check the secret or token');
  expect(run.stderr).toContain('answered with status 401; check the secret or token');
  expect(run.stderr.split(`then: proctor resume ${run_id}`)).toHaveLength(2); // told once, whoever worked
  const [watched, events] = await Promise.all([
    proctor(folder.path, ['watch', run_id], environment),
    proctor(folder.path, ['watch', run_id, '--events', '--json'], environment),
  ]);
  expect(watched).toMatchObject({ code: 3, stderr: expect.stringContaining(`then: proctor resume ${run_id}`) });
  expect(events).toMatchObject({ code: 3, stdout: expect.stringContaining('run_paused') });
  for (const line of events.stdout.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('seq'); // events only
  const shown = await proctor(folder.path, ['show', run_id], environment);
  expect(shown.stdout).toContain('PAUSED');
  expect((await proctor(folder.path, ['runs'], environment)).stdout).toMatch(/paused +unknown/);
  const early = await proctor(folder.path, ['export', run_id, '--format', 'jsonl'], environment);
  expect(early.stderr).toMatch(/is paused \(no call has worked.*`proctor resume run_/s);
  agent.conduct = FINE;
  const resumed = await proctor(folder.path, ['resume', run_id, '--quiet'], environment);
  expect(resumed).toMatchObject({ code: 0, stderr: expect.stringContaining('trying again') });
});
