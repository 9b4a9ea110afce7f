import { describe, expect, test } from 'vitest';
import { listen } from '../../src/server/listen.ts';
import { allowAll, askAll, calls, gatewayProject, RECORDING } from '../support/gateway-project.ts';
import { threat } from '../support/gateway-threats.ts';

describe(threat(15, 'globs take no time, and there is nothing else'), () => {
  test('a hundred thousand characters against the worst of globs, through the whole gateway', async () => {
    const glob = `${'a*'.repeat(90)}b`;
    await using project = await gatewayProject({
      ...RECORDING,
      policy: {
        rules: Array.from({ length: 50 }, (_, index) => ({
          id: `r${index}`,
          when: { 'args.text': { glob: [glob, glob] } },
          effect: 'allow',
        })),
      },
    });
    // A backtracking matcher would take longer than the universe lasts.
    const { ended } = await project.call('own.act', { text: 'a'.repeat(100_000) });
    expect(ended).toBe('denied policy');
  });

  test.each([
    ['a regular expression', { rules: [{ id: 'r', when: { 'args.x': { regex: '^(a+)+$' } }, effect: 'allow' }] }],
    ['a glob beyond its length', { rules: [{ id: 'r', tools: '*'.repeat(201), effect: 'allow' }] }],
    [
      'more rules than there may be',
      { rules: Array.from({ length: 10_001 }, (_, index) => ({ id: `r${index}`, effect: 'allow' })) },
    ],
  ])('a policy with %s is not used: every call is denied', async (_, policy) => {
    await using project = await gatewayProject({ ...RECORDING, policy });
    expect((await project.call('own.act', {})).ended).toBe('denied policy_error');
    const listed = async () => await project.gateway.gateway.visible(project.caller(), new AbortController().signal);
    expect([await listed(), await listed()]).toEqual([[], []]);
    expect(project.notes.filter((note) => note.includes('no tools are listed'))).toEqual([
      expect.stringContaining('proctor policy check'),
    ]);
    expect(await calls(project)).toEqual([]);
  });
});

describe(threat(21, 'a limit holds however many calls come at once'), () => {
  test('of a hundred calls in two gateways ten pass', async () => {
    await using project = await gatewayProject({
      ...RECORDING,
      policy: { ...allowAll(), limits: [{ id: 'ten', calls: 10 }] },
    });
    await using second = await project.another();

    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? project : second).call('own.act', { index })),
    );

    const count = (ended: string) => outcomes.filter((outcome) => outcome.ended === ended).length;
    expect([count('ok'), count('denied limit_reached')]).toEqual([10, 90]);
    expect(outcomes.find(({ ended }) => ended !== 'ok')?.message).toBe('the limit `ten` is reached');
    expect(await calls(project)).toHaveLength(10);
    expect((await project.stream()).filter(({ type }) => type === 'tool_denied')).toHaveLength(90);
  });

  test('approvals do not get round it: the limit is looked at again when they are used', async () => {
    await using project = await gatewayProject({
      ...RECORDING,
      policy: { ...askAll(), limits: [{ id: 'one', calls: 1 }] },
    });
    const asked = await Promise.all([1, 2, 3].map((index) => project.call('own.act', { index })));
    for (const { run } of asked) await project.answer(run.approval_id ?? '');

    const ended = await Promise.all(
      [1, 2, 3].map(async (index) => (await project.call('own.act', { index }, { hold_ms: 5_000 })).ended),
    );

    expect(ended.sort()).toEqual(['denied limit_reached', 'denied limit_reached', 'ok']);
    expect(await calls(project)).toHaveLength(1);
  });
});

test(threat(22, 'the token that a caller names itself by goes no further'), async () => {
  const { createServer } = await import('node:http');
  const headers: string[] = [];
  const upstream = createServer((request, response) => {
    headers.push(JSON.stringify(request.headers));
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const { port } = upstream.address() as { port: number };
  try {
    await using project = await gatewayProject({
      tools: {
        up: { kind: 'mcp', url: `http://127.0.0.1:${port}/mcp`, headers: { authorization: `Bearer \${secret:UP}` } },
      },
      policy: allowAll(),
      environment: { UP: 'upstream-token-1' },
      pin: false,
    });
    await using server = await listen({
      gateway: project.gateway.gateway,
      state_key: new Uint8Array(32),
      hold_ms: 100,
      raw_source: null,
      tokens: (token) => (token === 'inbound-token-1' ? project.caller('agent:web', 'mcp') : null),
      hosts: [],
      origins: [],
      anonymous: null,
    });
    const ask = async (token: string) =>
      await fetch(`${server.url}/api/tool_runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ tool: 'up.x', arguments: {} }),
      });

    expect((await ask('upstream-token-1')).status).toBe(401); // a token for another is none here
    const response = await ask('inbound-token-1');

    expect(await response.json()).toMatchObject({ status: 'denied', reason: 'source_unavailable' });
    expect(headers.length).toBeGreaterThan(0);
    expect(headers.filter((one) => one.includes('inbound-token-1'))).toEqual([]);
    expect(headers.every((one) => one.includes('Bearer upstream-token-1'))).toBe(true);
  } finally {
    upstream.close();
  }
});
