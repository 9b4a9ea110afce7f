import { copyFile, cp, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { endOf, startProctor } from '../support/chaos-process.ts';
import { type GatedProject, gatedProject } from '../support/gated-project.ts';
import { eventually } from '../support/waiting.ts';

const HELD = 4;
const CASES = 40;

/** What may befall a store while a run is at work in it, by the folder of the project. */
const BEFALLS: Readonly<Record<string, { readonly what: RegExp; readonly happen: (at: Places) => Promise<void> }>> = {
  'the project’s folder is removed': {
    what: /proctor\.db` was removed|artifact folder .* was removed/,
    happen: ({ folder }) => rm(folder, { recursive: true }),
  },
  'the folder is renamed': {
    what: /proctor\.db` was moved to `.*elsewhere\/proctor\.db`|artifact folder .* was removed or renamed/,
    happen: ({ folder }) => rename(folder, `${folder}-elsewhere`),
  },
  'the folder is replaced by a copy': {
    what: /proctor\.db` was (moved to|replaced)|artifact folder .* was (removed or renamed|replaced)/,
    happen: async ({ folder }) => {
      await rename(folder, `${folder}-before`);
      await cp(`${folder}-before`, folder, { recursive: true });
    },
  },
  'the store’s files are removed': {
    what: /proctor\.db` was removed/,
    happen: ({ store }) => each(store, (file) => rm(file)),
  },
  'only the database is removed': { what: /proctor\.db` was removed/, happen: ({ store }) => rm(store) },
  'the database is renamed': {
    what: /proctor\.db` was moved to `.*other\.db`/,
    happen: ({ store, folder }) => rename(store, `${folder}/other.db`),
  },
  'the store’s files are renamed': {
    what: /proctor\.db` was moved to `.*proctor\.db-old`/,
    happen: ({ store }) => each(store, (file) => rename(file, `${file}-old`)),
  },
  'the database is replaced by a fresh store': {
    what: /proctor\.db` was replaced by another file/,
    happen: ({ store, fresh }) => rename(fresh, store),
  },
  'the database is replaced by a copy of itself': {
    what: /proctor\.db` was replaced by another file/,
    happen: async ({ store }) => {
      await copyFile(store, `${store}-copy`);
      await rename(`${store}-copy`, store);
    },
  },
  'only the log is removed': {
    what: /proctor\.db-wal` was (removed|replaced)/,
    happen: ({ store }) => rm(`${store}-wal`),
  },
  'only the log’s index is removed': {
    what: /proctor\.db-shm` was (removed|replaced)/,
    happen: ({ store }) => rm(`${store}-shm`),
  },
  'only the artifacts are removed': {
    what: /artifact folder .* was removed/,
    happen: ({ artifacts }) => rm(artifacts, { recursive: true }),
  },
  'the artifact folder is made anew': {
    what: /artifact folder .* was replaced by another folder/,
    happen: async ({ artifacts }) => {
      await rm(artifacts, { recursive: true });
      await mkdir(artifacts);
    },
  },
};

interface Places {
  readonly folder: string;
  readonly store: string;
  readonly artifacts: string;
  /** Another store, with a run of its own. */
  readonly fresh: string;
}

const EVERY = Object.entries(BEFALLS).flatMap(([name, befall]) => [0, 2].map((workers) => ({ name, befall, workers })));

test.concurrent.for(EVERY)('$name with --workers $workers: exit 3, no verdict', async ({ befall, workers }) => {
  await using project = await gatedProject({ cases: CASES, concurrency: HELD });
  await openSqliteStore({ path: placesOf(project).fresh }).close();
  const argv = ['run', 'profile.json', '--json', '--workers', String(workers), '--lease-ms', '30000'];
  await using running = startProctor(argv, { cwd: project.path, group: true });
  await project.called(HELD);

  await befall.happen(placesOf(project));
  await project.answer(); // every case ends at once, long before the next heartbeat

  expect(await endOf(running), running.stderr()).toEqual({ code: 3, signal: null });
  const problem = JSON.parse(running.stdout()) as { code: string; detail: string };
  expect(problem, running.stderr()).toMatchObject({ code: 'store_lost', status: 503 });
  expect(problem.detail).toMatch(befall.what);
  expect(problem.detail).toContain('no verdict is given');
  expect(running.stderr()).not.toMatch(/ {4}at /);
});

async function each(store: string, act: (file: string) => Promise<void>): Promise<void> {
  for (const file of [store, `${store}-wal`, `${store}-shm`]) await act(file);
}

test.concurrent.for([
  ['the plan', (size: number) => size < 16_384],
  ['a large answer', (size: number) => size >= 16_384],
] as const)('without %s among its artifacts a run fails and has no verdict', async ([_what, isLost]) => {
  await using project = await gatedProject({ cases: 12, concurrency: HELD, answer_bytes: 20_000 });
  const artifacts = project.file('.proctor/artifacts');
  await using running = startProctor(['run', 'profile.json', '--json'], { cwd: project.path });
  await project.called(HELD);
  await project.answer('c0');
  const files = await eventually('the answer is kept', async () => {
    const found = await filesIn(artifacts);
    return found.some(({ size }) => size >= 16_384) ? found : null;
  });

  for (const { path, size } of files) if (isLost(size)) await rm(path);
  await project.answer();

  expect(await endOf(running), running.stderr()).toEqual({ code: 3, signal: null });
  expect(JSON.parse(running.stdout())).toMatchObject({
    status: 'failed',
    gate_status: 'unknown',
    reason: expect.stringMatching(/^artifact [0-9a-f]{64} (is gone|in .* does not exist)/),
  });
});

test.concurrent('who only looks at a run, or waits for runs, notices too', async () => {
  await using project = await gatedProject({ cases: CASES, concurrency: HELD });
  const at = { cwd: project.path };
  await using run = startProctor(['run', 'profile.json', '--quiet'], at);
  await project.called(HELD);
  await using watch = startProctor(['watch', 'last'], at);
  await using worker = startProctor(['worker'], at);
  await watch.says('stderr', /0 passed/);
  await worker.says('stderr', /working on/);

  await rm(project.file('.proctor'), { recursive: true });

  for (const process of [run, watch, worker]) {
    expect(await endOf(process), process.stderr()).toEqual({ code: 3, signal: null });
    expect(process.stderr()).toMatch(/ was removed while (the store|it) was in use, so no verdict is given/);
    expect(process.stderr()).not.toMatch(/ {4}at /);
  }
});

async function filesIn(folder: string): Promise<{ path: string; size: number }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const whole = paths.filter((file) => !basename(file).includes('.')); // one that is being written has an ending
  return await Promise.all(whole.map(async (path) => ({ path, size: (await stat(path)).size })));
}

function placesOf({ file }: GatedProject): Places {
  return {
    folder: file('.proctor'),
    store: file('.proctor/proctor.db'),
    artifacts: file('.proctor/artifacts'),
    fresh: file('fresh.db'),
  };
}
