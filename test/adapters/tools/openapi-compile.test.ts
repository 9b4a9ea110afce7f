import { expect, test } from 'vitest';
import { operationNames } from '../../../src/adapters/tools/openapi-names.ts';
import { canonicalJson } from '../../../src/lib/canonical-json.ts';
import { compiled, get, parameter } from './openapi-fixture.ts';

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

test.each([
  [
    { '/a': { get: { operationId: 'a', parameters: [{ $ref: '#/components/parameters/A' }] } } },
    /references of a parameter have no end/,
  ],
  [{ '/a': { $ref: '#/paths/~1a' } }, /have no end/],
  [{ '/a': { $ref: 'https://evil.example/p' } }, /nothing is fetched/],
  [{ '/a/{id}': get('a') }, /`\{id\}`, for which there is no parameter/],
  [{ '/a': get('a', { parameters: [parameter('id', 'path')] }) }, /no place for its parameter `id`/],
  [{ 'evil.example/a': get('a') }, /is not a path: it must begin with a slash/],
  [{ '/a/../admin': get('a') }, /leads out of its server/],
  [{ '/a/%2e%2e/admin': get('a') }, /leads out of its server/],
  [{ '/a?x=1': get('a') }, /characters that no path has/],
  [{ '/a#x': get('a') }, /characters that no path has/],
  [{ '/a\\..\\b': get('a') }, /characters that no path has/],
  [{ '/a/{id': get('a') }, /characters that no path has/],
  [{ '/a': get('a', { parameters: [parameter('x', 'body')] }) }, /has an unknown place `body`/],
  [
    { '/a': get('a', { parameters: [parameter('x', 'query'), parameter('x', 'query')] }) },
    /duplicate query parameter `x`/,
  ],
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
    /is not a media type/s,
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
  [{ '/a': get('a', { servers: [{ url: '/v2' }] }) }, /not a complete URL; write `server`/],
])('of %j no tool is made', async (paths, why) => {
  const components = {
    parameters: { A: { $ref: '#/components/parameters/B' }, B: { $ref: '#/components/parameters/A' } },
  };
  expect(await reasons({ paths: { ...good, ...paths }, components })).toMatch(why);
});
