import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decidePolicy, mayEverCall } from '../../../src/core/policy/decide.ts';
import { call, policy, rule } from '../../support/policy.ts';

describe('which tools a principal sees', () => {
  const sees = (rules: unknown[], more: object = {}) => {
    const { arguments: _arguments, tainted: _tainted, ...caller } = call();
    return mayEverCall(policy({ rules, ...more }), caller);
  };
  test.each([
    ['nothing allows it', [], false],
    ['allowed', [rule('r', 'allow')], true],
    ['allowed for some arguments', [rule('r', 'allow', { 'args.path': { under: '/w' } })], true],
    ['allowed to others', [rule('r', 'allow', { principal: 'human:ada' })], false],
    ['asked', [rule('r', 'ask')], true],
    ['denied whatever the arguments', [rule('a', 'allow'), rule('r', 'deny')], false],
    ['denied for some arguments', [rule('a', 'allow'), rule('r', 'deny', { 'args.path': '/etc' })], true],
    ['denied once tainted', [rule('a', 'allow'), rule('r', 'deny', { 'run.tainted': true })], true],
    ['denied to others', [rule('a', 'allow'), rule('r', 'deny', { 'principal.kind': 'human' })], true],
  ] as const)('%s', (_, rules, visible) => {
    expect(sees([...rules])).toBe(visible);
  });
});

test('a tool that is hidden is never allowed or asked for (any policy, any call)', () => {
  const condition = fc.constantFrom(
    {},
    { 'args.path': '/a' },
    { risk: 'write' },
    { 'run.tainted': true },
    { principal: 'human:x' },
    { 'args.none': 'x' },
  );
  const rules = fc.array(fc.record({ effect: fc.constantFrom('allow', 'ask', 'deny'), when: condition }), {
    maxLength: 5,
  });
  fc.assert(
    fc.property(rules, fc.constantFrom('/a', '/b'), fc.boolean(), (list, path, tainted) => {
      const compiled = policy({ rules: list.map(({ effect, when }, index) => rule(`r${index}`, effect, when)) });
      const facts = call({ arguments: { path }, tainted });
      if (decidePolicy(compiled, facts).effect !== 'deny') expect(mayEverCall(compiled, facts)).toBe(true);
    }),
  );
});
