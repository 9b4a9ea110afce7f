import { addressPolicy, type PrivateAddresses } from './address-policy.ts';

/** How a fetch for a streaming client is guarded. */
export interface GuardedFetchOptions {
  /** Host that the operator wrote, as `URL.hostname` gives it; private addresses are allowed by it. */
  readonly authored_host: string;
  readonly private_addresses: PrivateAddresses;
  /** A response body beyond it is broken off. */
  readonly max_body_bytes: number;
}

/** A fetch whose every connection is checked at the address it really goes to, and whose bodies are bounded. */
export interface GuardedFetch {
  fetch(input: string | URL, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

/** Opens a guarded fetch; redirects are left to the caller (`redirect: "manual"` unless the request says otherwise). */
export async function openGuardedFetch(options: GuardedFetchOptions): Promise<GuardedFetch> {
  const { Agent, fetch } = await import('undici');
  const policy = addressPolicy(options.authored_host, options.private_addresses);
  const dispatcher = new Agent({
    connect: { timeout: 10_000, lookup: policy.lookup },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    async fetch(input, init = {}) {
      const url = new URL(input);
      const refused = policy.refusalOfLiteral(url.hostname);
      if (refused !== null) throw new TypeError(refused);
      const request = { redirect: 'manual', ...init, dispatcher } as Parameters<typeof fetch>[1];
      const response = await fetch(url, request);
      const body = response.body as unknown as ReadableStream<Uint8Array> | null;
      return new Response(body === null ? null : body.pipeThrough(bounded(options.max_body_bytes)), {
        status: response.status,
        statusText: response.statusText,
        headers: [...response.headers],
      });
    },
    close: () => dispatcher.destroy(),
  };
}

function bounded(most: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > most) controller.error(new RangeError(`the answer has more than ${most} bytes`));
      else controller.enqueue(chunk);
    },
  });
}
