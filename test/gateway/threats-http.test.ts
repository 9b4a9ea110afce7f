import { request } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { Tokens } from '../../src/server/auth.ts';
import { listen } from '../../src/server/listen.ts';
import { askAll, calls, type GatewayProject, gatewayProject, RECORDING } from '../support/gateway-project.ts';
import { threat } from '../support/gateway-threats.ts';

const PRINCIPALS = [
  { id: 'human:operator', roles: ['operator'] },
  { id: 'human:guest', roles: [] },
  { id: 'agent:a', roles: ['operator'] },
  { id: 'agent:b', roles: [] },
];

/** The server over a gateway whose calls are all asked for, with a token for each principal: its own name. */
async function served(policy = askAll()) {
  await using stack = new AsyncDisposableStack();
  const project = stack.use(await gatewayProject({ ...RECORDING, policy, project: { principals: PRINCIPALS } }));
  const tokens = new Tokens();
  for (const { id } of PRINCIPALS)
    tokens.add(`token-of-${id.replace(':', '-')}`, () => ({
      principal: project.gateway.principal(id),
      surface: 'mcp',
      bound: null,
    }));
  const options = {
    gateway: project.gateway.gateway,
    state_key: new Uint8Array(32).fill(7),
    hold_ms: 100,
    raw_source: null,
    tokens: tokens.find,
    hosts: [],
    origins: [],
    anonymous: null,
  };
  const server = stack.use(await listen(options));
  const owned = stack.move();
  const ask = async (
    as: string | null,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) =>
    await fetch(`${server.url}${path}`, {
      method,
      headers: {
        ...(as === null ? {} : { authorization: `Bearer token-of-${as.replace(':', '-')}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return { project, url: server.url, ask, options, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** What a person would send to approve, from what the approval shows. */
async function approvalOf({ project }: { project: GatewayProject }, approvalId: string) {
  const { approval, preview } = await project.gateway.gateway.view(approvalId);
  return {
    approval_id: approvalId,
    decision: 'approve',
    call_digest: approval.call_digest,
    preview_digest: preview.digest,
  };
}

test(
  threat(6, 'over HTTP another agent finds nothing: not the call, not its events, and cannot cancel it'),
  async () => {
    await using http = await served();
    const called = await http.ask('agent:a', 'POST', '/api/tool_runs', { tool: 'own.act', arguments: { n: 1 } });
    const { tool_run_id } = (await called.json()) as { tool_run_id: string };
    for (const [method, path] of [
      ['GET', `/api/tool_runs/${tool_run_id}`],
      ['GET', `/api/tool_runs/${tool_run_id}/events`],
      ['POST', `/api/tool_runs/${tool_run_id}/cancel`],
      ['GET', '/api/tool_runs/trn_none'],
    ] as const)
      expect([path, (await http.ask('agent:b', method, path)).status]).toEqual([path, 404]);
    expect(await (await http.ask('agent:b', 'GET', '/api/tool_runs?principal=agent:a')).json()).toEqual({
      tool_runs: [],
    });
    expect((await http.ask('agent:a', 'GET', `/api/tool_runs/${tool_run_id}`)).status).toBe(200);
    const cancel = `/api/tool_runs/${tool_run_id}/cancel`;
    const guest = await http.ask('human:guest', 'POST', cancel);
    expect([guest.status, await guest.json()]).toMatchObject([403, { code: 'forbidden' }]);
    expect((await http.ask('human:operator', 'POST', cancel)).status).toBe(200);
  },
);

test(threat(7, 'an agent’s token opens no route to approvals, whatever roles it has'), async () => {
  await using http = await served();
  const { run } = await http.project.call('own.act', {}, { as: 'agent:a' });
  const body = await approvalOf(http, run.approval_id ?? '');
  for (const as of ['agent:a', 'agent:b'])
    for (const [method, path, sent] of [
      ['GET', '/api/approvals', undefined],
      ['GET', `/api/approvals/${run.approval_id}`, undefined],
      ['POST', '/api/approvals', body],
    ] as const) {
      const response = await http.ask(as, method, path, sent);
      expect([as, path, response.status]).toEqual([as, path, 403]);
      expect(await response.json()).toMatchObject({ code: 'forbidden', detail: expect.stringMatching(/is an agent/) });
    }
  expect((await http.project.app.store.approval(run.approval_id ?? ''))?.status).toBe('pending');
  expect((await http.ask('human:operator', 'POST', '/api/approvals', body)).status).toBe(200);
});

describe(threat(1, 'over HTTP an answer is bound to what was shown'), () => {
  test.each([
    ['another call', { call_digest: 'f'.repeat(64) }, 409],
    ['another view', { preview_digest: '0'.repeat(64) }, 409],
    ['no view', { preview_digest: undefined }, 422],
    ['a member that nobody knows', { self_approval: true }, 422],
    ['another decision', { decision: 'allow' }, 422],
    ['an approval that is not there', { approval_id: 'apr_none' }, 404],
  ])('%s', async (_, change, status) => {
    await using http = await served();
    const { run } = await http.project.call('own.act', {}, { as: 'agent:a' });
    const body = await approvalOf(http, run.approval_id ?? '');

    const response = await http.ask('human:operator', 'POST', '/api/approvals', { ...body, ...change });

    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(await response.json()).toMatchObject({ status, code: expect.any(String), detail: expect.any(String) });
    expect((await http.project.app.store.approval(run.approval_id ?? ''))?.status).toBe('pending');
    expect(await calls(http.project)).toEqual([]);
  });

  test('duplicate keys in the body decide nothing', async () => {
    await using http = await served();
    const { run } = await http.project.call('own.act', {}, { as: 'agent:a' });
    const text = JSON.stringify(await approvalOf(http, run.approval_id ?? '')).replace('{', '{"decision":"deny",');
    expect((await http.ask('human:operator', 'POST', '/api/approvals', text)).status).toBe(422);
    expect((await http.project.app.store.approval(run.approval_id ?? ''))?.status).toBe('pending');
  });
});

describe(threat(23, 'what a page of another origin can make a browser send'), () => {
  const attempts: Readonly<
    Record<
      string,
      readonly [method: string, path: string, body: string | undefined, headers: Record<string, string>, status: number]
    >
  > = {
    'no token': ['GET', '/api/approvals', undefined, { authorization: '' }, 401],
    'a token of nobody': ['GET', '/api/approvals', undefined, { authorization: 'Bearer guessed' }, 401],
    'another scheme': [
      'GET',
      '/api/approvals',
      undefined,
      { authorization: 'Basic dG9rZW4tb2YtaHVtYW4tb3BlcmF0b3I=' },
      401,
    ],
    'another origin': ['GET', '/api/approvals', undefined, { origin: 'http://evil.test' }, 403],
    'no origin that can be told': [
      'POST',
      '/api/approvals',
      '{}',
      { origin: 'null', 'content-type': 'application/json' },
      403,
    ],
    'an origin that begins like ours': [
      'GET',
      '/api/approvals',
      undefined,
      { origin: 'http://localhost.evil.test' },
      403,
    ],
    'a name that was bound to this address': ['GET', '/api/approvals', undefined, { host: 'evil.test' }, 403],
    'the same for MCP': ['POST', '/mcp', '{}', { host: 'evil.test', 'content-type': 'application/json' }, 403],
    'a body of a form': ['POST', '/api/approvals', 'BODY', { 'content-type': 'text/plain' }, 422],
    'a body of another form': [
      'POST',
      '/api/approvals',
      'BODY',
      { 'content-type': 'application/x-www-form-urlencoded' },
      422,
    ],
    'a body without a type': ['POST', '/api/approvals', 'BODY', {}, 422],
    'a link that is followed': ['GET', '/api/approvals?approval_id=ID&decision=approve', undefined, {}, 200],
    'a verb that nobody serves': ['PUT', '/api/approvals', 'BODY', { 'content-type': 'application/json' }, 404],
    'a body without end': [
      'POST',
      '/api/approvals',
      'x'.repeat(5_000_000),
      { 'content-type': 'application/json' },
      413,
    ],
  };
  test.each(Object.entries(attempts))('%s', async (_, [method, path, body, headers, status]) => {
    await using http = await served();
    const { run } = await http.project.call('own.act', {}, { as: 'agent:a' });
    const sent = body === 'BODY' ? JSON.stringify(await approvalOf(http, run.approval_id ?? '')) : body;

    const answered = await rawRequest(http.url, method, path.replace('ID', run.approval_id ?? ''), sent, {
      authorization: 'Bearer token-of-human-operator',
      ...headers,
    });

    expect(answered.status).toBe(status);
    expect(answered.headers['access-control-allow-origin']).toBeUndefined();
    expect((await http.project.app.store.approval(run.approval_id ?? ''))?.status).toBe('pending');
    expect(await calls(http.project)).toEqual([]);
  });
});

describe(threat(8, 'what a client carries from leg to leg is sealed'), () => {
  test('changed, another’s, or carried on with another call', async () => {
    await using http = await served();
    const states: string[] = [];
    const seen = (text: string) => {
      const state = (JSON.parse(text) as { params?: { requestState?: string } }).params?.requestState;
      if (state !== undefined) states.push(state);
      return text;
    };
    await using first = await client(http.url, 'agent:a', seen);
    const waiting = first.call({ n: 1 });
    await expect.poll(() => states.length).toBeGreaterThan(0);
    const state = states[0] ?? '';

    const refused = /requestState|no such call/;
    const middle = Math.floor(state.length / 2);
    const flipped = `${state.slice(0, middle)}${state[middle] === 'A' ? 'B' : 'A'}${state.slice(middle + 1)}`;
    for (const forged of [flipped, state.slice(0, -2), `${state}A`, '', 'e30.e30', 'x'.repeat(100_000)]) {
      await using liar = await client(http.url, 'agent:a', withState(forged));
      expect(await liar.call({ n: 1 }), forged.slice(0, 40)).toMatch(refused);
    }
    await using thief = await client(http.url, 'agent:b', withState(state));
    expect(await thief.call({ n: 1 })).toMatch(refused);
    expect(await calls(http.project)).toEqual([]);

    const [row] = await http.project.app.store.toolRuns({ principal: 'agent:a' }, { after: null, limit: 10 });
    await http.project.answer(row?.approval_id ?? '');
    expect(await waiting).toBe('done');
    expect(await calls(http.project)).toHaveLength(1);

    // Carried on after the end, or beside other arguments: the call that it seals, which has ended, and no other.
    await using again = await client(http.url, 'agent:a', withState(state));
    await again.call({ n: 1 });
    await again.call({ n: 99 });
    expect(await calls(http.project)).toHaveLength(1);
  });
});

/** A client of the newer era whose requests go through a hand that may change them; a call answers its text or its error's. */
async function client(url: string, as: string, change: (body: string) => string) {
  const one = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer token-of-${as.replace(':', '-')}` } },
    fetch: (input, init) =>
      fetch(
        input,
        typeof init?.body === 'string' && init.body.includes('"tools/call"')
          ? { ...init, body: change(init.body) }
          : init,
      ),
  });
  await one.connect(transport);
  return {
    async call(input: Record<string, unknown>): Promise<string> {
      try {
        const { content } = await one.callTool({ name: 'own__act', arguments: input }, { timeout: 20_000 });
        return (content as { text: string }[]).map(({ text }) => text).join();
      } catch (error) {
        return String(error);
      }
    },
    [Symbol.asyncDispose]: async () => await one.close(),
  };
}

function withState(requestState: string) {
  return (body: string) => {
    const message = JSON.parse(body) as { params: object };
    return JSON.stringify({ ...message, params: { ...message.params, requestState } });
  };
}

/** A request with exactly these headers: `fetch` sets its own Host. */
function rawRequest(
  url: string,
  method: string,
  path: string,
  body: string | undefined,
  headers: Record<string, string>,
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]> }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, headers }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
