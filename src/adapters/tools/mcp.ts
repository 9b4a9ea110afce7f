import { ProctorError } from '../../contract/problem.ts';
import { type JsonSchema, type ToolSource, type ToolSourceKind, toolFailure } from '../../contract/tool.ts';
import { describedTools, unavailable } from './described.ts';
import { callMcp } from './mcp-call.ts';
import { connectMcp, type McpConnection, MOST_MESSAGE_BYTES } from './mcp-client.ts';
import { mcpConfigSchema } from './mcp-config.ts';
import { loginProvider } from './mcp-login.ts';
import { signInToMcp } from './mcp-sign-in.ts';

const LIST_MS = 30_000;
const TOO_LONG = toolFailure(
  'oversize_output',
  `the server sent a message of more than ${MOST_MESSAGE_BYTES} bytes and the connection was closed; the call may have been carried out`,
);

/** `mcp`: the tools of an MCP server, over its standard streams or streamable HTTP, in both eras of the protocol. */
export const mcpTools: ToolSourceKind<typeof mcpConfigSchema> = {
  kind: 'mcp',
  config: mcpConfigSchema,
  own: false,
  async open(context) {
    const { name, config, private_dir, resolve } = context;
    const login = config.oauth === undefined ? null : { name, private_dir, resolve, settings: config.oauth };
    let connection: Promise<McpConnection> | null = null;
    const connected = () => {
      if (connection === null) {
        const opening = connectMcp({
          ...context,
          auth: login === null ? null : loginProvider(login, null),
          closed: () => forget(opening),
        });
        connection = opening;
        opening.catch(() => forget(opening));
      }
      return connection;
    };
    const forget = (opening: Promise<McpConnection>) => {
      if (connection === opening) connection = null;
    };
    /** Half a line that never ends spoils all that comes after it: a server through which nothing comes any more is started anew. */
    const renew = async (opened: McpConnection, opening: Promise<McpConnection>, unlessAlive: boolean) => {
      if (unlessAlive && (await opened.responds())) return;
      forget(opening);
      await opened.close();
    };
    const renewals = new Set<Promise<void>>();
    /** What the last listing says of the arguments: some of them stand in headers too. */
    const schemas = new Map<string, JsonSchema>();
    /** A server of the older era that asks cannot say which call it means, so it gets one call at a time. */
    let queue: Promise<unknown> = Promise.resolve();
    const inTurn = <Value>({ client }: McpConnection, work: () => Promise<Value>): Promise<Value> => {
      if (context.relay.length === 0 || client.getProtocolEra() === 'modern') return work();
      const next = queue.then(work, work);
      queue = next.catch(() => undefined);
      return next;
    };
    const source: ToolSource = {
      async listTools(signal) {
        const { client, takeRaw } = await connected();
        takeRaw();
        try {
          const { tools } = await client.listTools(undefined, {
            signal,
            timeout: LIST_MS,
            maxTotalTimeout: LIST_MS,
            cacheMode: 'refresh',
          });
          const names = new Set(tools.map((tool) => tool.name));
          const listed = describedTools(takeRaw().filter((raw) => names.has((raw as { name: string }).name)));
          for (const tool of listed.tools) schemas.set(tool.name, tool.input_schema);
          return listed;
        } catch (error) {
          if (ProctorError.is(error)) throw error;
          throw unavailable(
            name,
            `does not list its tools: ${error instanceof Error ? error.message : String(error)}`,
            error,
          );
        }
      },
      async invokeTool(invocation) {
        let opened: McpConnection;
        const opening = connected();
        try {
          opened = await opening;
        } catch (error) {
          if (!ProctorError.is(error)) throw error;
          return toolFailure(error.code, error.message, { sent: false });
        }
        const call = inTurn(opened, () => callMcp(opened, invocation, schemas.get(invocation.name) ?? null));
        const answer = await Promise.race([call, opened.overflow.then(() => TOO_LONG)]);
        if (config.command !== undefined && (answer === TOO_LONG || answer.type === 'timeout')) {
          const renewal = renew(opened, opening, answer !== TOO_LONG);
          renewals.add(renewal);
          renewal.finally(() => renewals.delete(renewal));
        }
        return answer;
      },
      async close() {
        await (await connection)?.close();
        await Promise.all(renewals); // no process of a server outlives its source
      },
    };
    if (login === null || config.url === undefined) return source;
    return {
      ...source,
      signIn: async (how) =>
        await signInToMcp({ ...login, config }, how, async () => {
          await source.listTools(how.signal);
        }),
    };
  },
};
