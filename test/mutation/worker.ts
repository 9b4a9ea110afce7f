/** Runs tests against one mutant after the other. Modules that the changed file reaches are loaded anew each time, all others once. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { getHeapStatistics } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import fc from 'fast-check';
import type { Mutant } from './mutants.ts';
import { javascript } from './mutants.ts';

/** A test file, and the tests of it that are not run. */
export interface TestFile {
  readonly path: string;
  readonly without: readonly string[];
}

/** One thing to do: run tests against a mutant, or against the file as it is. */
export interface Task {
  readonly path: string;
  readonly mutant: Mutant | null;
  /** The file and all that import it, also by way of others. */
  readonly affected: readonly string[];
  readonly tests: readonly TestFile[];
}

/** How one test ended. */
export interface TestEnd {
  readonly file: string;
  readonly name: string;
  readonly cpu_ms: number;
  readonly error: string | null;
}

/** What came of a task; without a mutant every test is run, with one the first that fails is the last. */
export interface TaskEnd {
  readonly ends: readonly TestEnd[];
  /** Which file imported which: [importer, imported]. */
  readonly imports: readonly (readonly [string, string])[];
  readonly heap_mb: number;
}

const { root } = workerData as { readonly root: string };
const rootUrl = `${pathToFileURL(root).href}/`;
const harnessUrl = new URL('./harness.ts', import.meta.url).href;
const texts = new Map<string, string>();
const imports = new Map<string, readonly [string, string]>();
let task: Task | null = null;
let generation = 0;

const ours = (url: string) =>
  url.startsWith(rootUrl) && !url.startsWith(`${rootUrl}node_modules/`) && /\.ts(\?|$)/.test(url);
const pathOf = (url: string) => fileURLToPath(url.split('?')[0] ?? url).slice(root.length + 1);

registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL ?? '';
    if (specifier === 'vitest' && !parent.startsWith(harnessUrl)) return { url: harnessUrl, shortCircuit: true };
    const resolved = next(specifier, context);
    if (!ours(resolved.url) || !ours(parent)) return resolved;
    const path = pathOf(resolved.url);
    imports.set(`${pathOf(parent)} ${path}`, [pathOf(parent), path]);
    return { ...resolved, url: task?.affected.includes(path) ? fresh(path) : resolved.url };
  },
  load(url, context, next) {
    if (!ours(url)) return next(url, context);
    const path = pathOf(url);
    const text = textOf(path);
    const mutant = task?.path === path ? task.mutant : null;
    const source = mutant === null ? text : text.slice(0, mutant.start) + mutant.code + text.slice(mutant.end);
    return { format: 'module', source, shortCircuit: true };
  },
});

function fresh(path: string): string {
  return `${rootUrl}${path}?mutant=${generation}`;
}

function textOf(path: string): string {
  const text = texts.get(path) ?? javascript(readFileSync(`${root}/${path}`, 'utf8'));
  texts.set(path, text);
  return text;
}

const { takeTests } = (await import(harnessUrl)) as typeof import('./harness.ts');
// The same cases each time; and a case that fails is enough, it need not be the smallest.
fc.configureGlobal({ seed: 1, endOnFailure: true });

parentPort?.on('message', (next: Task) => {
  void run(next).then((end) => parentPort?.postMessage(end));
});

async function run(next: Task): Promise<TaskEnd> {
  task = next;
  generation += 1;
  imports.clear();
  const ends: TestEnd[] = [];
  for (const file of next.tests) {
    if (next.mutant !== null && ends.some(({ error }) => error !== null)) break;
    await runFile(file, next.mutant !== null, ends);
  }
  return { ends, imports: [...imports.values()], heap_mb: getHeapStatistics().used_heap_size / 2 ** 20 };
}

async function runFile(file: TestFile, untilOneFails: boolean, ends: TestEnd[]): Promise<void> {
  takeTests();
  const loaded = await timed(file.path, 'import', () => import(fresh(file.path)));
  ends.push(loaded);
  if (loaded.error !== null) return;
  for (const { name, run } of takeTests()) {
    if (file.without.includes(name)) continue;
    const end = await timed(file.path, name, run);
    ends.push(end);
    if (end.error !== null && untilOneFails) return;
  }
}

async function timed(file: string, name: string, run: () => unknown): Promise<TestEnd> {
  const before = process.threadCpuUsage();
  const error = await Promise.resolve()
    .then(run)
    .then(
      () => null,
      (thrown: unknown) => String(thrown instanceof Error ? thrown.message : thrown),
    );
  const { user, system } = process.threadCpuUsage(before);
  return { file, name, cpu_ms: (user + system) / 1000, error };
}
