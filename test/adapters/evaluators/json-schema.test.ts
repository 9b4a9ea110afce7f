import { describe, expect, test } from 'vitest';
import { jsonSchema } from '../../../src/adapters/evaluators/json-schema.ts';
import { ProctorError } from '../../../src/contract/problem.ts';
import { grade, opened, outcome } from './grade.ts';

const person = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1 },
    age: { type: 'integer', minimum: 0 },
    tags: { type: 'array', items: { type: 'string' }, uniqueItems: true },
  },
  required: ['name'],
  additionalProperties: false,
};

describe('json_schema@1', () => {
  test.each([
    [{ structured: { name: 'Ada', age: 36 } }, 'auto', 'passed', '`structured` fits the schema'],
    [{ text: '{"name":"Ada"}' }, 'auto', 'passed', 'the text fits the schema'],
    [{ text: '{"name":"Ada"}', structured: { name: 3 } }, 'text', 'passed', 'the text fits the schema'],
    [{ raw: { deep: [{ name: 'Ada' }] } }, '/raw/deep/0', 'passed', '`/raw/deep/0` fits the schema'],
    [
      { structured: { name: '' } },
      'auto',
      'failed',
      '`structured` does not fit the schema: `/name` must NOT have fewer than 1 characters',
    ],
    [
      { structured: { nick: 'A' } },
      'auto',
      'failed',
      "`structured` does not fit the schema: `/` must have required property 'name'; `/` must NOT have additional properties: `nick`",
    ],
    [
      { structured: { name: 'A', tags: ['a', 'b', 'a'] } },
      'auto',
      'failed',
      '`structured` does not fit the schema: `/tags` must NOT have duplicate items',
    ],
    [{ structured: [1] }, 'auto', 'failed', '`structured` does not fit the schema: `/` must be object'],
    [{ text: 'Ada' }, 'auto', 'failed', 'the text is not JSON: "Ada"'],
    [{ text: '```json\n{}\n```' }, 'auto', 'failed', 'the text is not JSON: "```json\\n{}\\n```"'],
    [{ text: '{"name":"Ada"}' }, 'structured', 'failed', 'the envelope has no `structured`'],
    [{}, 'auto', 'failed', 'the envelope has neither `structured` nor `text`'],
    [{ raw: {} }, '/raw/deep', 'failed', 'the envelope has no `/raw/deep`'],
  ])('%j at %s: %s', async (answer, target, status, reason) => {
    expect(await outcome(jsonSchema, { schema: person, target }, { answer })).toEqual([status, reason]);
  });

  test('keeps every failing path as evidence', async () => {
    const found = await grade(
      jsonSchema,
      { schema: person },
      { answer: { structured: { age: -1.5, tags: [1, 'a'] } } },
    );
    expect(found.evidence).toEqual({
      faults: [
        { path: '', keyword: 'required', message: "must have required property 'name'" },
        { path: '/age', keyword: 'type', message: 'must be integer' },
        { path: '/age', keyword: 'minimum', message: 'must be >= 0' },
        { path: '/tags/0', keyword: 'type', message: 'must be string' },
      ],
      faults_found: 4,
      every_fault_sought: true,
    });
  });

  test.each(['__proto__', 'constructor', 'toString'])('an inherited `%s` is no member of an answer', async (name) => {
    const schema = { type: 'object', required: [name] };
    expect((await grade(jsonSchema, { schema }, { answer: { text: '{}' } })).status).toBe('failed');
    expect((await grade(jsonSchema, { schema }, { answer: { text: `{"${name}":1}` } })).status).toBe('passed');
  });

  test.each([
    [
      'draft-07 tuples by `$schema`',
      { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }, { type: 'number' }] },
      ['a', 'b'],
      'failed',
    ],
    ['2020-12 tuples', { prefixItems: [{ type: 'string' }, { type: 'number' }] }, ['a', 'b'], 'failed'],
    ['references inside the schema', { $ref: '#/$defs/word', $defs: { word: { type: 'string' } } }, 'a', 'passed'],
    [
      'references to an `$id` inside the schema',
      { $ref: 'word.json', $defs: { word: { $id: 'word.json', type: 'string' } } },
      1,
      'failed',
    ],
    [
      'a recursive schema',
      { $defs: { tree: { type: 'object', properties: { next: { $ref: '#/$defs/tree' } } } }, $ref: '#/$defs/tree' },
      { next: { next: 1 } },
      'failed',
    ],
    [
      'members named as keywords',
      {
        not: { properties: { if: { $ref: '#' } }, required: ['if'] },
        type: 'object',
        properties: { not: { $ref: '#' } },
      },
      { not: { not: 1 } },
      'failed',
    ],
    ['annotations that start with x-', { 'x-order': 1, type: 'string' }, 'a', 'passed'],
    ['`format` as an annotation', { type: 'string', format: 'email' }, 'no address', 'passed'],
    ['patterns', { type: 'string', pattern: '^\\p{Lu}\\d+$' }, 'A1', 'passed'],
    ['patternProperties', { patternProperties: { '^n_': { type: 'number' } } }, { n_a: 'x' }, 'failed'],
    [
      'equal objects with members in another order as duplicates',
      { uniqueItems: true },
      [
        { a: 1, b: [2] },
        { b: [2], a: 1 },
      ],
      'failed',
    ],
    ['1 and "1" as different', { uniqueItems: true }, [1, '1', true, null, [1], { a: 1 }], 'passed'],
  ])('knows %s', async (_, schema, structured, status) => {
    expect((await grade(jsonSchema, { schema }, { answer: { structured } })).status).toBe(status);
  });

  test.each([
    [
      { $ref: 'https://example.com/schema.json' },
      'the schema refers to `https://example.com/schema.json`, which is not inside it; nothing is fetched: put what is referred to under `$defs`',
    ],
    [
      { properties: { a: { $ref: '#/$defs/none' } } },
      'the schema refers to `#/$defs/none`, which is not inside it; nothing is fetched: put what is referred to under `$defs`',
    ],
    [
      { $schema: 'http://json-schema.org/draft-04/schema#' },
      '`$schema` is `http://json-schema.org/draft-04/schema#`; use https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema#',
    ],
    [
      { requird: ['a'] },
      'the schema is not valid: strict mode: unknown keyword: "requird"; own annotations start with `x-`',
    ],
    [
      { type: 'text' },
      'the schema is not valid: schema is invalid: data/type must be equal to one of the allowed values, data/type must be array, data/type must match a schema in anyOf; own annotations start with `x-`',
    ],
    [
      { pattern: '(?=a)' },
      '`(?=a)` is not a pattern: invalid or unsupported Perl syntax: `(?=`; patterns have RE2 syntax (linear time): no look-ahead, no look-behind, no back references, repeat counts up to 1000',
    ],
    [{ $ref: '#' }, 'the schema refers to itself without going into a member, so checking would not end'],
    [
      { anyOf: [{ $ref: '#/$defs/a' }], $defs: { a: { not: { $ref: '#' } } } },
      'the schema refers to itself without going into a member, so checking would not end',
    ],
    [{ $ref: '#/%zz' }, '`#/%zz` is not a reference: its percent escapes are wrong'],
    [
      doubling(40),
      'one value would be checked against more than 100000 schemas; references under allOf, anyOf or oneOf multiply: list them once',
    ],
    [{ description: 'x'.repeat(1_000_001) }, 'the schema has 1000019 characters; the most is 1000000'],
  ])('refuses the schema %j when it is opened', async (schema, message) => {
    const error: unknown = await opened(jsonSchema, { schema }).catch((thrown: unknown) => thrown);
    if (!(error instanceof ProctorError)) throw error;
    expect([error.code, error.message, error.diagnostics.map(({ field }) => field)]).toEqual([
      'invalid_profile',
      message,
      ['config.schema'],
    ]);
  });

  test.each([{}, { schema: 'string' }, { schema: {}, target: '/nowhere' }, { schema: {}, target: 'both' }])(
    'refuses the config %o',
    async (config) => {
      await expect(opened(jsonSchema, config)).rejects.toThrow();
    },
  );

  test('a catastrophic pattern of the schema ends', async () => {
    const found = await grade(
      jsonSchema,
      { schema: { pattern: '^(a+)+$' } },
      { answer: { structured: `${'a'.repeat(50_000)}b` } },
    );
    expect(found.status).toBe('failed');
  });

  test('a string too long for a pattern fails, and says the limit', async () => {
    expect(
      await outcome(jsonSchema, { schema: { pattern: 'a' } }, { answer: { structured: 'a'.repeat(1_000_001) } }),
    ).toEqual([
      'failed',
      "`structured` cannot be checked: a text of 1000001 characters is over the pattern's limit of 1000000",
    ]);
  });

  test('200,000 different objects are found unique', async () => {
    const structured = Array.from({ length: 200_000 }, (_, id) => ({ id }));
    const evaluator = await opened(jsonSchema, { schema: { uniqueItems: true } });
    const found = await grade(jsonSchema, { schema: { uniqueItems: true } }, { answer: { structured } });
    expect(found.status).toBe('passed');
    await evaluator.close();
  });

  test('of a large document that does not fit only the first fault is sought', async () => {
    const structured = Array.from({ length: 20_000 }, () => 'x');
    const found = await grade(jsonSchema, { schema: { items: { type: 'number' } } }, { answer: { structured } });
    expect(found.evidence).toEqual({
      faults: [{ path: '/0', keyword: 'type', message: 'must be number' }],
      faults_found: 1,
      every_fault_sought: false,
    });
  });

  test.each([
    ['nesting', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'the text nests deeper than 200 levels'],
    ['values', `[${'1,'.repeat(1_000_000)}1]`, 'the text has more than 1000000 values'],
    ['characters', `"${'a'.repeat(4_000_000)}"`, 'the text has 4000002 characters; at most 4000000 are parsed as JSON'],
  ])('an answer with too many %s fails', async (_, text, reason) => {
    expect(await outcome(jsonSchema, { schema: {} }, { answer: { text } })).toEqual(['failed', reason]);
  });

  test('names that the agent chose are shown without control characters', async () => {
    const found = await grade(
      jsonSchema,
      { schema: { additionalProperties: false } },
      { answer: { structured: { 'a\u001b[2J\u202e': 1 } } },
    );
    expect(found.reason).toBe(
      '`structured` does not fit the schema: `/` must NOT have additional properties: `a\\u{1b}[2J\\u{202e}`',
    );
  });
});

/** A schema of a few lines whose references double `levels` times. */
function doubling(levels: number): Record<string, unknown> {
  const level = (index: number) => ({ anyOf: [{ $ref: `#/$defs/d${index}` }, { $ref: `#/$defs/d${index}` }] });
  const $defs = Object.fromEntries(
    Array.from({ length: levels }, (_, index) => [`d${index}`, index === 0 ? { type: 'string' } : level(index - 1)]),
  );
  return { ...level(levels - 1), $defs };
}
