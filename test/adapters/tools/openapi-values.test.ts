import { expect, test } from 'vitest';
import { schemaValidator } from '../../../src/adapters/evaluators/parts/schema-validator.ts';
import { compiled, get, parameter } from './openapi-fixture.ts';

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

test('a double’s bounds are read as numbers, although JSON has more digits', async () => {
  const { tools } = await compiled(
    '{"openapi":"3.0.0","servers":[{"url":"https://a.example"}],"paths":{"/a":{"get":{"parameters":[{"name":"n","in":"query","schema":{"type":"integer","maximum":9223372036854775807}}]}}}}',
  );
  expect(tools[0]?.['inputSchema']).toMatchObject({ properties: { n: { maximum: 2 ** 63 } } });
});
