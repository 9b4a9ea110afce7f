import { ProctorError } from '../../contract/problem.ts';
import {
  type ContentBlock,
  type ToolAnswer,
  type ToolInvocation,
  type ToolOutput,
  type ToolSourceKind,
  toolFailure,
} from '../../contract/tool.ts';
import { describedTools, unavailable } from './described.ts';
import { connectMcp, type McpConnection } from './mcp-client.ts';
import { mcpConfigSchema } from './mcp-config.ts';
import { loginProvider } from './mcp-login.ts';

const LIST_MS = 30_000;

/** `mcp`: the tools of an MCP server, over its standard streams or streamable HTTP, in both eras of the protocol. */
export const mcpTools: ToolSourceKind<typeof mcpConfigSchema> = {
  kind: 'mcp',
  config: mcpConfigSchema,
  own: false,
  async open(context) {
    const { name, config, private_dir, resolve } = context;
    let connection: Promise<McpConnection> | null = null;
    const auth =
      config.oauth === undefined ? null : loginProvider({ name, private_dir, settings: config.oauth, resolve });
    const connected = () => {
      if (connection === null) {
        const opening = connectMcp({
          ...context,
          relay: context.relay.map((one) => METHODS[one]),
          auth,
          closed: () => {
            if (connection === opening) connection = null;
          },
        });
        connection = opening;
        opening.catch(() => {
          if (connection === opening) connection = null;
        });
      }
      return connection;
    };
    /** A server that asks its caller's person cannot say which call it means, so it gets one call at a time. */
    let queue: Promise<unknown> = Promise.resolve();
    const inTurn = <Value>(work: () => Promise<Value>): Promise<Value> => {
      if (context.relay.length === 0) return work();
      const next = queue.then(work, work);
      queue = next.catch(() => undefined);
      return next;
    };
    return {
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
          return describedTools(takeRaw().filter((raw) => names.has((raw as { name: string }).name)));
        } catch (error) {
          throw unavailable(
            name,
            `does not list its tools: ${error instanceof Error ? error.message : String(error)}`,
            error,
          );
        }
      },
      async invokeTool(invocation) {
        let opened: McpConnection;
        try {
          opened = await connected();
        } catch (error) {
          if (!ProctorError.is(error)) throw error;
          return toolFailure(error.code, error.message, { sent: false });
        }
        return await inTurn(() => call(opened, invocation));
      },
      async close() {
        await (await connection)?.close();
      },
    };
  },
};

const METHODS = { elicitation: 'elicitation/create', sampling: 'sampling/createMessage', roots: 'roots/list' } as const;

async function call({ client, calls, active }: McpConnection, invocation: ToolInvocation): Promise<ToolAnswer> {
  const { name, arguments: input, idempotency_key, timeout_ms, signal, conversation, max_output_bytes } = invocation;
  active.add(conversation);
  try {
    const result = await calls.run(conversation, () =>
      client.callTool(
        { name, arguments: { ...input }, _meta: { 'io.proctor/idempotency_key': idempotency_key } },
        {
          signal,
          timeout: timeout_ms,
          maxTotalTimeout: timeout_ms,
          resetTimeoutOnProgress: true,
          onprogress: ({ progress, total, message }) => conversation.progress(progress, total ?? null, message ?? null),
        },
      ),
    );
    const output: ToolOutput = {
      content: result.content as unknown as readonly ContentBlock[],
      structured: result.structuredContent ?? null,
    };
    const bytes = Buffer.byteLength(JSON.stringify(output));
    if (bytes > max_output_bytes)
      return toolFailure('oversize_output', `the answer has ${bytes} bytes; the most is ${max_output_bytes}`);
    return result.isError === true ? toolFailure('tool_error', textOf(output), { output }) : { type: 'ok', output };
  } catch (error) {
    return failureOf(error, invocation);
  } finally {
    active.delete(conversation);
  }
}

function textOf({ content }: ToolOutput): string {
  const text = content.flatMap((block) => (typeof block['text'] === 'string' ? [block['text']] : [])).join(' ');
  return text === '' ? 'the tool says that it failed' : text.slice(0, 500);
}

function failureOf(error: unknown, { signal, timeout_ms }: ToolInvocation): ToolAnswer {
  const message = error instanceof Error ? error.message : String(error);
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === 'REQUEST_TIMEOUT')
    return { type: 'timeout', message: `the server gave no answer within ${timeout_ms} ms` };
  if (signal.aborted) return { type: 'cancelled', message };
  if (typeof code === 'number') return toolFailure('mcp_error', `the server answered with error ${code}: ${message}`);
  if (code === 'CONNECTION_CLOSED')
    return toolFailure('connection_lost', 'the server ended before it answered; the call may have been carried out');
  return toolFailure('mcp_failed', message);
}
