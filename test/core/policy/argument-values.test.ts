import { describe, expect, test } from 'vitest';
import type { Condition } from '../../../src/contract/matcher.ts';
import { diagnostic } from '../../../src/contract/problem.ts';
import { argumentValueProblems } from '../../../src/core/policy/argument-values.ts';

const FIELD = 'rules[0].when.args.a';
const object = (a: unknown, more: object = {}) => ({ type: 'object', properties: { a }, ...more });
const told = (condition: unknown, ...declared: readonly unknown[]) =>
  argumentValueProblems(
    ['a'],
    declared.map((one) => object(one)),
    condition as Condition,
    FIELD,
  );
const never = (values: string, hint: string, name = 'a') =>
  diagnostic(`\`${name}\` is never ${values}`, { field: FIELD, hint });
const other = (matcher: string, wants: string, kinds: string) =>
  diagnostic(`\`${matcher}\` looks at ${wants}, and \`a\` is ${kinds}`, {
    field: FIELD,
    hint: 'use a matcher for what it is',
  });
const INTEGER = { type: 'integer' };
const ROOM = { enum: ['kitchen', 1, null] };

describe('values that an argument never has', () => {
  test.each([
    ['high', INTEGER, never('"high"', 'it is integer')],
    [2.5, INTEGER, never('2.5', 'it is integer')],
    [null, INTEGER, never('null', 'it is integer')],
    [['1', 2.5], INTEGER, never('"1" or 2.5', 'it is integer')],
    [{ eq: true }, INTEGER, never('true', 'it is integer')],
    [{ in: ['x', 'y'] }, INTEGER, never('"x" or "y"', 'it is integer')],
    [{ eq: 'z', in: ['x'] }, INTEGER, never('"x" or "z"', 'it is integer')],
    ['x', { type: ['integer', 'null'] }, never('"x"', 'it is integer or null')],
    ['cellar', ROOM, never('"cellar"', 'one of: "kitchen", 1, null')],
    [['cellar', 2], ROOM, never('"cellar" or 2', 'one of: "kitchen", 1, null')],
    ['b', { const: 'a' }, never('"b"', 'one of: "a"')],
    ['b', { const: 'a', enum: ['b'] }, never('"b"', 'one of: "a"')],
    ['kitchen', { ...ROOM, type: 'integer' }, never('"kitchen"', 'one of: "kitchen", 1, null')],
  ])('%j where it is %j', (condition, declared, problem) => {
    expect(told(condition, declared)).toEqual([problem]);
  });

  test.each([
    [3, INTEGER],
    [3, { type: 'number' }],
    [2.5, { type: 'number' }],
    [true, { type: 'boolean' }],
    [null, { type: 'null' }],
    ['x', { type: 'string' }],
    [['x', 3], INTEGER],
    [{ eq: 'x', in: [3] }, INTEGER],
    ['x', { type: ['integer', 'string'] }],
    ['kitchen', ROOM],
    [null, ROOM],
    [['attic', 1], ROOM],
    ['a', { const: 'a' }],
    ['anything', {}],
    ['anything', { type: 7, enum: 'x' }],
    [{ has: true }, INTEGER],
    [{ max_bytes: 3 }, INTEGER],
  ])('%j is possible where it is %j', (condition, declared) => {
    expect(told(condition, declared)).toEqual([]);
  });

  test('what is negated holds the more often', () => {
    expect(told({ not: 'high' }, INTEGER)).toEqual([]);
    expect(told({ not: { min: 9, max: 1 } }, INTEGER)).toEqual([]);
    expect(told({ not: { glob: '*' } }, INTEGER)).toEqual([]);
  });
});

