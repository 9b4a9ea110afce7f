import { expect, test } from 'vitest';
import { schemaValidator } from '../../../src/adapters/evaluators/parts/schema-validator.ts';
import { operationNames } from '../../../src/adapters/tools/openapi-names.ts';
import { canonicalJson } from '../../../src/lib/canonical-json.ts';
import { compiled, get } from './openapi-fixture.ts';

const parameter = (name: string, place: string, more: object = {}) => ({
  name,
  in: place,
  required: place === 'path',
  schema: { type: 'string' },
  ...more,
});
const reasons = async (document: Record<string, unknown>) =>
  (await compiled(document)).refused.map(({ reason }) => reason).join('\n');
/** A path beside those that are refused, so that the document as a whole can be used. */
const good = { '/good': get('good') };

test('an operation becomes a tool whose definition holds all that matters of it', async () => {
  const { tools, refused } = await compiled(`
openapi: 3.0.3
info: {title: Pets, version: "1"}
servers: [{url: "https://{zone}.api.example/v1/", variables: {zone: {default: eu}}}]
paths:
  /pets/{id}:
    parameters: [{$ref: "#/components/parameters/Id"}, {name: shared, in: query, schema: {type: string}}]
    put:
      operationId: pets.replace
      summary: Replace a pet
      description: All of it.
      parameters: [{name: id, in: query, schema: {type: integer}}, {name: shared, in: query, required: true, schema: {type: boolean}}]
      requestBody: {required: true, description: The pet, content: {text/plain: {}, application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
      responses: {200: {description: ok, content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Pet"}}}}}}
components:
  parameters: {Id: {name: id, in: path, required: true, schema: {type: string}, description: Which pet}}
  schemas: {Pet: {type: object, properties: {name: {type: string}}}}
`);
  expect(refused).toEqual([]);
  const Pet = { type: 'object', properties: { name: { type: 'string' } } };
  expect(tools).toEqual([
    {
      name: 'pets_replace',
      title: 'Replace a pet',
      description: 'Replace a pet\n\nAll of it.',
      inputSchema: {
        type: 'object',
        properties: {
          path_id: { type: 'string', description: 'Which pet (path parameter `id`)' },
          shared: { type: 'boolean' },
          query_id: { type: 'integer', description: '(query parameter `id`)' },
          body: { description: 'The pet', allOf: [{ $ref: '#/$defs/Pet' }] },
        },
        required: ['path_id', 'shared', 'body'],
        additionalProperties: false,
        $defs: { Pet },
      },
      outputSchema: {
        type: 'object',
        properties: { result: { type: 'array', items: { $ref: '#/$defs/Pet' } } },
        required: ['result'],
        $defs: { Pet },
      },
      annotations: { readOnlyHint: false, idempotentHint: true, openWorldHint: true },
      operation: {
        method: 'PUT',
        server: 'https://eu.api.example/v1',
        path: '/pets/{id}',
        parameters: [
          {
            argument: 'path_id',
            in: 'path',
            name: 'id',
            style: 'simple',
            explode: false,
            reserved: false,
            json: false,
          },
          {
            argument: 'shared',
            in: 'query',
            name: 'shared',
            style: 'form',
            explode: true,
            reserved: false,
            json: false,
          },
          { argument: 'query_id', in: 'query', name: 'id', style: 'form', explode: true, reserved: false, json: false },
        ],
        body: { form: 'json', media_type: 'application/json', fields: [] },
        accept: 'application/json, */*;q=0.1',
        output: { type: 'checked', wrapped: true },
      },
    },
  ]);
});

test('the same operation in JSON has the same definition, wherever else the document differs', async () => {
  const paths = { '/a': get('a', { parameters: [parameter('q', 'query')] }) };
  const one = await compiled({ paths });
  const other = await compiled({
    paths: { '/0': get('zero'), ...paths, '/z': get('z') },
    components: { schemas: { X: {} } },
  });
  expect(canonicalJson(other.tools.find(({ name }) => name === 'a'))).toBe(canonicalJson(one.tools[0]));
});

