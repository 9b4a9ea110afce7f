import { describe, expect, it } from 'vitest';
import { http } from '../../../src/adapters/agents/http.ts';
import { type AgentAnswer, envelope } from '../../../src/contract/agent.ts';
import { freePort, httpServer, rawServer } from '../transport/server.ts';
import { agentRequest, invokeOnce, openAgent, SECRETS, secret } from './fixture.ts';

/** Answers of an agent whose server answers with this body. */
async function answerOf(
  body: string,
  options: {
    readonly type?: string;
    readonly status?: number;
    readonly headers?: Record<string, string>;
    readonly endpoint?: object;
  } = {},
): Promise<AgentAnswer> {
  await using server = await httpServer((_, response) =>
    response
      .writeHead(options.status ?? 200, { 'content-type': options.type ?? 'application/json', ...options.headers })
      .end(body),
  );
  return await invokeOnce(http, { endpoint: { url: `${server.url}/invoke`, ...options.endpoint } });
}

const envelopeOf = async (...call: Parameters<typeof answerOf>) => {
  const answer = await answerOf(...call);
  return answer.type === 'envelope' ? answer.envelope : answer.message;
};

describe('the request', () => {
  it('is the document with ids in the headers, and the secrets resolved', async () => {
    await using server = await httpServer((_, response) => response.end('"4"'));
    await invokeOnce(http, {
      endpoint: { url: server.url, headers: { Authorization: `Bearer ${secret('KEY')}`, 'X-Team': 'a' } },
    });
    const [seen] = server.seen;
    expect(JSON.parse(seen?.body ?? '')).toEqual(agentRequest());
    expect(seen?.headers).toMatchObject({
      'content-type': 'application/json',
      accept: 'application/json, text/plain;q=0.5',
      'idempotency-key': 'att_1',
      'proctor-run-id': 'run_1',
      'proctor-execution-id': 'exe_1',
      'proctor-attempt-id': 'att_1',
      authorization: `Bearer ${SECRETS['KEY']}`,
      'x-team': 'a',
    });
  });

  it('is a chat completion when the response is one, with model, system message and further members', async () => {
    await using server = await httpServer((_, response) => response.end('{"choices":[{"message":{"content":"4"}}]}'));
    const response = { preset: 'openai_chat' };
    await invokeOnce(http, { endpoint: { url: server.url, response } });
    await invokeOnce(
      http,
      {
        endpoint: {
          url: server.url,
          response,
          body: { preset: 'openai_chat', model: 'small', system: 'Be brief.', members: { temperature: 0 } },
        },
      },
      { request: agentRequest({ b: 1, a: 2 }) },
    );
    await invokeOnce(
      http,
      { endpoint: { url: server.url, response } },
      { request: agentRequest([{ role: 'user', content: 'Hi' }]) },
    );
    expect(server.seen.map((seen) => JSON.parse(seen.body))).toEqual([
      { messages: [{ role: 'user', content: 'What is 2 + 2?' }] },
      {
        temperature: 0,
        model: 'small',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: '{"a":2,"b":1}' },
        ],
      },
      { messages: [{ role: 'user', content: 'Hi' }] },
    ]);
  });
});

