import type { Output } from './output.ts';

/** What the first signal asked for. */
export interface Interruption extends Disposable {
  readonly drain: AbortSignal;
  /** 130 or 143 once a signal came, else null. */
  exitCode(): number | null;
}

const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/** SIGINT or SIGTERM: let what is in flight finish; a second signal stops at once (the run stays resumable either way). */
export function onInterrupt(output: Output, first: (signal: 'SIGINT' | 'SIGTERM') => void): Interruption {
  const controller = new AbortController();
  let code: number | null = null;
  const handle = (signal: 'SIGINT' | 'SIGTERM') => {
    if (code !== null) process.exit(CODES[signal]);
    code = CODES[signal];
    output.note(`proctor: ${signal}: finishing what is in flight; once more stops at once`);
    first(signal);
    controller.abort(new Error(signal));
  };
  process.on('SIGINT', handle);
  process.on('SIGTERM', handle);
  return {
    drain: controller.signal,
    exitCode: () => code,
    [Symbol.dispose]() {
      process.off('SIGINT', handle);
      process.off('SIGTERM', handle);
    },
  };
}
