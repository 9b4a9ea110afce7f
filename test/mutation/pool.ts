import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Task, TaskEnd } from './worker.ts';

/** What came of a task, or that it took more time or memory than a test may. */
export type Ran =
  | { readonly type: 'ended'; readonly end: TaskEnd }
  | { readonly type: 'beyond'; readonly what: string };

const LOOK_MS = 200;
const MOST_HEAP_MB = 400;
const WORKER_HEAP_MB = 1_000;

/** A thread that runs tasks. One that hangs, runs out of memory or has loaded too much is ended, and another takes its place. */
export class Runner {
  readonly #root: string;
  #worker: Worker | null = null;

  constructor(root: string) {
    this.#root = root;
  }

  /** Runs a task in at most so much processor time: a machine that is busy changes nothing. */
  async run(task: Task, mostCpuMs: number): Promise<Ran> {
    this.#worker ??= await started(this.#root);
    const worker = this.#worker;
    const ran = await this.#outcome(worker, task, mostCpuMs);
    if (ran.type === 'beyond' || ran.end.heap_mb > MOST_HEAP_MB) await this.close();
    return ran;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #outcome(worker: Worker, task: Task, mostCpuMs: number): Promise<Ran> {
    return new Promise((resolve, reject) => {
      const started = cpuMs(worker);
      const done = (settle: () => void) => {
        clearInterval(timer);
        worker.off('message', told).off('error', broke).off('exit', left);
        settle();
      };
      const beyond = (what: string) => done(() => resolve({ type: 'beyond', what }));
      const told = (end: TaskEnd) => done(() => resolve({ type: 'ended', end }));
      const broke = (error: Error & { code?: string }) =>
        error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? beyond('memory') : done(() => reject(error));
      const left = () => beyond('its thread');
      const timer = setInterval(() => {
        Promise.all([cpuMs(worker), started]).then(
          ([now, before]) => {
            if (now - before > mostCpuMs) beyond('time');
          },
          (error: unknown) => done(() => reject(error)),
        );
      }, LOOK_MS);
      worker.on('message', told).on('error', broke).on('exit', left);
      worker.postMessage(task);
    });
  }
}

async function started(root: string): Promise<Worker> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: { root },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
  });
  await once(worker, 'online');
  return worker;
}

async function cpuMs(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage();
  return (user + system) / 1000;
}