test('hints follow the method', async () => {
  const verbs = ['get', 'head', 'options', 'put', 'delete', 'post', 'patch', 'trace'];
  const { tools } = await compiled({
    paths: { '/a': Object.fromEntries(verbs.map((verb) => [verb, { operationId: verb }])) },
  });
  expect(Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]))).toEqual({
    get: { readOnlyHint: true, openWorldHint: true },
    head: { readOnlyHint: true, openWorldHint: true },
    options: { readOnlyHint: true, openWorldHint: true },
    put: { readOnlyHint: false, idempotentHint: true, openWorldHint: true },
    delete: { readOnlyHint: false, idempotentHint: true, destructiveHint: true, openWorldHint: true },
    post: { readOnlyHint: false, idempotentHint: false, openWorldHint: true },
    patch: { readOnlyHint: false, idempotentHint: false, openWorldHint: true },
  });
});

test('names: ids, made plain; duplicates by method and path; never the name of another, in whatever order', () => {
  const operations = [
    { method: 'GET', path: '/a', operation_id: 'same' },
    { method: 'GET', path: '/b', operation_id: 'same' },
    { method: 'GET', path: '/c', operation_id: 'get_d_x' },
    { method: 'GET', path: '/d/{x}', operation_id: undefined },
    { method: 'GET', path: '/e', operation_id: 'drive.files.löschen!' },
    { method: 'GET', path: '/f', operation_id: 'ü' },
    { method: 'POST', path: '/g', operation_id: 'x'.repeat(200) },
    { method: 'POST', path: '/h', operation_id: 'x'.repeat(201) },
    { method: 'GET', path: '/i/{x}', operation_id: null },
    { method: 'GET', path: '/i/x', operation_id: null },
  ];
  const names = operationNames(operations);
  expect(names).toEqual([
    'get_a',
    'get_b',
    'get_d_x',
    expect.stringMatching(/^get_d_x_[0-9a-f]{8}$/),
    'drive_files_l_schen',
    'get_f',
    expect.stringMatching(/^x{55}_[0-9a-f]{8}$/),
    expect.stringMatching(/^x{55}_[0-9a-f]{8}$/),
    expect.stringMatching(/^get_i_x_[0-9a-f]{8}$/),
    expect.stringMatching(/^get_i_x_[0-9a-f]{8}$/),
  ]);
  expect(new Set(names).size).toBe(names.length);
  expect(operationNames(operations.toReversed()).toReversed()).toEqual(names);
});

test('arguments: parameters of one name, of names that are taken, and of names that no client takes stay apart', async () => {
  const { tools } = await compiled({
    paths: {
      '/a/{id}': get('a', {
        parameters: [
          parameter('id', 'path'),
          parameter('id', 'query'),
          parameter('query_id', 'query'),
          parameter('query_id', 'cookie'),
          parameter('body', 'query'),
          parameter('__proto__', 'query'),
          parameter('filter[a]', 'query'),
          parameter('filter(a)', 'query'),
          parameter('id', 'header'),
        ],
      }),
    },
  });
  const bindings = tools[0]?.operation.parameters ?? [];
  expect(bindings.map(({ argument, in: place, name }) => `${argument} = ${place} ${name}`)).toEqual([
    'path_id = path id',
    'query_id = query id',
    'query_query_id = query query_id',
    'cookie_query_id = cookie query_id',
    'query_body = query body',
    'proto = query __proto__',
    'query_filter_a = query filter[a]',
    'query_filter_a_2 = query filter(a)',
    'header_id = header id',
  ]);
  expect(Object.keys(Object(tools[0]?.['inputSchema']).properties)).toEqual(bindings.map(({ argument }) => argument));
});

