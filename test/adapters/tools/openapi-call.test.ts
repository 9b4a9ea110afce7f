import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/cli.ts';
import { get, invoke, openSource, startApi, staying } from './openapi-fixture.ts';

/** A folder with a document of the given paths as a file; 3.0, no server. */
async function folderOf(paths: object, more: object = {}) {
  const folder = await temporaryFolder();
  await writeFile(path.join(folder.path, 'api.json'), JSON.stringify({ openapi: '3.0.3', paths, ...more }));
  return folder;
}

const json = (schema: object) => ({ 200: { content: { 'application/json': { schema } } } });
const pet = { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } };
const query = (name: string) => ({ name, in: 'query', schema: {} });

test('a call goes out as the document describes it, with what the operator adds; its secrets are resolved then and stay out of the definition', async () => {
  await using api = await startApi();
  const parameters = [
    { name: 'id', in: 'path', required: true, schema: {} },
    { name: 'tag', in: 'query', schema: {} },
    { name: 'X-Trace', in: 'header', schema: {} },
    { name: 'X-Key', in: 'header', required: true, schema: {} },
    { name: 'session', in: 'cookie', schema: {} },
  ];
  await using folder = await folderOf({
    '/pets/{id}': { parameters, post: { operationId: 'feed', requestBody: { content: { 'application/json': {} } } } },
  });
  await using source = await openSource(
    folder.path,
    {
      document: 'api.json',
      server: `${api.url}/v1/`,
      headers: { 'X-Key': `k \${secret:KEY}` },
      query: { version: `\${env:VERSION}` },
    },
    { KEY: 's3cret', VERSION: '2 &3' },
  );
  const { tools } = await source.listTools(staying());
  expect(tools[0]?.input_schema).toMatchObject({ required: ['id'] });
  expect(Object.keys(tools[0]?.input_schema['properties'] ?? {})).toEqual(['id', 'tag', 'X-Trace', 'session', 'body']);
  expect(JSON.stringify(tools)).not.toMatch(/s3cret|2 &3/);
  const answer = await invoke(source, 'feed', {
    id: 'a/b?c#d',
    tag: ['x', 'y&z'],
    'X-Trace': 't1',
    session: 'a;b',
    body: { food: 'ü' },
  });
  expect(answer).toMatchObject({
    type: 'ok',
    output: { structured: { target: '/v1/pets/a%2Fb%3Fc%23d?tag=x&tag=y%26z&version=2%20%263' } },
  });
  expect(api.seen).toMatchObject([
    {
      method: 'POST',
      body: '{"food":"ü"}',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': 'trn_1',
        'x-trace': 't1',
        'x-key': 'k s3cret',
        cookie: 'session=a%3Bb',
        host: new URL(api.url).host,
        accept: 'application/json, */*;q=0.1',
        'user-agent': 'proctor',
      },
    },
  ]);
});

test('what cannot be sent is refused before anything is: steps in paths, line breaks in headers, secrets that are not set', async () => {
  await using api = await startApi();
  const parameters = [
    { name: 'id', in: 'path', required: true, schema: {} },
    { name: 'X-Trace', in: 'header', schema: {} },
  ];
  await using folder = await folderOf({ '/pets/{id}': { delete: { operationId: 'drop', parameters } } });
  const config = { document: 'api.json', server: api.url };
  await using source = await openSource(folder.path, config);
  for (const [input, why] of [
    [{ id: '../admin' }, /`id` has a step/],
    [{ id: '%2e%2e' }, /`id` has a step/],
    [{ id: '' }, /`id` is empty/],
    [{}, /`id` is empty/],
    [{ id: '1', 'X-Trace': 'a\r\nX-Admin: yes' }, /`X-Trace` holds a character/],
  ] as const)
    expect(await invoke(source, 'drop', input)).toMatchObject({
      type: 'error',
      code: 'invalid_input',
      message: expect.stringMatching(why),
      sent: false,
    });
  expect(await invoke(source, 'gone')).toMatchObject({ code: 'unknown_tool', sent: false });
  expect(api.seen).toEqual([]);
});

test('answers: objects as data, others wrapped, exact text beside them; JSON that no value carries stays text', async () => {
  const bodies: Record<string, [string, string | Buffer]> = {
    '/object': ['application/json', '{"a":1}'],
    '/list': ['application/hal+json; charset=utf-8', '[1,2]'],
    '/big': ['application/json', '{"id":12345678901234567890}'],
    '/text': ['text/plain; charset=iso-8859-1', Buffer.from('gr\xfc\xdfe', 'latin1')],
    '/xml': ['application/xml', '<a/>'],
    '/image': ['image/png', Buffer.from([0x89, 0x50, 0xff])],
    '/file': ['application/pdf', Buffer.from([0x25, 0xff])],
    '/lies': ['text/plain', Buffer.from([0xff, 0xfe, 0xff])],
    '/untyped': ['', 'plain'],
    '/none': ['application/json', ''],
  };
  await using api = await startApi(({ target }, response) => {
    const [type = '', body = ''] = bodies[target] ?? [];
    response.writeHead(200, type === '' ? {} : { 'content-type': type }).end(body);
  });
  await using folder = await folderOf(
    Object.fromEntries(Object.keys(bodies).map((name) => [name, get(name.slice(1))])),
  );
  await using source = await openSource(folder.path, { document: 'api.json', server: api.url });
  const output = async (name: string) => {
    const answer = await invoke(source, name);
    return answer.type === 'ok' ? answer.output : answer;
  };
  const text = (value: string) => [{ type: 'text', text: value }];
  expect(await output('object')).toEqual({ content: text('{"a":1}'), structured: { a: 1 } });
  expect(await output('list')).toEqual({ content: text('[1,2]'), structured: { result: [1, 2] } });
  expect(await output('big')).toEqual({ content: text('{"id":12345678901234567890}'), structured: null });
  expect(await output('text')).toEqual({ content: text('grüße'), structured: null });
  expect(await output('xml')).toEqual({ content: text('<a/>'), structured: null });
  expect(await output('untyped')).toEqual({ content: text('plain'), structured: null });
  expect(await output('none')).toEqual({ content: text('status 200 (OK), no body'), structured: null });
  expect(await output('image')).toMatchObject({
    content: [
      { text: expect.stringMatching(/^image\/png, 3 bytes, sha256 /) },
      { type: 'image', data: 'iVD/', mimeType: 'image/png' },
    ],
  });
  expect(await output('file')).toMatchObject({
    content: [
      { text: expect.stringMatching(/^application\/pdf, 2 bytes/) },
      {
        type: 'resource',
        resource: { mimeType: 'application/pdf', blob: 'Jf8=', uri: expect.stringMatching(/^urn:sha256:/) },
      },
    ],
  });
  expect(await output('lies')).toMatchObject({
    content: [{ text: expect.stringMatching(/3 bytes/) }, { type: 'resource' }],
  });
});

