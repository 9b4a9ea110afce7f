/** A signal derived from a parent and a time limit; disposing removes the timer and the listener on the parent. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
}

/**
 * Derives a signal that aborts with its parent or after `timeoutMs`, whichever comes first.
 * Deriving by `AbortSignal.any` keeps about 1 kB a call alive while a long-lived parent lives (Node #54614), so the
 * listener is removed on disposal: use it with `using`.
 */
export function linkedSignal(
  parent: AbortSignal | undefined,
  timeoutMs?: number,
  timeoutReason?: () => unknown,
): LinkedSignal {
  const controller = new AbortController();
  const forward = () => controller.abort(parent?.reason);
  let timer: NodeJS.Timeout | undefined;
  if (parent?.aborted) forward();
  else {
    parent?.addEventListener('abort', forward, { once: true });
    if (timeoutMs !== undefined) {
      timer = setTimeout(() => {
        controller.abort(
          timeoutReason ? timeoutReason() : new DOMException(`no end after ${timeoutMs} ms`, 'TimeoutError'),
        );
      }, timeoutMs);
    }
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]() {
      clearTimeout(timer);
      parent?.removeEventListener('abort', forward);
    },
  };
}

/** Resolves with the promise, or rejects with the signal's reason as soon as it aborts; the promise is not abandoned silently. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => undefined); // its failure is the consequence of the abort that is reported here
    throw signal.reason;
  }
  let onAbort: (() => void) | undefined;
  try {
    return await Promise.race([
      promise,
      new Promise<never>((_, reject) => {
        onAbort = () => reject(signal.reason);
        signal.addEventListener('abort', onAbort, { once: true });
      }),
    ]);
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort);
  }
}