describe('the response', () => {
  it('is the envelope; what the envelope has no member for stays in `raw`', async () => {
    const known = {
      text: '4',
      structured: { n: 4 },
      tool_calls: [{ name: 'add', arguments: { a: 2 } }],
      usage: { input_tokens: 5, output_tokens: 2 },
      metadata: { k: 'v' },
    };
    const expected = {
      ...envelope(known as never),
      tool_calls: [{ name: 'add', arguments: { a: 2 }, result: null, source: 'reported' }],
      usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7, cost_micro_usd: null },
    };
    expect(await envelopeOf(JSON.stringify(known))).toEqual(expected);
    const more = { ...known, thoughts: 'hm', trace: null };
    expect(await envelopeOf(JSON.stringify(more))).toEqual({ ...expected, raw: more });
  });

  it('may be a JSON string, other JSON, or plain text', async () => {
    expect(await envelopeOf('"four"')).toEqual(envelope({ text: 'four' }));
    expect(await envelopeOf('{"label":"bug"}')).toEqual(envelope({ structured: { label: 'bug' } }));
    expect(await envelopeOf('[1,2]')).toEqual(envelope({ structured: [1, 2] }));
    expect(await envelopeOf('42 is\nit', { type: 'text/plain; charset=utf-8' })).toEqual(
      envelope({ text: '42 is\nit' }),
    );
    expect(await envelopeOf('{"text":"json in disguise"}', { type: 'text/plain' })).toEqual(
      envelope({ text: 'json in disguise' }),
    );
    expect(await envelopeOf('{not json}', { type: 'text/plain' })).toEqual(envelope({ text: '{not json}' }));
  });

  it('is read from a chat completion', async () => {
    const body = {
      id: 'chatcmpl-1',
      model: 'small-1',
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":2}' } },
              { function: { name: 'odd', arguments: '{a' } },
            ],
          },
        },
      ],
      usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12, prompt_tokens_details: {} },
    };
    const read = {
      text: null,
      tool_calls: [
        { name: 'add', arguments: { a: 2 }, result: null, source: 'reported' },
        { name: 'odd', arguments: '{a', result: null, source: 'reported' },
      ],
      usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12, cost_micro_usd: null },
      metadata: { model: 'small-1', finish_reason: 'tool_calls' },
    };
    expect(await envelopeOf(JSON.stringify(body), { endpoint: { response: { preset: 'openai_chat' } } })).toEqual({
      ...envelope(read as never),
      raw: body,
    });
  });

  it('is read by JSON pointers', async () => {
    const body = { out: { answer: 4, calls: [{ name: 'add' }] }, cost: { cost_usd: 0.00125 }, meta: { a: 'b' } };
    const response = {
      text: '/out/answer',
      tool_calls: '/out/calls',
      usage: '/cost',
      metadata: '/meta',
      trace: '/absent',
    };
    const usage = { input_tokens: null, output_tokens: null, total_tokens: null, cost_micro_usd: 1_250 };
    expect(await envelopeOf(JSON.stringify(body), { endpoint: { response } })).toEqual(
      envelope({
        text: '4',
        tool_calls: [{ name: 'add', arguments: null, result: null, source: 'reported' }],
        usage,
        metadata: { a: 'b' },
        raw: body,
      }),
    );
  });

  it.each([
    [
      '{"text": 5}',
      {},
      'the member `text` is not as the envelope has it: Invalid input: expected string, received number',
    ],
    ['{"text":', {}, 'the body is not JSON'],
    ['', {}, 'the body is empty'],
    ['<html>', {}, 'the body is not JSON'],
    ['data: 1\n\n', { type: 'text/event-stream' }, 'the agent streams events; let it answer with one JSON document'],
    ['{"text":"\\ud800"}', {}, 'the text at `/text` holds a lone surrogate'],
    ['{"structured":{"n":1e999}}', {}, 'the number at `/structured/n` is out of range'],
    [`{"structured":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, {}, 'it is nested deeper than 500 levels'],
    [
      '{"error":"overloaded"}',
      { endpoint: { response: { preset: 'openai_chat' } } },
      'the body has no `/choices/0/message`, so it is not a chat completion',
    ],
    ['{"a":1}', { endpoint: { response: { text: '/b' } } }, 'the body has nothing at `/b` in the body'],
  ])('is the agent’s fault when it is unusable: %.40s', async (body, options, problem) => {
    const answer = await answerOf(body, options);
    expect(answer).toMatchObject({
      type: 'failure',
      fault: 'agent',
      code: 'invalid_body',
      timed_out: false,
      evidence: { status: 200 },
    });
    expect(answer.type === 'failure' && answer.message).toContain(problem);
  });
});

describe('a status', () => {
  it.each([408, 429, 502, 503, 504])(
    '%i is a fault of the infrastructure and says when to come again',
    async (status) => {
      expect(await answerOf('later', { status, type: 'text/plain', headers: { 'retry-after': '7' } })).toEqual({
        class: `http_${status}`,
        throttled: true,
        type: 'failure',
        fault: 'infrastructure',
        code: 'http_status',
        message: expect.stringMatching(new RegExp(`^\`http://127.0.0.1:\\d+/invoke\` answered with status ${status}$`)),
        timed_out: false,
        retry_after_ms: 7_000,
        evidence: { status, headers: { 'content-type': 'text/plain', 'retry-after': '7' }, body: 'later' },
      });
    },
  );

  it.each([401, 403, 407])('%i is a fault of configuration', async (status) => {
    expect(await answerOf('{}', { status })).toMatchObject({ fault: 'configuration', code: 'http_status' });
  });

  it.each([400, 404, 409, 422, 500, 501])('%i is the agent’s fault', async (status) => {
    expect(await answerOf('{}', { status })).toMatchObject({
      fault: 'agent',
      code: 'http_status',
      retry_after_ms: null,
    });
  });
});

describe('a failure of transport', () => {
  it('is charged by the table of faults', async () => {
    await using hanging = await httpServer(() => undefined);
    await using resetting = await rawServer((socket) => socket.resetAndDestroy());
    await using garbage = await rawServer((socket) => socket.end('garbage\r\n\r\n'));
    await using redirecting = await httpServer((_, response) => response.writeHead(302, { location: '/next' }).end());
    await using large = await httpServer((_, response) => response.end('x'.repeat(5_000)));
    const answers = [
      await invokeOnce(http, { endpoint: { url: `http://127.0.0.1:${await freePort()}/` } }),
      await invokeOnce(http, { endpoint: { url: resetting.url } }),
      await invokeOnce(http, { endpoint: { url: hanging.url, timeout_ms: 100 } }),
      await invokeOnce(http, { endpoint: { url: hanging.url } }, { timeout_ms: 100 }),
      await invokeOnce(http, { endpoint: { url: hanging.url } }, { signal: AbortSignal.abort(new Error('released')) }),
      await invokeOnce(http, { endpoint: { url: garbage.url } }),
      await invokeOnce(http, { endpoint: { url: redirecting.url } }),
      await invokeOnce(http, { endpoint: { url: large.url, max_body_bytes: 1_000 } }),
    ];
    expect(
      answers.map((answer) => (answer.type === 'failure' ? [answer.fault, answer.code, answer.timed_out] : answer)),
    ).toEqual([
      ['infrastructure', 'connection_refused', false],
      ['infrastructure', 'connection_reset', false],
      ['agent', 'timeout', true],
      ['agent', 'timeout', true],
      ['infrastructure', 'aborted', false],
      ['agent', 'invalid_response', false],
      ['agent', 'redirect_refused', false],
      ['agent', 'oversize_body', false],
    ]);
  });
});

it.each([
  ['nowhere', 'is not a URL'],
  ['ftp://agent.example/', 'has the protocol `ftp:`'],
  ['http://user:pass@agent.example/', 'holds credentials'],
  ['http://169.254.169.254/latest', 'is a link-local or metadata address'],
])('the endpoint `%s` is refused when the agent is opened', async (url, message) => {
  await expect(openAgent(http, { endpoint: { url } })).rejects.toThrow(message);
});
