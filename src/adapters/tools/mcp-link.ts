import { type ToolAnswer, toolFailure } from '../../contract/tool.ts';
import { type McpConnection, MOST_MESSAGE_BYTES } from './mcp-client.ts';

/** A call over a connection; `sending` is told when it is about to be sent. */
type LinkedCall = (connection: McpConnection, sending: () => void) => Promise<ToolAnswer>;

const TOO_LONG = toolFailure(
  'oversize_output',
  `the server sent a message of more than ${MOST_MESSAGE_BYTES} bytes and the connection was closed; the call may have been carried out`,
);

/** How a call ends whose turn never came before the connection was lost. */
export const NOT_SENT = toolFailure('connection_lost', 'the connection was closed before the call was sent', {
  sent: false,
});

/**
 * A source's connection to its server: made when it is first needed, shared by all calls, made anew when it is lost. Half a line that never ends
 * spoils all that comes after it: after a time-out, once no other call is under way, a program through which nothing comes any more is ended.
 */
export class McpLink {
  readonly #connect: (closed: () => void) => Promise<McpConnection>;
  readonly #program: boolean;
  readonly #calls = new Map<McpConnection, number>();
  readonly #suspects = new Set<McpConnection>();
  readonly #ending = new Set<Promise<unknown>>();
  #current: Promise<McpConnection> | null = null;

  constructor(connect: (closed: () => void) => Promise<McpConnection>, { program }: { readonly program: boolean }) {
    this.#connect = connect;
    this.#program = program;
  }

  /** The connection, opened if there is none; throws `source_unavailable`. */
  open(): Promise<McpConnection> {
    if (this.#current !== null) return this.#current;
    const opening = this.#connect(() => this.#drop(opening));
    this.#current = opening;
    opening.catch(() => this.#forget(opening));
    return opening;
  }

  /** Makes a call over the connection. */
  async call(make: LinkedCall): Promise<ToolAnswer> {
    const opening = this.open();
    const connection = await opening;
    this.#calls.set(connection, (this.#calls.get(connection) ?? 0) + 1);
    let sent = false;
    try {
      const made = make(connection, () => {
        sent = true;
      });
      const answer = await Promise.race([made, connection.overflow.then(() => (sent ? TOO_LONG : NOT_SENT))]);
      if (answer.type === 'timeout' && this.#program) this.#suspects.add(connection);
      return answer;
    } finally {
      const left = (this.#calls.get(connection) ?? 1) - 1;
      if (left > 0) this.#calls.set(connection, left);
      else this.#calls.delete(connection);
      if (left === 0 && this.#suspects.delete(connection)) this.#track(this.#probe(opening, connection));
    }
  }

  /** Ends the connection; no program of a server outlives its source. */
  async close(): Promise<void> {
    const current = await this.#current?.catch(() => null);
    await current?.close();
    await Promise.allSettled([...this.#ending]);
  }

  async #probe(opening: Promise<McpConnection>, connection: McpConnection): Promise<void> {
    if (await connection.responds()) return;
    if (this.#calls.has(connection))
      this.#suspects.add(connection); // its end looks again
    else this.#drop(opening);
  }

  #drop(opening: Promise<McpConnection>): void {
    this.#forget(opening);
    this.#track(opening.then((connection) => connection.close()));
  }

  #forget(opening: Promise<McpConnection>): void {
    if (this.#current === opening) this.#current = null;
  }

  #track(work: Promise<unknown>): void {
    const settled = work.catch(() => undefined).finally(() => this.#ending.delete(settled)); // what was lost cannot be closed better
    this.#ending.add(settled);
  }
}
