import { expect, test } from 'vitest';
import { folderOf, get, invoke, openSource, startApi, staying } from './openapi-fixture.ts';

const json = (schema: object) => ({ 200: { content: { 'application/json': { schema } } } });
const pet = { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } };

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
  ['application/json', '{"id":1,"id":2}', /duplicate key/],
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
