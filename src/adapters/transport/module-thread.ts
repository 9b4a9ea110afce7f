import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { programFile } from '../../lib/program-file.ts';
import type { FromModule, ModuleWorkerData, ToModule } from './module-protocol.ts';

/** How a call of a module ended. `crashed` is not the call's doing: the thread was lost or held by another call. */
export type ModuleOutcome =
  | { readonly type: 'value'; readonly value: unknown }
  | { readonly type: 'error'; readonly message: string; readonly stack: string | null }
  | { readonly type: 'timeout' }
  | { readonly type: 'aborted' }
  | { readonly type: 'crashed'; readonly message: string };

/** What a thread needs to start. */
export interface ModuleThreadOptions {
  readonly url: string;
  readonly export_name: string;
  readonly max_result_bytes: number;
  readonly max_heap_mb: number;
  /** Heap and buffers together; null: no limit. */
  readonly max_memory_mb: number | null;
  readonly environment: Readonly<Record<string, string>>;
  readonly load_timeout_ms: number;
  /** Gets what the module prints, on stdout and stderr alike. */
  output(text: string): void;
}

/** Time and abort of one call. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly timeout_ms: number;
}

const LOOK_MS = 100; // between two looks at the memory of a thread that works
const PROBE_MS = 500; // a thread that gives no sign of life for so long is held by a loop

/** One thread that runs a module: its calls run concurrently; it is not used again once a call had to be given up. */
export class ModuleThread {
  /** Null when the module is loaded, else why not. */
  readonly loaded: Promise<{ readonly message: string; readonly stack: string | null } | null>;
  /** True when no further call may go to this thread. */
  retired = false;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #running = new Int32Array(new SharedArrayBuffer(4));
  readonly #pending = new Map<number, (outcome: ModuleOutcome) => void>();
  readonly #pongs = new Map<number, () => void>();
  #sequence = 0;
  #lastError: Error | undefined;
  #ended = false;
  #watching = false;
  readonly #maxMemoryMb: number | null;

