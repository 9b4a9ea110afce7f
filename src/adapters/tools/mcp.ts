import { ProctorError } from '../../contract/problem.ts';
import { type JsonSchema, type ToolSource, type ToolSourceKind, toolFailure } from '../../contract/tool.ts';
import { describedTools, unavailable } from './described.ts';
import { callMcp } from './mcp-call.ts';
import { connectMcp, type McpConnection } from './mcp-client.ts';
import { mcpConfigSchema } from './mcp-config.ts';
import { McpLink, NOT_SENT } from './mcp-link.ts';
import { loginProvider } from './mcp-login.ts';
import { signInToMcp } from './mcp-sign-in.ts';

const LIST_MS = 30_000;
/** `mcp`: the tools of an MCP server, over its standard streams or streamable HTTP, in both eras of the protocol. */
export const mcpTools: ToolSourceKind<typeof mcpConfigSchema> = {
  kind: 'mcp',
  config: mcpConfigSchema,
  own: false,
  async open(context) {
    const { name, config, private_dir, resolve } = context;
    const login = config.oauth === undefined ? null : { name, private_dir, resolve, settings: config.oauth };
    const link = new McpLink(
      (closed) => connectMcp({ ...context, auth: login === null ? null : loginProvider(login, null), closed }),
      { program: config.command !== undefined },
    );
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
        const { client, takeRaw } = await link.open();
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
        try {
          return await link.call((connection, sending) =>
            inTurn(connection, async () => {
              if (connection.overflowed()) return NOT_SENT;
              sending();
              return await callMcp(connection, invocation, schemas.get(invocation.name) ?? null);
            }),
          );
        } catch (error) {
          if (!ProctorError.is(error)) throw error;
          return toolFailure(error.code, error.message, { sent: false });
        }
      },
      close: () => link.close(),
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
