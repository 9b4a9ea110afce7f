import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ElicitRequest, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { policySchema } from '../../src/contract/policy.ts';
import { compilePolicy } from '../../src/core/policy/compile.ts';
import { Tokens } from '../../src/server/auth.ts';
import { listen } from '../../src/server/listen.ts';
import { allowAll, gatewayProject } from '../support/gateway-project.ts';
import { eventually } from '../support/waiting.ts';
import { fixture } from './support.ts';

/** What MCP clients of both eras may rely on over HTTP, and what they may not get at. */
const ERAS = ['legacy', 'auto'] as const;
const PRINCIPALS = [
  { id: 'human:operator', roles: ['operator'] },
  { id: 'agent:a', roles: [] },
  { id: 'agent:b', roles: [] },
];
const STOPPED_MS = 500;
const MODULE = `import { appendFileSync, existsSync } from 'node:fs';
const note = (what) => appendFileSync(new URL('./notes.txt', import.meta.url), what + '\\n');
const anyObject = { type: 'object' };
export const tools = {
  slow: { description: 'Goes on until it may end.', input_schema: anyObject, run: () => new Promise((resolve) => {
    note('begun');
    setInterval(function () { if (existsSync(new URL('./end.txt', import.meta.url))) { clearInterval(this); note('done'); resolve('done'); } }, 10);
  }) },
  act: { description: 'Acts.', input_schema: anyObject, run() { note('acted'); return 'acted'; } },
  list: { description: 'Lists.', input_schema: anyObject, output_schema: { type: 'array', items: { type: 'integer' } }, run: () => [1, 2] },
};
`;
const POLICY = {
  rules: [
    { id: 'all', effect: 'allow' },
    { id: 'asked', tools: 'own.act', effect: { ask: {} } },
    { id: 'not-for-b', tools: 'own.slow', when: { principal: 'agent:b' }, effect: 'deny' },
  ],
};

async function served(holdMs = 20_000) {
  await using stack = new AsyncDisposableStack();
  const project = stack.use(
    await gatewayProject({
      tools: {
        own: { kind: 'module', path: 'tools.ts' },
        fixture: {
          kind: 'mcp',
          command: [process.execPath, fixture('upstream.ts'), 'stdio'],
          relay: ['elicitation', 'sampling', 'roots'],
        },
      },
      files: { 'tools.ts': MODULE, 'notes.txt': '' },
      policy: POLICY,
      project: { principals: PRINCIPALS },
    }),
  );
  const tokens = new Tokens();
  for (const { id } of PRINCIPALS)
    tokens.add(tokenOf(id), () => ({ principal: project.gateway.principal(id), surface: 'mcp', bound: null }));
  for (const attempt of [1, 2])
    tokens.add(tokenOf(`attempt:${attempt}`), () => ({
      principal: project.gateway.principal('agent:a'),
      surface: 'evaluation',
      bound: {
        run_id: 'run_1',
        ordinal: 0,
        attempt,
        lease_id: `lse_${attempt}`,
        agent: 'a',
        policy: compilePolicy(policySchema.parse({ version: 1, ...POLICY })),
        tools: null,
        definitions: new Map(),
        operator: { answer: () => null },
      },
    }));
  const server = stack.use(
    await listen({
      gateway: project.gateway.gateway,
      state_key: new Uint8Array(32).fill(7),
      hold_ms: holdMs,
      raw_source: null,
      tokens: tokens.find,
      hosts: [],
      origins: [],
      anonymous: null,
    }),
  );
  const owned = stack.move();
  return {
    project,
    url: `${server.url}/mcp`,
    notes: async () => (await readFile(project.file('notes.txt'), 'utf8')).split('\n').filter((line) => line !== ''),
    runs: async () => await project.app.store.toolRuns({}, { after: null, limit: 10 }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const tokenOf = (id: string) => `token-of-${id.replace(':', '-')}`;
const bearer = (id: string) => ({ authorization: `Bearer ${tokenOf(id)}` });

async function connected(
  url: string,
  mode: (typeof ERAS)[number],
  { as = 'agent:a', asks }: { as?: string; asks?: (request: ElicitRequest) => Record<string, string> } = {},
) {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode }, capabilities: asks === undefined ? {} : { elicitation: { form: {} } } },
  );
  if (asks !== undefined)
    client.setRequestHandler('elicitation/create', async (request) => ({ action: 'accept', content: asks(request) }));
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: bearer(as) } });
  await client.connect(transport);
  return { client, transport, [Symbol.asyncDispose]: () => client.close() };
}

