import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/cli.ts';
import { get, invoke, openSource, startApi, staying } from './openapi-fixture.ts';

const query = (name: string) => ({ name, in: 'query', schema: {} });

test('a document from a URL: fetched with its own headers, asked again by its etag, compiled anew when it changed', async () => {
  let version = 1;
  await using api = await startApi(({ headers, target }, response) => {
    if (target !== '/docs/openapi.json')
      return void response.writeHead(200, { 'content-type': 'text/plain' }).end(target);
    if (headers['if-none-match'] === `"${version}"`) return void response.writeHead(304).end();
    const document = {
      openapi: '3.1.0',
      servers: [{ url: '/v1' }],
      paths: { '/a': get(`a${version}`, { parameters: [query('q')] }) },
    };
    response.writeHead(200, { 'content-type': 'application/json', etag: `"${version}"` }).end(JSON.stringify(document));
  });
  await using source = await openSource(
    '/',
    { document: `${api.url}/docs/openapi.json`, document_headers: { authorization: `Bearer \${secret:KEY}` } },
    { KEY: 's3cret' },
  );
  const names = async () => (await source.listTools(staying())).tools.map(({ name }) => name);
  expect(await names()).toEqual(['a1']);
  expect(await names()).toEqual(['a1']);
  expect(await invoke(source, 'a1', { q: 1 })).toMatchObject({ output: { content: [{ text: '/v1/a?q=1' }] } });
  expect(api.seen.at(-1)?.headers['authorization']).toBeUndefined();
  version = 2;
  expect(await names()).toEqual(['a2']);
  expect(await invoke(source, 'a1')).toMatchObject({ code: 'unknown_tool', sent: false });
  const documents = api.seen.filter(({ target }) => target.startsWith('/docs'));
  expect(documents.map(({ headers }) => [headers['authorization'], headers['if-none-match']])).toEqual([
    ['Bearer s3cret', undefined],
    ['Bearer s3cret', '"1"'],
    ['Bearer s3cret', '"1"'],
  ]);
});

test.each([
  [
    { servers: [{ url: 'https://evil.example' }] },
    200,
    /its server is `https:\/\/evil.example`, not where the document is from/,
  ],
  [{}, 404, /answers with status 404/],
  [{ x: 'y'.repeat(11 * 1024 * 1024) }, 200, /limited to 10485760 bytes/],
])('a document from a URL that cannot be used is told', async (more, status, why) => {
  await using api = await startApi((_, response) =>
    response.writeHead(status).end(JSON.stringify({ openapi: '3.0.0', paths: { '/a': get('a') }, ...more })),
  );
  await using source = await openSource('/', { document: `${api.url}/api.json` });
  await expect(source.listTools(staying())).rejects.toMatchObject({
    code: 'source_unavailable',
    message: expect.stringMatching(why),
  });
});

test('a file that cannot be used is told', async () => {
  await using folder = await temporaryFolder();
  await using gone = await openSource(folder.path, { document: 'gone.yaml' });
  await expect(gone.listTools(staying())).rejects.toMatchObject({
    code: 'source_unavailable',
    message: 'the tool source `api` has no document: `gone.yaml` does not exist',
  });
  await writeFile(path.join(folder.path, 'latin.yaml'), Buffer.from('openapi: "3.0.0"\nx: \xfc\n', 'latin1'));
  await using latin = await openSource(folder.path, { document: 'latin.yaml' });
  await expect(latin.listTools(staying())).rejects.toThrow(/is not valid UTF-8/);
  await writeFile(path.join(folder.path, 'large.yaml'), `openapi: 3.0.0\nx: ${'y'.repeat(11 * 1024 * 1024)}\n`);
  await using large = await openSource(folder.path, { document: 'large.yaml' });
  await expect(large.listTools(staying())).rejects.toThrow(/the most is 10485760/);
});

test('a document is read off the event loop: 10,000 operations of YAML do not hold it up', async () => {
  await using folder = await temporaryFolder();
  const lines = Array.from(
    { length: 10_000 },
    (_, index) =>
      `  /a${index}/{id}: {get: {operationId: op${index}, parameters: [{name: id, in: path, required: true, schema: {type: string}}]}}`,
  );
  await writeFile(
    path.join(folder.path, 'api.yaml'),
    `openapi: 3.0.0\nservers: [{url: "http://127.0.0.1:1"}]\npaths:\n${lines.join('\n')}\n`,
  );
  await using source = await openSource(folder.path, { document: 'api.yaml', operations: ['op99*'] });
  let turns = 0;
  const turning = setInterval(() => {
    turns += 1;
  }, 1);
  const { tools } = await source.listTools(staying());
  clearInterval(turning);
  expect(tools).toHaveLength(111);
  expect(turns, 'read on the loop itself it would hardly turn').toBeGreaterThan(30);
});
