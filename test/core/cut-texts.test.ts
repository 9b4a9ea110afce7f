import { expect, test } from 'vitest';
import { cutLines, cutText, cutTexts, shares } from '../../src/core/cut-texts.ts';

test('a text that is too long says how long it is', () => {
  expect(cutText('four', 4)).toBe('four');
  expect(cutText('fives', 4)).toBe('five … (5 characters)');
});

test('small wishes get all of theirs, the others equal parts of the rest; their order stays', () => {
  expect(shares([], 10)).toEqual([]);
  expect(shares([3, 2], 5)).toEqual([3, 2]);
  expect(shares([100, 2, 100, 1], 23)).toEqual([10, 2, 10, 1]);
  expect(shares([100, 7, 100], 23)).toEqual([8, 7, 8]);
  expect(shares([9, 9, 9], 10)).toEqual([3, 3, 4]);
  expect(shares([9, 9], 0)).toEqual([0, 0]);
});

test('texts are cut only where they are longer than their share', () => {
  const texts = [{ text: 'abcdef' }, { text: 'gh' }];
  const cut = ({ text }: { text: string }, share: number) => `${text.slice(0, share)}…`;
  expect(cutTexts(texts, 8, cut)).toEqual(['abcdef', 'gh']);
  expect(cutTexts(texts, 7, cut)).toEqual(['abcde…', 'gh']);
});

test('a long line does not take the place of those behind it; many lines end where they are too many', () => {
  expect(cutLines(`${'a'.repeat(50)}\nb\n${'c'.repeat(50)}`, 32)).toBe(
    `${'a'.repeat(10)} … (50 characters)\nb\n${'c'.repeat(10)} … (50 characters)`,
  );
  const eight = Array(8).fill('x'.repeat(9)).join('\n');
  expect(cutLines(eight, 72)).toBe(eight);
  const nine = Array(9).fill('x'.repeat(9)).join('\n');
  expect(cutLines(nine, nine.length)).toBe(nine);
  expect(cutLines(nine, nine.length - 1)).toBe(`${nine.slice(0, -1)} … (89 characters)`);
});
