import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { policySchema } from '../../../src/contract/policy.ts';
import { argumentPath, compilePolicy, isSubject, matcherOf } from '../../../src/core/policy/compile.ts';
import { SURFACES } from '../../../src/core/policy/facts.ts';
import { call, policy, rule } from '../../support/policy.ts';

const truthOf = (when: object, facts: object = {}) =>
  policy({ rules: [rule('r', 'allow', when, '*')] })
    .rulesFor('x.y')[0]!
    .test(call(facts));
const LONG = { default: 'deny', limits: [], rules: [], taint_ms: 3600000, version: 1 };
const DIGESTED = `{"approvals":{"approvers":["role:operator"],"expires_ms":1800000,"max_pending":20,"self_approval":false},${JSON.stringify(LONG).slice(1)}`;

describe('a compiled policy', () => {
  const rules = [
    rule('any', 'allow', {}, '*'),
    rule('fs', { ask: {} }, {}, ['fs.*', 'net.get']),
    rule('net', { deny: {} }, {}, 'net.*'),
    rule('kind', { allow: {} }, {}, 'fs.read'),
  ];
  const limits = [
    { id: 'a', tools: 'fs.*', calls: 1 },
    { id: 'b', calls: 2 },
  ];

  test('has the digest of its document and the document', () => {
    const document = policySchema.parse({ version: 1 });
    const compiled = compilePolicy(document);
    expect(compiled.document).toBe(document);
    expect(compiled.digest).toBe(createHash('sha256').update(`proctor/policy/1\n${DIGESTED}`).digest('hex'));
  });

  test('knows the rules and limits of a tool, in the order of the file, with their effects', () => {
    const compiled = policy({ rules, limits });
    const of = (tool: string) => compiled.rulesFor(tool).map(({ id, effect }) => [id, effect]);
    expect(of('fs.read')).toEqual([
      ['any', 'allow'],
      ['fs', 'ask'],
      ['kind', 'allow'],
    ]);
    expect(of('net.get')).toEqual([
      ['any', 'allow'],
      ['fs', 'ask'],
      ['net', 'deny'],
    ]);
    expect(of('db.get')).toEqual([['any', 'allow']]);
    expect(compiled.rulesFor('fs.read')[1]?.rule).toBe(compiled.document.rules[1]);
    expect(compiled.limitsFor('fs.read').map(({ id }) => id)).toEqual(['a', 'b']);
    expect(compiled.limitsFor('db.get').map(({ id }) => id)).toEqual(['b']);
  });

  test('knows whether it asks for taint, and whether a rule that allows binds', () => {
    const says = (...list: readonly object[]) => {
      const { asks_taint, obliges } = policy({ rules: list });
      return [asks_taint, obliges];
    };
    expect(says()).toEqual([false, false]);
    expect(says(rule('a', 'allow', { 'run.tainted': true }), rule('b', 'deny'))).toEqual([true, false]);
    expect(says(rule('a', { allow: {} }), rule('b', { deny: {} }))).toEqual([false, true]);
    expect(says(rule('a', { ask: {} }), rule('b', { deny: {} }))).toEqual([false, false]);
  });
});

describe('subjects', () => {
  test.each([
    ['args', []],
    ['args.a', ['a']],
    ['args.a.b', ['a', 'b']],
    ['args.', ['']],
    ['argsx', null],
    ['principal', null],
  ])('%s names arguments %j', (subject, path) => {
    expect(argumentPath(subject)).toEqual(path);
    expect(isSubject(subject)).toBe(subject !== 'argsx');
  });

  test.each([
    ['agent', 'triage', { agent: 'triage' }, { agent: 'other' }],
    ['pinned', true, { pinned: true }, { pinned: false }],
    ['principal', 'human:ada', { principal: { id: 'human:ada', kind: 'human', roles: [] } }, {}],
    ['principal.kind', 'agent', {}, { principal: { id: 'agent:x', kind: 'human', roles: [] } }],
    ['risk', 'write', {}, { risk: 'read_only' }],
    ['run.bound', true, { bound: true }, { bound: false }],
    ['run.tainted', true, { tainted: true }, { tainted: false }],
    ['source', 'fs', {}, { source: 'net' }],
    ['surface', 'mcp', {}, { surface: 'cli' }],
  ])('%s', (subject, value, holds, fails) => {
    expect([truthOf({ [subject]: value }, holds), truthOf({ [subject]: value }, fails)]).toEqual(['holds', 'fails']);
    expect(isSubject(subject)).toBe(true);
  });

  test('calls come in by these', () => {
    expect(SURFACES).toEqual(['cli', 'mcp', 'api', 'evaluation']);
  });

  test('no agent cannot be told, and neither can a subject that nobody knows', () => {
    expect(truthOf({ agent: 'triage' }, { agent: null })).toBe('unknown');
    expect(truthOf({ weather: 'fine' })).toBe('unknown');
    expect(isSubject('weather')).toBe(false);
  });

  test('arguments: all of them, one, one inside, and none', () => {
    const facts = { arguments: { a: { b: [1, 'x'] }, n: null, t: 'text' } };
    const bytes = JSON.stringify(facts.arguments).length;
    expect(truthOf({ args: { max_bytes: bytes } }, facts)).toBe('holds');
    expect(truthOf({ args: { max_bytes: bytes - 1 } }, facts)).toBe('fails');
    expect(truthOf({ 'args.a.b.1': 'x' }, facts)).toBe('holds');
    expect(truthOf({ 'args.n': null }, facts)).toBe('holds');
    for (const path of ['args.c', 'args.n.x', 'args.t.0', 'args.t.length', 'args.a.c.d', 'args.toString'])
      expect([path, truthOf({ [path]: 'x' }, facts)]).toEqual([path, 'unknown']);
  });
});

