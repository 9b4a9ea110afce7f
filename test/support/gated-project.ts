import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { temporaryFolder } from './chaos-exam.ts';
import { eventually } from './waiting.ts';

/** A project whose agent answers only once it may. */
export interface GatedProject extends AsyncDisposable {
  readonly path: string;
  file(name: string): string;
  /** Waits until so many different cases were given to the agent. */
  called(times: number): Promise<unknown>;
  /** Lets the agent answer, from now on at once, or this case alone. */
  answer(caseId?: string): Promise<void>;
}

/** Writes the project: `profile.json`, its cases and its agent. */
export async function gatedProject(size: {
  readonly cases: number;
  readonly concurrency: number;
  readonly answer_bytes?: number;
}): Promise<GatedProject> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder('gated'));
  const profile = {
    profile_id: 'gated',
    dataset: { path: 'cases.jsonl' },
    agent: { kind: 'module', name: 'gate', version: '1', module: { path: 'agent.mjs', export: 'answer' } },
    limits: { concurrency: size.concurrency },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'contains@1', config: { values: 'ok' } }] }],
  };
  const cases = Array.from({ length: size.cases }, (_, index) =>
    JSON.stringify({ id: `c${index}`, input: `x${index}` }),
  );
  await writeFile(folder.file('profile.json'), JSON.stringify(profile));
  await writeFile(folder.file('cases.jsonl'), `${cases.join('\n')}\n`);
  await writeFile(folder.file('agent.mjs'), agentOf(size.answer_bytes ?? 2));
  await mkdir(folder.file('called'));
  const owned = stack.move();
  return {
    path: folder.path,
    file: (name) => folder.file(name),
    called: (times) =>
      eventually(`the agent is called ${times} times`, async () =>
        (await readdir(folder.file('called'))).length >= times ? true : null,
      ),
    answer: (caseId) => writeFile(folder.file(caseId === undefined ? 'go' : `go-${caseId}`), ''),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function agentOf(bytes: number): string {
  return `import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const may = (name) => existsSync(new URL(name, import.meta.url));

export async function answer({ case: { case_id } }) {
  writeFileSync(new URL('called/' + case_id, import.meta.url), '');
  while (!may('go') && !may('go-' + case_id)) await sleep(10);
  return 'ok'.padEnd(${bytes}, case_id);
}
`;
}
