import { expect, test } from 'vitest';
import { auditRun, referenceOf } from '../support/chaos-audit.ts';
import { createExamRun, openApp, startAgent, storeIn, temporaryFolder, writeExam } from '../support/chaos-exam.ts';
import { endOf, eventually, proctor, startProctor } from '../support/chaos-process.ts';

const EXECUTIONS = 12;
const HELD = 6;
const LEASE_MS = 1_000;

test('a worker that is stopped for longer than its lease loses its executions, and what it writes afterwards is kept apart', {
  timeout: 90_000,
}, async () => {
  await using folder = await temporaryFolder('stopped');
  await using agent = await startAgent({ gate: true });
  await writeExam(folder.path, { executions: EXECUTIONS, concurrency: HELD, port: agent.port, external: true });
  await using app = await openApp(folder.path, folder.file('store'));
  const runId = await createExamRun(app, folder.path);
  const at = { cwd: folder.path, environment: storeIn(folder.file('store')) };
  const work = ['worker', '--run', runId, '--lease-ms', String(LEASE_MS)];
  await using stopped = startProctor(work, at);
  await eventually('the first worker waits for six answers', 30_000, async () =>
    (await agent.state()).held === HELD ? true : null,
  );

  stopped.kill('SIGSTOP');
  await agent.open(); // its answers lie ready for it from here on
  await using other = startProctor(work, at);
  expect(await endOf(other, 60_000)).toEqual({ code: 0, signal: null });
  const before = await app.store.run(runId);
  stopped.kill('SIGCONT');
  expect(await endOf(stopped, 30_000)).toEqual({ code: 0, signal: null });

  expect(await app.store.run(runId)).toEqual(before);
  await using peace = await openApp(folder.path, folder.file('peace'));
  const peaceful = await createExamRun(peace, folder.path);
  await proctor(['worker', '--run', peaceful], { ...at, environment: storeIn(folder.file('peace')) });
  const audit = await auditRun(app, runId, await referenceOf(peace, peaceful));
  expect(audit.violations).toEqual([]);
  expect(audit).toMatchObject({ reaped: HELD, attempts: EXECUTIONS + HELD, most_losses: 1 });
  // Six answers came at once, four of them for cases that another process grades: those are refused before they are graded.
  expect(audit.late_completions).toBeGreaterThan(0);
  expect(audit.late_evidence).toBeGreaterThan(0);
  expect(audit.late_completions + audit.late_evidence).toBeLessThanOrEqual(HELD);
  expect(stopped.stderr()).toBe('');
});