test('what the operator sends, and what OpenAPI leaves to negotiation, is no argument', async () => {
  const { tools } = await compiled(
    {
      paths: {
        '/a': get('a', {
          parameters: [
            parameter('X-API-Key', 'header'),
            parameter('api_key', 'query'),
            parameter('Authorization', 'header'),
            parameter('Accept', 'header'),
            parameter('Idempotency-Key', 'header'),
            parameter('X-Trace', 'header'),
          ],
        }),
      },
    },
    { supplied: { headers: ['x-api-key'], query: ['api_key'] } },
  );
  expect(tools[0]?.operation.parameters.map(({ name }) => name)).toEqual(['X-Trace']);
});

const value = (schema: object, version = '3.0.3') =>
  compiled({
    openapi: version,
    paths: { '/a': get('a', { parameters: [{ name: 'v', in: 'query', schema }] }) },
    components: {
      schemas: { Named: { type: 'object', properties: { next: { $ref: '#/components/schemas/Named' } } } },
    },
  }).then(({ tools, refused }) => {
    if (tools[0] === undefined) throw new Error(refused[0]?.reason);
    return (tools[0]['inputSchema'] as { properties: { v: unknown } }).properties.v;
  });

test.each([
  [{ type: 'string', nullable: true }, { type: ['string', 'null'] }],
  [
    { type: 'string', nullable: true, enum: ['a'] },
    { type: ['string', 'null'], enum: ['a', null] },
  ],
  [{ nullable: true, allOf: [{ type: 'string' }] }, { anyOf: [{ allOf: [{ type: 'string' }] }, { type: 'null' }] }],
  [{ $ref: '#/components/schemas/Named', nullable: true }, { anyOf: [{ $ref: '#/$defs/Named' }, { type: 'null' }] }],
  [{ $ref: '#/components/schemas/Named', type: 'string' }, { $ref: '#/$defs/Named' }],
  [
    { type: 'number', minimum: 1, exclusiveMinimum: true },
    { type: 'number', exclusiveMinimum: 1 },
  ],
  [
    { type: 'number', maximum: 1, exclusiveMaximum: false },
    { type: 'number', maximum: 1 },
  ],
  [
    { type: 'string', example: 'x', xml: {}, 'x-y': 1, externalDocs: {} },
    { type: 'string', examples: ['x'] },
  ],
  [
    { oneOf: [{ type: 'string' }, { type: 'string' }], discriminator: { propertyName: 'k' } },
    { anyOf: [{ type: 'string' }, { type: 'string' }] },
  ],
  [
    {
      type: 'object',
      required: ['id', 'a'],
      properties: { id: { readOnly: true }, a: {}, nullable: { type: 'boolean' }, $ref: { type: 'string' } },
    },
    { type: 'object', required: ['a'], properties: { a: {}, nullable: { type: 'boolean' }, $ref: { type: 'string' } } },
  ],
  [
    { type: 'string', pattern: '^a(?=b)' },
    { type: 'string', $comment: 'not checked here: pattern "^a(?=b)"' },
  ],
  [
    { type: 'string', pattern: '^ab$' },
    { type: 'string', pattern: '^ab$' },
  ],
  [
    { type: 'string', default: { nullable: true }, enum: [{ $ref: 'x' }] },
    { type: 'string', default: { nullable: true }, enum: [{ $ref: 'x' }] },
  ],
  [
    { type: 'object', required: ['a', 'a'], $recursiveRef: '#' },
    { type: 'object', required: ['a'], $comment: 'not checked here: $recursiveRef "#"' },
  ],
  [
    { type: 'string', enum: [] },
    { type: 'string', not: {} },
  ],
])('3.0: %j is %j', async (schema, translated) => {
  expect(await value(schema)).toEqual(translated);
});

test('3.1: what stands beside a reference counts, and `nullable` says nothing', async () => {
  expect(await value({ $ref: '#/components/schemas/Named', minProperties: 1, nullable: true }, '3.1.0')).toEqual({
    $ref: '#/$defs/Named',
    minProperties: 1,
  });
  expect(await value({ minimum: 0, exclusiveMinimum: true }, '3.1.0')).toEqual({ exclusiveMinimum: 0 });
  expect(await value({ type: ['string', 'null'], const: 'a', exclusiveMinimum: 3 }, '3.1.1')).toEqual({
    type: ['string', 'null'],
    const: 'a',
    exclusiveMinimum: 3,
  });
});

