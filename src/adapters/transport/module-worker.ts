import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { env } from 'node:process';
import { workerData } from 'node:worker_threads';
import type { FromModule, ModuleWorkerData, ToModule } from './module-protocol.ts';
import { strictJson } from './strict-json.ts';

/**
 * Entry of the thread that runs a user's module. The id of the call whose code runs stands in shared memory, kept by an
 * async hook through every continuation, so that the host can tell who holds the thread when it no longer answers.
 */
const data = workerData as ModuleWorkerData;
const port = data.port;
const callOf = new AsyncLocalStorage<number>();
const cancels = new Map<number, AbortController>();

Object.assign(env, data.environment); // the thread's own copy
createHook({ before: () => void Atomics.store(data.running, 0, callOf.getStore() ?? 0) }).enable();
process.exit = (code) => {
  throw new Error(`the module called process.exit(${code ?? ''}); return or throw instead`);
};
process.on('uncaughtException', blame);
process.on('unhandledRejection', blame);

try {
  const loaded = (await import(data.url)) as Record<string, unknown>;
  serve(exportedFunction(loaded, data.export_name));
} catch (error) {
  port.postMessage({ type: 'load_failed', ...described(error) } satisfies FromModule);
  port.on('message', () => undefined); // stay until the host has read why and ends the thread
}

function exportedFunction(
  loaded: Record<string, unknown>,
  name: string,
): (argument: unknown, options: { signal: AbortSignal }) => unknown {
  const fallback = loaded['default']; // a CommonJS module's exports that Node did not detect by name
  const found = Object.hasOwn(loaded, name)
    ? loaded[name]
    : typeof fallback === 'object' && fallback !== null
      ? (fallback as Record<string, unknown>)[name]
      : undefined;
  if (typeof found === 'function') return found as (argument: unknown) => unknown;
  const functions = Object.keys(loaded).filter((key) => typeof loaded[key] === 'function');
  const known =
    functions.length === 0
      ? 'it exports no function'
      : `its exported functions are ${functions.map((key) => `\`${key}\``).join(', ')}`;
  throw new TypeError(
    found === undefined
      ? `it has no export \`${name}\`; ${known}`
      : `its export \`${name}\` is not a function; ${known}`,
  );
}

function serve(run: (argument: unknown, options: { signal: AbortSignal }) => unknown): void {
  port.on('message', (message: ToModule) => {
    switch (message.type) {
      case 'ping':
        return port.postMessage({ type: 'pong', id: message.id } satisfies FromModule);
      case 'cancel':
        return cancels.get(message.id)?.abort(new Error(message.reason));
      case 'call':
        return callOf.run(message.id, () => {
          Atomics.store(data.running, 0, message.id);
          void answer(run, message.id, message.argument);
        });
      default:
        return message satisfies never;
    }
  });
  port.postMessage({ type: 'loaded' } satisfies FromModule);
}

async function answer(
  run: (argument: unknown, options: { signal: AbortSignal }) => unknown,
  id: number,
  argument: string,
): Promise<void> {
  const controller = new AbortController();
  cancels.set(id, controller);
  let message: FromModule;
  try {
    const json = strictJson(await run(JSON.parse(argument), { signal: controller.signal }));
    if (json.length > data.max_result_bytes)
      throw new RangeError(`the result is ${json.length} characters of JSON; the limit is ${data.max_result_bytes}`);
    message = { type: 'value', id, json };
  } catch (error) {
    message = { type: 'error', id, ...described(error) };
  }
  cancels.delete(id);
  port.postMessage(message);
}

/** A stray error ends the call that caused it; one that no call caused is shown and the thread goes on. */
function blame(error: unknown): void {
  const id = callOf.getStore() ?? (cancels.size === 1 ? [...cancels.keys()][0] : undefined);
  if (id === undefined)
    process.stderr.write(`uncaught in the module: ${described(error).stack ?? described(error).message}\n`);
  else port.postMessage({ type: 'error', id, ...described(error) } satisfies FromModule);
}

function described(error: unknown): { message: string; stack: string | null } {
  if (error instanceof Error) return { message: error.message, stack: error.stack ?? null };
  return { message: `it threw something that is not an Error: ${String(error)}`, stack: null };
}
