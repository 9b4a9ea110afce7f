import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type App, createApp } from '../../src/app.ts';
import { planFrom } from '../../src/cli/plan-from.ts';
import { createRun } from '../../src/engine/run.ts';
import { type Running, startNode } from './chaos-process.ts';

/** A folder with what a test writes; removed at the end of the scope unless it is kept. */
export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
  file(name: string): string;
  /** The folder stays, for a look at what went wrong. */
  keep(): void;
}

/** Makes a temporary folder. */
export async function temporaryFolder(name: string): Promise<TemporaryFolder> {
  const folder = await mkdtemp(path.join(tmpdir(), `proctor-${name}-`));
  let kept = false;
  return {
    path: folder,
    file: (member) => path.join(folder, member),
    keep: () => {
      kept = true;
    },
    async [Symbol.asyncDispose]() {
      if (!kept) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The environment that places a store and its artifacts in a folder. */
export function storeIn(folder: string): { PROCTOR_DB: string; PROCTOR_ARTIFACTS: string } {
  return { PROCTOR_DB: path.join(folder, 'proctor.db'), PROCTOR_ARTIFACTS: path.join(folder, 'artifacts') };
}

export interface Exam {
  readonly executions: number;
  readonly concurrency: number;
  readonly port: number;
  /** Two cases of three are also graded by an evaluator outside the process, which takes 5–25 ms. */
  readonly external?: boolean;
  readonly seed?: number;
  readonly request_timeout_ms?: number;
}

/** Writes a profile, its dataset and its evaluator into a folder; the same arguments write the same bytes. */
export async function writeExam(folder: string, exam: Exam): Promise<void> {
  const cases = Array.from({ length: exam.executions }, (_, index) => {
    const id = `case-${String(index + 1).padStart(5, '0')}`;
    return {
      id,
      task_type: exam.external && index % 3 !== 0 ? 'graded' : 'plain',
      input: `question of ${id}`,
      expected: `answer to ${id}`,
    };
  });
  const exact = { ref: 'exact_match@1', dimension: 'correctness', blocking: false };
  const module = { ref: 'module:grader.mjs#grade', dimension: 'style', blocking: false };
  const profile = {
    profile_id: 'chaos',
    agent: { kind: 'http', name: 'chaos', version: '1', endpoint: { url: `http://127.0.0.1:${exam.port}/invoke` } },
    dataset: { path: 'cases.jsonl' },
    seed: exam.seed ?? 7,
    defaults: { request_timeout_ms: exam.request_timeout_ms ?? 60_000 },
    limits: { concurrency: exam.concurrency },
    retry: { backoff: { base_ms: 50, cap_ms: 1_000 } },
    case_groups: [
      { id: 'plain', applies_to: { task_type: 'plain' }, evaluators: [exact] },
      ...(exam.external ? [{ id: 'graded', applies_to: { task_type: 'graded' }, evaluators: [exact, module] }] : []),
    ],
    gate: { all: [{ metric: 'pass_rate', bound: 'lower', min: 0.8 }] },
  };
  await writeFile(path.join(folder, 'profile.json'), JSON.stringify(profile, null, 2));
  await writeFile(path.join(folder, 'cases.jsonl'), `${cases.map((item) => JSON.stringify(item)).join('\n')}\n`);
  await writeFile(path.join(folder, 'grader.mjs'), GRADER);
}

const GRADER = `import { setTimeout as sleep } from 'node:timers/promises';

export async function grade({ case: item, envelope }) {
  const number = Number(item.case_id.slice(-5));
  await sleep(5 + (number * 7) % 21);
  const short = envelope.text.length < 10;
  return { status: short ? 'failed' : 'passed', score: short ? 0.25 : 1, reason: short ? 'too short' : 'long enough' };
}
`;

/** The chaos agent in its own process, with its port. */
export interface ChaosAgent extends AsyncDisposable {
  readonly port: number;
  readonly process: Running;
  /** How many answers it holds and how often it was called. */
  state(): Promise<{ readonly held: number; readonly calls: number }>;
  /** Lets go of the answers that it holds, and holds none from then on. */
  open(): Promise<void>;
  /** Lets go of the answers that it holds, and holds those that come next. */
  release(): Promise<void>;
}

/** Starts the chaos agent. */
export async function startAgent(
  options: { readonly from_ms?: number; readonly to_ms?: number; readonly gate?: boolean } = {},
): Promise<ChaosAgent> {
  const argv = [fileURLToPath(new URL('./chaos-agent.ts', import.meta.url))];
  if (options.from_ms !== undefined) argv.push('--from-ms', String(options.from_ms));
  if (options.to_ms !== undefined) argv.push('--to-ms', String(options.to_ms));
  if (options.gate) argv.push('--gate');
  const process = startNode(argv, { cwd: tmpdir() });
  const [line] = await process.says('stdout', /\{.*\}/);
  const { port } = JSON.parse(line) as { port: number };
  const ask = async (what: string) => await (await fetch(`http://127.0.0.1:${port}/${what}`)).json();
  return {
    port,
    process,
    state: async () => (await ask('held')) as { held: number; calls: number },
    open: async () => void (await ask('open')),
    release: async () => void (await ask('release')),
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

/** Opens Proctor for the exam in a folder, on the store in a folder or at the places given. */
export function openApp(examFolder: string, store: string | Readonly<Record<string, string>>): Promise<App> {
  return createApp({ cwd: examFolder, environment: typeof store === 'string' ? storeIn(store) : store });
}

/** Plans and creates the run of the exam in its folder. */
export async function createExamRun(app: App, examFolder: string, concurrency: number | null = null): Promise<string> {
  const signal = new AbortController().signal;
  const { plan, loaded } = await planFrom({ ...app, cwd: examFolder, signal }, { profile: 'profile.json' });
  const { run_id } = await createRun(app, plan, {
    run_key: null,
    base_dir: loaded.base_dir,
    created_by: app.principal,
    concurrency,
  });
  return run_id;
}
