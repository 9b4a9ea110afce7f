import { pathToFileURL } from 'node:url';
import { diagnostic, ProctorError } from '../../contract/problem.ts';
import { ProcessFamily } from '../../lib/process-family.ts';
import { openRegular } from '../../lib/regular-file.ts';
import { type CallOptions, type ModuleOutcome, ModuleThread, type ModuleThreadOptions } from './module-thread.ts';

export type { CallOptions, ModuleOutcome } from './module-thread.ts';

/** Which function of which module a host runs, and its bounds. */
export interface ModuleHostOptions {
  /** Absolute path of a `.ts`, `.js`, `.mjs` or `.cjs` file. */
  readonly path: string;
  readonly export_name: string;
  /** Path as the user wrote it, for errors; default `path`. */
  readonly shown_path?: string;
  /** Old space of the thread in MiB; default 512. */
  readonly max_heap_mb?: number;
  /** Heap and buffers of the thread together in MiB, looked at ten times a second while a call runs; default no limit. */
  readonly max_memory_mb?: number;
  /** Whether processes that the module starts are ended with the host. */
  readonly ends_processes?: boolean;
  /** Length of a result's JSON text; default 16 MiB. */
  readonly max_result_bytes?: number;
  /** Default 30 s. */
  readonly load_timeout_ms?: number;
  /** Gets what the module prints; default the process's stderr. At most 256 KiB of it, then a note. */
  readonly output?: (text: string) => void;
  /** Takes secrets out of what the module prints. */
  readonly redact?: (text: string) => string;
}

/** A function of a user's module in a thread of its own; `call` never rejects. */
export interface ModuleHost {
  call(argument: unknown, options: CallOptions): Promise<ModuleOutcome>;
  close(): Promise<void>;
}

const MAX_OUTPUT_CHARACTERS = 256 * 1024;

/**
 * Starts a thread and loads the module; throws `invalid_profile` when it does not load or has no such function.
 * A thread in which a call ran over its time takes no further calls and is terminated with its last call, or at once
 * when a loop holds it; the next call gets a new thread.
 */
export async function openModuleHost(options: ModuleHostOptions): Promise<ModuleHost> {
  const shown = options.shown_path ?? options.path;
  await loadable(options.path, shown);
  const threads = new Set<ModuleThread>();
  const family = options.ends_processes ? new ProcessFamily() : null;
  const threadOptions: ModuleThreadOptions = {
    url: pathToFileURL(options.path).href,
    export_name: options.export_name,
    max_result_bytes: options.max_result_bytes ?? 16 * 1024 * 1024,
    max_heap_mb: options.max_heap_mb ?? 512,
    max_memory_mb: options.max_memory_mb ?? null,
    environment: family?.environment ?? {},
    load_timeout_ms: options.load_timeout_ms ?? 30_000,
    output: boundedOutput(options, shown),
  };
  const start = () => {
    for (const thread of threads) if (thread.ended) threads.delete(thread);
    const thread = new ModuleThread(threadOptions);
    threads.add(thread);
    return thread;
  };
  let closed = false;
  let current = start();
  const problem = await current.loaded;
  if (problem !== null) {
    await current.terminate(problem.message);
    await family?.end();
    throw new ProctorError('invalid_profile', `the module \`${shown}\` cannot be used: ${problem.message}`, {
      cause: problem.stack,
      diagnostics: [
        diagnostic(problem.message, {
          file: shown,
          hint: `export a function named \`${options.export_name}\` from it`,
        }),
      ],
    });
  }
  /** The thread for the next call, loaded, or why there is none. */
  const ready = async (): Promise<ModuleThread | string> => {
    for (;;) {
      if (closed) return 'the module host is closed';
      if (current.retired) current = start();
      const thread = current;
      const failed = await thread.loaded;
      if (failed !== null) {
        await thread.terminate(failed.message);
        return `the module \`${shown}\` did not load again: ${failed.message}`;
      }
      if (!thread.retired) return thread;
    }
  };
  return {
    async call(argument, callOptions) {
      if (callOptions.signal.aborted) return { type: 'aborted' };
      const thread = await ready();
      if (typeof thread === 'string') return { type: 'crashed', message: thread };
      if (callOptions.signal.aborted) return { type: 'aborted' };
      return await thread.call(JSON.stringify(argument), callOptions);
    },
    async close() {
      closed = true;
      await Promise.all([...threads].map((thread) => thread.terminate('the module host was closed')));
      await family?.end();
    },
  };
}

/** Node would wait for a pipe and read a device to its end, which it does not have. */
async function loadable(path: string, shown: string): Promise<void> {
  await openRegular(path).then(
    (handle) => handle.close(),
    (error: Error) => {
      throw new ProctorError('invalid_profile', `the module \`${shown}\` cannot be used: it ${error.message}`, {
        cause: error,
        diagnostics: [diagnostic(error.message, { file: shown, hint: 'the path starts from the profile' })],
      });
    },
  );
}

function boundedOutput(
  { output = (text) => void process.stderr.write(text), redact = (text) => text }: ModuleHostOptions,
  shown: string,
): (text: string) => void {
  let left = MAX_OUTPUT_CHARACTERS;
  return (text) => {
    if (left <= 0) return;
    output(redact(text).slice(0, left));
    left -= text.length;
    if (left <= 0) output(`\n[further output of \`${shown}\` is dropped]\n`);
  };
}
