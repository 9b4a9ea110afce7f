import { envelope } from '../../contract/agent.ts';
import { pointerValue } from '../../lib/json-pointer.ts';
import {
  isRecord,
  jsonFlaw,
  normalizedUsage,
  type ParsedEnvelope,
  parseEnvelope,
  parseMembers,
} from './envelope-parse.ts';
import type { ResponseMapping } from './http-config.ts';

/** Reads the envelope out of a successful response's body by the endpoint's mapping. */
export function parseResponse(text: string, contentType: string, mapping: ResponseMapping): ParsedEnvelope {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'text/event-stream') return problem('the agent streams events; let it answer with one JSON document');
  if (type.startsWith('text/') && !text.trimStart().startsWith('{')) {
    return text.isWellFormed()
      ? { type: 'envelope', envelope: envelope({ text }) }
      : problem('the text holds a lone surrogate');
  }
  if (text.trim() === '') return problem('the body is empty');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    return type.startsWith('text/')
      ? { type: 'envelope', envelope: envelope({ text }) }
      : problem(`the body is not JSON: ${(error as Error).message}`);
  }
  if ('preset' in mapping) return mapping.preset === 'native' ? parseEnvelope(body) : parseChatCompletion(body);
  return parseByPointers(body, mapping);
}

/** Reads a chat completion as OpenAI's API and its many imitations answer it. */
export function parseChatCompletion(body: unknown): ParsedEnvelope {
  const flaw = jsonFlaw(body);
  if (flaw !== null) return problem(flaw);
  const choice = pointerValue(body, '/choices/0');
  const message = pointerValue(choice, '/message');
  if (!isRecord(message)) return problem('the body has no `/choices/0/message`, so it is not a chat completion');
  const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  const metadata = {
    model: pointerValue(body, '/model'),
    finish_reason: pointerValue(choice, '/finish_reason'),
    refusal: message['refusal'],
  };
  return parseMembers(
    {
      text: chatText(message['content']),
      tool_calls: calls.map((call: unknown) => ({
        name: pointerValue(call, '/function/name'),
        arguments: chatArguments(pointerValue(call, '/function/arguments')),
      })),
      usage: pointerValue(body, '/usage'),
      metadata: Object.fromEntries(Object.entries(metadata).filter(([, value]) => typeof value === 'string')),
    },
    body,
  );
}

function parseByPointers(body: unknown, pointers: Exclude<ResponseMapping, { preset: string }>): ParsedEnvelope {
  const flaw = jsonFlaw(body);
  if (flaw !== null) return problem(flaw);
  const members: Record<string, unknown> = {};
  for (const [member, pointer] of Object.entries(pointers)) {
    const value = pointer === undefined ? undefined : pointerValue(body, pointer);
    if (value !== undefined) members[member] = value;
  }
  if (Object.keys(members).length === 0)
    return problem(
      `the body has nothing at ${Object.values(pointers)
        .map((pointer) => `\`${pointer}\``)
        .join(', ')} in the body`,
    );
  const text = members['text'];
  if (text !== undefined && text !== null && typeof text !== 'string') members['text'] = JSON.stringify(text);
  if (isRecord(members['usage'])) members['usage'] = normalizedUsage(members['usage']);
  return parseMembers(members, body);
}

function chatText(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content
    .map((part: unknown) => pointerValue(part, '/text'))
    .filter((text) => typeof text === 'string')
    .join('');
}

function chatArguments(text: unknown): unknown {
  if (typeof text !== 'string') return text ?? null;
  try {
    const value: unknown = JSON.parse(text);
    return jsonFlaw(value) === null ? value : text;
  } catch {
    return text; // what a model wrote as arguments need not be JSON; an evaluator judges it
  }
}

function problem(text: string): ParsedEnvelope {
  return { type: 'problem', problem: text };
}
