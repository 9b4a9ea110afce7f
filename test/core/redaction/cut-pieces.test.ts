import { describe, expect, test } from 'vitest';
import { cutPieces } from '../../../src/core/redaction/cut-pieces.ts';

/** A long secret in which no part stands twice. */
const LONG = Array.from({ length: 90 }, (_, index) => `${index}-Part`).join('.');

const pieces = (text: string, ...secrets: string[]) =>
  cutPieces(text, secrets, 4).map(({ start, end, owner }) => [text.slice(start, end), start, owner]);

describe('a piece of a secret', () => {
  test('is its beginning in front of a cut and its end behind one, in either case', () => {
    expect(pieces('got abcDE…', 'ABCDEFGH')).toEqual([['abcDE', 4, 0]]);
    expect(pieces('…EFgh got', 'ABCDEFGH')).toEqual([['EFgh', 1, 0]]);
    expect(pieces('abcde…', 'x-ABCDE', 'abcdefgh')).toEqual([['abcde', 0, 1]]);
    expect(pieces('bcde… …abcd', 'abcdefgh')).toEqual([]);
  });

  test('is the longest there is', () => {
    expect(pieces('abab-abab-…', 'abab-abab-xyz')).toEqual([['abab-abab-', 0, 0]]);
    expect(pieces('…-abab-abab', 'xyz-abab-abab')).toEqual([['-abab-abab', 1, 0]]);
    expect(pieces('…abcd', 'abcd')).toEqual([['abcd', 1, 0]]);
    expect(pieces('abcd…', 'abcd')).toEqual([['abcd', 0, 0]]);
  });

  test('is long enough with as many characters as asked for', () => {
    expect([pieces('abc…', 'abcdef'), pieces('…def', 'abcdef'), pieces('…', 'abcdef')]).toEqual([[], [], []]);
    expect(cutPieces('abc…def', ['abcdef'], 3)).toEqual([
      { start: 0, end: 3, owner: 0 },
      { start: 4, end: 7, owner: 0 },
    ]);
    expect(cutPieces('a…f', ['abcdef'], 1)).toHaveLength(2);
    expect(cutPieces('a…f', ['abcdef'], 2)).toEqual([]);
    expect(cutPieces('z…z', ['abcdef'], 1)).toEqual([]);
  });

  test('is found at every cut of an excerpt, and at none of a text with too many', () => {
    expect(pieces('…cdef, abcd…, abcde…', 'abcdef')).toEqual([
      ['cdef', 1, 0],
      ['abcd', 7, 0],
      ['abcde', 14, 0],
    ]);
    const many = '…'.repeat(999);
    expect(pieces(`${many}abcd…`, 'abcdef')).toEqual([['abcd', 999, 0]]);
    expect(pieces(`${many}…abcd…`, 'abcdef')).toEqual([]);
  });
});

describe('a piece of a long secret', () => {
  test.each([4, 255, 256, 257, 258, 400, 511, 512, 513, LONG.length - 1, LONG.length])(
    'of %i characters is found whole, whatever stands around it',
    (length) => {
      const [head, tail] = [LONG.slice(0, length), LONG.slice(-length)];
      for (const around of ['', '<', `${'z'.repeat(300)} `]) {
        expect(pieces(`${around}${head}…`, 'other-secret', LONG)).toEqual([[head, around.length, 1]]);
        expect(pieces(`…${tail}${around}`, 'other-secret', LONG)).toEqual([[tail, 1, 1]]);
      }
      expect(pieces(`…${tail} ${head}…`, LONG)).toEqual([
        [tail, 1, 0],
        [head, length + 2, 0],
      ]);
    },
  );

  test.each([300, 1_024])('is the longest there is also where it repeats itself: %i characters', (length) => {
    const same = 'abc'.repeat(400);
    const head = same.slice(0, length);
    expect(pieces(`-${head}…`, `${same}-x`)).toEqual([[head, 1, 0]]);
    expect(pieces(`…${same.slice(-length)}-`, `x-${same}`)).toEqual([[same.slice(-length), 1, 0]]);
    expect(pieces(`${head}!${head}…`, `${same}-x`)).toEqual([[head, length + 1, 0]]);
  });

  test('is found where its beginning is one letter repeated, and none where its first letter is another', () => {
    const head = `b${'a'.repeat(300)}`;
    expect(pieces(`z${head}…`, `${head}${'a'.repeat(100)}xyz`)).toEqual([[head, 1, 0]]);
    expect(pieces(`Z${LONG.slice(1, 400)}…`, LONG)).toEqual([]);
  });

  test('is none where only the part next to the cut stands in it', () => {
    expect(pieces(`${LONG.slice(300, 600)}…`, LONG)).toEqual([]);
    expect(pieces(`…${LONG.slice(52, 352)}`, LONG)).toEqual([]);
  });
});
