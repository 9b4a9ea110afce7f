import { describe, expect, test } from 'vitest';
import { matcherSchema } from '../../../src/contract/matcher.ts';
import type { SqlStatement } from '../../../src/contract/sql.ts';
import { decidePolicy } from '../../../src/core/policy/decide.ts';
import { compileMatcher } from '../../../src/core/policy/matchers.ts';
import { call, policy, rule } from '../../support/policy.ts';

const statement = (members: Partial<SqlStatement> = {}): SqlStatement => ({
  kinds: ['select'],
  reads: [],
  writes: [],
  functions: [],
  ...members,
});
const truthOf = (sql: object, statements: readonly SqlStatement[] | null, value: unknown = 'text') =>
  compileMatcher(matcherSchema.parse({ sql: { dialect: 'sqlite', ...sql } }))(value, call({ sql: () => statements }));

describe('what statements do', () => {
  test.each([
    [['select'], [['select']], 'holds'],
    [['select'], [['delete']], 'fails'],
    [['select', 'delete'], [['select', 'delete']], 'holds'],
    [['select'], [['select', 'delete']], 'unknown'],
    [['select'], [['select'], ['select']], 'holds'],
    [['select'], [['select'], ['drop']], 'unknown'],
    [['select'], [['insert'], ['drop']], 'fails'],
  ] as const)('%j of %j: %s', (statements, kinds, truth) => {
    expect(
      truthOf(
        { statements },
        kinds.map((one) => statement({ kinds: one })),
      ),
    ).toBe(truth);
  });

  test('what cannot be read, is no text, or says nothing, cannot be told', () => {
    expect([
      truthOf({ statements: 'select' }, null),
      truthOf({ statements: 'select' }, []),
      truthOf({ statements: 'select' }, [statement()], 7),
    ]).toEqual(['unknown', 'unknown', 'unknown']);
  });

  test('the parser is asked for the dialect that the rule names', () => {
    const asked: unknown[] = [];
    const sql = (...args: readonly unknown[]) => {
      asked.push(args);
      return [statement()];
    };
    const matcher = matcherSchema.parse({ sql: { dialect: 'mysql' } });
    expect(compileMatcher(matcher)('select 1', call({ sql }))).toBe('holds');
    expect(asked).toEqual([['select 1', 'mysql']]);
  });
});

describe('the tables that they read and write', () => {
  test.each([
    [['orders'], ['orders'], 'holds'],
    [['orders'], ['items'], 'fails'],
    [['orders', 'items'], ['items', 'orders'], 'holds'],
    [['orders'], ['orders', 'secrets'], 'unknown'],
    [['orders'], [], 'fails'],
    [['*'], ['a.b', 'c'], 'holds'],
    [['reports.*'], ['reports.a'], 'holds'],
    [['reports.*'], ['public.a'], 'fails'],
    // With more parts, with fewer, or in other letters it may be the same table.
    [['orders'], ['public.orders'], 'unknown'],
    [['public.orders'], ['orders'], 'unknown'],
    [['public.orders'], ['db.public.orders'], 'unknown'],
    [['public.orders'], ['db.other.orders'], 'fails'],
    [['public.orders'], ['items'], 'fails'],
    [['orders'], ['Orders'], 'unknown'],
    [['Orders'], ['orders'], 'unknown'],
    [['Orders'], ['Orders'], 'holds'],
  ])('%j of %j: %s', (globs, names, truth) => {
    expect(truthOf({ reads: globs }, [statement({ reads: names })])).toBe(truth);
    expect(truthOf({ writes: globs }, [statement({ writes: names, reads: ['other'] })])).toBe(truth);
  });

  test('all that a matcher says must hold', () => {
    const both = { statements: ['insert'], reads: ['a'], writes: ['b'] };
    const insert = (reads: string[], writes: string[]) => [statement({ kinds: ['insert'], reads, writes })];
    expect(truthOf(both, insert(['a'], ['b']))).toBe('holds');
    expect(truthOf(both, insert(['a'], ['c']))).toBe('fails');
    expect(truthOf(both, insert(['c'], ['b']))).toBe('fails');
    expect(truthOf(both, insert(['a', 'c'], ['b']))).toBe('unknown');
  });
});

describe('functions', () => {
  test.each([
    [undefined, [], 'holds'],
    [undefined, ['pg_read_file'], 'unknown'],
    [['my_*'], ['my_sum'], 'holds'],
    [['my_*'], ['my_sum', 'lo_export'], 'unknown'],
    [['f'], ['evil.f'], 'unknown'],
    [['F'], ['f'], 'unknown'],
  ])('%j of %j: %s', (functions, called, truth) => {
    expect(truthOf({ functions }, [statement({ functions: called })])).toBe(truth);
  });

  test('one that nobody spoke of may do what another rule denies', () => {
    const sql = () => [statement({ functions: ['purge'] })];
    const rules = [
      rule('reading', 'allow', { 'args.path': { sql: { dialect: 'sqlite', statements: 'select' } } }),
      rule('no-deleting', 'deny', { 'args.path': { sql: { dialect: 'sqlite', statements: 'delete' } } }),
    ];
    const effect = (functions: string[]) =>
      decidePolicy(policy({ rules }), call({ sql: () => [statement({ functions })] })).effect;
    expect([effect([]), effect(['purge'])]).toEqual(['allow', 'deny']);
    const asked = policy({ default: 'ask', rules: [rules[0]] });
    expect(decidePolicy(asked, call({ sql })).effect).toBe('ask');
  });
});

test('a decision reads a text once, and follows a path once, however many rules ask; the next decision looks again', () => {
  const asked: string[] = [];
  const note = (what: string) => void asked.push(what);
  const condition = (under: string) => ({ 'args.path': { under, sql: { dialect: 'sqlite', statements: 'select' } } });
  const compiled = policy({
    rules: ['/a', '/b', '/c'].map((folder, index) => rule(`r${index}`, 'allow', condition(folder))),
  });
  const facts = call({
    arguments: { path: '/a/x' },
    realPath: (path) => {
      if (path === '/a/x') note('path');
      return path;
    },
    sql: () => {
      note('sql');
      return [statement()];
    },
  });
  expect(decidePolicy(compiled, facts).rules).toEqual(['r0']);
  expect(asked.sort()).toEqual(['path', 'sql']);
  decidePolicy(compiled, facts);
  expect(asked.sort()).toEqual(['path', 'path', 'sql', 'sql']);
});

test('a policy says whether it takes the parser', () => {
  const asks = (condition: unknown) => policy({ rules: [rule('r', 'allow', { 'args.q': condition })] }).asks_sql;
  const sql = { dialect: 'sqlite' };
  expect([{ sql }, { not: { sql } }, { each: { sql } }, { not: { each: { sql } } }].map(asks)).toEqual(
    Array(4).fill(true),
  );
  expect(
    ['sql', ['sql'], { glob: 'sql' }, { each: 'sql' }, { each: ['sql'] }, { each: { glob: '*' } }].map(asks),
  ).toEqual(Array(6).fill(false));
});