test('HEAD tells the headers', async () => {
  await using api = await startApi((_, response) =>
    response.writeHead(200, { etag: '"v1"', 'content-length': 5 }).end(),
  );
  await using folder = await folderOf({ '/a': { head: { operationId: 'look', responses: json(pet) } } });
  await using source = await openSource(folder.path, { document: 'api.json', server: api.url });
  expect(await invoke(source, 'look')).toEqual({
    type: 'ok',
    output: { content: [{ type: 'text', text: 'status 200 (OK)\ncontent-length: 5\netag: "v1"' }], structured: null },
  });
});

test.each([
  ['text/html', '<p>down</p>', /a body of `text\/html`, where the document promises JSON/],
  ['application/json', '{"id":', /JSON that cannot be carried/],
  ['application/json', '{"id":1,"id":2}', /stands twice/],
  ['application/json', '', /no body, where the document promises JSON/],
])('where JSON is promised, `%s` %j is `invalid_output`, with what came', async (type, body, why) => {
  await using api = await startApi((_, response) => response.writeHead(200, { 'content-type': type }).end(body));
  await using folder = await folderOf({ '/a': get('a', { responses: json(pet) }) });
  await using source = await openSource(folder.path, { document: 'api.json', server: api.url });
  const answer = await invoke(source, 'a');
  expect(answer).toMatchObject({
    type: 'error',
    code: 'invalid_output',
    message: expect.stringMatching(why),
    sent: true,
  });
  expect(Object(answer).output.content).toEqual([
    { type: 'text', text: body === '' ? 'status 200 (OK), no body' : body },
  ]);
});

test('an error status is the tool’s failure, with the body as output', async () => {
  const statuses: Record<string, [number, Record<string, string>]> = {
    '/gone': [404, {}],
    '/in': [401, {}],
    '/busy': [503, { 'retry-after': '7' }],
    '/odd': [599, {}],
    '/same': [304, {}],
  };
  await using api = await startApi(({ target }, response) => {
    const [status = 500, headers = {}] = statuses[target] ?? [];
    response.writeHead(status, { 'content-type': 'application/problem+json', ...headers }).end('{"detail":"no"}');
  });
  await using folder = await folderOf(
    Object.fromEntries(
      Object.keys(statuses).map((name) => [name, get(name.slice(1), { responses: json({ type: 'array' }) })]),
    ),
  );
  await using source = await openSource(folder.path, { document: 'api.json', server: api.url });
  expect(await invoke(source, 'gone')).toEqual({
    type: 'error',
    code: 'http_status',
    message: 'GET /gone was answered with status 404 (Not Found)',
    output: { content: [{ type: 'text', text: '{"detail":"no"}' }], structured: { detail: 'no' } },
    sent: true,
  });
  expect(await invoke(source, 'in')).toMatchObject({
    message: expect.stringMatching(/401 .*credentials are `headers`/),
  });
  expect(await invoke(source, 'busy')).toMatchObject({ message: expect.stringMatching(/503 .*tried again after 7/) });
  expect(await invoke(source, 'odd')).toMatchObject({
    code: 'http_status',
    message: expect.stringMatching(/status 599$/),
  });
  expect(await invoke(source, 'same')).toMatchObject({ code: 'http_status' });
});

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
  const started = performance.now();
  expect(await invoke(source, 'drip', {}, { timeout_ms: 400 })).toMatchObject({
    type: 'timeout',
    message: expect.stringMatching(/^GET \/drip: no whole response within 400 ms/),
  });
  expect(await invoke(source, 'drip', {}, { signal: AbortSignal.timeout(200) })).toMatchObject({ type: 'cancelled' });
  expect(performance.now() - started).toBeLessThan(3_000);
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
    message: 'the tool source `api` has no document: `gone.yaml` cannot be read (ENOENT)',
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
  const before = performance.eventLoopUtilization();
  const { tools } = await source.listTools(staying());
  const { active, idle } = performance.eventLoopUtilization(before);
  expect(tools).toHaveLength(111);
  // Relative, because the machine may be busy: read on the loop itself, nearly all of the time would be active.
  expect(active / (active + idle)).toBeLessThan(0.4);
});
