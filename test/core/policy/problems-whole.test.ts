import { describe, expect, test } from 'vitest';
import { policySchema } from '../../../src/contract/policy.ts';
import { diagnostic } from '../../../src/contract/problem.ts';
import { policyProblems } from '../../../src/core/policy/problems.ts';
import { rule } from '../../support/policy.ts';

const tool = (name: string, input_schema: object = {}) => ({
  tool: name,
  input_schema: input_schema as Record<string, unknown>,
});
const told = (
  document: object,
  ...known: Parameters<typeof policyProblems> extends [unknown, ...infer Rest] ? Partial<Rest> : never
) => policyProblems(policySchema.parse({ version: 1, ...document }), known[0] ?? null, known[1] ?? null);
const when = (condition: object) => ({ rules: [rule('first', 'allow'), rule('r', 'allow', condition)] });

test('what is right has no problem', () => {
  expect(told({ rules: [rule('a', 'allow'), rule('b', 'deny')], limits: [{ id: 'a', calls: 1 }] })).toEqual([]);
});

test('names that stand twice, in rules and in limits', () => {
  const hint = 'decisions name a rule by its id: give each its own';
  const limit = (id: string) => ({ id, calls: 1 });
  const rules = ['a', 'b', 'a', 'a'].map((id) => rule(id, 'allow'));
  expect(told({ rules, limits: [limit('x'), limit('x')] })).toEqual([
    diagnostic('duplicate id `a`', { field: 'rules[2].id', hint }),
    diagnostic('duplicate id `a`', { field: 'rules[3].id', hint }),
    diagnostic('duplicate id `x`', { field: 'limits[1].id', hint }),
  ]);
});

test('a subject that there is none of', () => {
  expect(told(when({ weather: 'fine' }))).toEqual([
    diagnostic('`weather` is nothing that a condition can look at', {
      field: 'rules[1].when.weather',
      hint: 'one of: args, args.NAME, agent, pinned, principal, principal.kind, principal.role, risk, run.bound, run.tainted, source, surface',
    }),
  ]);
});

describe('folders', () => {
  test.each([
    ['/a/../b', 'write `/b`'],
    ['/a/', 'write `/a`'],
    ['a', 'write `/folder`'],
  ])('%s is not plain: %s', (under, hint) => {
    const problem = diagnostic(`\`${under}\` is not a plain absolute path`, {
      field: 'rules[1].when.args.path',
      hint: `${hint}, or \`./folder\` for one of the project`,
    });
    expect(told(when({ 'args.path': { under } }))).toEqual([problem]);
    expect(told(when({ 'args.path': { not: { under } } }))).toEqual([problem]);
  });

  test('those of the project, and of every element', () => {
    expect(told(when({ 'args.path': { under: './a' } }))).toEqual([]);
    expect(told(when({ 'args.path': { each: { under: 'a' } } }))).toMatchObject([
      { message: '`a` is not a plain absolute path' },
    ]);
  });

  test('URLs that are not plain', () => {
    const hint = 'write `https://host/path`, without user, query and fragment, and as a browser would show it';
    const problem = (text: string) =>
      diagnostic(`\`${text}\` is not a plain URL`, { field: 'rules[1].when.args.url', hint });
    expect(told(when({ 'args.url': { url: 'api.example.com' } }))).toEqual([problem('api.example.com')]);
    expect(told(when({ 'args.url': { not: { url: ['https://a', 'https://a/?q'] } } }))).toEqual([
      problem('https://a/?q'),
    ]);
    expect(told(when({ 'args.url': { url: { host: '*' } } }))).toEqual([]);
  });

  test('a plain one is right', () => {
    expect(told(when({ 'args.path': { under: '/a' } }))).toEqual([]);
  });
});

describe('subjects with a closed list of values', () => {
  test.each([
    ['risk', 'read_only, write, execute_gated, privileged'],
    ['surface', 'cli, mcp, api, evaluation'],
    ['principal.kind', 'human, agent, service'],
    ['pinned', 'true, false'],
    ['run.bound', 'true, false'],
    ['run.tainted', 'true, false'],
  ])('%s is one of: %s', (subject, values) => {
    const strange = (value: string) =>
      diagnostic(`\`${subject}\` is never \`${value}\``, {
        field: `rules[1].when.${subject}`,
        hint: `one of: ${values}`,
      });
    expect(told(when({ [subject]: values.split(', ') }))).toEqual([]);
    expect(told(when({ [subject]: 'x' }))).toEqual([strange('x')]);
    expect(told(when({ [subject]: null }))).toEqual([strange('null')]);
    expect(told(when({ [subject]: ['x', 'y'] }))).toEqual([strange('x'), strange('y')]);
    expect(told(when({ [subject]: { not: 'x' } }))).toEqual([strange('x')]);
    expect(told(when({ [subject]: { eq: 'x', in: ['y'] } }))).toEqual([strange('x'), strange('y')]);
    expect(told(when({ [subject]: { not: { in: ['y'] } } }))).toEqual([strange('y')]);
    expect(told(when({ [subject]: { glob: '*' } }))).toEqual([]);
  });

  test('true and false are theirs', () => {
    expect(told(when({ pinned: true, 'run.bound': false }))).toEqual([]);
  });
});

