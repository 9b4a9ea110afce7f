import type { LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openHttpClient } from '../../../src/adapters/transport/http-client.ts';
import { brief, request } from './client.ts';
import { freePort, httpServer, rawServer } from './server.ts';

describe('an HTTP client', () => {
  it('gives the response of any status with its headers and body', async () => {
    await using server = await httpServer((seen, response) =>
      response.writeHead(418, { 'x-a': ['1', '2'] }).end(`${seen.method} ${seen.path} ${seen.body}`),
    );
    const outcome = await request(`${server.url}/invoke?q=1`);
    expect(brief(outcome)).toEqual({ status: 418, body: 'POST /invoke?q=1 {"a":1}' });
    expect(outcome.headers['x-a']).toBe('1, 2');
  });

  it('reuses its connections and opens no more than it may', async () => {
    await using server = await httpServer((_, response) => void setImmediate(() => response.end('ok')));
    const url = new URL(server.url);
    const client = openHttpClient({ authored_host: url.hostname, connections: 2 });
    const options = {
      url,
      method: 'POST',
      headers: {},
      body: 'x',
      timeout_ms: 5_000,
      signal: new AbortController().signal,
    };
    await Promise.all(Array.from({ length: 20 }, () => client.request(options)));
    await client.close();
    expect(server.seen.length).toBe(20);
    expect(new Set(server.seen.map((seen) => seen.connection)).size).toBe(2);
  });

  it('undoes a content encoding that was not asked for, within the size limit', async () => {
    const bodies: Record<string, Buffer> = {
      '/good': gzipSync('inflated'),
      '/bomb': gzipSync(Buffer.alloc(1_000_000)),
      '/bad': Buffer.from('no gzip'),
    };
    await using server = await httpServer((seen, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bodies[seen.path]),
    );
    expect(brief(await request(`${server.url}/good`))).toEqual({ status: 200, body: 'inflated' });
    expect(await request(`${server.url}/bomb`, { max_body_bytes: 10_000 })).toMatchObject({
      type: 'error',
      code: 'oversize_body',
      status: 200,
    });
    expect(await request(`${server.url}/bad`)).toMatchObject({ type: 'error', code: 'invalid_response', status: 200 });
  });
});

describe('a limit', () => {
  it('on time covers a server that never answers', async () => {
    await using server = await httpServer(() => undefined);
    expect(brief(await request(server.url, { timeout_ms: 150 }))).toEqual({
      code: 'timeout',
      message: 'no whole response within 150 ms',
    });
  });

  it('on time covers a body that drips, and keeps what had come', async () => {
    await using server = await httpServer((_, response) => {
      response.writeHead(200);
      response.write('a');
      const drip = setInterval(() => response.write('b'), 1_000);
      response.on('close', () => clearInterval(drip));
    });
    const outcome = await request(server.url, { timeout_ms: 1_500 });
    expect(outcome).toMatchObject({ type: 'error', code: 'timeout', status: 200, body: Buffer.from('ab') });
  });

  it('on size breaks a streamed body off', async () => {
    let sent = 0;
    await using server = await httpServer((_, response) => {
      const chunk = Buffer.alloc(16_384);
      const pump = () => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      };
      response.on('drain', pump);
      pump();
    });
    const outcome = await request(server.url, { max_body_bytes: 100_000 });
    expect(brief(outcome)).toEqual({
      code: 'oversize_body',
      message: 'the response body is limited to 100000 bytes and goes on',
    });
    expect(sent).toBeLessThan(50_000_000);
  });

  it('on size is checked against an announced length before the body comes', async () => {
    await using server = await httpServer((_, response) =>
      response.writeHead(200, { 'content-length': '2000' }).write('x'),
    );
    expect(brief(await request(server.url, { max_body_bytes: 1_000 }))).toEqual({
      code: 'oversize_body',
      message: 'the response body is limited to 1000 bytes and announces 2000 bytes',
    });
  });

  it('may fit the body exactly', async () => {
    await using server = await httpServer((_, response) => response.end('x'.repeat(1_000)));
    expect(await request(server.url, { max_body_bytes: 1_000 })).toMatchObject({ type: 'response', status: 200 });
  });
});

describe('a failure below HTTP', () => {
  it('is told apart by its code', async () => {
    const fail =
      (code: string): LookupFunction =>
      (_hostname, _options, callback) =>
        callback(Object.assign(new Error(code), { code }), '', 0);
    const resetting = await rawServer((socket) => socket.resetAndDestroy());
    const closing = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'));
    const chunked = await rawServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n64\r\nhalf'),
    );
    const garbage = await rawServer((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n\r\n'));
    const codes = {
      refused: await request(`http://127.0.0.1:${await freePort()}/`),
      unknown_name: await request('http://agent.example/', { client: { lookup: fail('ENOTFOUND') } }),
      reset: await request(resetting.url),
      closed_in_body: await request(closing.url),
      closed_in_chunk: await request(chunked.url),
      garbage: await request(garbage.url),
      plain_behind_tls: await request(garbage.url.replace('http:', 'https:')),
    };
    await Promise.all([resetting, closing, chunked, garbage].map((server) => server[Symbol.asyncDispose]()));
    expect(
      Object.fromEntries(
        Object.entries(codes).map(([name, outcome]) => [
          name,
          outcome.type === 'error' ? outcome.code : outcome.status,
        ]),
      ),
    ).toEqual({
      refused: 'connection_refused',
      unknown_name: 'dns',
      reset: 'connection_reset',
      closed_in_body: 'connection_reset',
      closed_in_chunk: 'connection_reset',
      garbage: 'invalid_response',
      plain_behind_tls: 'tls',
    });
    expect(codes.closed_in_body).toMatchObject({ status: 200, body: Buffer.from('half') });
  });

  it('is an abort when the signal says so, at once and with its reason', async () => {
    const controller = new AbortController();
    await using server = await httpServer(() => controller.abort(new Error('the lease is lost')));
    expect(brief(await request(server.url, { signal: controller.signal }))).toEqual({
      code: 'aborted',
      message: 'the lease is lost',
    });
    expect(brief(await request(server.url, { signal: controller.signal }))).toEqual({
      code: 'aborted',
      message: 'the lease is lost',
    });
    expect(server.seen.length).toBe(1);
  });
});
