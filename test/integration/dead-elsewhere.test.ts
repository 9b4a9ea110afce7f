import { expect, test } from 'vitest';
import { materializeWindow } from '../../src/engine/materialize.ts';
import { thisProcess } from '../../src/lib/host.ts';
import { createExamRun, openApp, startAgent, storeIn, temporaryFolder, writeExam } from '../support/chaos-exam.ts';
import { endOf, proctor, startProctor } from '../support/chaos-process.ts';
import { eventually } from '../support/waiting.ts';

const LEASE_MS = 8_000;
const HELD = 3;

test('leases of a session on another host are waited for, the wait is told with its reason, and then they are taken over', async () => {
  await using folder = await temporaryFolder('elsewhere');
  await using agent = await startAgent({ from_ms: 1, to_ms: 5 });
  await writeExam(folder.path, { executions: 12, concurrency: 6, port: agent.port });
  await using app = await openApp(folder.path, folder.path);
  const { store } = app;
  const runId = await createExamRun(app, folder.path);
  const run = await store.run(runId);
  if (run === null) throw new Error('the run was not created');
  await materializeWindow(store, app.artifacts, run);
  await store.openSession({
    session_id: 'wse_elsewhere',
    worker: 'far away',
    host: 'another-host',
    boot_id: 'its boot',
    pid: 4711,
    process_start: '99',
  });
  const claims = await store.claim({
    session_id: 'wse_elsewhere',
    run_ids: [runId],
    capacity: HELD,
    lease_ms: LEASE_MS,
    ahead: 0,
    max_losses: 5,
  });
  expect(claims.length).toBe(HELD);
  const [holder] = await store.holders(runId);

  const resumed = await proctor(['resume', runId, '--json'], { cwd: folder.path, environment: storeIn(folder.path) });

  expect(JSON.parse(resumed.stdout)).toMatchObject({
    status: 'completed',
    stale_attempts: HELD,
    executions: { completed: 12 },
  });
  expect(resumed.stderr).toMatch(
    /waiting: 3 held by worker far away on another-host \(pid 4711\), lease ends in [0-9.]+ (s|ms)/,
  );
  const attempts = await store.attempts(
    runId,
    claims.map((claim) => claim.ordinal),
  );
  expect(attempts.map(({ attempt, status, reason }) => ({ attempt, status, reason }))).toEqual(
    claims.flatMap(() => [
      { attempt: 1, status: 'stale', reason: 'lease_lost' },
      { attempt: 2, status: 'completed', reason: null },
    ]),
  );
  const until = holder?.lease_until ?? Number.POSITIVE_INFINITY;
  for (const attempt of attempts)
    if (attempt.status === 'stale') expect(attempt.ended_at).toBeGreaterThanOrEqual(until);
  expect(await store.invariants()).toEqual([]);
});

test('leases of a dead process on this host are taken over at once', async () => {
  await using folder = await temporaryFolder('elsewhere');
  await using agent = await startAgent({ from_ms: 1, to_ms: 5 });
  await writeExam(folder.path, { executions: 12, concurrency: 6, port: agent.port });
  await using app = await openApp(folder.path, folder.path);
  const { store } = app;
  const runId = await createExamRun(app, folder.path);
  const run = await store.run(runId);
  if (run === null) throw new Error('the run was not created');
  await materializeWindow(store, app.artifacts, run);
  // This very pid in an earlier life: the number is taken again, the start time tells them apart.
  await store.openSession({ ...thisProcess(), session_id: 'wse_before', worker: 'before', process_start: '1' });
  await store.claim({
    session_id: 'wse_before',
    run_ids: [runId],
    capacity: HELD,
    lease_ms: 600_000, // whoever waited for its end would not be back in time
    ahead: 0,
    max_losses: 5,
  });

  const resumed = await proctor(['resume', runId, '--json', '--quiet'], {
    cwd: folder.path,
    environment: storeIn(folder.path),
  });

  expect(JSON.parse(resumed.stdout)).toMatchObject({
    status: 'completed',
    stale_attempts: HELD,
    executions: { completed: 12 },
  });
});

test('who resumes after a process that died has the whole concurrency, not what is left beside the dead', async () => {
  await using folder = await temporaryFolder('elsewhere');
  await using agent = await startAgent({ gate: true });
  await writeExam(folder.path, { executions: 30, concurrency: 6, port: agent.port });
  await using app = await openApp(folder.path, folder.path);
  const runId = await createExamRun(app, folder.path);
  const at = { cwd: folder.path, environment: storeIn(folder.path) };
  await using dies = startProctor(['resume', runId, '--quiet'], at);
  await eventually('the first process holds six', async () => ((await agent.state()).held === 6 ? true : null));
  dies.kill('SIGKILL');
  await endOf(dies);
  await eventually('its calls are gone', async () => ((await agent.state()).held === 0 ? true : null));

  await using next = startProctor(['resume', runId, '--json', '--quiet'], at);

  // Well below the lease of 30 s, for which the dead session would otherwise count as one that shares.
  await eventually('the next process holds six', async () => ((await agent.state()).held === 6 ? true : null));
  await agent.open();
  await endOf(next);
  expect(JSON.parse(next.stdout())).toMatchObject({ status: 'completed', stale_attempts: 6 });
  expect(await app.store.liveSessions(0)).toEqual([]);
});