describe.each(ERAS)('in the era %s', (mode) => {
  test('who gives a running call up stops the tool', async () => {
    await using http = await served();
    await using one = await connected(http.url, mode);
    const given = new AbortController();
    const call = one.client.callTool({ name: 'own__slow', arguments: {} }, { signal: given.signal });
    call.catch(() => undefined); // it is given up
    await eventually('it runs', async () => ((await http.notes()).includes('begun') ? true : null));

    given.abort(new Error('enough'));

    const ended = await eventually('it has ended', async () => {
      const [row] = await http.runs();
      return row?.finished_at == null ? null : row;
    });
    expect([ended.status, ended.reason]).toEqual(['error', 'cancelled']);
    await writeFile(http.project.file('end.txt'), '');
    await sleep(STOPPED_MS); // it would be through by now
    expect(await http.notes()).toEqual(['begun']);
  });

  test('who gives a waiting call up leaves it to the person, and gets it by asking again', async () => {
    await using http = await served();
    await using one = await connected(http.url, mode);
    const input = { name: 'own__act', arguments: { n: 1 } };
    const given = new AbortController();
    const call = one.client.callTool(input, { signal: given.signal });
    call.catch(() => undefined); // it is given up
    const row = await eventually('it waits', async () => {
      const [found] = await http.runs();
      return found?.status === 'approval_required' ? found : null;
    });
    given.abort(new Error('enough'));
    await expect(call).rejects.toThrow();

    const again = one.client.callTool(input);
    await http.project.answer(row.approval_id ?? '');

    expect((await again).content).toEqual([{ type: 'text', text: 'acted' }]);
    expect(await http.notes()).toEqual(['acted']);
    expect(await http.runs()).toHaveLength(1);
  });

  test('each principal is shown the tools that it may ever call', async () => {
    await using http = await served();
    const names = async (as: string) => {
      await using one = await connected(http.url, mode, { as });
      return (await one.client.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith('own__'));
    };
    expect(await names('agent:a')).toEqual(['own__act', 'own__list', 'own__slow']);
    expect(await names('agent:b')).toEqual(['own__act', 'own__list']);
  });

  test('an output that is no object comes in the words of the era', async () => {
    await using http = await served();
    await using one = await connected(http.url, mode);
    const { tools } = await one.client.listTools();
    const { structuredContent } = await one.client.callTool({ name: 'own__list', arguments: {} });
    const schema = tools.find(({ name }) => name === 'own__list')?.outputSchema as Record<string, unknown>;
    expect([schema['type'], structuredContent]).toEqual(
      mode === 'legacy' ? ['object', { result: [1, 2] }] : ['array', [1, 2]],
    );
  });

  test('a question of a server behind says whose it is', async () => {
    await using http = await served();
    const asked: string[] = [];
    const asks = ({ params }: ElicitRequest) => {
      asked.push(params.message);
      return { name: 'Ada' };
    };
    await using one = await connected(http.url, mode, { asks });
    const { content } = await one.client.callTool({
      name: 'fixture__test_input_required_result_elicitation',
      arguments: {},
    });
    expect(content).toEqual([{ type: 'text', text: 'Hello, Ada!' }]);
    expect(asked).toEqual(['fixture asks: What is your name?']);
  });

  test('a question that the caller cannot answer ends the call at once, and says what it takes', async () => {
    await using http = await served();
    await using one = await connected(http.url, mode);
    const name = 'fixture__test_input_required_result_elicitation';
    const call = one.client.callTool({ name, arguments: {} });
    if (mode === 'legacy')
      expect(await call).toMatchObject({ isError: true, _meta: { 'io.proctor/told': { code: 'lacks_elicitation' } } });
    else
      await expect(call).rejects.toMatchObject({ code: -32_021, data: { requiredCapabilities: { elicitation: {} } } });
    expect((await http.runs()).map(({ status, reason }) => [status, reason])).toEqual([['error', 'lacks_elicitation']]);
  });
});

