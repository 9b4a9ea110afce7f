import { describe, expect, test } from 'vitest';
import type { ToolRunRow } from '../../../src/contract/store.ts';
import { decidePolicy, mayEverCall } from '../../../src/core/policy/decide.ts';
import { explainPolicy, recordedFacts } from '../../../src/core/policy/recorded.ts';
import { call, policy, rule } from '../../support/policy.ts';

const NONE = { timeout_ms: null, max_output_bytes: null };
const decide = (rules: readonly object[], facts: object = {}, more: object = {}) =>
  decidePolicy(policy({ rules, ...more }), call(facts));
const DEFAULTS = {
  approvers: [['role:operator']],
  expires_ms: 1_800_000,
  self_approval: false,
  edit: false,
  execute: 'attended',
  reason: null,
};

describe('the whole decision', () => {
  test('by no rule', () => {
    expect(decide([])).toEqual({
      effect: 'deny',
      rules: [],
      reason: 'no rule allows it',
      ask: null,
      obligations: NONE,
    });
    expect(decide([], {}, { default: 'ask' })).toEqual({
      effect: 'ask',
      rules: [],
      reason: null,
      ask: DEFAULTS,
      obligations: NONE,
    });
  });

  test('to allow, by the least of what the rules that allow say', () => {
    const rules = [
      rule('a', { allow: { timeout_ms: 9, max_output_bytes: 5 } }),
      rule('b', { allow: { timeout_ms: 7 } }),
      rule('c', 'allow'),
      rule('d', { allow: { timeout_ms: 8, max_output_bytes: 6 } }),
    ];
    expect(decide(rules)).toEqual({
      effect: 'allow',
      rules: ['a', 'b', 'c', 'd'],
      reason: null,
      ask: null,
      obligations: { timeout_ms: 7, max_output_bytes: 5 },
    });
    expect(decide([rule('c', 'allow'), rule('e', { ask: {} })]).obligations).toEqual(NONE);
    expect(decide([rule('a', { allow: { timeout_ms: 9 } }), rule('e', 'ask')])).toMatchObject({
      effect: 'ask',
      obligations: { timeout_ms: 9, max_output_bytes: null },
    });
  });

  test('to deny, with the first reason that is given', () => {
    const deny = (id: string, reason?: string) => rule(id, { deny: reason === undefined ? {} : { reason } });
    expect(decide([rule('p', 'deny'), deny('q'), deny('r', 'one'), deny('s', 'two'), rule('t', 'ask')])).toEqual({
      effect: 'deny',
      rules: ['p', 'q', 'r', 's'],
      reason: 'one',
      ask: null,
      obligations: NONE,
    });
    expect(decide([rule('p', 'deny')]).reason).toBeNull();
  });
});

describe('the terms of an approval are the strictest', () => {
  const terms = (effects: readonly unknown[], facts: object = {}, approvals: object = {}) =>
    decide(
      effects.map((effect, index) => rule(`r${index}`, effect)),
      facts,
      { approvals },
    ).ask;

  test('the policy’s where a rule says nothing', () => {
    expect(terms(['ask'])).toEqual(DEFAULTS);
    expect(terms([{ ask: {} }], {}, { approvers: ['human:ada'], expires_ms: 5, self_approval: true })).toEqual({
      ...DEFAULTS,
      approvers: [['human:ada']],
      expires_ms: 5,
      self_approval: true,
    });
  });

  test('every list of approvers must answer, each once', () => {
    const ask = (...approvers: readonly string[]) => ({ ask: { approvers } });
    expect(terms([ask('human:a'), 'ask', ask('human:a'), ask('human:a', 'human:b'), 'ask'])?.approvers).toEqual([
      ['human:a'],
      ['role:operator'],
      ['human:a', 'human:b'],
    ]);
  });

  test('the shortest time', () => {
    expect(terms([{ ask: { expires_ms: 30 } }, { ask: { expires_ms: 20 } }, 'ask'])?.expires_ms).toBe(20);
  });

  test('self-approval, editing and running unattended only where all agree', () => {
    const all = { self_approval: true, edit: true, execute: 'on_approval' };
    expect(terms([{ ask: all }, { ask: all }])).toMatchObject(all);
    expect(terms([{ ask: all }, 'ask'])).toMatchObject({ self_approval: false, edit: false, execute: 'attended' });
    expect(terms([{ ask: all }, { ask: { ...all, edit: false } }])).toMatchObject({ ...all, edit: false });
    expect(terms([{ ask: all }, { ask: { ...all, execute: 'attended' } }])).toMatchObject({
      ...all,
      execute: 'attended',
    });
  });

  test('calls from the command line run on approval, unless a rule says otherwise', () => {
    expect(terms(['ask'], { surface: 'cli' })?.execute).toBe('on_approval');
    expect(terms([{ ask: { execute: 'attended' } }, 'ask'], { surface: 'cli' })?.execute).toBe('attended');
    expect(decide([], { surface: 'cli' }, { default: 'ask' }).ask?.execute).toBe('on_approval');
  });

  test('the first reason', () => {
    expect(terms(['ask', { ask: {} }, { ask: { reason: 'one' } }, { ask: { reason: 'two' } }])?.reason).toBe('one');
  });
});

