import { ProctorError } from '../../contract/problem.ts';
import { type ToolAnswer, type ToolInvocation, type ToolSourceKind, toolFailure } from '../../contract/tool.ts';
import { type HttpClient, openHttpClient } from '../transport/http-client.ts';
import { describedTools } from './described.ts';
import { answerOf } from './openapi-answer.ts';
import type { OperationTool } from './openapi-binding.ts';
import { openapiConfigSchema } from './openapi-config.ts';
import { documentUrl } from './openapi-http.ts';
import { openDocument } from './openapi-load.ts';
import { type BuiltRequest, buildRequest } from './openapi-request.ts';

/** `openapi`: the operations of an HTTP API, as an OpenAPI 3.0 or 3.1 document describes them. */
export const openapiTools: ToolSourceKind<typeof openapiConfigSchema> = {
  kind: 'openapi',
  config: openapiConfigSchema,
  /** A file of the project is the operator's own word; what a URL answers is not. */
  own: ({ document }) => documentUrl(document) === null,
  async open(context) {
    const { config, resolve } = context;
    const document = openDocument(context);
    const clients = new Map<string, HttpClient>();
    const clientOf = (host: string) => {
      let client = clients.get(host);
      if (client === undefined) {
        const { connections, private_addresses, redirects } = config;
        client = openHttpClient({ authored_host: host, connections, private_addresses, redirects });
        clients.set(host, client);
      }
      return client;
    };
    return {
      async listTools(signal) {
        const compiled = await document.load(signal);
        const { tools: listed, refused } = describedTools(compiled.tools);
        return { tools: listed, refused: [...refused, ...compiled.refused] };
      },
      async invokeTool(invocation) {
        let request: BuiltRequest;
        // The operation as it was decided on, whatever the document says by now.
        const tool = invocation.raw as OperationTool | undefined;
        if (tool?.operation === undefined)
          return toolFailure('unknown_tool', `there is no operation \`${invocation.name}\``, { sent: false });
        try {
          const operator = { headers: resolved(config.headers, resolve), query: resolved(config.query, resolve) };
          request = buildRequest(tool.operation, invocation.arguments, operator, invocation.idempotency_key);
        } catch (error) {
          if (!ProctorError.is(error)) throw error;
          return toolFailure(error.code, error.message, { sent: false });
        }
        return await sent(clientOf(request.url.hostname), request, tool, invocation, config.redirects > 0);
      },
      async close() {
        await Promise.all([document.close(), ...[...clients.values()].map((client) => client.close())]);
      },
    };
  },
};

async function sent(
  client: HttpClient,
  request: BuiltRequest,
  { operation }: OperationTool,
  { timeout_ms, max_output_bytes, signal, redact }: ToolInvocation,
  redirects: boolean,
): Promise<ToolAnswer> {
  const outcome = await client.request({ ...request, timeout_ms, max_body_bytes: max_output_bytes, signal });
  return answerOf(outcome, operation, { redirects, redact });
}

function resolved(
  templates: Readonly<Record<string, string>>,
  resolve: (text: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(templates).map(([name, text]) => [name, resolve(text)]));
}
