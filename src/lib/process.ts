import { type ChildProcess, spawn } from 'node:child_process';
import { systemClock } from './clock.ts';

/** How to run a child process: its folder, its whole environment (nothing is inherited), its input, and its bounds. */
export interface ProcessOptions {
  readonly cwd?: string;
  /** The child's whole environment; default empty. `PATH` in it is where `argv[0]` is looked up. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  readonly timeout_ms?: number;
  /** A child that writes more is killed; default 16 MiB. */
  readonly max_stdout_bytes?: number;
  /** So much of the end of stderr is kept; default 64 KiB. */
  readonly max_stderr_bytes?: number;
  readonly signal?: AbortSignal;
  /** Called when the child has ended and its group with it, before the rest of its output is read. */
  readonly on_exit?: () => void;
}

/** How a child process ended. `exit_code` and `signal` are the child's own; `reason` is the first cause of its end. */
export interface ProcessResult {
  readonly reason: 'exit' | 'timeout' | 'aborted' | 'oversize' | 'spawn_failed';
  readonly exit_code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  /** The end of what the child wrote to stderr. */
  readonly stderr: string;
  readonly duration_ms: number;
  /** One sentence for a person. */
  readonly message: string;
  /** The system's code when the child could not be started (`ENOENT`, `EAGAIN`, …), else null. */
  readonly spawn_code: string | null;
}

const TERM_TO_KILL_MS = 1_000;
const KILL_TO_GIVE_UP_MS = 3_000; // a process in uninterruptible sleep outlives SIGKILL; the caller must not
const DRAIN_MS = 500; // the pipe holds at most 64 KiB once the group is dead; who keeps it open longer has left the group
const DRAIN_LIMIT_MS = 5_000;

/**
 * Runs a child process in its own process group and never rejects. The whole group is ended with the child: by SIGTERM
 * and a second later SIGKILL at the limits, by SIGKILL when the child has ended by itself. A descendant that left the
 * group and holds the pipes open delays the result by half a second, no more.
 */
export function runProcess(argv: readonly string[], options: ProcessOptions = {}): Promise<ProcessResult> {
  return new Promise((resolve) => {
    const startedAt = systemClock.monotonic();
    if (options.signal?.aborted) {
      resolve(notStarted('aborted', 'the call was aborted before the process was started', null, 0));
      return;
    }
    let child: ChildProcess;
    try {
      child = spawn(argv[0] ?? '', argv.slice(1), {
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        env: { ...options.env },
        detached: true,
        windowsHide: true,
        stdio: ['pipe', 'pipe', 'pipe'],
      });
    } catch (error) {
      resolve(spawnFailure(argv, options, error, 0));
      return;
    }
    supervise(child, argv, options, startedAt, resolve);
  });
}

function supervise(
  child: ChildProcess,
  argv: readonly string[],
  options: ProcessOptions,
  startedAt: number,
  resolve: (result: ProcessResult) => void,
): void {
  const stdoutLimit = options.max_stdout_bytes ?? 16 * 1024 * 1024;
  const stdout: Buffer[] = [];
  const stderr = tail(options.max_stderr_bytes ?? 64 * 1024);
  const timers = new Set<NodeJS.Timeout>();
  let stdoutBytes = 0;
  let reason: ProcessResult['reason'] | undefined;
  let exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;
  let settled = false;

  const elapsed = () => Math.round(systemClock.monotonic() - startedAt);
  const after = (ms: number, action: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, ms);
    timers.add(timer);
  };
  const settle = (result: ProcessResult) => {
    if (settled) return;
    settled = true;
    for (const timer of timers) clearTimeout(timer);
    options.signal?.removeEventListener('abort', onAbort);
    for (const stream of child.stdio) stream?.destroy();
    child.unref();
    resolve(result);
  };
  const finish = () => {
    const why = reason ?? 'exit';
    const ended = exit ?? { code: null, signal: null };
    settle({
      reason: why,
      exit_code: ended.code,
      signal: ended.signal,
      stdout: Buffer.concat(stdout),
      stderr: stderr.text(),
      duration_ms: elapsed(),
      message: describe(argv, why, ended, options, stdoutLimit),
      spawn_code: null,
    });
  };
  const stop = (why: ProcessResult['reason']) => {
    if (reason !== undefined || exit !== undefined) return;
    reason = why;
    killGroup(child, 'SIGTERM');
    after(TERM_TO_KILL_MS, () => {
      killGroup(child, 'SIGKILL');
      after(KILL_TO_GIVE_UP_MS, finish);
    });
  };
  const onAbort = () => stop('aborted');

  child.on('error', (error) => {
    if (child.pid === undefined) settle(spawnFailure(argv, options, error, elapsed()));
  });
  child.stdin?.on('error', () => {
    // EPIPE: the child does not read its input, which is its right; its exit tells the rest
  });
  child.stdout?.on('data', (chunk: Buffer) => {
    stdoutBytes += chunk.length;
    if (stdoutBytes <= stdoutLimit) stdout.push(chunk);
    else if (exit === undefined)
      stop('oversize'); // later chunks are read and dropped until the child is gone
    else reason ??= 'oversize'; // it had ended by itself and the rest of the pipe came after
  });
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
  child.on('exit', (code, signal) => {
    exit = { code, signal };
    killGroup(child, 'SIGKILL');
    options.on_exit?.();
    for (const timer of timers) clearTimeout(timer);
    whenIdle(child, after, finish);
  });
  child.on('close', finish);

  if (child.pid === undefined) return; // the `error` event follows
  untilExit(child);
  child.stdin?.end(options.stdin ?? '');
  options.signal?.addEventListener('abort', onAbort, { once: true });
  if (options.timeout_ms !== undefined) after(options.timeout_ms, () => stop('timeout'));
}

