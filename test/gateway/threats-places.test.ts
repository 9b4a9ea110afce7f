import { link, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { allowAll, calls, gatewayProject, RECORDING } from '../support/gateway-project.ts';
import { threat } from '../support/gateway-threats.ts';

describe(threat(13, 'a rule about a folder holds for where the path leads'), () => {
  const inside = (folder: string) => ({
    rules: [{ id: 'workspace', tools: 'own.act', when: { 'args.path': { under: folder } }, effect: 'allow' }],
  });
  async function workspace() {
    const project = await gatewayProject({ ...RECORDING, policy: {} });
    const root = project.file('workspace');
    await mkdir(`${root}/sub`, { recursive: true });
    await mkdir(project.file('outside'));
    await writeFile(project.file('policy.yaml'), JSON.stringify({ version: 1, ...inside(root) }));
    return { project, root };
  }

  test('tricks of writing', async () => {
    const { project, root } = await workspace();
    await using _project = project;
    expect((await project.call('own.act', { path: `${root}/sub/a.txt` })).ended).toBe('ok');
    const tricks = [
      `${root}/../outside/a`,
      `${root}/sub/../../outside/a`,
      `${root}/%2e%2e/outside/a`,
      `${root}/..%2Foutside`,
      `${root}/a\0.txt`,
      `${root}/..\\outside`,
      `${root}x/a`,
      `${root.replace('workspace', 'Workspace')}/a`,
      'workspace/a',
      '../outside/a',
      `file://${root}/a`,
      `~/a`,
      '',
      ' ',
      [`${root}/a`],
      { path: `${root}/a` },
      null,
    ];
    for (const path of tricks) {
      const { ended, run } = await project.call('own.act', { path });
      expect(ended, JSON.stringify(path)).toBe('denied policy');
      expect(await project.events(run.tool_run_id)).toEqual(['tool_called', 'policy_decided', 'tool_denied']);
    }
    expect((await project.call('own.act', {})).ended).toBe('denied policy');
    expect(await calls(project)).toHaveLength(1);
  });

  test('links: to outside, to nowhere, in a circle, as a parent', async () => {
    const { project, root } = await workspace();
    await using _project = project;
    await symlink(project.file('outside'), `${root}/link`);
    await symlink(project.file('outside/not-there-yet'), `${root}/dangling`);
    await symlink(`${root}/circle`, `${root}/circle`);
    await symlink(`${root}/sub`, `${root}/good`);
    for (const name of ['link', 'link/a', 'link/new/deep', 'dangling', 'circle', 'circle/a', 'sub/../link/a'])
      expect((await project.call('own.act', { path: `${root}/${name}` })).ended, name).toBe('denied policy');
    expect((await project.call('own.act', { path: `${root}/good/a` })).ended).toBe('ok');
    expect(await calls(project)).toHaveLength(1);
  });

  test('a file with several names may be another folder’s, until it has one again', async () => {
    const { project, root } = await workspace();
    await using _project = project;
    await writeFile(project.file('outside/secret'), 'secret');
    await link(project.file('outside/secret'), `${root}/innocent`);
    const call = async () => (await project.call('own.act', { path: `${root}/innocent` })).ended;
    expect(await call()).toBe('denied policy');
    await rm(project.file('outside/secret'));
    expect(await call()).toBe('ok');
  });

  test('a rule that denies a folder holds for links from outside, of either kind', async () => {
    const { project, root } = await workspace();
    await using _project = project;
    const rules = [
      { id: 'any', tools: 'own.act', effect: 'allow' },
      { id: 'not-there', when: { 'args.path': { under: './outside' } }, effect: 'deny' },
    ];
    await writeFile(project.file('policy.yaml'), JSON.stringify({ version: 1, rules }));
    await writeFile(project.file('outside/secret'), 'secret');
    await symlink(project.file('outside'), `${root}/way`);
    await link(project.file('outside/secret'), `${root}/innocent`);
    for (const path of ['outside/secret', 'workspace/way/secret', 'workspace/innocent', 'workspace/way/../../outside'])
      expect((await project.call('own.act', { path: project.file(path) })).ended, path).toBe('denied policy');
    expect((await project.call('own.act', { path: `${root}/sub` })).ended).toBe('ok');
  });

  test('every element of a list, in a folder of the project', async () => {
    const { project, root } = await workspace();
    await using _project = project;
    const each = { 'args.paths': { each: { under: './workspace' } } };
    const rules = [{ id: 'r', tools: 'own.act', when: each, effect: 'allow' }];
    await writeFile(project.file('policy.yaml'), JSON.stringify({ version: 1, rules }));
    const ended = async (paths: unknown) => (await project.call('own.act', { paths })).ended;
    expect(await ended([`${root}/a`, `${root}/sub/b`])).toBe('ok');
    for (const paths of [
      [],
      [`${root}/a`, '/etc/passwd'],
      [`${root}/a`, [`${root}/b`]],
      `${root}/a`,
      { 0: `${root}/a` },
    ])
      expect(await ended(paths), JSON.stringify(paths)).toBe('denied policy');
  });

  test('a link that is swapped between the approval and the call', async () => {
    const { project, root } = await workspace();
    await using _project = project;
    const ask = { id: 'asked', tools: 'own.act', effect: 'ask' };
    await writeFile(
      project.file('policy.yaml'),
      JSON.stringify({
        version: 1,
        rules: [
          ask,
          { id: 'outside', when: { 'args.path': { not: { under: root } } }, effect: { deny: { reason: 'outside' } } },
        ],
      }),
    );
    await symlink(`${root}/sub`, `${root}/way`);
    const { run } = await project.call('own.act', { path: `${root}/way/a` });
    await project.answer(run.approval_id ?? '');
    await rm(`${root}/way`);
    await symlink(project.file('outside'), `${root}/way`);

    const { ended, message } = await project.call('own.act', { path: `${root}/way/a` }, { hold_ms: 5_000 });

    expect([ended, message]).toEqual(['denied policy', 'outside']);
    expect(await calls(project)).toEqual([]);
  });
});

describe(threat(14, 'a rule about hosts, and a server that sends elsewhere'), () => {
  test('tricks of writing', async () => {
    await using project = await gatewayProject({
      ...RECORDING,
      policy: {
        rules: [
          {
            id: 'api',
            tools: 'own.act',
            when: { 'args.url': { host: ['api.example.com', '127.0.0.1'] } },
            effect: 'allow',
          },
          {
            id: 'metadata',
            when: { 'args.url': { host: ['169.254.*', '[::ffff:a9fe:*', '127.*', 'localhost'] } },
            effect: { deny: { reason: 'inside' } },
          },
        ],
      },
    });
    const ended = async (url: unknown) => (await project.call('own.act', { url })).ended;
    expect(await ended('https://api.example.com/v1')).toBe('ok');
    for (const url of [
      'https://api.example.com@evil.test/',
      'https://evil.test/https://api.example.com',
      'https://evil.test#@api.example.com/',
      'https://evil.test\\@api.example.com/',
      'https://api.example.com.evil.test/',
      'https:/\tapi.example.com/',
      'https://api.example.com\n.evil.test/',
      'gopher://api.example.com/',
      'file:///etc/passwd',
      'http://127.0.0.1/',
      'http://2130706433/',
      'http://0x7f.1/',
      'http://0177.0.0.1/',
      'http://127.1/',
      'http://169.254.169.254/latest/meta-data',
      'http://[::ffff:169.254.169.254]/',
      'http://[::1]/',
      7,
      ['https://api.example.com/'],
    ])
      expect(await ended(url), JSON.stringify(url)).toBe('denied policy');
    expect(await calls(project)).toHaveLength(1);
  });

  test('an MCP server over HTTP cannot send Proctor to another address', async () => {
    const { createServer } = await import('node:http');
    const asked: string[] = [];
    const inside = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end('metadata');
    });
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.2', resolve));
    const { port } = inside.address() as { port: number };
    const redirecting = createServer((_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.2:${port}/latest/meta-data` }).end(),
    );
    await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve));
    const { port: first } = redirecting.address() as { port: number };
    try {
      await using project = await gatewayProject({
        tools: {
          redirecting: { kind: 'mcp', url: `http://127.0.0.1:${first}/mcp`, connect_timeout_ms: 3_000 },
          metadata: {
            kind: 'mcp',
            url: `http://127.0.0.1:${first}/mcp`,
            private_addresses: 'deny',
            connect_timeout_ms: 3_000,
          },
        },
        policy: allowAll(),
        pin: false,
      });
      for (const tool of ['redirecting.x', 'metadata.x']) {
        const { ended, run } = await project.call(tool, {});
        expect(ended).toBe('denied source_unavailable');
        expect(await project.events(run.tool_run_id)).toEqual(['tool_called', 'policy_decided', 'tool_denied']);
      }
      expect(asked).toEqual([]);
    } finally {
      inside.close();
      redirecting.close();
    }
  });
});
