import { expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import type { AttemptRow } from '../../src/contract/store.ts';
import { verifyRun } from '../../src/engine/verify/verify-run.ts';
import {
  type ChaosAgent,
  openApp,
  startAgent,
  storeIn,
  type TemporaryFolder,
  temporaryFolder,
  writeExam,
} from '../support/chaos-exam.ts';
import { endOf, proctor, type Running, startProctor } from '../support/chaos-process.ts';
import { leftBehind } from '../support/chaos-soak.ts';
import { eventually } from '../support/waiting.ts';

const EXECUTIONS = 24;
const CONCURRENCY = 6;

test.for([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)(
  '%s lets what is in flight finish, exits %i, and the run can be resumed to the same verdict',
  async ([signal, code]) => {
    await using exam = await heldExam();
    const run = exam.start();
    await exam.holds(CONCURRENCY);

    run.kill(signal);
    await run.says('stderr', /finishing what is in flight/);
    await exam.agent.open();
    const exit = await endOf(run);

    expect(exit).toEqual({ code, signal: null });
    expect(run.stderr()).toContain(`go on with: proctor resume ${await exam.runId()}`);
    expect(summary(await exam.attempts())).toEqual({ 'completed/null': CONCURRENCY });
    expect(JSON.parse(run.stdout())).toMatchObject({
      status: 'running',
      gate_status: 'unknown',
      executions: { completed: CONCURRENCY, running: 0 },
    });
    await exam.resumesAsUndisturbed({ 'completed/null': EXECUTIONS });
  },
);

test('what does not finish within --drain-ms is released, uncharged, and goes on with resume', async () => {
  await using exam = await heldExam();
  const run = exam.start('--drain-ms', '300');
  await exam.holds(CONCURRENCY);

  run.kill('SIGTERM');
  const exit = await endOf(run);

  expect(exit).toEqual({ code: 143, signal: null });
  expect(summary(await exam.attempts())).toEqual({ 'cancelled/released': CONCURRENCY });
  await exam.agent.open();
  await exam.resumesAsUndisturbed({ 'cancelled/released': CONCURRENCY, 'completed/null': EXECUTIONS });
});

test('releases are not charged: executions released more often than leases may be lost still complete', async () => {
  await using exam = await heldExam();
  for (let round = 1; round <= 7; round += 1) {
    const run =
      round === 1
        ? exam.start('--drain-ms', '1')
        : startProctor(['resume', 'last', '--quiet', '--drain-ms', '1'], exam.at);
    await exam.holds(CONCURRENCY);
    run.kill('SIGTERM');
    await endOf(run);
    await exam.holds(0);
  }

  expect(summary(await exam.attempts())).toEqual({ 'cancelled/released': 7 * CONCURRENCY });
  await exam.agent.open();
  await exam.resumesAsUndisturbed({ 'cancelled/released': 7 * CONCURRENCY, 'completed/null': EXECUTIONS });
});

test('a second signal stops at once, and resume takes the leases of the dead process over', async () => {
  await using exam = await heldExam();
  const run = exam.start();
  await exam.holds(CONCURRENCY);

  run.kill('SIGTERM');
  await run.says('stderr', /once more stops at once/);
  run.kill('SIGTERM');
  const exit = await endOf(run);

  expect(exit).toEqual({ code: 143, signal: null });
  expect(summary(await exam.attempts())).toEqual({ 'running/null': CONCURRENCY });
  await exam.agent.open();
  await exam.resumesAsUndisturbed({ 'stale/lease_lost': CONCURRENCY, 'completed/null': EXECUTIONS });
});

test('ctrl-c on a terminal reaches the whole job: the workers of `run --workers` drain too, and are gone when it ends', async () => {
  await using exam = await heldExam();
  const run = exam.start('--workers', '2');
  await exam.sharedOut(3);

  process.kill(-run.pid, 'SIGINT'); // as the terminal does: to every process of the foreground job
  await run.says('stderr', /(finishing what is in flight[\s\S]*){3}/);
  await exam.agent.open();
  const exit = await endOf(run);

  expect(exit).toEqual({ code: 130, signal: null });
  expect(await leftBehind(exam.folder.path)).toEqual([]);
  expect(summary(await exam.attempts())).toEqual({ 'completed/null': 2 * CONCURRENCY });
});

test('--drain-ms holds for the workers of `run --workers` too: they release what they hold, and are gone when it ends', async () => {
  await using exam = await heldExam();
  const run = exam.start('--workers', '2', '--drain-ms', '300');
  await exam.sharedOut(3);

  run.kill('SIGTERM');
  const exit = await endOf(run);

  expect(exit).toEqual({ code: 143, signal: null });
  expect(await leftBehind(exam.folder.path)).toEqual([]);
  expect(summary(await exam.attempts())).toEqual({ 'completed/null': CONCURRENCY, 'cancelled/released': CONCURRENCY });
});

test('`run --workers` ends after its workers', async () => {
  await using exam = await heldExam();
  await exam.agent.open();
  const run = exam.start('--workers', '2');

  await endOf(run);

  expect(await leftBehind(exam.folder.path)).toEqual([]);
});

interface HeldExam extends AsyncDisposable {
  readonly folder: TemporaryFolder;
  readonly agent: ChaosAgent;
  readonly at: { readonly cwd: string; readonly environment: Readonly<Record<string, string>> };
  start(...args: string[]): Running;
  /** Waits until the agent holds so many calls. */
  holds(calls: number): Promise<void>;
  /** Waits until so many processes hold leases and the agent their calls; what the first one took alone is answered by then. */
  sharedOut(processes: number): Promise<void>;
  runId(): Promise<string>;
  attempts(): Promise<AttemptRow[]>;
  /** Resumes the run and holds it against a run in peace of another store, and against its own evidence. */
  resumesAsUndisturbed(attempts: Record<string, number>): Promise<void>;
}

/** An exam whose agent holds its answers until it is opened. */
async function heldExam(): Promise<HeldExam> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder('drain'));
  const agent = stack.use(await startAgent({ gate: true, from_ms: 5, to_ms: 15 }));
  await writeExam(folder.path, { executions: EXECUTIONS, concurrency: CONCURRENCY, port: agent.port });
  const at = { cwd: folder.path, environment: storeIn(folder.file('store')), group: true };
  const withApp = async <T>(use: (app: App, runId: string) => Promise<T>): Promise<T> => {
    await using app = await openApp(folder.path, folder.file('store'));
    const [run] = await app.store.runs({ after: null, limit: 1 });
    if (run === undefined) throw new Error('there is no run yet');
    return await use(app, run.run_id);
  };
  const holds = async (calls: number) => {
    await eventually(`the agent holds ${calls} calls`, async () =>
      (await agent.state()).held === calls ? true : null,
    );
  };
  const running = stack.move();
  return {
    folder,
    agent,
    at,
    start: (...args) => running.use(startProctor(['run', 'profile.json', '--json', '--quiet', ...args], at)),
    holds,
    async sharedOut(processes) {
      await holds(CONCURRENCY);
      await eventually(`${processes} processes work`, () =>
        withApp(async ({ store }) => ((await store.liveSessions(0)).length === processes ? true : null)),
      );
      await agent.release();
      await eventually(`${processes} processes hold leases`, () =>
        withApp(async ({ store }, runId) => ((await store.holders(runId)).length === processes ? true : null)),
      );
      await holds(CONCURRENCY);
    },
    runId: () => withApp(async (_, runId) => runId),
    attempts: () => withApp(({ store }, runId) => store.attempts(runId, ordinals())),
    async resumesAsUndisturbed(attempts) {
      const resumed = await proctor(['resume', 'last', '--json', '--quiet'], at);
      const peace = await proctor(['run', 'profile.json', '--json', '--quiet'], {
        ...at,
        environment: storeIn(folder.file('peace')),
      });
      const [after, undisturbed] = [resumed, peace].map(({ stdout }) => JSON.parse(stdout) as Record<string, unknown>);
      expect(resumed.code).toBe(peace.code);
      expect(after).toMatchObject({
        status: 'completed',
        content_digest: undisturbed?.['content_digest'],
        gate_status: undisturbed?.['gate_status'],
      });
      await withApp(async (app, runId) => {
        expect(summary(await app.store.attempts(runId, ordinals()))).toEqual(attempts);
        expect(await app.store.invariants()).toEqual([]);
        const run = await app.store.run(runId);
        expect(run === null ? null : (await verifyRun(app, run, null)).found).toEqual([]);
      });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function ordinals(): number[] {
  return Array.from({ length: EXECUTIONS }, (_, ordinal) => ordinal);
}

/** How many attempts ended how and why. */
function summary(attempts: readonly AttemptRow[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, reason } of attempts) counts[`${status}/${reason}`] = (counts[`${status}/${reason}`] ?? 0) + 1;
  return counts;
}
