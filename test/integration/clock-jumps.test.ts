import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { openApp, storeIn } from '../support/chaos-exam.ts';
import { endOf, proctor, type Running, startProctor } from '../support/chaos-process.ts';
import { gatedProject } from '../support/gated-project.ts';
import { inTime } from '../support/waiting.ts';

const HOUR = 3_600_000;
const HELD = 4;
const PRELOAD = new URL('../support/shifted-clock.mjs', import.meta.url);

test.concurrent('a run that was created six hours ahead goes on at the true time while a stopped worker holds every slot', async () => {
  await using project = await jumpingProject();
  await project.set(6 * HOUR);
  await using ahead = project.start(['run', 'profile.json', '--quiet']);
  await project.called(HELD);
  await using app = await openApp(project.path, project.file('store'));
  await stopBetweenWrites(ahead, app);
  await project.set(0);
  await project.answer();

  await using resumed = project.start(['resume', 'last', '--quiet', '--json']);

  expect(await endOf(resumed), resumed.stderr()).toEqual({ code: 0, signal: null });
  expect(JSON.parse(resumed.stdout())).toMatchObject({ gate_status: 'pass', stale_attempts: HELD });
  await project.expectSound(app);
  const doctor = await proctor(['doctor', '--json'], project.at);
  const { findings } = JSON.parse(doctor.stdout) as { findings: { check: string; ok: boolean; detail: string }[] };
  expect(findings.find(({ check }) => check === 'clock')).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/clock is (5 h 59 min|6 h 00 min) behind .*; it was set back by 6 h 00 min/),
  });
});

test.concurrent('a clock that is set back and forth in mid-run holds nothing up', async () => {
  await using project = await jumpingProject();
  await project.set(0);
  await using run = project.start(['run', 'profile.json', '--quiet', '--json', '--workers', '1']);
  await project.called(HELD);

  await project.set(-6 * HOUR);
  await project.answer();
  for (const [by, calls] of [
    [6 * HOUR, 10],
    [-48 * HOUR, 20],
    [24 * HOUR, 30],
  ] as const) {
    await project.called(calls);
    await project.set(by);
  }

  expect(await endOf(run), run.stderr()).toEqual({ code: 0, signal: null });
  expect(JSON.parse(run.stdout())).toMatchObject({ gate_status: 'pass', stale_attempts: 0 });
  await using app = await openApp(project.path, project.file('store'));
  await project.expectSound(app);
});

/** A project whose processes have a wall clock of their own. */
async function jumpingProject() {
  const project = await gatedProject({ cases: 40, concurrency: HELD });
  const at = {
    cwd: project.path,
    environment: {
      ...storeIn(project.file('store')),
      NODE_OPTIONS: `--import=${PRELOAD.href}`,
      PROCTOR_TEST_CLOCK: project.file('clock'),
    },
  };
  return {
    ...project,
    at,
    set: (ms: number) => writeFile(project.file('clock'), String(ms)),
    start: (args: readonly string[]) => startProctor([...args, '--lease-ms', '2000'], { ...at, group: true }),
    async expectSound({ store }: App) {
      expect(await store.invariants()).toEqual([]);
      const [run] = await store.runs({ after: null, limit: 1 });
      const instants = (await store.events(run?.run_id ?? '', { after: null, limit: 1_000 })).map(({ at }) => at);
      expect(instants).toEqual(instants.toSorted((a, b) => a - b));
      expect(await proctor(['verify', 'last', '--json'], at)).toMatchObject({ code: 0 });
    },
  };
}

/** A process that is stopped inside a transaction keeps SQLite's lock: then it goes on and is stopped anew. */
async function stopBetweenWrites(worker: Running, { store }: App): Promise<void> {
  for (;;) {
    worker.kill('SIGSTOP');
    const write = store.touchSession('nobody');
    if (
      (await inTime(
        write.then(() => true),
        1_000,
      )) === true
    )
      return;
    worker.kill('SIGCONT');
    await write;
  }
}
