import type { Agent, Dispatcher } from 'undici';
import { type HttpErrorCode, httpErrorCode, httpErrorText } from './http-errors.ts';

/** One request over one connection, its body in memory. */
export interface Exchange {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  /** A response body of more bytes is broken off. */
  readonly max_body_bytes: number;
  /** Breaks the exchange off at any point; its reason becomes the message. */
  readonly signal: AbortSignal;
}

/** A whole response, or why there is none. Header names are lower case; repeated headers are joined by `, `. */
export type ExchangeOutcome =
  | {
      readonly type: 'response';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
    }
  | ExchangeError;

/** An exchange without a whole response; `status` and `body` are what had come until then. */
export interface ExchangeError {
  readonly type: 'error';
  readonly code: HttpErrorCode;
  readonly message: string;
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Sends one request and collects the response under the size limit; never rejects and settles as soon as the signal aborts. */
export function exchange(dispatcher: Agent, request: Exchange): Promise<ExchangeOutcome> {
  return new Promise((resolve) => {
    const { url, method, headers, body, signal } = request;
    const chunks: Buffer[] = [];
    let bytes = 0;
    let status: number | null = null;
    let received: Record<string, string> = {};
    let controller: Dispatcher.DispatchController | undefined;
    let settled = false;

    const settle = (outcome: ExchangeOutcome) => {
      settled = true;
      signal.removeEventListener('abort', onAbort);
      resolve(outcome);
    };
    const fail = (code: HttpErrorCode, message: string) => {
      if (settled) return;
      settle({ type: 'error', code, message, status, headers: received, body: Buffer.concat(chunks) });
      controller?.abort(new Error(message));
    };
    const onAbort = () => fail('aborted', httpErrorText(signal.reason));

    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started;
        if (settled) started.abort(new Error('given up before the connection stood'));
      },
      onResponseStart(_controller, code, found) {
        if (code < 200) return; // informational; the response follows
        status = code;
        received = flat(found);
        const declared = Number(received['content-length'] ?? 0);
        if (declared > request.max_body_bytes) fail('oversize_body', tooLarge(request, `announces ${declared} bytes`));
      },
      onResponseData(_controller, chunk) {
        bytes += chunk.length;
        if (bytes > request.max_body_bytes) fail('oversize_body', tooLarge(request, 'goes on'));
        else chunks.push(chunk);
      },
      onResponseEnd() {
        if (!settled && status !== null)
          settle({ type: 'response', status, headers: received, body: Buffer.concat(chunks) });
      },
      onResponseError(_controller, error) {
        fail(httpErrorCode(error), httpErrorText(error));
      },
    };
    try {
      dispatcher.dispatch(
        { origin: url.origin, path: url.pathname + url.search, method, headers: { ...headers }, body },
        handler,
      );
    } catch (error) {
      fail('transport', httpErrorText(error));
    }
  });
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) result[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return result;
}

function tooLarge(request: Exchange, how: string): string {
  return `the response body is limited to ${request.max_body_bytes} bytes and ${how}`;
}
