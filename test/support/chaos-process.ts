import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { builtPackage } from './built-package.ts';
import { eventually, inTime } from './waiting.ts';

/** How a process ended: its exit code, or the signal that ended it. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process of the test, with what it wrote so far; leaving its scope ends it. */
export interface Running extends AsyncDisposable {
  readonly pid: number;
  readonly exit: Promise<Exit>;
  /** How it ended, or null while it lives. */
  ended(): Exit | null;
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  /** Writes to its stdin. */
  write(text: string): void;
  /** Waits until stdout or stderr holds a match; throws with what it said when it does not come or the process ends first. */
  says(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray>;
}

/** A process that has ended, with its whole output. */
export interface Ended extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartOptions {
  readonly cwd: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The `main` of a package that was built for the test, instead of the one all tests share. */
  readonly main?: string;
  /** Its own process group, as a shell gives a job; disposal then ends the group. */
  readonly group?: boolean;
}

const KEPT = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'NODE_COMPILE_CACHE'];

/** Starts `proctor ARGS`. */
export function startProctor(args: readonly string[], options: StartOptions): Running {
  return startNode(['--disable-warning=ExperimentalWarning', options.main ?? builtPackage().main, ...args], options);
}

/** Runs `proctor ARGS` to its end; a whole run may be given more time than other processes. */
export async function proctor(args: readonly string[], options: StartOptions, limitMs?: number): Promise<Ended> {
  await using process = startProctor(args, options);
  const exit = await endOf(process, limitMs);
  return { ...exit, stdout: process.stdout(), stderr: process.stderr() };
}

/** Starts a Node process with this test's Node; it inherits few variables, so that the test runner's do not leak in. */
export function startNode(argv: readonly string[], options: StartOptions): Running {
  const inherited = Object.fromEntries(KEPT.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  const child = spawn(process.execPath, argv, {
    cwd: options.cwd,
    env: { ...inherited, NO_COLOR: '1', ...options.environment },
    detached: options.group === true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return supervised(child, options.group === true);
}

/** How the process ended; throws with what it said when it does not end; a whole run may be given more time than other processes. */
export async function endOf(running: Running, limitMs?: number): Promise<Exit> {
  const exit = await inTime(running.exit, limitMs);
  if (exit !== null) return exit;
  throw new Error(`process ${running.pid} did not end${spoken(running)}`);
}

function supervised(child: ChildProcess, group: boolean): Running {
  const output = { stdout: '', stderr: '' };
  let ended: Exit | null = null;
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
    });
  }
  child.stdin?.on('error', () => undefined); // it may end without reading its input
  const exit = once(child, 'close').then(([code, signal]) => {
    ended = { code, signal } as Exit;
    return ended;
  });
  exit.catch(() => undefined); // a spawn failure is reported to whoever waits for the end
  const running: Running = {
    pid: child.pid ?? 0,
    exit,
    ended: () => ended,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    kill: (signal) => void child.kill(signal),
    write: (text) => void child.stdin?.write(text),
    says: (stream, pattern) =>
      eventually(`process ${child.pid} says ${pattern} on ${stream}`, () => {
        const found = pattern.exec(output[stream]);
        if (found === null && ended !== null) throw new Error(`it ended without saying ${pattern}${spoken(running)}`);
        return found;
      }).catch((error: Error) => {
        throw new Error(`${error.message}${spoken(running)}`, { cause: error });
      }),
    async [Symbol.asyncDispose]() {
      if (group) endGroup(child.pid ?? 0);
      else if (ended === null) child.kill('SIGKILL'); // SIGKILL ends a stopped process too
      await exit;
    },
  };
  return running;
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // ESRCH: nobody of the group is left
  }
}

function spoken(running: Running): string {
  const ended = running.ended();
  const state = ended === null ? 'it lives' : `it ended with ${ended.signal ?? ended.code}`;
  return `; ${state}; stdout: ${running.stdout().slice(-2_000) || '(nothing)'}; stderr: ${running.stderr().slice(-2_000) || '(nothing)'}`;
}
