import { expect, test } from 'vitest';
import { KeySet } from '../../src/lib/key-set.ts';

test('a text that was added before is found with its number, among a few and among a hundred thousand', () => {
  const keys = new KeySet();
  const text = (index: number) => `case ${index} — ${'é'.repeat(index % 3)}`;
  for (let index = 0; index < 100_000; index += 1) expect(keys.add(text(index), index + 1)).toBeNull();
  for (let index = 0; index < 100_000; index += 997) expect(keys.add(text(index), 7)).toBe(index + 1);
  expect(keys.add('another', 3)).toBeNull();
  expect(keys.add('another', 4)).toBe(3);
});

test('a number of 0 is a number', () => {
  const keys = new KeySet();
  expect(keys.add('', 0)).toBeNull();
  expect(keys.add('', 1)).toBe(0);
});