test.each([
  [
    { $ref: 'https://evil.example/schema.json' },
    /refers to `https:\/\/evil.example\/schema.json`, which is not a JSON pointer within/,
  ],
  [{ $ref: './other.yaml#/X' }, /nothing is fetched/],
  [{ $ref: 'file:///etc/passwd' }, /nothing is fetched/],
  [{ $ref: '#/components/schemas/Gone' }, /`#\/components\/schemas\/Gone`, which is not in the document/],
  [{ $ref: '#/%zz' }, /percent escapes are wrong/],
  [{ type: 'any' }, /`type` is `"any"`/],
  [{ type: 'string', maxLength: -1 }, /`maxLength` is `-1`/],
  [{ items: [{ type: 'string' }] }, /no object/],
])('a schema %j is refused', async (schema, why) => {
  await expect(value(schema)).rejects.toThrow(why);
});

test('schemas that come back to themselves stay references, and values are checked by them', async () => {
  const schemas = {
    Node: {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string' },
        children: { type: 'array', items: { $ref: '#/components/schemas/Node' } },
      },
    },
    'Odd name': { type: 'array', items: { $ref: '#/components/schemas/Odd%20name' } },
  };
  const { tools } = await compiled({
    paths: {
      '/a': {
        post: {
          operationId: 'a',
          requestBody: {
            content: {
              'application/json': {
                schema: { oneOf: [{ $ref: '#/components/schemas/Node' }, { $ref: '#/components/schemas/Odd%20name' }] },
              },
            },
          },
        },
      },
    },
    components: { schemas },
  });
  const { faults } = await schemaValidator(tools[0]?.['inputSchema'] as Record<string, unknown>, {
    unknown_keywords: 'ignore',
  });
  expect(faults({ body: { name: 'a', children: [{ name: 'b', children: [] }] } }, true)).toEqual([]);
  expect(faults({ body: [[[]]] }, true)).toEqual([]);
  expect(faults({ body: { name: 'a', children: [{ children: [] }] } }, true)).not.toEqual([]);
  expect(faults({ body: [1] }, true)).not.toEqual([]);
});

test('references that double level by level cost nothing to translate (written out they would be 2^200)', async () => {
  const schemas: Record<string, unknown> = { L0: { type: 'string' } };
  for (let level = 1; level <= 200; level += 1)
    schemas[`L${level}`] = {
      allOf: [{ $ref: `#/components/schemas/L${level - 1}` }, { $ref: `#/components/schemas/L${level - 1}` }],
    };
  const { tools } = await compiled({
    paths: {
      '/a': get('a', { parameters: [parameter('v', 'query', { schema: { $ref: '#/components/schemas/L200' } })] }),
    },
    components: { schemas },
  });
  expect(tools).toHaveLength(1);
  // What would explode when a value is checked is refused there, before it does.
  await expect(schemaValidator(tools[0]?.['inputSchema'] as Record<string, unknown>)).rejects.toThrow(
    /more than 100000 schemas/,
  );
});

