import { type ChildProcess, fork } from 'node:child_process';
import type { Ran } from './pool.ts';
import type { Task } from './worker.ts';

/** Runs one task after the other in a process that is replaced when a mutant ends it. */
export class Lane {
  #process: ChildProcess | null = null;

  /** Runs a task in at most so much processor time: a machine that is busy changes nothing. */
  run(task: Task, mostCpuMs: number): Promise<Ran> {
    this.#process ??= fork(new URL('./lane.ts', import.meta.url), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const lane = this.#process;
    return new Promise((resolve) => {
      const ended = (ran: Ran) => {
        lane.off('message', ended).off('exit', left);
        resolve(ran);
      };
      const left = () => {
        this.#process = null;
        ended({ type: 'beyond', what: 'memory' });
      };
      lane.on('message', ended).on('exit', left);
      lane.send({ task, most_cpu_ms: mostCpuMs });
    });
  }

  close(): void {
    this.#process?.kill();
  }
}
