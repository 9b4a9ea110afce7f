import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Limit of a response body that the bad agent's profile sets. */
export const MAX_BODY_BYTES = 10_000;

/** How the agent treats a case, and what becomes of the execution. */
export interface Conduct {
  readonly does: (response: ServerResponse, caseId: string) => void;
  readonly ends: readonly [status: string, fault: string | null, reason: string | null];
}

/** An agent on loopback that treats every case as its conduct says. */
export async function badAgent(conducts: Record<string, Conduct>) {
  const instants: Record<string, number[]> = {};
  const server = createServer((request, response) => {
    // The case is named by the body of the first call; a redirected call carries it too.
    void treat(request, response).catch(() => response.destroy());
  });
  const treat = async (request: IncomingMessage, response: ServerResponse) => {
    const { case: item } = JSON.parse(await text(request)) as { case: { case_id: string } };
    instants[item.case_id] = [...(instants[item.case_id] ?? []), Date.now()];
    conducts[item.case_id]?.does(response, item.case_id);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const endpoint = {
    url: `http://127.0.0.1:${port}/invoke`,
    max_body_bytes: MAX_BODY_BYTES,
    redirects: 2,
    cross_origin_redirects: true,
  };
  return {
    agent: { kind: 'http', endpoint },
    /** How often each case was asked. */
    calls: () => Object.fromEntries(Object.entries(instants).map(([id, all]) => [id, all.length])),
    /** When each case was asked. */
    instants: (id: string): readonly number[] => instants[id] ?? [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers with a status and a body that is said to be JSON. */
export function json(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
}

/** Redirects to a place. */
export function redirect(location: string) {
  return (response: ServerResponse) => void response.writeHead(302, { location }).end();
}

/** A byte every 50 ms, so that the connection never looks idle. */
export function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 50);
  response.on('close', () => clearInterval(timer));
}

/** Chunks as fast as they are taken, and no end. */
export function flood(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const more = () => {
    while (!response.destroyed && response.write('x'.repeat(1_000)));
  };
  response.on('drain', more);
  more();
}

/** Promises more than it sends, and closes the socket. */
export function half(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"text": "ha', () => response.socket?.destroy());
}
