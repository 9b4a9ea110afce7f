import { describe, expect, it } from 'vitest';
import { brief, request, toLoopback } from './client.ts';
import { httpServer } from './server.ts';

describe('a redirect', () => {
  it('is not followed unless it may be', async () => {
    await using server = await httpServer((_, response) => response.writeHead(307, { location: '/elsewhere' }).end());
    expect(brief(await request(server.url))).toEqual({
      code: 'redirect_refused',
      message: 'status 307 redirects and redirects are not followed; set `redirects` or name the final URL',
    });
    expect(server.seen.length).toBe(1);
  });

  it('is followed within the origin, with body and authorization, as often as allowed', async () => {
    await using server = await httpServer((seen, response) => {
      if (seen.path === '/3') response.end('there');
      else response.writeHead(308, { location: `/${Number(seen.path.slice(1)) + 1}` }).end();
    });
    expect(brief(await request(`${server.url}/0`, { client: { redirects: 3 } }))).toEqual({
      status: 200,
      body: 'there',
    });
    expect(server.seen.map((seen) => [seen.method, seen.body, seen.headers.authorization])).toEqual(
      Array.from({ length: 4 }, () => ['POST', '{"a":1}', 'Bearer secret-token']),
    );
    expect(await request(`${server.url}/0`, { client: { redirects: 2 } })).toMatchObject({
      code: 'redirect_refused',
      message: expect.stringContaining('only 2 redirects'),
    });
  });

  it('of status 303 becomes a GET without a body', async () => {
    await using server = await httpServer((seen, response) =>
      seen.path === '/' ? response.writeHead(303, { location: '/result' }).end() : response.end('made'),
    );
    expect(brief(await request(server.url, { client: { redirects: 1 } }))).toEqual({ status: 200, body: 'made' });
    expect(server.seen[1]).toMatchObject({ method: 'GET', path: '/result', body: '' });
  });

  it('to another origin is refused, or followed without the headers when that is allowed', async () => {
    await using other = await httpServer((_, response) => response.end('other'));
    await using server = await httpServer((_, response) =>
      response.writeHead(307, { location: `${other.url}/` }).end(),
    );
    expect(await request(server.url, { client: { redirects: 1 } })).toMatchObject({
      code: 'redirect_refused',
      message: expect.stringContaining('to another origin'),
    });
    expect(other.seen).toEqual([]);
    expect(brief(await request(server.url, { client: { redirects: 1, cross_origin_redirects: true } }))).toEqual({
      status: 200,
      body: 'other',
    });
    expect([other.seen[0]?.headers.authorization, other.seen[0]?.headers['content-type']]).toEqual([
      undefined,
      'application/json',
    ]);
  });

  it('from a public host to a private address is refused before anything is sent there', async () => {
    await using target = await httpServer((_, response) => response.end('secrets'));
    await using server = await httpServer((_, response) =>
      response.writeHead(307, { location: `${target.url}/latest/meta-data` }).end(),
    );
    const port = new URL(server.url).port;
    const client = { redirects: 5, cross_origin_redirects: true };
    // The public host stands on loopback here: only its own name is let through to the server.
    const authored = {
      ...client,
      lookup: toLoopback,
      authored_host: 'agent.localhost',
      private_addresses: 'named',
    } as const;
    const outcome = await request(`http://agent.localhost:${port}/`, { client: authored });
    expect(brief(outcome)).toEqual({
      code: 'redirect_refused',
      message: '`127.0.0.1` is a private address and is refused; set `private_addresses: allow` if that is meant',
    });
    expect([server.seen.length, target.seen.length]).toEqual([1, 0]);
    expect(
      brief(await request(`http://agent.localhost:${port}/`, { client: { ...authored, private_addresses: 'allow' } })),
    ).toEqual({ status: 200, body: 'secrets' });
  });

  it('without a location, or to another protocol, is refused', async () => {
    await using server = await httpServer((seen, response) =>
      response.writeHead(302, seen.path === '/file' ? { location: 'file:///etc/passwd' } : {}).end(),
    );
    expect(await request(`${server.url}/`, { client: { redirects: 1 } })).toMatchObject({
      code: 'redirect_refused',
      message: 'status 302 redirects without a `Location`',
    });
    expect(
      await request(`${server.url}/file`, { client: { redirects: 1, cross_origin_redirects: true } }),
    ).toMatchObject({ code: 'redirect_refused', message: 'the redirect leads from `http:` to `file:`' });
  });
});

describe('a public host name that resolves to a private address', () => {
  it('is refused at the address really connected to, and reached only when private addresses are allowed', async () => {
    await using server = await httpServer((_, response) => response.end('rebound'));
    const target = `http://agent.example:${new URL(server.url).port}/`;
    expect(brief(await request(target, { client: { lookup: toLoopback } }))).toEqual({
      code: 'address_refused',
      message:
        '`agent.example` resolves to `127.0.0.1`, which is a private address and is refused; set `private_addresses: allow` if that is meant',
    });
    expect(server.seen).toEqual([]);
    expect(brief(await request(target, { client: { lookup: toLoopback, private_addresses: 'allow' } }))).toEqual({
      status: 200,
      body: 'rebound',
    });
  });

  it('is what `deny` refuses even for a host that the author named', async () => {
    await using server = await httpServer((_, response) => response.end());
    expect(await request(server.url, { client: { private_addresses: 'deny' } })).toMatchObject({
      code: 'address_refused',
    });
    expect(server.seen).toEqual([]);
  });
});
