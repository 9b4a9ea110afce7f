import { type ServerType, serve } from '@hono/node-server';
import { ProctorError } from '../contract/problem.ts';
import { type ServerOptions, serverApp } from './app.ts';

/** A server that listens. */
export interface Listening extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
}

/** Starts the server on an address of this machine; port 0 takes a free one. */
export async function listen(options: ServerOptions, { hostname = '127.0.0.1', port = 0 } = {}): Promise<Listening> {
  const app = serverApp(options);
  const server = await new Promise<ServerType>((resolve, reject) => {
    const started = serve({ fetch: app.fetch, hostname, port }, () => resolve(started));
    started.on('error', (error: NodeJS.ErrnoException) =>
      reject(
        new ProctorError(
          'usage',
          `port ${port} of ${hostname} cannot be listened on (${error.code ?? error.message}); name another with --http`,
          { cause: error },
        ),
      ),
    );
  });
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${bound}`,
    [Symbol.asyncDispose]: async () => {
      await app.close();
      if ('closeAllConnections' in server) server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
