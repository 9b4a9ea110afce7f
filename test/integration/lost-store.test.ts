import { copyFile, cp, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { temporaryFolder } from '../support/chaos-exam.ts';
import { endOf, startProctor } from '../support/chaos-process.ts';
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
    what: /proctor\.db` was (moved to .*; another file has taken its place|replaced)|artifact folder .* was replaced/,
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
  'only the log is removed': { what: /proctor\.db-wal` was removed/, happen: ({ store }) => rm(`${store}-wal`) },
  'only the log’s index is removed': {
    what: /proctor\.db-shm` was removed/,
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
  await using project = await lostProject();
  const argv = ['run', 'profile.json', '--json', '--workers', String(workers), '--lease-ms', '30000'];
  await using running = startProctor(argv, { cwd: project.path, group: true });
  await project.called(HELD);

  await befall.happen(project.places);
  await project.answer(); // every case ends at once, long before the next heartbeat

  expect(await endOf(running), running.stderr()).toEqual({ code: 3, signal: null });
  const problem = JSON.parse(running.stdout()) as { code: string; detail: string };
  expect(problem, running.stderr()).toMatchObject({ code: 'store_lost', status: 503 });
  expect(problem.detail).toMatch(befall.what);
  expect(problem.detail).toContain('no verdict is told');
  expect(running.stderr()).not.toMatch(/ {4}at /);
});

/** A project whose agent answers only once it may. */
async function lostProject() {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder('lost'));
  const profile = {
    profile_id: 'lost',
    dataset: { path: 'cases.jsonl' },
    agent: { kind: 'module', name: 'gate', version: '1', module: { path: 'agent.mjs', export: 'answer' } },
    limits: { concurrency: HELD },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'contains@1', config: { values: 'ok' } }] }],
  };
  const cases = Array.from({ length: CASES }, (_, index) => JSON.stringify({ id: `c${index}`, input: `x${index}` }));
  await writeFile(folder.file('profile.json'), JSON.stringify(profile));
  await writeFile(folder.file('cases.jsonl'), `${cases.join('\n')}\n`);
  await writeFile(folder.file('agent.mjs'), AGENT);
  await mkdir(folder.file('called'));
  await openSqliteStore({ path: folder.file('fresh.db') }).close();
  const owned = stack.move();
  return {
    path: folder.path,
    places: {
      folder: folder.file('.proctor'),
      store: folder.file('.proctor/proctor.db'),
      artifacts: folder.file('.proctor/artifacts'),
      fresh: folder.file('fresh.db'),
    },
    called: (times: number) =>
      eventually(`the agent is called ${times} times`, async () =>
        (await readdir(folder.file('called'))).length >= times ? true : null,
      ),
    answer: () => writeFile(folder.file('go'), ''),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const AGENT = `import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export async function answer(request) {
  writeFileSync(new URL('called/' + request.case.case_id, import.meta.url), '');
  while (!existsSync(new URL('go', import.meta.url))) await sleep(10);
  return 'ok';
}
`;

async function each(store: string, act: (file: string) => Promise<void>): Promise<void> {
  for (const file of [store, `${store}-wal`, `${store}-shm`]) await act(file);
}