test('a question has no answer where nobody listens: the command line’s call fails, and does not hang', async () => {
  await using http = await served();
  const { ended } = await http.project.call('fixture.test_input_required_result_elicitation', {});
  expect(ended).toBe('error lacks_elicitation');
});

test('a question that the operator does not let through is not asked', async () => {
  const command = [process.execPath, fixture('upstream.ts'), 'stdio'];
  await using project = await gatewayProject({ tools: { fixture: { kind: 'mcp', command } }, policy: allowAll() });
  const { ended } = await project.call('fixture.test_input_required_result_elicitation', {});
  expect(ended).toBe('error lacks_elicitation');
});

describe('a session of the older era', () => {
  const rpc = async (url: string, as: string, session: string | undefined, method: string, body?: object) =>
    await fetch(url, {
      method,
      headers: {
        ...bearer(as),
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify({ jsonrpc: '2.0', ...body }) }),
    });

  test('is of the principal that opened it: another can neither use nor end it', async () => {
    await using http = await served();
    await using one = await connected(http.url, 'legacy');
    const session = one.transport.sessionId;
    const list = { id: 9, method: 'tools/list', params: {} };
    expect((await rpc(http.url, 'agent:b', session, 'POST', list)).status).toBe(404);
    expect((await rpc(http.url, 'agent:b', session, 'GET')).status).toBe(404);
    expect((await rpc(http.url, 'agent:b', session, 'DELETE')).status).toBe(404);
    expect((await rpc(http.url, 'agent:a', session, 'POST', list)).status).toBe(200);
    expect((await one.client.listTools()).tools.length).toBeGreaterThan(0);
  });

  test('is of the attempt that opened it: the next of the same agent can neither use nor end it', async () => {
    await using http = await served();
    await using one = await connected(http.url, 'legacy', { as: 'attempt:1' });
    const list = { id: 9, method: 'tools/list', params: {} };
    for (const as of ['attempt:2', 'agent:a'])
      expect((await rpc(http.url, as, one.transport.sessionId, 'POST', list)).status, as).toBe(404);
    expect((await rpc(http.url, 'attempt:2', one.transport.sessionId, 'DELETE')).status).toBe(404);
    expect((await one.client.listTools()).tools.length).toBeGreaterThan(0);
  });

  test('a broken connection is no cancellation', async () => {
    await using http = await served();
    await using one = await connected(http.url, 'legacy');
    const gone = new AbortController();
    const call = fetch(http.url, {
      method: 'POST',
      signal: gone.signal,
      headers: {
        ...bearer('agent:a'),
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-session-id': one.transport.sessionId ?? '',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/call',
        params: { name: 'own__slow', arguments: {} },
      }),
    }).then((response) => response.text());
    call.catch(() => undefined); // its connection is broken
    await eventually('it runs', async () => ((await http.notes()).includes('begun') ? true : null));

    gone.abort();

    await writeFile(http.project.file('end.txt'), '');
    await eventually('it is done', async () => ((await http.notes()).includes('done') ? true : null));
    const ended = await eventually('it has ended', async () => {
      const [row] = await http.runs();
      return row?.finished_at == null ? null : row;
    });
    expect(ended.status).toBe('ok');
  });
});
