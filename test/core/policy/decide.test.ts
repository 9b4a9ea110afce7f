import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { policySchema } from '../../../src/contract/policy.ts';
import { decidePolicy } from '../../../src/core/policy/decide.ts';
import type { CallFacts } from '../../../src/core/policy/facts.ts';
import { call, policy, rule } from '../../support/policy.ts';

const effectFor = (rules: unknown[], facts: Partial<CallFacts> = {}) => decidePolicy(policy({ rules }), call(facts));

describe('deny beats ask, ask beats allow, nothing gets the default', () => {
  const allow = rule('a', 'allow');
  const ask = rule('b', 'ask');
  const deny = rule('c', { deny: { reason: 'not on Sundays' } });
  test.each([
    ['no rule', [], 'deny', []],
    ['another tool’s rule', [rule('x', 'allow', {}, 'net.*')], 'deny', []],
    ['allow', [allow], 'allow', ['a']],
    ['allow and ask', [allow, ask], 'ask', ['b']],
    ['all three', [allow, ask, deny], 'deny', ['c']],
    ['all three, the other way round', [deny, ask, allow], 'deny', ['c']],
  ] as const)('%s', (_, rules, effect, ids) => {
    const decision = effectFor([...rules]);
    expect([decision.effect, decision.rules]).toEqual([effect, ids]);
  });

  test('the reason of a deny is told, and so is that no rule allows', () => {
    expect(effectFor([allow, deny]).reason).toBe('not on Sundays');
    expect(effectFor([]).reason).toBe('no rule allows it');
  });

  test('the default may be to ask, never to allow', () => {
    expect(decidePolicy(policy({ default: 'ask' }), call()).effect).toBe('ask');
    expect(policySchema.safeParse({ version: 1, default: 'allow' }).success).toBe(false);
  });

  test('the order of rules never matters', () => {
    const effects = fc.array(fc.constantFrom('allow', 'ask', 'deny'), { maxLength: 6 });
    fc.assert(
      fc.property(effects, fc.infiniteStream(fc.nat()), (list, random) => {
        const rules = list.map((effect, index) => rule(`r${index}`, effect));
        const shuffled = rules.map((item) => [random.next().value, item] as const).sort(([a], [b]) => a - b);
        expect(effectFor(shuffled.map(([, item]) => item)).effect).toBe(effectFor(rules).effect);
      }),
    );
  });
});

describe('what cannot be told opens no door', () => {
  const missing = { 'args.mode': 'append' };
  test.each([
    ['allow', 'deny'],
    ['ask', 'ask'],
    ['deny', 'deny'],
  ] as const)('a rule that %ss by an argument that is missing: %s', (effect, expected) => {
    const decision = effectFor([rule('r', effect, missing)]);
    expect(decision.effect).toBe(expected);
    expect(decision.rules).toEqual(effect === 'allow' ? [] : ['r']);
  });

  test('a condition that certainly fails decides over one that cannot be told', () => {
    expect(effectFor([rule('ok', 'allow'), rule('r', 'deny', { ...missing, risk: 'read_only' })]).effect).toBe('allow');
  });

  test('a value of another kind than the matcher wants cannot be told', () => {
    const when = { 'args.path': { max: 3 } };
    expect(effectFor([rule('r', 'allow', when)]).effect).toBe('deny');
    expect(effectFor([rule('ok', 'allow'), rule('r', 'deny', when)]).effect).toBe('deny');
  });

  test('`not` of what cannot be told cannot be told either', () => {
    expect(effectFor([rule('r', 'allow', { 'args.mode': { not: 'append' } })]).effect).toBe('deny');
  });

  test('members that an object inherits are not arguments', () => {
    expect(effectFor([rule('r', 'allow', { 'args.constructor': { has: true } })]).effect).toBe('deny');
  });
});

