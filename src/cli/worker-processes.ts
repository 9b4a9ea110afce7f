import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { programFile } from '../lib/program-file.ts';
import type { CommandContext } from './context.ts';

/** How the worker processes of one run are started. */
export interface WorkerProcessOptions {
  readonly run_id: string;
  readonly count: number;
  readonly lease_ms: number;
  readonly drain_ms: number;
}

/** Worker processes that this process started and that end before it does. */
export interface WorkerProcesses extends AsyncDisposable {
  signal(signal: NodeJS.Signals): void;
}

/**
 * Starts `proctor worker` processes for a run, with this very program. They stand in process groups of their own, so that a
 * ctrl-c reaches them once, from here, and not twice; a hard exit of this process takes them along.
 */
export function startWorkers(context: CommandContext, options: WorkerProcessOptions): WorkerProcesses {
  const children = Array.from({ length: options.count }, (_, index) => start(context, options, index + 1));
  const signal = (name: NodeJS.Signals) => {
    for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill(name);
  };
  const onExit = () => signal('SIGKILL');
  process.on('exit', onExit);
  return {
    signal,
    async [Symbol.asyncDispose]() {
      for (const child of children)
        if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      process.off('exit', onExit);
    },
  };
}

function start(context: CommandContext, options: WorkerProcessOptions, number: number): ChildProcess {
  const main = fileURLToPath(programFile(import.meta.url, './main'));
  const limits = ['--lease-ms', String(options.lease_ms), '--drain-ms', String(options.drain_ms)];
  const child = spawn(
    process.execPath,
    [...process.execArgv, main, 'worker', '--run', options.run_id, '--name', `worker-${number}`, '--quiet', ...limits],
    {
      cwd: context.cwd,
      env: context.environment as NodeJS.ProcessEnv,
      stdio: ['ignore', 'ignore', 'inherit'],
      detached: true,
    },
  );
  child.on('error', (error) => context.output.note(`proctor: worker ${number} could not be started: ${error.message}`));
  return child;
}