describe('what a caller may ever call', () => {
  const may = (rules: readonly object[], more: object = {}) => {
    const { arguments: _, tainted: __, ...caller } = call();
    return mayEverCall(policy({ rules, ...more }), caller);
  };

  test.each([
    ['by default', [], { default: 'ask' }, true],
    ['nothing', [], {}, false],
    ['allowed', [rule('r', 'allow')], {}, true],
    ['allowed where it cannot be told', [rule('r', 'allow', { agent: 'x' })], {}, false],
    ['allowed elsewhere', [rule('r', 'allow', { risk: 'read_only' })], {}, false],
    ['asked where it cannot be told', [rule('r', 'ask', { agent: 'x' })], {}, true],
    ['asked elsewhere', [rule('r', 'ask', { risk: 'read_only' })], {}, false],
    ['allowed, then asked elsewhere', [rule('q', 'allow'), rule('r', 'ask', { risk: 'read_only' })], {}, true],
    ['denied where it cannot be told', [rule('q', 'allow'), rule('r', 'deny', { agent: 'x' })], {}, false],
    ['denied elsewhere', [rule('q', 'allow'), rule('r', 'deny', { risk: 'read_only' })], {}, true],
    ['denied for some arguments', [rule('q', 'allow'), rule('r', 'deny', { 'args.a': 1 })], {}, true],
    ['only denied for some arguments', [rule('r', 'deny', { 'args.a': 1 })], {}, false],
    ['another tool', [rule('r', 'allow', {}, 'net.*')], {}, false],
  ] as const)('%s', (_, rules, more, expected) => {
    expect(may(rules, more)).toBe(expected);
  });
});

describe('a recorded call', () => {
  const { realPath, folder, sql } = call();
  const context = { tainted: true, pinned: false, realPath, folder, sql };
  const row = {
    source: 'fs',
    name: 'write',
    arguments: '{"path":"/a"}',
    principal: 'agent:x',
    principal_kind: 'agent',
    roles: '["dev"]',
    agent: 'x',
    risk: 'write',
    run_id: 'run_1',
    surface: 'evaluation',
  } as ToolRunRow;

  test('is what policies look at', () => {
    const facts = {
      tool: 'fs.write',
      source: 'fs',
      arguments: { path: '/a' },
      principal: { id: 'agent:x', kind: 'agent', roles: ['dev'] },
      agent: 'x',
      risk: 'write',
      bound: true,
      surface: 'evaluation',
      ...context,
    };
    expect(recordedFacts(row, context)).toEqual(facts);
    expect(recordedFacts({ ...row, run_id: null }, context)).toEqual({ ...facts, bound: false });
  });

  test('is explained rule by rule: what cannot be told counts for a rule that asks or denies', () => {
    const unknown = { 'args.none': 1 };
    const compiled = policy({
      rules: [
        rule('a', 'allow'),
        rule('b', 'allow', unknown),
        rule('c', 'ask', unknown),
        rule('d', 'deny', unknown),
        rule('e', 'deny', { risk: 'read_only' }),
        rule('f', 'deny', {}, 'net.*'),
      ],
    });
    expect(explainPolicy(compiled, call())).toEqual({
      decision: decidePolicy(compiled, call()),
      rules: [
        { id: 'a', effect: 'allow', truth: 'holds', matched: true },
        { id: 'b', effect: 'allow', truth: 'unknown', matched: false },
        { id: 'c', effect: 'ask', truth: 'unknown', matched: true },
        { id: 'd', effect: 'deny', truth: 'unknown', matched: true },
        { id: 'e', effect: 'deny', truth: 'fails', matched: false },
      ],
    });
  });
});
