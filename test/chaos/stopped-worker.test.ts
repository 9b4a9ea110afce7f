import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { auditRun, referenceOf } from '../support/chaos-audit.ts';
import { createExamRun, openApp, startAgent, storeIn, temporaryFolder, writeExam } from '../support/chaos-exam.ts';
import { endOf, proctor, type Running, startProctor } from '../support/chaos-process.ts';
import { eventually } from '../support/waiting.ts';

const EXECUTIONS = 12;
const HELD = 6;
const LEASE_MS = 4_000; // long enough that only a stopped worker loses it, on a machine that is five times too slow as well

test('a worker that is stopped for longer than its lease loses its executions, and what it writes afterwards is kept apart', async () => {
  await using exam = await stoppedExam();

  await exam.agent.open(); // the answers lie ready for the stopped worker from here on
  await using other = exam.start();
  expect(await endOf(other)).toEqual({ code: 0, signal: null });
  const before = await exam.app.store.run(exam.runId);
  exam.stopped.kill('SIGCONT');

  await exam.endsAsUndisturbed();
  expect(await exam.app.store.run(exam.runId)).toEqual(before);
});

test('what it writes while another worker is at the same executions does not become that one’s', async () => {
  await using exam = await stoppedExam();
  const { store } = exam.app;

  await exam.agent.release(); // it answers the stopped worker, and holds the answers to the one that takes over
  await using other = exam.start();
  await exam.agentHolds(HELD);
  const taken = await store.attempts(exam.runId, ordinals());
  exam.stopped.kill('SIGCONT');
  await eventually('the late writes', async () => {
    const late = await store.lateEvidence(exam.runId, { after: null, limit: 100 });
    return late.length > 0 || exam.stopped.ended() !== null ? late : null;
  });

  // They are refused while the successor's attempts are open; its own answers are still to come.
  const after = await store.attempts(exam.runId, ordinals());
  expect(taken.map(({ status }) => status).sort()).toEqual([
    ...Array(HELD).fill('running'),
    ...Array(HELD).fill('stale'),
  ]);
  expect(after.slice(0, taken.length)).toEqual(taken);
  expect(await store.progress(exam.runId)).toMatchObject({ completed: 0, failed: 0 });
  await exam.agent.open();
  expect(await endOf(other)).toEqual({ code: 0, signal: null });
  await exam.endsAsUndisturbed();
});

/** A run of which one worker holds six executions, waits for the agent, and has been stopped. */
async function stoppedExam() {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder('stopped'));
  const agent = stack.use(await startAgent({ gate: true }));
  await writeExam(folder.path, { executions: EXECUTIONS, concurrency: HELD, port: agent.port, external: true });
  const app = stack.use(await openApp(folder.path, folder.file('store')));
  const runId = await createExamRun(app, folder.path);
  const at = { cwd: folder.path, environment: storeIn(folder.file('store')) };
  const start = () => startProctor(['worker', '--run', runId, '--lease-ms', String(LEASE_MS)], at);
  const agentHolds = (calls: number) =>
    eventually(`the agent holds ${calls} answers`, async () => ((await agent.state()).held === calls ? true : null));
  const stopped = stack.use(start());
  await agentHolds(HELD);
  await stopBetweenWrites(stopped, app);
  const owned = stack.move();
  return {
    app,
    agent,
    runId,
    stopped,
    start,
    agentHolds,
    /** Lets the stopped worker end by itself and holds the run against one in peace. */
    async endsAsUndisturbed() {
      expect(await endOf(stopped), stopped.stderr()).toEqual({ code: 0, signal: null });
      await using peace = await openApp(folder.path, folder.file('peace'));
      const peaceful = await createExamRun(peace, folder.path);
      const environment = storeIn(folder.file('peace'));
      expect((await proctor(['worker', '--run', peaceful], { ...at, environment })).code).toBe(0);
      const audit = await auditRun(app, runId, await referenceOf(peace, peaceful));
      expect(audit.violations).toEqual([]);
      expect(audit).toMatchObject({ reaped: HELD, attempts: EXECUTIONS + HELD, most_losses: 1 });
      // Four of the six are also graded outside the process: those are refused before they are graded.
      expect(audit.late_completions).toBeGreaterThan(0);
      expect(audit.late_evidence).toBeGreaterThan(0);
      expect(audit.late_completions + audit.late_evidence).toBeLessThanOrEqual(HELD);
      expect(stopped.stderr()).toBe('');
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A process that is stopped inside a transaction keeps SQLite's lock with it, which is another story: then it goes on and is stopped anew. */
async function stopBetweenWrites(worker: Running, { store }: App): Promise<void> {
  for (;;) {
    worker.kill('SIGSTOP');
    const write = store.touchSession('nobody');
    if (await Promise.race([write.then(() => true), sleep(1_000, false)])) return;
    worker.kill('SIGCONT');
    await write;
  }
}

function ordinals(): number[] {
  return Array.from({ length: EXECUTIONS }, (_, ordinal) => ordinal);
}