describe('roles', () => {
  const roles = (condition: unknown, ...list: readonly string[]) =>
    truthOf({ 'principal.role': condition }, { principal: { id: 'agent:x', kind: 'agent', roles: list } });

  test('one that fits is enough', () => {
    expect([roles('lead', 'dev', 'lead'), roles('lead', 'dev'), roles('lead')]).toEqual(['holds', 'fails', 'fails']);
    expect([roles(['a', 'b'], 'x', 'b'), roles({ glob: 'a*' }, 'x', 'ab'), roles({ glob: 'a*' }, 'x')]).toEqual([
      'holds',
      'holds',
      'fails',
    ]);
    expect(roles(null, 'dev')).toBe('fails');
  });

  test('`not`: none fits', () => {
    expect([roles({ not: 'lead' }, 'dev', 'lead'), roles({ not: 'lead' }, 'dev'), roles({ not: 'lead' })]).toEqual([
      'fails',
      'holds',
      'holds',
    ]);
    expect([roles({ not: { glob: 'l*' } }, 'dev', 'lead'), roles({ not: ['a', 'b'] }, 'b')]).toEqual([
      'fails',
      'fails',
    ]);
  });
});

describe('several conditions', () => {
  test('one that fails decides, then one that cannot be told', () => {
    expect(truthOf({ 'args.none': 'x', risk: 'write' })).toBe('unknown');
    expect(truthOf({ 'args.none': 'x', risk: 'read_only' })).toBe('fails');
    expect(truthOf({ risk: 'write', source: 'fs' })).toBe('holds');
    expect(truthOf({})).toBe('holds');
  });

  test('what is known before a call goes first', () => {
    const asked: string[] = [];
    const realPath = (path: string) => {
      asked.push(path);
      return path;
    };
    expect(truthOf({ 'args.path': { under: '/workspace' }, risk: 'read_only' }, { realPath })).toBe('fails');
    expect(asked).toEqual([]);
    expect(truthOf({ 'args.path': { under: '/workspace' }, risk: 'write' }, { realPath })).toBe('holds');
    expect(new Set(asked)).toEqual(new Set(['/workspace/a.txt', '/workspace']));
  });

  test('how far a rule can be told before a call, and whether that is all of it', () => {
    const of = (when: object) => {
      const { arguments: _, tainted: __, ...caller } = call();
      const [compiled] = policy({ rules: [rule('r', 'allow', when)] }).rulesFor('fs.write');
      return [compiled?.reach(caller), compiled?.fixed];
    };
    expect(of({})).toEqual(['holds', true]);
    expect(of({ risk: 'write' })).toEqual(['holds', true]);
    expect(of({ risk: 'read_only', 'args.path': '/a' })).toEqual(['fails', false]);
    expect(of({ 'args.path': '/a' })).toEqual(['holds', false]);
    expect(of({ 'run.tainted': true })).toEqual(['holds', false]);
    expect(of({ agent: 'x' })).toEqual(['unknown', true]);
  });
});

test('the matcher in a condition, also behind `not`', () => {
  const matcher = { glob: ['*'] };
  expect(matcherOf(matcher)).toBe(matcher);
  expect(matcherOf({ not: matcher })).toBe(matcher);
  for (const literal of ['a', 1, true, null, ['a']]) expect(matcherOf(literal)).toBeNull();
  expect(matcherOf({ not: ['a'] })).toBeNull();
});