describe('sources and tools that there are none of', () => {
  const known = [tool('fs.read'), tool('fs.write'), tool('db.get')];

  test('a source', () => {
    const problem = diagnostic('no source is named `net`', { field: 'rules[1].when.source', hint: 'one of: fs, db' });
    expect(told(when({ source: ['fs', 'net'] }), null, ['fs', 'db'])).toEqual([problem]);
    expect(told(when({ source: { not: 'net' } }), null, ['fs', 'db'])).toEqual([problem]);
    expect(told(when({ source: 'net' }))).toEqual([]);
    expect(told(when({ agent: 'net' }), null, ['fs'])).toEqual([]);
  });

  test('a tool', () => {
    const rules = [rule('a', 'allow', {}, ['fs.*', 'net.*']), rule('b', 'allow', {}, 'fs.reed')];
    const hint = '`proctor tool ls` lists them; names are source.tool';
    expect(told({ rules }, known)).toEqual([
      diagnostic('no tool is named `net.*`', { field: 'rules[0].tools', hint }),
      diagnostic('no tool is named `fs.reed`', { field: 'rules[1].tools', hint }),
    ]);
    expect(told({ rules })).toEqual([]);
  });
});

describe('arguments that a tool does not have', () => {
  const schema = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
  const of = (path: string, ...schemas: readonly object[]) =>
    told({ rules: [rule('r', 'allow', { [`args.${path}`]: { has: true } }, ['fs.a', 'fs.b*'])] }, [
      ...schemas.map((one, index) => tool(index === 0 ? 'fs.a' : `fs.b${index}`, one)),
      tool('other.x', schema({ elsewhere: {} })),
    ]).filter(({ field }) => field?.includes('when'));
  const field = (path: string) => `rules[0].when.args.${path}`;

  test('of one tool, with those that it has, at most twelve', () => {
    expect(of('c', schema({ a: {}, b: {} }))).toEqual([
      diagnostic('`fs.a` has no argument `c`', { field: field('c'), hint: 'known: a, b' }),
    ]);
    const many = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`n${index}`, {}]));
    const twelve = Array.from({ length: 12 }, (_, index) => `n${index}`).join(', ');
    expect(of('c', schema(many))[0]?.hint).toBe(`known: ${twelve}`);
    expect(of('a.c', schema({ a: schema({ d: {} }) }))).toEqual([
      diagnostic('`fs.a` has no argument `a.c`', { field: field('a.c'), hint: 'known: a' }),
    ]);
  });

  test('of several, and where there are none at all', () => {
    expect(of('c', schema({ a: {} }), schema({ a: {}, b: {} }))).toEqual([
      diagnostic('the 2 tools of this rule have no argument `c`', { field: field('c'), hint: 'known: a, b' }),
    ]);
    expect(of('b', schema({ a: {} }), schema({ b: {} }))).toEqual([]);
    expect(of('c', schema({}))).toEqual([
      diagnostic('`fs.a` has no argument `c`', { field: field('c'), hint: 'take the condition out' }),
    ]);
  });

  test.each([
    {},
    { properties: null },
    { properties: 'x' },
    schema({}, { additionalProperties: true }),
    schema({}, { additionalProperties: {} }),
    schema({}, { patternProperties: {} }),
    schema({}, { $ref: '#' }),
    schema({}, { anyOf: [] }),
    schema({}, { oneOf: [] }),
    schema({}, { allOf: [] }),
    schema({ c: {} }),
  ])('%j leaves room for it', (one) => {
    expect(of('c', one)).toEqual([]);
  });

  test.each([schema({}, { additionalProperties: false }), schema({}, { additionalProperties: null })])(
    '%j leaves none',
    (one) => {
      expect(of('c', one)).toHaveLength(1);
    },
  );

  test('what stands inside an argument that is said by no schema is open', () => {
    for (const inside of [true, null, 'x', {}]) expect(of('a.c', schema({ a: inside }))).toEqual([]);
    expect(of('constructor', schema({ a: {} }))).toHaveLength(1);
  });

  test('a rule for no known tool and a condition on all arguments are left alone', () => {
    expect(
      told({ rules: [rule('r', 'allow', { 'args.c': 1 }, 'none.*')] }, [tool('fs.a', schema({}))]).map(
        (one) => one.field,
      ),
    ).toEqual(['rules[0].tools']);
    expect(told({ rules: [rule('r', 'allow', { args: { glob: '*' } }, 'fs.a')] }, [tool('fs.a', schema({}))])).toEqual(
      [],
    );
    expect(told({ rules: [rule('r', 'allow', { 'args.c': 1 }, 'fs.a')] })).toEqual([]);
  });
});
