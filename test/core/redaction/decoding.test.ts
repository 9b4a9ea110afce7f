import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BASE64,
  decode,
  HEX,
  isText,
  originIn,
  printableRuns,
  runsOf,
} from '../../../src/core/redaction/encoded-runs.ts';
import { withoutEscapes, withoutSpaces } from '../../../src/core/redaction/escapes.ts';
import { entity } from '../../../src/core/redaction/html-entities.ts';
import { wholeText } from '../../../src/core/redaction/view.ts';

const plain = (text: string) => withoutEscapes(wholeText(text))?.text ?? null;

describe('escapes', () => {
  test.each([
    ['\\u00e4\\u00E4', 'ää'],
    ['\\ud83d\\udd11', '🔑'],
    ['\\u{1f511}\\u{41}', '🔑A'],
    ['\\xe4\\x41', 'äA'],
    ['\\303\\244', 'Ã¤'],
    ['\\"\\\'\\\\\\/', '"\'\\/'],
    ['a\\b\\f\\r\\t\\vz', 'a\b\f\r\t\vz'],
    ['a\\nz', 'a\nz'],
    ['\\u{10ffff}&#1114111;', '\u{10ffff}\u{10ffff}'],
    ['\\\\u0041', '\\u0041'],
    ['%41%7a%7A', 'Azz'],
    ['%u0041%C3', 'AÃ'],
    ['&#65;&#x41;&#X41;', 'AAA'],
    ['&lt;&auml;&Auml;&ouml;&yuml;&nbsp;&sol;&equals;&amp;', '<äÄöÿ\u00a0/=&'],
    ['a\nb\r\nc\rd', 'abcd'],
    ['a\n  \tb\\\n c\\\rd', 'abcd'],
    ['a\0b\u00adc\u200bd\u2060e\ufefff\u200cg\u200dh', 'abcdefgh'],
  ])('%j reads as %j', (text, expected) => {
    expect(plain(text)).toBe(expected);
    expect(plain(`<${text}>`)).toBe(`<${expected}>`);
  });

  test.each([
    'plain text',
    '\\q \\u12 \\x1 \\8',
    '% %4 %zz 100%',
    '&unknown; &amp &#; &#x; &#1114112; &',
    '\\u{110000}',
    '',
  ])('%j holds none', (text) => expect(plain(text)).toBeNull());

  test('what the names of HTML stand for, from every part of the list', () => {
    const text =
      '&excl;&num;&comma;&period;&colon;&lsqb;&Hat;&lowbar;&grave;&lcub;&rcub;&hyphen;&euro;&oelig;&ndash;&bdquo;&dagger;&hellip;';
    expect(plain(text)).toBe('!#,.:[^_`{}\u2010€œ–„†…');
    expect(plain('&iexcl;&sup3;&para;&cedil;&AElig;&Igrave;&szlig;&oacute;&ocirc;')).toBe('¡³¶¸ÆÌßóô');
  });

  test('what a name of HTML stands for', () => {
    expect(['nbsp', 'yuml', 'amp', 'equals', 'Tab', 'Scaron', 'trade', 'nobody'].map(entity)).toEqual([
      '\u00a0',
      'ÿ',
      '&',
      '=',
      '\t',
      'Š',
      '™',
      undefined,
    ]);
  });

  test('each part is mapped back to the escape that it comes from', () => {
    const source = 'ab\\u0063d\n\n  ef%67';
    const view = withoutEscapes(wholeText(source));
    expect(view?.text).toBe('abcdefg');
    const back = (start: number, end: number) => {
      const at = view?.origin(start, end);
      return source.slice(at?.start, at?.end);
    };
    expect([back(0, 2), back(2, 3), back(3, 4), back(4, 6), back(6, 7)]).toEqual(['ab', '\\u0063', 'd', 'ef', '%67']);
    expect([back(0, 7), back(3, 5), back(1, 3)]).toEqual([source, 'd\n\n  e', 'b\\u0063']);
  });

  test('a part of what is decoded twice is mapped through both', () => {
    const source = 'x%2541%2542y';
    const once = withoutEscapes(wholeText(source));
    const twice = once && withoutEscapes(once);
    expect([once?.text, twice?.text]).toEqual(['x%41%42y', 'xABy']);
    expect(twice?.origin(1, 2)).toEqual({ start: 1, end: 6 });
    expect(twice?.origin(2, 4)).toEqual({ start: 6, end: 12 });
  });

  test('the parts of many escapes are mapped as those of one', () => {
    const source = '&#65;b'.repeat(100);
    const view = withoutEscapes(wholeText(source));
    for (let index = 0; index < 100; index += 1) {
      expect(view?.origin(index * 2, index * 2 + 1)).toEqual({ start: index * 6, end: index * 6 + 5 });
      expect(view?.origin(index * 2 + 1, index * 2 + 2)).toEqual({ start: index * 6 + 5, end: index * 6 + 6 });
    }
  });
});