/** Children alive now; they stand in groups of their own, so a hard exit of this process would leave them running. */
const alive = new Set<ChildProcess>();

function untilExit(child: ChildProcess): void {
  if (alive.size === 0) process.on('exit', killAlive);
  alive.add(child);
  child.once('close', () => {
    alive.delete(child);
    if (alive.size === 0) process.off('exit', killAlive);
  });
}

function killAlive(): void {
  for (const child of alive) killGroup(child, 'SIGKILL');
}

/** Calls `finish` when the pipes of an ended child stayed silent for a while, although somebody holds them open. */
function whenIdle(child: ChildProcess, after: (ms: number, action: () => void) => void, finish: () => void): void {
  let seen = 0;
  const count = (chunk: Buffer) => {
    seen += chunk.length;
  };
  child.stdout?.on('data', count);
  child.stderr?.on('data', count);
  const look = (before: number, waited: number) =>
    after(DRAIN_MS, () => {
      // A blocked event loop fires the timer before it reads: give the pipes one turn before judging them silent.
      setImmediate(() => {
        if (seen === before || waited >= DRAIN_LIMIT_MS) finish();
        else look(seen, waited + DRAIN_MS);
      });
    });
  look(0, DRAIN_MS);
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // ESRCH: the group is empty; EPERM: what is left of it is not ours (a set-uid program), so there is nothing to kill
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

function tail(limit: number): { push(chunk: Buffer): void; text(): string } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    push(chunk) {
      chunks.push(chunk);
      bytes += chunk.length;
      while (bytes - (chunks[0]?.length ?? 0) >= limit && chunks.length > 1) bytes -= chunks.shift()?.length ?? 0;
    },
    text() {
      const all = Buffer.concat(chunks);
      return all.subarray(Math.max(0, all.length - limit)).toString('utf8');
    },
  };
}

function describe(
  argv: readonly string[],
  reason: ProcessResult['reason'],
  ended: { code: number | null; signal: NodeJS.Signals | null },
  options: ProcessOptions,
  stdoutLimit: number,
): string {
  const name = `\`${argv[0] ?? ''}\``;
  switch (reason) {
    case 'timeout':
      return `${name} did not end within ${options.timeout_ms} ms and was killed with its process group`;
    case 'aborted':
      return `${name} was killed with its process group because the call was aborted`;
    case 'oversize':
      return `${name} wrote more than ${stdoutLimit} bytes to stdout and was killed with its process group`;
    case 'spawn_failed':
      return `${name} could not be started`;
    case 'exit':
      return ended.signal === null ? `${name} exited with code ${ended.code}` : `${name} was ended by ${ended.signal}`;
    default:
      return reason satisfies never;
  }
}

function spawnFailure(
  argv: readonly string[],
  options: ProcessOptions,
  error: unknown,
  durationMs: number,
): ProcessResult {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
  const text = error instanceof Error ? error.message : String(error);
  const where = options.cwd === undefined ? '' : ` in \`${options.cwd}\``;
  return notStarted('spawn_failed', `\`${argv[0] ?? ''}\` could not be started${where}: ${text}`, code, durationMs);
}

function notStarted(
  reason: ProcessResult['reason'],
  message: string,
  code: string | null,
  durationMs: number,
): ProcessResult {
  return {
    reason,
    exit_code: null,
    signal: null,
    stdout: Buffer.alloc(0),
    stderr: '',
    duration_ms: durationMs,
    message,
    spawn_code: code,
  };
}
