import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ProcessTree } from './process-tree.ts';
import { TailBuffer } from './tail-buffer.ts';

/** What to run and how closely to watch it. */
export interface MeasureOptions {
  /** Executable and arguments; no shell. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd?: string;
  /** The whole environment of the process; default: this process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Between two samples of the tree; default 50. */
  readonly sample_ms?: number;
  /** Ends the process group after so long; default: no limit. */
  readonly timeout_ms?: number;
  /** Bytes kept of each of stdout and stderr, counted from the end; default 1 MiB. */
  readonly capture_bytes?: number;
  readonly signal?: AbortSignal;
}

/** A finished process: how it ended, how long it took, what its whole tree used, and the end of what it printed. */
export interface ProcessMeasure {
  readonly exit_code: number | null;
  /** Name of the signal that ended it, or null. */
  readonly exit_signal: string | null;
  /** From spawn to exit. */
  readonly wall_ms: number;
  /** Highest resident memory of the tree; pages shared by its processes count once for each. */
  readonly peak_rss_bytes: number;
  /** User and system time of the tree, in steps of 10 ms; what the root used after the last sample is not in it. */
  readonly cpu_ms: number;
  readonly samples: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes of stdout and stderr that were printed before the part that was kept. */
  readonly dropped_bytes: number;
}

const KILL_AFTER_MS = 5_000;

/**
 * Runs a program as a whole process and measures it from outside, by `/proc` (Linux only).
 * Rejects when it cannot be started, when the time is up (TimeoutError) and with the signal's reason when that aborts;
 * in each case nothing of its process group is left running.
 */
export async function measureProcess(options: MeasureOptions): Promise<ProcessMeasure> {
  options.signal?.throwIfAborted();
  const [file, ...args] = options.argv;
  const started = performance.now();
  const child = spawn(file, args, {
    cwd: options.cwd,
    env: options.env,
    detached: true, // its own process group, so that ending it ends what it started
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stdout = new TailBuffer(options.capture_bytes ?? 1024 * 1024);
  const stderr = new TailBuffer(options.capture_bytes ?? 1024 * 1024);
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  const closed = once(child, 'close');
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  closed.catch(() => undefined); // a failed start rejects `exited` too, and is reported there
  const { pid } = child;
  if (pid === undefined) {
    await exited.catch((cause: unknown) => {
      throw new Error(`\`${file}\` could not be started; check that it is installed and on the PATH`, { cause });
    });
    throw new Error(`\`${file}\` was given no process id`);
  }

  const tree = new ProcessTree(pid);
  tree.sample();
  const timer = setInterval(() => tree.sample(), options.sample_ms ?? 50);
  using end = endOn(pid, options);
  const [exit_code, exit_signal] = await exited;
  const wall_ms = Math.round(performance.now() - started);
  clearInterval(timer);
  killGroup(pid, 'SIGKILL'); // what the process left behind would disturb the next measure
  const unheard = setTimeout(() => {
    child.stdout.destroy(); // a process that left the group holds them open
    child.stderr.destroy();
  }, KILL_AFTER_MS);
  await closed;
  clearTimeout(unheard);
  if (end.cause() !== undefined) throw end.cause();
  return {
    exit_code,
    exit_signal,
    wall_ms,
    peak_rss_bytes: tree.peakRssBytes,
    cpu_ms: tree.cpuMs,
    samples: tree.samples,
    stdout: stdout.text(),
    stderr: stderr.text(),
    dropped_bytes: stdout.dropped + stderr.dropped,
  };
}

interface EndCause extends Disposable {
  cause(): unknown;
}

/** Ends the group on abort, at the time limit, and when this process exits; the first cause wins. */
function endOn(pid: number, options: MeasureOptions): EndCause {
  let cause: unknown;
  let hard: NodeJS.Timeout | undefined;
  const end = (reason: unknown) => {
    if (cause !== undefined) return;
    cause = reason;
    killGroup(pid, 'SIGTERM');
    hard = setTimeout(() => killGroup(pid, 'SIGKILL'), KILL_AFTER_MS);
  };
  const onAbort = () => end(options.signal?.reason);
  const onExit = () => killGroup(pid, 'SIGKILL');
  const { timeout_ms } = options;
  const limit =
    timeout_ms === undefined
      ? undefined
      : setTimeout(
          () =>
            end(new DOMException(`\`${options.argv.join(' ')}\` did not end within ${timeout_ms} ms`, 'TimeoutError')),
          timeout_ms,
        );
  options.signal?.addEventListener('abort', onAbort, { once: true });
  process.once('exit', onExit);
  return {
    cause: () => cause,
    [Symbol.dispose]() {
      clearTimeout(limit);
      clearTimeout(hard);
      options.signal?.removeEventListener('abort', onAbort);
      process.off('exit', onExit);
    },
  };
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // ESRCH: the whole group has ended already
  }
}
