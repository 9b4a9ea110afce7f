import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net';

/** A request as a test server saw it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Which connection it came over, from 1. */
  readonly connection: number;
}

/** A real HTTP server on loopback that records what it saw. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly seen: Seen[];
}

/** Starts an HTTP server on 127.0.0.1. */
export async function httpServer(handle: (request: Seen, response: ServerResponse) => void): Promise<TestServer> {
  const seen: Seen[] = [];
  const connections = new Map<Socket, number>();
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const known = connections.get(request.socket) ?? connections.size + 1;
      connections.set(request.socket, known);
      const entry = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body,
        connection: known,
      };
      seen.push(entry);
      handle(entry, response);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Starts a TCP server on 127.0.0.1 that answers each connection as it likes once bytes have come. */
export async function rawServer(answer: (socket: Socket) => void): Promise<TestServer> {
  const sockets = new Set<Socket>();
  const server = createSocketServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => sockets.delete(socket)); // resets are what these tests are about
    socket.once('data', () => answer(socket));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** A port on 127.0.0.1 that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createSocketServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
