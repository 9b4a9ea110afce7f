import { describe, expect, test } from 'vitest';
import { diagnostic } from '../../src/contract/problem.ts';
import { groupOf as takes } from '../../src/core/group.ts';
import { groupOf, profileOf } from '../support/profile.ts';

const groups = (rules: Readonly<Record<string, object>>) =>
  profileOf({ case_groups: Object.entries(rules).map(([id, applies_to]) => groupOf(id, { applies_to })) }).case_groups;
const item = (members: object = {}) => ({
  id: 'c-1',
  task_type: 'chat',
  case_group: null,
  tags: ['a', 'b'],
  ...members,
});

describe('a case names its group', () => {
  const two = groups({ first: { task_type: 'other' }, second: { task_type: 'other' } });

  test('and that wins over every rule', () => {
    expect(takes(two, item({ case_group: 'first' }))).toBe(0);
    expect(takes(two, item({ case_group: 'second' }))).toBe(1);
  });

  test('the first of that id', () => {
    const twice = profileOf({ case_groups: [groupOf('x'), groupOf('x')] }).case_groups;
    expect(takes(twice, item({ case_group: 'x' }))).toBe(0);
  });

  test('which must be there', () => {
    expect(takes(two, item({ case_group: 'third' }))).toEqual(
      diagnostic('case `c-1` names case group `third`, which the profile does not have', {
        field: 'case_group',
        hint: 'use one of: first, second',
      }),
    );
  });
});

describe('otherwise exactly one rule must match', () => {
  test.each([
    ['no condition', {}, true],
    ['its task type', { task_type: 'chat' }, true],
    ['another task type', { task_type: 'chats' }, false],
    ['any: one of them', { tags_any: ['z', 'b'] }, true],
    ['any: none of them', { tags_any: ['z', 'y'] }, false],
    ['all: both', { tags_all: ['b', 'a'] }, true],
    ['all: one is missing', { tags_all: ['a', 'z'] }, false],
    ['all and any', { tags_any: ['a'], tags_all: ['b'] }, true],
    ['any holds, all does not', { tags_any: ['a'], tags_all: ['z'] }, false],
    ['all holds, any does not', { tags_any: ['z'], tags_all: ['a'] }, false],
    ['tags hold, the task type does not', { task_type: 'x', tags_any: ['a'], tags_all: ['b'] }, false],
  ] as const)('%s', (_, rule, matches) => {
    const found = takes(groups({ never: { task_type: 'no' }, asked: rule }), item());
    expect(typeof found === 'number' ? found : null).toBe(matches ? 1 : null);
  });

  test('none matches', () => {
    expect(takes(groups({ only: { task_type: 'code' } }), item())).toEqual(
      diagnostic('no case group takes case `c-1` (task_type `chat`, tags [a, b])', {
        field: 'case_group',
        hint: 'widen an `applies_to`, or name the `case_group` in the case',
      }),
    );
  });

  test('several match, and those are named', () => {
    const three = groups({ one: {}, two: { task_type: 'code' }, three: { tags_all: ['a'] } });
    expect(takes(three, item({ tags: ['a'] }))).toEqual(
      diagnostic('case `c-1` (task_type `chat`, tags [a]) is taken by one and three', {
        field: 'case_group',
        hint: 'narrow one `applies_to`, or name the `case_group` in the case',
      }),
    );
  });
});