describe('matchers for another type', () => {
  test.each(['glob', 'under', 'host'])('%s looks at text', (matcher) => {
    expect(told({ [matcher]: '/x' }, INTEGER)).toEqual([other(matcher, 'string', 'integer')]);
    expect(told({ [matcher]: '/x' }, { type: ['integer', 'string'] })).toEqual([]);
    expect(told({ [matcher]: '/x' }, {})).toEqual([]);
  });

  test.each(['min', 'max'])('%s looks at numbers', (matcher) => {
    expect(told({ [matcher]: 1 }, { type: ['string', 'null'] })).toEqual([other(matcher, 'number', 'string or null')]);
    expect(told({ [matcher]: 1 }, { type: ['string', 'number'] })).toEqual([]);
    expect(told({ [matcher]: 1 }, INTEGER)).toEqual([]);
    expect(told({ [matcher]: 1 }, ROOM)).toEqual([]);
  });

  test('each of them, beside the value', () => {
    expect(told({ eq: 'x', glob: '*', host: 'h' }, INTEGER)).toEqual([
      never('"x"', 'it is integer'),
      other('glob', 'string', 'integer'),
      other('host', 'string', 'integer'),
    ]);
  });
});

test('bounds that are at odds', () => {
  expect(told({ min: 2, max: 1 }, INTEGER)).toEqual([
    diagnostic('nothing is at least 2 and at most 1', { field: FIELD, hint: 'exchange `min` and `max`' }),
  ]);
  expect([told({ min: 1, max: 1 }, INTEGER), told({ min: 2 }, INTEGER), told({ max: 2 }, INTEGER)]).toEqual([
    [],
    [],
    [],
  ]);
});

describe('several tools', () => {
  test('one that takes the value is enough', () => {
    expect(told('x', INTEGER, { type: 'string' })).toEqual([]);
    expect(told(true, INTEGER, { type: 'string' })).toEqual([never('true', 'it is integer or string')]);
    expect(told('c', { enum: ['a'] }, { const: 'b' })).toEqual([never('"c"', 'one of: "a", "b"')]);
  });

  test('one that leaves it open leaves it open', () => {
    for (const open of [{}, true, null, { ...INTEGER, anyOf: [] }]) expect(told('x', INTEGER, open)).toEqual([]);
    expect(told('c', { enum: ['a'] }, { type: 'string' })).toEqual([]);
  });
});

describe('what a schema leaves open', () => {
  const of = (schema: unknown, path: readonly string[] = ['a']) =>
    argumentValueProblems(path, [schema as Record<string, unknown>], 'x', FIELD);

  test.each(['$ref', '$dynamicRef', 'anyOf', 'oneOf', 'allOf', 'if'])(
    '%s, of the argument and around it',
    (keyword) => {
      expect(told('x', { ...INTEGER, [keyword]: [] })).toEqual([]);
      expect(of(object(INTEGER, { [keyword]: [] }))).toEqual([]);
    },
  );

  test.each([true, null, 'text'])('%j is no schema that says anything', (schema) => {
    expect(told('x', schema)).toEqual([]);
    expect(of(object(schema), ['a', 'b'])).toEqual([]);
  });

  test('an argument that a tool does not have says nothing, beside one that does', () => {
    const closed = { type: 'object', properties: {}, additionalProperties: false };
    const beside = (schema: object) =>
      argumentValueProblems(['a'], [object(INTEGER), schema as Record<string, unknown>], 'x', FIELD);
    expect(of(closed)).toEqual([]);
    expect(beside(closed)).toEqual([never('"x"', 'it is integer')]);
    expect(beside({ ...closed, patternProperties: {} })).toEqual([]);
    expect(beside({ ...closed, additionalProperties: true })).toEqual([]);
    expect(beside({ type: 'object', additionalProperties: false })).toEqual([never('"x"', 'it is integer')]);
    expect(beside({ ...closed, properties: null })).toEqual([never('"x"', 'it is integer')]);
  });

  test('an argument inside another is named by its path; a name that objects inherit is none', () => {
    expect(of(object(object(INTEGER)), ['a', 'a'])).toEqual([never('"x"', 'it is integer', 'a.a')]);
    expect(of({ properties: {} }, ['constructor'])).toEqual([]);
  });
});