test('spaces and plus signs go together', () => {
  const view = withoutSpaces(wholeText('a  b\t+c\u00a0d'));
  expect(view?.text).toBe('abcd');
  expect(view?.origin(1, 3)).toEqual({ start: 3, end: 7 });
  expect(withoutSpaces(wholeText('abc'))).toBeNull();
});

describe('runs of letters', () => {
  test('are found where they are long enough', () => {
    const at = (text: string, runs: { start: number; end: number }[]) =>
      runs.map(({ start, end }) => text.slice(start, end));
    const text = 'QUJDREVGR0g= QUJD, a-b_c+d/e0123 0123456789abcdefABCDEF 0123';
    expect(at(text, runsOf(text, BASE64, 6))).toEqual(['QUJDREVGR0g', 'a-b_c+d/e0123', '0123456789abcdefABCDEF']);
    expect(at(text, runsOf(text, HEX, 6))).toEqual(['0123456789abcdefABCDEF']);
    expect(at('ab'.repeat(6), runsOf('ab'.repeat(6), HEX, 6))).toEqual(['ab'.repeat(6)]);
    expect(runsOf('ab'.repeat(6), HEX, 7)).toEqual([]);
    expect(runsOf('QUJDREVG', BASE64, 6)).toEqual([{ start: 0, end: 8 }]);
    expect(runsOf('QUJDREV', BASE64, 6)).toEqual([]);
    expect(runsOf('.QUJDREVG.', BASE64, 6)).toEqual([{ start: 1, end: 9 }]);
    expect([runsOf('QUJDREVGR', BASE64, 7), runsOf('QUJDREVGRA', BASE64, 7)]).toEqual([[], [{ start: 0, end: 10 }]]);
  });

  test('decode to the bytes that they were written from', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        for (const [encoding, name] of [
          [BASE64, 'base64'],
          [BASE64, 'base64url'],
          [HEX, 'hex'],
        ] as const) {
          const letters = Buffer.from(bytes).toString(name).replace(/=+$/, '');
          const memory = new Uint8Array(64);
          const length = decode(`--${letters}--`, { start: 2, end: 2 + letters.length }, encoding, memory);
          expect([...memory.subarray(0, length)]).toEqual([...bytes]);
        }
      }),
    );
  });

  test('are mapped back by whole letters', () => {
    const source = wholeText('..QUJDREVG..');
    const origin = originIn(source, { start: 2, end: 10 }, BASE64);
    expect([origin(0, 3), origin(1, 2), origin(0, 6), origin(5, 6)]).toEqual([
      { start: 2, end: 6 },
      { start: 3, end: 5 },
      { start: 2, end: 10 },
      { start: 8, end: 10 },
    ]);
    expect(originIn(source, { start: 3, end: 9 }, HEX)(1, 3)).toEqual({ start: 5, end: 9 });
  });

  test('are texts where enough of them in a row can be printed', () => {
    const found = (text: string, least: number) => {
      const bytes = Buffer.from(`${text}zzzz`, 'latin1');
      return printableRuns(bytes, text.length, least).map(({ start, end }) => [start, text.slice(start, end)]);
    };
    expect(found('\x80abcd\xffabc\x01\x02efghi', 4)).toEqual([
      [1, 'abcd'],
      [11, 'efghi'],
    ]);
    expect([found('abcd\xff', 4), found('abc', 4), found('', 4)]).toEqual([[[0, 'abcd']], [], []]);
  });

  test('are text when three of four bytes can be printed', () => {
    const told = (bytes: readonly number[]) => isText(Uint8Array.from([...bytes, 65, 65, 65]), bytes.length);
    expect([told([0x41, 0x42, 0x43, 0x80]), told([0x41, 0x42, 0x80, 0x80])]).toEqual([true, false]);
    for (let byte = 0; byte < 256; byte += 1) {
      const printable = byte === 0 || (byte >= 9 && byte <= 13) || (byte >= 32 && byte < 127);
      expect([byte, told([byte])]).toEqual([byte, printable]);
    }
    expect(told([65, 65, 65, 0x80, 0x80])).toBe(false);
    expect([told([0, 9, 10, 13]), told([32, 126, 11, 12]), told([1, 31, 127, 255])]).toEqual([true, true, false]);
  });
});
