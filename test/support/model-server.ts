import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What a model is asked for, in either wire format. */
export interface Asked {
  readonly path: string;
  readonly authorization: string;
  readonly model: string;
  readonly temperature: unknown;
  readonly system: string;
  readonly user: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A model endpoint on loopback that speaks the wire formats of OpenAI's chat completions and Anthropic's messages. */
export interface ModelServer extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
}

/** Starts it; `answer` gives the text, or a status that is not 200. */
export async function startModelServer(
  answer: (asked: Asked) => string | number | { readonly status: number; readonly message: string },
): Promise<ModelServer> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as Record<string, unknown>;
    const anthropic = request.url === '/v1/messages';
    const found: Asked = {
      path: request.url ?? '',
      authorization: String(request.headers[anthropic ? 'x-api-key' : 'authorization'] ?? ''),
      model: String(body['model']),
      temperature: body['temperature'],
      ...prompt(body, anthropic),
      body,
    };
    asked.push(found);
    const given = answer(found);
    const status = typeof given === 'number' ? given : typeof given === 'object' ? given.status : 200;
    const said = typeof given === 'object' ? given.message : 'busy';
    const reply =
      typeof given !== 'string'
        ? { error: { type: 'overloaded', message: said } }
        : (anthropic ? message : completion)(found, given);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function prompt(body: Record<string, unknown>, anthropic: boolean): { system: string; user: string } {
  const messages = body['messages'] as { role: string; content: unknown }[];
  const of = (role: string) => textOf(messages.find((item) => item.role === role)?.content);
  return { system: anthropic ? textOf(body['system']) : of('system'), user: of('user') };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return (content as { text?: string }[] | undefined)?.map((part) => part.text ?? '').join('') ?? '';
}

function completion({ model }: Asked, content: string) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model,
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
  };
}

function message({ model, body }: Asked, content: string) {
  // Structured answers may be asked for as a call of a tool; the answer then comes as its input.
  const tool = (body['tool_choice'] as { name?: string } | undefined)?.name;
  const part =
    tool === undefined
      ? { type: 'text', text: content }
      : { type: 'tool_use', id: 'tu_1', name: tool, input: JSON.parse(content) };
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content: [part],
    stop_reason: tool === undefined ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 100, output_tokens: 20 },
  };
}