describe('matchers', () => {
  const holds = (condition: unknown, value: unknown) =>
    effectFor([rule('r', 'allow', { 'args.x': condition })], { arguments: { x: value } }).effect === 'allow';
  test.each([
    ['a literal', 'a', 'a', 'b'],
    ['a list', ['a', 1], 1, '1'],
    ['eq', { eq: true }, true, 'true'],
    ['in', { in: ['a', 'b'] }, 'b', 'c'],
    ['glob', { glob: 'releases/*.txt' }, 'releases/a.txt', 'releases/a.md'],
    ['several globs', { glob: ['a*', 'b*'] }, 'bcd', 'cab'],
    ['a glob with dots', { glob: '*.example.com' }, 'a.example.com', 'example.comx'],
    ['min and max', { min: 1, max: 5 }, 5, 6],
    ['max_bytes counts UTF-8', { max_bytes: 2 }, 'é', 'éé'],
    ['max_bytes of JSON', { max_bytes: 7 }, { a: 1 }, { a: 12 }],
    ['has', { has: true }, null, undefined],
    ['not', { not: 'a' }, 'b', 'a'],
    ['not a matcher', { not: { glob: '*.exe' } }, 'a.txt', 'a.exe'],
  ] as const)('%s', (_, condition, good, bad) => {
    expect([holds(condition, good), holds(condition, bad)]).toEqual([true, false]);
  });

  test('`has: false` holds for what is missing only', () => {
    expect(effectFor([rule('r', 'allow', { 'args.force': { has: false } })]).effect).toBe('allow');
    expect(effectFor([rule('r', 'allow', { 'args.path': { has: false } })]).effect).toBe('deny');
  });

  test('an argument inside another, and inside a list', () => {
    const facts = { arguments: { target: { hosts: ['a', 'b'] } } };
    expect(effectFor([rule('r', 'allow', { 'args.target.hosts.1': 'b' })], facts).effect).toBe('allow');
  });

  test('roles: one of several, or none', () => {
    expect(effectFor([rule('r', 'allow', { 'principal.role': 'writer' })]).effect).toBe('allow');
    expect(effectFor([rule('r', 'allow', { 'principal.role': { not: 'writer' } })]).effect).toBe('deny');
    expect(effectFor([rule('r', 'allow', { 'principal.role': { not: 'admin' } })]).effect).toBe('allow');
  });

  test('a glob is matched without backtracking, whatever it is given', () => {
    expect(holds({ glob: `${'a*'.repeat(60)}b` }, 'a'.repeat(100_000))).toBe(false); // backtracking would never end
  });

  test('regular expressions are not known', () => {
    expect(
      policySchema.safeParse({ version: 1, rules: [rule('r', 'allow', { 'args.x': { regex: '(a+)+' } })] }).success,
    ).toBe(false);
  });
});

describe('paths', () => {
  const under = (path: unknown, realPath = (one: string): string | null => one) =>
    effectFor([rule('r', 'allow', { 'args.path': { under: '/workspace' } })], { arguments: { path }, realPath }).effect;
  test.each(['/workspace', '/workspace/a', '/workspace/./a/../b', '/workspace//a', '/workspace/.../a'])(
    '%s is inside',
    (path) => {
      expect(under(path)).toBe('allow');
    },
  );
  test.each([
    '/workspace/../etc/passwd',
    '/workspace/a/../../etc',
    '/workspacex/a',
    '/Workspace/a',
    'workspace/a',
    '../etc',
    '/workspace/%2e%2e/etc',
    '/workspace/..%2fetc',
    '/workspace/..\\etc',
    '/workspace/a\0.txt',
    '/workspace/a\n',
    '',
    7,
    ['/workspace/a'],
  ])('%j is not', (path) => {
    expect(under(path)).toBe('deny');
  });
  test('where a link leads counts too, and what cannot be followed is not inside', () => {
    expect(under('/workspace/link', (path) => (path === '/workspace' ? path : '/etc'))).toBe('deny');
    expect(under('/workspace/link', (path) => (path === '/workspace' ? path : null))).toBe('deny');
    expect(under('/workspace/a', (path) => path.replace('/workspace', '/private/workspace'))).toBe('allow');
  });
});

describe('hosts', () => {
  const to = (url: unknown) =>
    effectFor([rule('r', 'allow', { 'args.url': { host: ['api.example.com', '*.trusted.dev'] } })], {
      arguments: { url },
    }).effect;
  test.each([
    'https://api.example.com/x',
    'HTTPS://API.EXAMPLE.COM',
    'http://a.trusted.dev:8080/',
    'https://api.example.com./x',
  ])('%s', (url) => {
    expect(to(url)).toBe('allow');
  });
  test.each([
    'https://api.example.com@evil.test/',
    'https://user:pw@api.example.com/',
    'https://api.example.com.evil.test/',
    'https://trusted.dev/',
    'ftp://api.example.com/',
    'javascript://api.example.com/%0aalert(1)',
    'https:\\\\evil.test\\api.example.com',
    'https://evil.test\t/',
    ' https://api.example.com/',
    'api.example.com',
    '//api.example.com',
  ])('%j', (url) => {
    expect(to(url)).toBe('deny');
  });
});

describe('terms of an ask', () => {
  test('the strictest of what the rules say, the policy’s own where they are silent', () => {
    const decision = effectFor([
      rule('a', {
        ask: { approvers: ['role:lead'], expires_ms: 60_000, edit: true, self_approval: true, execute: 'on_approval' },
      }),
      rule('b', { ask: { expires_ms: 30_000, edit: false, reason: 'it is loud' } }),
    ]);
    expect(decision.ask).toEqual({
      approvers: [['role:lead'], ['role:operator']],
      expires_ms: 30_000,
      self_approval: false,
      edit: false,
      execute: 'attended',
      reason: 'it is loud',
    });
  });
  test('an agent is never an approver', () => {
    const approvers = (who: string) =>
      policySchema.safeParse({ version: 1, rules: [rule('r', { ask: { approvers: [who] } })] }).success;
    expect([approvers('agent:me'), approvers('human:ada'), approvers('role:operator')]).toEqual([false, true, true]);
  });
  test('obligations: the least of what the rules allow', () => {
    const rules = [
      rule('a', { allow: { timeout_ms: 500 } }),
      rule('b', { allow: { timeout_ms: 200, max_output_bytes: 10 } }),
    ];
    expect(effectFor(rules).obligations).toEqual({ timeout_ms: 200, max_output_bytes: 10 });
  });
});
