import { expect, test } from 'vitest';
import { folderOf, get, invoke, openSource, startApi } from './openapi-fixture.ts';

test('50 MB are broken off, announced or not; the rest is never read', async () => {
  let written = 0;
  await using api = await startApi(({ target }, response) => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    response.writeHead(200, target === '/told' ? { 'content-length': 50 * 1024 * 1024 } : {});
    const more = () => {
      while (written < 50 * 1024 * 1024 && !response.destroyed) {
        written += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  });
  await using folder = await folderOf({ '/told': get('told'), '/untold': get('untold') });
  await using source = await openSource(folder.path, { document: 'api.json', server: api.url });
  for (const name of ['told', 'untold'])
    expect(await invoke(source, name)).toMatchObject({
      type: 'error',
      code: 'oversize_output',
      output: null,
      sent: true,
    });
  expect(written).toBeLessThan(30 * 1024 * 1024);
});

test('a slow drip ends at the time limit, and a caller who goes away ends it at once', async () => {
  await using api = await startApi((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    const timer = setInterval(() => response.write('.'), 50);
    response.on('close', () => clearInterval(timer));
  });
  await using folder = await folderOf({ '/drip': get('drip') });
  await using source = await openSource(folder.path, { document: 'api.json', server: api.url });
  expect(await invoke(source, 'drip', {}, { timeout_ms: 400 })).toMatchObject({
    type: 'timeout',
    message: expect.stringMatching(/^GET \/drip: no whole response within 400 ms/),
  });
  expect(await invoke(source, 'drip', {}, { signal: AbortSignal.timeout(200) })).toMatchObject({ type: 'cancelled' });
});

test('redirects are followed only as often as the operator says, and never to another origin', async () => {
  await using elsewhere = await startApi();
  await using api = await startApi(({ target }, response) => {
    const to = { '/away': `${elsewhere.url}/x`, '/here': '/end', '/metadata': 'http://169.254.169.254/latest' }[target];
    if (to === undefined) response.writeHead(200, { 'content-type': 'text/plain' }).end('arrived');
    else response.writeHead(307, { location: to }).end();
  });
  await using folder = await folderOf({
    '/away': { post: { operationId: 'away' } },
    '/here': { post: { operationId: 'here', requestBody: { content: { 'text/plain': {} } } } },
    '/metadata': get('metadata'),
  });
  const config = { document: 'api.json', server: api.url, headers: { authorization: 'Bearer x' } };
  await using strict = await openSource(folder.path, config);
  expect(await invoke(strict, 'here')).toMatchObject({ code: 'redirect_refused', sent: true });
  await using source = await openSource(folder.path, { ...config, redirects: 2 });
  expect(await invoke(source, 'here', { body: 'b' })).toMatchObject({
    type: 'ok',
    output: { content: [{ text: 'arrived' }] },
  });
  expect(api.seen.at(-1)).toMatchObject({ method: 'POST', target: '/end', body: 'b' });
  expect(await invoke(source, 'away')).toMatchObject({
    code: 'redirect_refused',
    message: expect.stringMatching(/another origin/),
  });
  expect(await invoke(source, 'metadata')).toMatchObject({ code: 'redirect_refused' });
  expect(elsewhere.seen).toEqual([]);
});

test('an error is `sent: false` only when certainly nothing went out', async () => {
  const api = await startApi((_, response) => response.destroy());
  await using folder = await folderOf({ '/a': get('a') });
  const config = { document: 'api.json', server: api.url };
  await using source = await openSource(folder.path, config);
  expect(await invoke(source, 'a')).toMatchObject({ code: 'connection_reset', sent: true });
  await api[Symbol.asyncDispose]();
  expect(await invoke(source, 'a')).toMatchObject({ code: 'connection_refused', sent: false });
  await using following = await openSource(folder.path, { ...config, redirects: 1 });
  expect(await invoke(following, 'a')).toMatchObject({ code: 'connection_refused', sent: true });
  await using denied = await openSource(folder.path, { ...config, private_addresses: 'deny', redirects: 1 });
  expect(await invoke(denied, 'a')).toMatchObject({ code: 'address_refused', sent: false });
  await using unset = await openSource(folder.path, { ...config, headers: { 'x-key': 'a\nb' } });
  expect(await invoke(unset, 'a')).toMatchObject({ code: 'invalid_input', sent: false });
});
