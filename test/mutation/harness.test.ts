import { expect, test } from 'vitest';
import { describe as group, test as one, takeTests } from './harness.ts';

test('tests are known by their groups, also after a group that threw', () => {
  group('a', () => {
    group('b', () => one('inner', () => {}));
    one('outer', () => {});
  });
  expect(() =>
    group('c', () => {
      one('before', () => {});
      throw new Error('a mutant');
    }),
  ).toThrow('a mutant');
  one('after', () => {});
  expect(takeTests().map(({ name }) => name)).toEqual(['a > b > inner', 'a > outer', 'c > before', 'after']);
});
