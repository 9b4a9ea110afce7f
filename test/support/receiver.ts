import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What a receiver answers to one try: a status with headers, or nothing at all until the caller gives up. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly delay_ms?: number;
}

/** One try as a receiver saw it. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly answered: number;
}

/** A webhook receiver on loopback; what it answers is asked at every try. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly received: Received[];
}

/** Starts a receiver; `port` 0 takes a free one. */
export async function startReceiver(answer: (tries: number) => Answer, port = 0): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { status, headers = {}, delay_ms = 0 } = answer(received.length + 1);
    received.push({ headers: request.headers, body, answered: status });
    setTimeout(() => response.writeHead(status, headers).end(), delay_ms);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const taken = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${taken}/hook`,
    port: taken,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