  constructor(options: ModuleThreadOptions) {
    const channel = new MessageChannel(); // libraries in the module may use `parentPort`; the protocol has a port of its own
    this.#port = channel.port1;
    const data: ModuleWorkerData = { ...pick(options), running: this.#running, port: channel.port2 };
    this.#worker = new Worker(programFile(import.meta.url, './module-worker'), {
      workerData: data,
      transferList: [channel.port2],
      stdout: true,
      stderr: true,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: options.max_heap_mb },
    });
    for (const stream of [this.#worker.stdout, this.#worker.stderr])
      stream.on('data', (chunk: Buffer) => options.output(chunk.toString()));
    this.#maxMemoryMb = options.max_memory_mb;
    this.loaded = this.#load(options.load_timeout_ms);
    this.#port.on('message', (message: FromModule) => this.#receive(message));
    this.#worker.on('error', (error: Error) => {
      this.#lastError = error;
    });
    this.#worker.on('exit', (code) =>
      this.#lost(this.#lastError?.message ?? `the module's thread exited with code ${code}`, true),
    );
  }

  /** True when the thread is gone or going. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Calls the module's function with a JSON text; the time counts from now. */
  call(argument: string, options: CallOptions): Promise<ModuleOutcome> {
    return new Promise((resolve) => {
      this.#sequence += 1;
      const id = this.#sequence;
      const timer = setTimeout(() => void this.#overdue(id), options.timeout_ms);
      const onAbort = () => void this.#aborted(id);
      this.#pending.set(id, (outcome) => {
        clearTimeout(timer);
        options.signal.removeEventListener('abort', onAbort);
        resolve(outcome);
      });
      options.signal.addEventListener('abort', onAbort, { once: true });
      this.#send({ type: 'call', id, argument });
      if (this.#maxMemoryMb !== null && !this.#watching) void this.#watch(this.#maxMemoryMb);
      if (this.#ended) this.#settle(id, { type: 'crashed', message: "the module's thread has ended" });
    });
  }

  /** Ends the thread; its calls end as crashed, with the message. */
  async terminate(message: string): Promise<void> {
    this.#lost(message, false);
    await this.#worker.terminate();
  }

  #load(timeoutMs: number): Promise<{ message: string; stack: string | null } | null> {
    return new Promise((resolve) => {
      const finish = (problem: { message: string; stack: string | null } | null) => {
        clearTimeout(timer);
        this.#worker.unref();
        this.#port.unref(); // an idle thread keeps no process alive; a call has its timer for that
        if (problem) this.retired = true;
        resolve(problem);
      };
      const timer = setTimeout(
        () => finish({ message: `it did not load within ${timeoutMs} ms`, stack: null }),
        timeoutMs,
      );
      this.#port.on('message', (message: FromModule) => {
        if (message.type === 'loaded') finish(null);
        if (message.type === 'load_failed') finish({ message: message.message, stack: message.stack });
      });
      this.#worker.on('exit', (code) =>
        finish({
          message: this.#lastError?.message ?? `its thread exited with code ${code}`,
          stack: this.#lastError?.stack ?? null,
        }),
      );
    });
  }

  #receive(message: FromModule): void {
    if (message.type === 'pong') this.#pongs.get(message.id)?.();
    if (message.type === 'value') this.#settle(message.id, { type: 'value', value: JSON.parse(message.json) });
    if (message.type === 'error')
      this.#settle(message.id, { type: 'error', message: message.message, stack: message.stack });
  }

  /** A call is over its time: it is the one to blame unless another call holds the thread. */
  async #overdue(id: number): Promise<void> {
    const responds = await this.#responds(id);
    if (!this.#pending.has(id)) return;
    if (responds) return this.#giveUp(id, { type: 'timeout' }, 'the time is up');
    const holder = this.#holder();
    if (holder === id) this.#settle(id, { type: 'timeout' });
    else if (this.#pending.has(holder)) {
      // The holder has its own limit, which ends the thread; this call never had its turn.
      this.retired = true;
      return this.#settle(id, {
        type: 'crashed',
        message: "another call of the module held the thread until this call's time was up",
      });
    }
    await this.terminate('the module held its thread without end and the thread was terminated');
  }

  /** An aborted call that holds the thread must not keep the others waiting for their limits. */
  async #aborted(id: number): Promise<void> {
    this.#giveUp(id, { type: 'aborted' }, 'the call was aborted');
    if (this.#ended || (await this.#responds(id)) || this.#holder() !== id) return;
    await this.terminate('an aborted call of the module held the thread and the thread was terminated');
  }

  /** Ends the thread when it takes too much memory while a call runs; V8 itself bounds nothing but the heap. */
  async #watch(maxMb: number): Promise<void> {
    this.#watching = true;
    while (this.#pending.size > 0 && !this.#ended) {
      const heap = await this.#worker.getHeapStatistics().catch(() => null); // the thread has just ended
      if (heap !== null && heap.total_heap_size + heap.external_memory > maxMb * 1024 * 1024) {
        this.#lost(
          `the module took more than ${maxMb} MB of memory and its thread was terminated; set \`memory_mb\` where it needs more`,
          true,
        );
        await this.#worker.terminate();
      } else await sleep(LOOK_MS, undefined, { ref: false });
    }
    this.#watching = false;
  }

  #giveUp(id: number, outcome: ModuleOutcome, reason: string): void {
    this.#send({ type: 'cancel', id, reason });
    this.retired = true;
    this.#settle(id, outcome);
  }

  #responds(id: number): Promise<boolean> {
    return new Promise((resolve) => {
      const finish = (responds: boolean) => {
        clearTimeout(timer);
        this.#pongs.delete(id);
        resolve(responds);
      };
      // When this side's event loop was blocked, the timer fires before the pong is read: give it one turn.
      const timer = setTimeout(() => setImmediate(() => setImmediate(finish, false)), PROBE_MS);
      this.#pongs.set(id, () => finish(true));
      this.#send({ type: 'ping', id });
    });
  }

  /** The call whose code ran last, which is the one that holds a stuck thread; 0 when it is none of the calls. */
  #holder(): number {
    const id = Atomics.load(this.#running, 0);
    return id === 0 && this.#pending.size === 1 ? ([...this.#pending.keys()][0] ?? 0) : id;
  }

  /** The thread is gone: by its own doing (the call that ran is to blame) or because it was ended. */
  #lost(message: string, byItself: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.retired = true;
    for (let last = receiveMessageOnPort(this.#port); last !== undefined; last = receiveMessageOnPort(this.#port)) {
      this.#receive(last.message as FromModule); // answers that were given before the end
    }
    const holder = byItself ? this.#holder() : 0;
    for (const id of [...this.#pending.keys()]) {
      this.#settle(
        id,
        id === holder
          ? { type: 'error', message, stack: this.#lastError?.stack ?? null }
          : { type: 'crashed', message },
      );
    }
    for (const pong of [...this.#pongs.values()]) pong();
    this.#port.close();
  }

  #settle(id: number, outcome: ModuleOutcome): void {
    const settle = this.#pending.get(id);
    this.#pending.delete(id);
    settle?.(outcome);
    if (this.retired && this.#pending.size === 0 && !this.#ended) void this.terminate('the thread is retired');
  }

  #send(message: ToModule): void {
    this.#port.postMessage(message);
  }
}

function pick(options: ModuleThreadOptions): Omit<ModuleWorkerData, 'running' | 'port'> {
  const { url, export_name, max_result_bytes, environment } = options;
  return { url, export_name, max_result_bytes, environment };
}
