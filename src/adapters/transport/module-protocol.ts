import type { MessagePort } from 'node:worker_threads';

/** What a module host gives its worker at the start. */
export interface ModuleWorkerData {
  /** File URL of the user's module. */
  readonly url: string;
  readonly export_name: string;
  /** A result whose JSON text is longer is an error. */
  readonly max_result_bytes: number;
  /** Set in the module's environment, and with it in that of the processes that it starts. */
  readonly environment: Readonly<Record<string, string>>;
  /** The worker's end of the conversation. */
  readonly port: MessagePort;
  /** One slot: the id of the call whose code ran last, 0 when it was no call's; readable while the thread is stuck. */
  readonly running: Int32Array<SharedArrayBuffer>;
}

/** Messages from a module host to its worker. */
export type ToModule =
  | { readonly type: 'call'; readonly id: number; readonly argument: string }
  | { readonly type: 'cancel'; readonly id: number; readonly reason: string }
  | { readonly type: 'ping'; readonly id: number };

/** Messages from the worker; values travel as JSON text. */
export type FromModule =
  | { readonly type: 'loaded' }
  | { readonly type: 'load_failed'; readonly message: string; readonly stack: string | null }
  | { readonly type: 'value'; readonly id: number; readonly json: string }
  | { readonly type: 'error'; readonly id: number; readonly message: string; readonly stack: string | null }
  | { readonly type: 'pong'; readonly id: number };
