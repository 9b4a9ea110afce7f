import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Automaton, type Found } from '../../../src/core/redaction/automaton.ts';

const searched = (needles: readonly string[], text: string): Found[] => {
  const found: Found[] = [];
  const automaton = new Automaton(needles.map((needle, owner) => ({ text: needle, owner })));
  automaton.search(text, (one) => found.push(one));
  return found;
};

describe('an automaton', () => {
  test('tells every occurrence by where it ends, the longest needle of each place', () => {
    expect(searched(['he', 'she', 'his', 'hers'], 'ushers his')).toEqual([
      { start: 1, end: 4, owner: 1 },
      { start: 2, end: 6, owner: 3 },
      { start: 7, end: 10, owner: 2 },
    ]);
  });

  test('finds letters in either case, and others only as they are', () => {
    expect(searched(['aÄ1ß'], 'AÄ1ß aä1ß aÄ2ß')).toEqual([
      { start: 0, end: 4, owner: 0 },
      { start: 5, end: 9, owner: 0 },
    ]);
  });

  test('finds letters that are cases of each other by way of a third', () => {
    const kelvin = '\u212a';
    for (const text of ['kk', 'KK', `k${kelvin}`, `${kelvin}K`])
      expect(searched([`k${kelvin}`, `Z${kelvin}`], text)).toEqual([{ start: 0, end: 2, owner: 0 }]);
    expect(searched([`${kelvin}x`], 'kxKX')).toHaveLength(2);
  });

  test('takes a letter for no other whose case is more than one letter', () => {
    expect(searched(['aß'], 'aS as aß')).toEqual([{ start: 6, end: 8, owner: 0 }]);
    expect(searched(['\u017fx'], 'sx SX')).toHaveLength(2);
  });

  test('tells the first owner of a needle that two have', () => {
    expect(searched(['same', 'SAME'], 'same')).toEqual([{ start: 0, end: 4, owner: 0 }]);
    expect(searched(['other', 'same', 'SAME'], 'same')).toEqual([{ start: 0, end: 4, owner: 1 }]);
  });

  test('takes letters beyond its last for others', () => {
    expect(searched(['key'], 'zkeyz\u0100key')).toEqual([
      { start: 1, end: 4, owner: 0 },
      { start: 6, end: 9, owner: 0 },
    ]);
  });

  test('finds nothing without needles', () => {
    expect(searched([], 'anything')).toEqual([]);
  });

  test('searches as many bytes as it is told to', () => {
    const automaton = new Automaton([{ text: 'key', owner: 7 }]);
    const found: Found[] = [];
    automaton.searchBytes(Buffer.from('keyzkEY and a key'), 7, (one) => found.push(one));
    expect(found).toEqual([
      { start: 0, end: 3, owner: 7 },
      { start: 4, end: 7, owner: 7 },
    ]);
    automaton.searchBytes(Buffer.from('key'), 2, (one) => found.push(one));
    automaton.searchBytes(Buffer.from('zey\u00ffey'), 7, (one) => found.push(one));
    expect(found).toHaveLength(2);
    new Automaton([{ text: 'k', owner: 7 }]).searchBytes(Buffer.from('ok'), 2, (one) => found.push(one));
    expect(found.slice(2)).toEqual([{ start: 1, end: 2, owner: 7 }]);
  });

  test('finds what looking at every place finds', () => {
    const word = fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom(...'abAc') });
    const text = fc.string({ maxLength: 30, unit: fc.constantFrom(...'abcABCd') });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), text, (needles, searchedText) => {
        const expected = Array.from({ length: searchedText.length }, (_, index) => {
          const before = searchedText.slice(0, index + 1).toLowerCase();
          const longest = Math.max(
            ...needles.map((needle) => (before.endsWith(needle.toLowerCase()) ? needle.length : 0)),
          );
          return longest > 0 ? [[index + 1 - longest, index + 1]] : [];
        }).flat();
        expect(searched(needles, searchedText).map(({ start, end }) => [start, end])).toEqual(expected);
      }),
    );
  });
});