test.each([
  [
    { '/a': { get: { operationId: 'a', parameters: [{ $ref: '#/components/parameters/A' }] } } },
    /references of a parameter have no end/,
  ],
  [{ '/a': { $ref: '#/paths/~1a' } }, /have no end/],
  [{ '/a': { $ref: 'https://evil.example/p' } }, /nothing is fetched/],
  [{ '/a/{id}': get('a') }, /`\{id\}`, for which there is no parameter/],
  [{ '/a': get('a', { parameters: [parameter('id', 'path')] }) }, /no place for its parameter `id`/],
  [{ 'evil.example/a': get('a') }, /is none: it begins with a slash/],
  [{ '/a/../admin': get('a') }, /leads out of its server/],
  [{ '/a/%2e%2e/admin': get('a') }, /leads out of its server/],
  [{ '/a?x=1': get('a') }, /characters that no path has/],
  [{ '/a#x': get('a') }, /characters that no path has/],
  [{ '/a\\..\\b': get('a') }, /characters that no path has/],
  [{ '/a/{id': get('a') }, /characters that no path has/],
  [{ '/a': get('a', { parameters: [parameter('x', 'body')] }) }, /stands in `body`/],
  [{ '/a': get('a', { parameters: [parameter('x', 'query'), parameter('x', 'query')] }) }, /`x` stands twice/],
  [{ '/a': get('a', { parameters: [parameter('Host', 'header')] }) }, /`Host` is not for callers to set/],
  [{ '/a': get('a', { parameters: [parameter('Transfer-Encoding', 'header')] }) }, /not for callers/],
  [{ '/a': get('a', { parameters: [parameter('X: y\r\nZ', 'header')] }) }, /has a name that cannot be sent/],
  [{ '/a': get('a', { parameters: [parameter('x', 'query', { style: 'matrix' })] }) }, /has the style `matrix`/],
  [
    { '/a': { post: { operationId: 'a', requestBody: { required: true, content: { 'application/xml': {} } } } } },
    /only taken as `application\/xml`/,
  ],
  [
    { '/a': { post: { operationId: 'a', requestBody: { content: { 'application/json; x="\r\nY: 1"': {} } } } } },
    /the media type .* is none/s,
  ],
  [
    {
      '/a': {
        post: {
          operationId: 'a',
          requestBody: {
            content: {
              'multipart/form-data': {
                schema: { type: 'object', required: ['f'], properties: { f: { type: 'string', format: 'binary' } } },
              },
            },
          },
        },
      },
    },
    /needs the file `f`/,
  ],
  [{ '/a': get('a', { servers: [{ url: 'https://{x}.example' }] }) }, /variable `x` without a default/],
  [{ '/a': get('a', { servers: [{ url: 'ftp://api.example' }] }) }, /http or https/],
  [{ '/a': get('a', { servers: [{ url: 'https://u:p@api.example' }] }) }, /holds a user name/],
  [{ '/a': get('a', { servers: [{ url: 'https://api.example/?x' }] }) }, /query or a fragment/],
  [{ '/a': get('a', { servers: [{ url: '/v2' }] }) }, /no whole URL; write `server`/],
])('of %j no tool is made', async (paths, why) => {
  const components = {
    parameters: { A: { $ref: '#/components/parameters/B' }, B: { $ref: '#/components/parameters/A' } },
  };
  expect(await reasons({ paths: { ...good, ...paths }, components })).toMatch(why);
});

test('files of a form that are not required are left out', async () => {
  const schema = { type: 'object', properties: { f: { type: 'string', format: 'binary' }, t: { type: 'string' } } };
  const { tools } = await compiled({
    paths: { '/a': { post: { operationId: 'a', requestBody: { content: { 'multipart/form-data': { schema } } } } } },
  });
  expect(tools[0]?.['inputSchema']).toMatchObject({ properties: { body: { properties: { t: { type: 'string' } } } } });
  expect(JSON.stringify(tools[0]?.['inputSchema'])).not.toContain('"f"');
});

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
  ['{"openapi": "3.0.0", "openapi": "3.1.0"}', /`openapi` stands twice/],
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
  ['- a\n', /no mapping/],
  [
    'openapi: 3.0.0\npaths: {/a: {get: {}}}\n',
    /no operation that can be a tool: its server is `\/`, which is no whole URL/,
  ],
])('the document %j is refused', async (text, why) => {
  await expect(compiled(text)).rejects.toThrow(why);
});

test('a double’s bounds are read as numbers, although JSON has more digits', async () => {
  const { tools } = await compiled(
    '{"openapi":"3.0.0","servers":[{"url":"https://a.example"}],"paths":{"/a":{"get":{"parameters":[{"name":"n","in":"query","schema":{"type":"integer","maximum":9223372036854775807}}]}}}}',
  );
  expect(tools[0]?.['inputSchema']).toMatchObject({ properties: { n: { maximum: 2 ** 63 } } });
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
