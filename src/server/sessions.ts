import { randomUUID } from 'node:crypto';
import { type AuthInfo, type McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { Caller } from '../gateway/ports.ts';
import type { Clock } from '../lib/clock.ts';

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: McpServer;
  /** Whose it is: the principal and, in an evaluation, the attempt. */
  readonly owner: string;
  seen: number;
}

const IDLE_MS = 1_800_000;
const MOST_SESSIONS = 1_000;

/** Sessions of clients of the older era over HTTP: each belongs to the principal that opened it and ends when nobody uses it. */
export class LegacySessions {
  readonly #sessions = new Map<string, Session>();
  readonly #clock: Clock;
  readonly #make: (caller: Caller) => McpServer;

  constructor(clock: Clock, make: (caller: Caller) => McpServer) {
    this.#clock = clock;
    this.#make = make;
  }

  async handle(request: Request, caller: Caller, authInfo: AuthInfo): Promise<Response> {
    this.#forgetIdle();
    const id = request.headers.get('mcp-session-id');
    if (id === null) return await this.#open(request, caller, authInfo);
    const session = this.#sessions.get(id);
    if (session === undefined || session.owner !== ownerOf(caller)) return rpcError(404, -32001, 'Session not found');
    session.seen = this.#clock.monotonic();
    return await session.transport.handleRequest(request, { authInfo });
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#sessions.values()].map(({ server }) => server.close()));
    this.#sessions.clear();
  }

  async #open(request: Request, caller: Caller, authInfo: AuthInfo): Promise<Response> {
    if (this.#sessions.size >= MOST_SESSIONS) return rpcError(503, -32000, 'too many sessions are open');
    const session = randomUUID();
    const server = this.#make({ ...caller, session });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => session,
      onsessioninitialized: (sessionId) => {
        this.#sessions.set(sessionId, {
          transport,
          server,
          owner: ownerOf(caller),
          seen: this.#clock.monotonic(),
        });
      },
      onsessionclosed: (sessionId) => {
        this.#sessions.delete(sessionId);
      },
    });
    await server.connect(transport);
    const response = await transport.handleRequest(request, { authInfo });
    if (transport.sessionId === undefined) await server.close(); // the request opened no session
    return response;
  }

  #forgetIdle(): void {
    const since = this.#clock.monotonic() - IDLE_MS;
    for (const [id, { server, seen }] of this.#sessions) {
      if (seen >= since) continue;
      this.#sessions.delete(id);
      void server.close();
    }
  }
}

function ownerOf({ principal, bound }: Caller): string {
  return JSON.stringify([principal.id, bound?.run_id ?? null, bound?.ordinal ?? null, bound?.attempt ?? null]);
}

/** A JSON-RPC error without a request to answer. */
function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}
