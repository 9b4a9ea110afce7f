import { expect, test } from 'vitest';
import { verifyRun } from '../../src/engine/verify/verify-run.ts';
import { createExamRun, openApp, startAgent, storeIn, temporaryFolder, writeExam } from '../support/chaos-exam.ts';
import { endOf, proctor, startProctor } from '../support/chaos-process.ts';
import { eventually } from '../support/waiting.ts';

const EXECUTIONS = 300;
const CONCURRENCY = 6;

test('a run cancelled from another process ends `cancelled` with gate unknown, exit 3, and nothing held or queued', async () => {
  await using folder = await temporaryFolder('cancel');
  await using agent = await startAgent({ gate: true });
  await writeExam(folder.path, { executions: EXECUTIONS, concurrency: CONCURRENCY, port: agent.port });
  await using app = await openApp(folder.path, folder.path);
  const runId = await createExamRun(app, folder.path);
  const at = { cwd: folder.path, environment: storeIn(folder.path) };
  await using first = startProctor(['worker', '--run', runId, '--json'], at);
  await eventually('the first worker holds leases', async () =>
    (await app.store.holders(runId)).length === 1 ? true : null,
  );
  await using main = startProctor(['resume', runId, '--json', '--quiet'], at);
  await eventually('both work', async () => ((await app.store.liveSessions(0)).length === 2 ? true : null));
  await agent.release(); // what comes next is shared between the two
  await eventually('both hold leases', async () => ((await app.store.holders(runId)).length === 2 ? true : null));
  await eventually('the agent holds what they hold', async () =>
    (await agent.state()).held === CONCURRENCY ? true : null,
  );

  const cancel = await proctor(['cancel', runId, '--reason', 'not needed any more', '--json'], at);

  expect(cancel).toMatchObject({ code: 0, stderr: '' });
  expect(await endOf(main)).toEqual({ code: 3, signal: null });
  expect(await endOf(first)).toEqual({ code: 0, signal: null });
  expect(JSON.parse(main.stdout())).toMatchObject({
    status: 'cancelled',
    gate_status: 'unknown',
    reason: 'not needed any more',
    content_digest: null,
    evidence_root: null,
    pass_rate: null,
    executions: {
      total: EXECUTIONS,
      completed: CONCURRENCY,
      cancelled: EXECUTIONS - CONCURRENCY,
      failed: 0,
      timed_out: 0,
      pending: 0,
      running: 0,
      retry_scheduled: 0,
      waiting: 0,
    },
  });
  const attempts = await app.store.attempts(
    runId,
    Array.from({ length: EXECUTIONS }, (_, ordinal) => ordinal),
  );
  expect(counted(attempts.map(({ status, reason }) => `${status}/${reason}`))).toEqual({
    'completed/null': CONCURRENCY,
    'cancelled/run_cancelled': CONCURRENCY,
  });
  expect(await app.store.rowCounts(runId)).toMatchObject({ queue: 0, result: EXECUTIONS, outbox: 1 });
  expect(await app.store.invariants()).toEqual([]);
  const run = await app.store.run(runId);
  expect(run === null ? null : (await verifyRun(app, run, null)).found).toEqual([]);

  const again = await proctor(['cancel', runId, '--json'], at);
  expect({ code: again.code, problem: JSON.parse(again.stdout) as unknown }).toMatchObject({
    code: 2,
    problem: { code: 'illegal_transition' },
  });
  const gate = await proctor(['show', runId, '--gate', '--json'], at);
  expect(gate.code).toBe(3);
});

test('a run whose holders are dead is cancelled by the next worker that comes along', async () => {
  await using folder = await temporaryFolder('cancel');
  await using agent = await startAgent({ gate: true });
  await writeExam(folder.path, { executions: 40, concurrency: CONCURRENCY, port: agent.port });
  await using app = await openApp(folder.path, folder.path);
  const runId = await createExamRun(app, folder.path);
  const at = { cwd: folder.path, environment: storeIn(folder.path) };
  await using dead = startProctor(['worker', '--run', runId], at);
  await eventually('the worker holds leases', async () => ((await agent.state()).held === CONCURRENCY ? true : null));
  dead.kill('SIGKILL');
  await endOf(dead);

  const cancel = await proctor(['cancel', runId], at);
  expect(cancel).toMatchObject({ code: 0, stdout: `cancelling ${runId}: workers are letting go of what they hold\n` });
  const resumed = await proctor(['resume', runId, '--json', '--quiet'], at);

  expect(resumed.code).toBe(3);
  expect(JSON.parse(resumed.stdout)).toMatchObject({
    status: 'cancelled',
    gate_status: 'unknown',
    executions: { cancelled: 40, running: 0, retry_scheduled: 0 },
    stale_attempts: CONCURRENCY,
  });
  expect(await app.store.invariants()).toEqual([]);
  expect((await agent.state()).calls).toBe(CONCURRENCY);
});

test('a run that has completed cannot be cancelled any more', async () => {
  await using folder = await temporaryFolder('cancel');
  await using agent = await startAgent({ from_ms: 1, to_ms: 5 });
  await writeExam(folder.path, { executions: 4, concurrency: 4, port: agent.port });
  const at = { cwd: folder.path, environment: storeIn(folder.path) };
  const run = await proctor(['run', 'profile.json', '--json', '--quiet'], at);
  const before = JSON.parse(run.stdout) as { run_id: string; status: string };
  expect(before.status).toBe('completed');

  const cancel = await proctor(['cancel', before.run_id, '--json'], at);
  const after = await proctor(['show', before.run_id, '--json'], at);

  expect({ code: cancel.code, problem: JSON.parse(cancel.stdout) as unknown }).toMatchObject({
    code: 2,
    problem: { code: 'illegal_transition' },
  });
  expect(JSON.parse(after.stdout)).toEqual(before);
});

function counted(names: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
}
