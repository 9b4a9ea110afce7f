import { setTimeout as sleep } from 'node:timers/promises';
import type { CallToolResult, Client, InputRequests, Progress } from '@modelcontextprotocol/client';
import { ProctorError } from '../../contract/problem.ts';
import {
  type ContentBlock,
  type JsonSchema,
  LackingCapability,
  type ToolAnswer,
  type ToolInvocation,
  type ToolOutput,
  toolFailure,
} from '../../contract/tool.ts';
import { linkedSignal } from '../../lib/abort.ts';
import { excerpt } from '../transport/excerpt.ts';
import type { McpConnection } from './mcp-client.ts';

/** More rounds of questions in one call are no conversation any more. */
const MOST_ROUNDS = 25;
const PAUSE_MS = 250; // before a server that only says "come back" is asked again

class OutOfTime extends Error {}

/** Calls a tool of a server and hands its questions on until it has answered; never throws for what the server does. */
export async function callMcp(
  connection: McpConnection,
  invocation: ToolInvocation,
  inputSchema: JsonSchema | null,
): Promise<ToolAnswer> {
  const { timeout_ms, conversation, max_output_bytes } = invocation;
  using limit = linkedSignal(invocation.signal, timeout_ms, () => new OutOfTime());
  const rounds = { done: 0 };
  try {
    const bounded = { ...invocation, signal: limit.signal };
    const result = await connection.calls.run(conversation, () => conversed(connection, bounded, inputSchema, rounds));
    const output: ToolOutput = {
      content: result.content as unknown as readonly ContentBlock[],
      structured: result.structuredContent ?? null,
    };
    const bytes = Buffer.byteLength(JSON.stringify(output));
    if (bytes > max_output_bytes)
      return toolFailure('oversize_output', `the answer has ${bytes} bytes; the most is ${max_output_bytes}`);
    return result.isError === true
      ? toolFailure('tool_error', textOf(output, invocation.redact), { output })
      : { type: 'ok', output };
  } catch (error) {
    if (limit.signal.reason instanceof OutOfTime)
      return { type: 'timeout', message: `the server gave no answer within ${timeout_ms} ms` };
    if (invocation.signal.aborted) return { type: 'cancelled', message: messageOf(error) };
    return failureOf(error, rounds.done > 0);
  }
}

/** In the revision 2026-07-28 a server answers with its questions, and the call is made again with the answers. */
async function conversed(
  { client, relay, active }: McpConnection,
  invocation: ToolInvocation,
  inputSchema: JsonSchema | null,
  rounds: { done: number },
): Promise<CallToolResult> {
  const { name, arguments: input, timeout_ms, signal, conversation } = invocation;
  const { isInputRequiredResult } = await import('@modelcontextprotocol/client');
  const params = { name, arguments: { ...input }, _meta: await metaOf(client, relay, invocation) };
  const options = {
    signal,
    timeout: timeout_ms,
    resetTimeoutOnProgress: true,
    allowInputRequired: true,
    // Without the output schema: the gateway checks outputs itself, and questions are none.
    ...(inputSchema === null ? {} : { toolDefinition: { name, inputSchema: inputSchema as { type: 'object' } } }),
    onprogress: ({ progress, total, message }: Progress) =>
      conversation.progress(progress, total ?? null, message ?? null),
  };
  for (let retry = {}; ; ) {
    active.add(conversation); // while an answer is waited for here, nothing of this call runs there
    const leg = client.callTool({ ...params, ...retry }, options).finally(() => active.delete(conversation));
    const result: unknown = await leg;
    if (!isInputRequiredResult(result)) return result as CallToolResult;
    const { inputRequests = {}, requestState } = result;
    const questions = Object.entries(inputRequests as InputRequests);
    if (questions.length === 0) await sleep(PAUSE_MS, undefined, { signal });
    else if (rounds.done === MOST_ROUNDS) throw new Error(`the server asked ${MOST_ROUNDS} times and is not content`);
    else rounds.done += 1;
    const inputResponses = Object.fromEntries(
      await Promise.all(
        questions.map(async ([key, { method, params: asked }]) => [
          key,
          await conversation.ask(method, asked ?? {}, signal, key),
        ]),
      ),
    );
    retry = {
      ...(questions.length === 0 ? {} : { inputResponses }),
      ...(requestState === undefined ? {} : { requestState }),
    };
  }
}

/** What goes along with the call: its key, and to a server of the newer era what this caller can answer, as far as it is let through. */
async function metaOf(
  client: Client,
  relay: readonly string[],
  { idempotency_key, conversation }: ToolInvocation,
): Promise<Record<string, unknown>> {
  const meta = { 'io.proctor/idempotency_key': idempotency_key };
  if (client.getProtocolEra() !== 'modern') return meta;
  const { CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY } = await import('@modelcontextprotocol/client');
  const { capabilities, log_level } = conversation.abilities;
  return {
    ...meta,
    [CLIENT_CAPABILITIES_META_KEY]: Object.fromEntries(
      Object.entries(capabilities).filter(([capability]) => relay.includes(capability)),
    ),
    ...(log_level === null ? {} : { [LOG_LEVEL_META_KEY]: log_level }),
  };
}

function textOf({ content }: ToolOutput, redact: ToolInvocation['redact']): string {
  const text = content.flatMap((block) => (typeof block['text'] === 'string' ? [block['text']] : [])).join(' ');
  return text === '' ? 'the tool says that it failed' : excerpt(redact(text), 500);
}

function failureOf(error: unknown, begun: boolean): ToolAnswer {
  const message = messageOf(error);
  if (ProctorError.is(error)) return toolFailure(error.code, message, { sent: begun });
  if (error instanceof LackingCapability) return toolFailure(`lacks_${error.capability}`, message);
  const { code, data } = (error ?? {}) as { code?: unknown; data?: { requiredCapabilities?: object } };
  const lacking = code === LACKING ? Object.keys(data?.requiredCapabilities ?? {})[0] : undefined;
  if (lacking !== undefined && /^[a-z]{1,40}$/.test(lacking))
    return toolFailure(`lacks_${lacking}`, `the server answered: ${message}`, { sent: begun });
  if (typeof code === 'number') return toolFailure('mcp_error', `the server answered with error ${code}: ${message}`);
  if (code === 'CONNECTION_CLOSED')
    return toolFailure('connection_lost', 'the server ended before it answered; the call may have been carried out');
  return toolFailure(
    'mcp_failed',
    message.replace(/^(Invalid result for \S+): \[[\s\S]*$/, '$1: it is not what MCP says'),
  );
}

/** MissingRequiredClientCapability of the revision 2026-07-28. */
const LACKING = -32_021;

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
