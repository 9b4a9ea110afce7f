import { expect, test } from 'vitest';
import { compiled, get, parameter } from './openapi-fixture.ts';

test('the server: what the operator wrote, else the document’s; none but its own for a document from elsewhere', async () => {
  const server = async (document: object, where: { document: string | null; server: string | null }) => {
    const { tools, refused } = await compiled(
      { ...document, paths: { '/a': get('a'), '/b': get('b', { servers: [{ url: '/other' }] }) } },
      { where },
    );
    return [...tools.map(({ operation }) => operation.server), ...refused.map(({ reason }) => reason)];
  };
  const elsewhere = { servers: [{ url: 'https://evil.example' }] };
  expect(await server({}, { document: null, server: 'https://staging.example/x' })).toEqual([
    'https://staging.example/x',
    'https://staging.example/other',
  ]);
  expect(
    await server({ servers: [{ url: '/v3' }] }, { document: 'https://api.example/docs/api.json', server: null }),
  ).toEqual(['https://api.example/v3', 'https://api.example/other']);
  expect(await server({ servers: [] }, { document: 'https://api.example/docs/api.json', server: null })).toEqual([
    'https://api.example',
    'https://api.example/other',
  ]);
  expect(await server(elsewhere, { document: 'https://api.example/api.json', server: null })).toEqual([
    'https://api.example/other',
    'its server is `https://evil.example`, not where the document is from; write `server: https://evil.example/` if that is meant',
  ]);
  // Whatever the document names: what the operator set is where everything goes.
  const own = await compiled(
    { paths: { '/a': get('a', elsewhere) } },
    { where: { document: 'https://api.example/api.json', server: 'https://staging.example/x/' } },
  );
  expect(own.tools[0]?.operation.server).toBe('https://staging.example/x');
});

test('an answer is checked only where success is one schema of JSON', async () => {
  const output = async (responses: object, more = {}) => {
    const { tools } = await compiled(
      { paths: { '/a': get('a', { responses }) }, components: { schemas: { Far: { $ref: 'https://x.example' } } } },
      more,
    );
    return [tools[0]?.operation.output, tools[0]?.['outputSchema'], tools[0]?.operation.accept];
  };
  const json = (schema: unknown) => ({ content: { 'application/json': { schema } } });
  expect(
    await output({
      '2XX': {
        content: {
          'application/hal+json': {
            schema: { type: 'object', properties: { secret: { writeOnly: true } }, required: ['secret'] },
          },
        },
      },
    }),
  ).toEqual([
    { type: 'checked', wrapped: false },
    { type: 'object', properties: {} },
    'application/hal+json, */*;q=0.1',
  ]);
  const unchecked = async (...given: Parameters<typeof output>) => (await output(...given)).slice(0, 2);
  expect(await unchecked({ 200: json({}), 201: json({}) })).toEqual([
    { type: 'unchecked', reason: 'there are 2 responses of success' },
    undefined,
  ]);
  expect(await unchecked({ 200: json({}), 204: {} })).toMatchObject([
    { reason: 'there are 2 responses of success' },
    undefined,
  ]);
  expect(await unchecked({ default: json({}) })).toMatchObject([
    { reason: 'there are 0 responses of success' },
    undefined,
  ]);
  expect(await unchecked({ 200: json({}) }, { check_output: false })).toMatchObject([
    { reason: '`check_output` is off' },
    undefined,
  ]);
  expect(await unchecked({ 200: json({ $ref: '#/components/schemas/Far' }) })).toEqual([
    { type: 'unchecked', reason: expect.stringMatching(/`https:\/\/x.example`.*nothing is fetched/) },
    undefined,
  ]);
  const large = json({ type: 'object', description: 'x'.repeat(70_000) });
  expect(await unchecked({ 200: large })).toMatchObject([
    { reason: 'its schema has more than 65536 characters' },
    undefined,
  ]);
});

test.each([
  ['{"openapi": "3.0.0", "openapi": "3.1.0"}', /duplicate key `openapi`/],
  ['openapi: 3.0.0\npaths:\n  /a: {}\n  /a: {}\n', /key `\/a` twice: line 4, column 3/],
  ['openapi: 3.0.0\npaths: {}\nx: {200: a, "200": b}\n', /key `200` twice/],
  ['openapi: 3.0.0\nx: &x {a: 1}\npaths:\n  <<: *x\n', /merge key/],
  ['openapi: 3.0.0\nx: &x\n  y: *x\n', /nested deeper than 200/],
  [`openapi: 3.0.0\nx: ${'['.repeat(20_000)}`, /not plain YAML/],
  [`{"openapi": "3.0.0", "x": ${'['.repeat(20_000)}${']'.repeat(20_000)}}`, /nested deeper than 200/],
  ['openapi: 3.0.0\nx: !!js/function "f"\n', /not plain YAML/],
  [
    `openapi: 3.0.0\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 8 }, (_, level) => `a${level + 1}: &a${level + 1} [${Array(10).fill(`*a${level}`).join(', ')}]`).join('\n')}\n`,
    /alias/i,
  ],
  ['swagger: "2.0"\n', /is Swagger 2.0; convert it/],
  ['openapi: 3.2.0\n', /versions 3.0.x and 3.1.x can be read/],
  ['openapi: 3.1\n', /written as a text/],
  ['openapi: 3.1.0\njsonSchemaDialect: https://example.com/dialect\n', /dialect/],
  ['- a\n', /is not a mapping/],
  [
    'openapi: 3.0.0\npaths: {/a: {get: {}}}\n',
    /no operation that can be a tool: its server is `\/`, which is not a complete URL/,
  ],
])('the document %j is refused', async (text, why) => {
  await expect(compiled(text)).rejects.toThrow(why);
});

test('ten thousand operations: the first thousand, or those that are chosen', async () => {
  const paths = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, index) => [
      `/a${index}/{id}`,
      get(`op${index}`, { parameters: [parameter('id', 'path')] }),
    ]),
  );
  const lines = Object.keys(paths).map(
    (path, index) =>
      `  ${path}: {get: {operationId: op${index}, parameters: [{name: id, in: path, required: true, schema: {type: string}}]}}`,
  );
  const all = await compiled({ paths });
  expect(all.tools).toHaveLength(1_000);
  expect(all.refused).toEqual([
    {
      name: '…',
      reason: expect.stringMatching(/has 10000 operations, more than can be tools at once; `operations` chooses/),
    },
  ]);
  const chosen = await compiled({ paths }, { operations: ['op999*'] });
  expect(chosen.tools.map(({ name }) => name)).toEqual([
    'op999',
    ...Array.from({ length: 10 }, (_, digit) => `op999${digit}`),
  ]);
  const yaml = await compiled(`openapi: 3.0.0\nservers: [{url: "https://a.example"}]\npaths:\n${lines.join('\n')}\n`, {
    operations: ['op9999'],
  });
  expect(yaml.tools.map(({ name }) => name)).toEqual(['op9999']);
});
