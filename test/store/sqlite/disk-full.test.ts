import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ProctorError } from '../../../src/contract/problem.ts';
import type { NewExecution } from '../../../src/contract/store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { newRun, newSession, plain, planned, temporaryFolder, workOff } from '../../support/store-fixture.ts';
import { differences } from '../../support/store-recompute.ts';

const WINDOW = 50;
const TOTAL = 100_000;

it('a full disk is said to be full, and once there is room the store goes on with nothing lost', async ({ skip }) => {
  using folder = temporaryFolder();
  using disk = smallDisk(folder.path);
  if (disk.failure !== null) {
    if (process.env['CI'] === 'true') expect.fail(`no small disk can be mounted here: ${disk.failure}`);
    skip(`no small disk can be mounted here: ${disk.failure}`);
  }
  const store = openSqliteStore({ path: folder.file('proctor.db') });
  await store.openSession(newSession('wse_1'));
  await store.createRun(newRun('run_1', { cases: TOTAL / 2 }));
  fill(folder.file('filler'), 600 * 1024);

  let materialized = 0;
  let failure: unknown = null;
  while (failure === null && materialized < TOTAL) {
    const ahead = [0, 1, 2].map((n) => materialized + n * WINDOW);
    const answers = await Promise.allSettled(ahead.map((from) => store.materialize('run_1', from, window(from))));
    for (const answer of answers) {
      if (answer.status === 'fulfilled') materialized = Math.max(materialized, answer.value);
      else failure ??= answer.reason;
    }
  }
  expect(failure).toBeInstanceOf(ProctorError);
  expect(failure).toMatchObject({ code: 'store_full', message: expect.stringContaining('free some room') });

  // Full as it is, it can be read, what was answered is there, and another write is refused in the same way.
  expect((await store.run('run_1'))?.materialized).toBe(materialized);
  expect(plain(await store.invariants())).toEqual([]);
  await expect(store.materialize('run_1', materialized, window(materialized, 2_000))).rejects.toMatchObject({
    code: 'store_full',
  });

  rmSync(folder.file('filler'));
  await expect(store.materialize('run_1', materialized, window(materialized))).resolves.toBe(materialized + WINDOW);
  await store.requestCancel('run_1', 'enough');
  while ((await store.sweepCancelled('run_1', 500)) > 0);
  expect(await store.run('run_1')).toMatchObject({ status: 'cancelled', materialized: materialized + WINDOW });
  await store.createRun(newRun('run_2'));
  await workOff(store, 'run_2', 'wse_1');
  expect(await store.progress('run_2')).toMatchObject({ completed: 4 });
  expect(plain(await store.invariants())).toEqual([]);
  expect(await differences(store, 'run_1')).toEqual([]);
  await store.close();
});

function window(from: number, count = WINDOW): NewExecution[] {
  return planned(from, count);
}

/** Takes all room but so many bytes. */
function fill(file: string, leave: number): void {
  const { bavail, bsize } = statfsSync(path.dirname(file));
  writeFileSync(file, Buffer.alloc(Math.max(0, bavail * bsize - leave)));
}

/** A disk of a few megabytes at the folder, or why there is none. */
function smallDisk(at: string): Disposable & { readonly failure: string | null } {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', at], { stdio: 'pipe' });
  } catch (error) {
    return { failure: String(error), [Symbol.dispose]: () => undefined };
  }
  return { failure: null, [Symbol.dispose]: () => void execFileSync('umount', [at]) };
}
