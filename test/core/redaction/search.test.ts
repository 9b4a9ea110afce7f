import { describe, expect, test } from 'vitest';
import { isDistinct, SecretSearch } from '../../../src/core/redaction/search.ts';

const SECRET = 'pässwört-1234';
const search = new SecretSearch([SECRET, 'Größe: ÄÖÜ', 'with two words']);
const base64 = Buffer.from(SECRET).toString('base64').replace(/=+$/, '');
const places = (text: string) => search.find(text).map(({ start, end, owner }) => [text.slice(start, end), owner]);

test('every place is told, also of the same letters and behind runs that hold nothing', () => {
  expect(places(`internationalization ${base64} responsibility`)).toEqual([[base64, 0]]);
  expect(places(`${base64} ${base64}`)).toEqual([
    [base64, 0],
    [base64, 0],
  ]);
  expect(places('0123456789abcdef0123456789abcdef internationalization')).toEqual([]);
});

test('letters are found in both cases where these have other bytes', () => {
  for (const text of ['größe: äöü', 'GRÖSSE: ÄÖÜ'])
    expect(places(Buffer.from(text).toString('hex')).map(([, owner]) => owner)).toContain(1);
});

test('a secret is found behind any letters that its encoding may follow', () => {
  for (const before of ['', 'x', 'xy', 'xyz', 'xyza', 'a', 'ab', 'abc'])
    for (const written of [base64, Buffer.from(SECRET).toString('hex')])
      expect(places(`${before}${written}`).map(([, owner]) => owner)).toContain(0);
});

describe('a secret between letters that were never encoded, as those of a path', () => {
  const around = ['home/of/the/project/data', 'tmp/x', 'a', 'b/c'];
  const twice = (text: string) =>
    Buffer.from(Buffer.from(text).toString('base64')).toString('base64').replace(/=+$/, '');
  const hex = (text: string) => Buffer.from(Buffer.from(text).toString('hex')).toString('base64').replace(/=+$/, '');
  const wide = (text: string) => Buffer.from(`x${text}`, 'utf16le').toString('base64').replace(/=+$/, '');
  const swapped = (text: string) => Buffer.from(text, 'utf16le').swap16().toString('base64').replace(/=+$/, '');
  const bytes = (text: string) => Buffer.from(text).toString('base64').replace(/=+$/, '');

  test.each([bytes, twice, hex, wide, swapped])('is found in every alignment: %s', (write) => {
    for (const before of around)
      for (const after of around) {
        const text = `/${before}/${write(SECRET)}/${write(SECRET)}/${after}.txt`;
        const found = search.find(text);
        for (const at of [before.length + 2, before.length + 3 + write(SECRET).length]) {
          const inside = found.filter(({ start, end }) => start < at + write(SECRET).length && end > at);
          expect([write.name, text, inside.length > 0]).toEqual([write.name, text, true]);
          expect(inside.every(({ start, end }) => start >= at - 2 && end <= at + write(SECRET).length + 2)).toBe(true);
        }
      }
  });
});

test('a secret among bytes that are no text is told by its exact place, as UTF-16 and encoded twice', () => {
  const wide = Buffer.from(SECRET, 'utf16le').toString('hex');
  const found = search.find(`${'ff'.repeat(20)}${wide}${'ff'.repeat(20)}`);
  expect(found).toEqual([{ start: 40, end: 40 + wide.length - 2, owner: 0 }]);
  const short = new SecretSearch(['abc-ef']);
  const twice = Buffer.from(Buffer.from('abc-ef').toString('base64')).toString('base64').replace(/=+$/, '');
  expect(short.find(`${'/'.repeat(16)}${twice}${'/'.repeat(16)}`)).not.toEqual([]);
});

test('a secret with spaces is found in one line and in several, also when it is the only one', () => {
  const phrase = new SecretSearch(['two words']);
  for (const text of ['two words', 'two  words', 'TWO+words', 'two \n words'])
    expect(phrase.find(text).length, text).toBeGreaterThan(0);
  expect(phrase.find('twofold words')).toEqual([]);
});

test('a secret that is itself encoded is found by what it stands for, five layers deep', () => {
  const own = (layers: number) => new SecretSearch([`pass%${'25'.repeat(layers - 1)}41word`]);
  expect([1, 2, 5].map((layers) => own(layers).find('passAword').length)).toEqual([1, 1, 1]);
  expect(own(6).find('passAword')).toEqual([]);
  expect(own(6).find('pass%41word')).not.toEqual([]);
});

test('what is decoded of a text is bounded by its length, and long runs of letters are within the bound', () => {
  const hex = Buffer.from(SECRET).toString('hex');
  expect(search.find(`${'Zz'.repeat(2_000)} ${hex}`).map(({ owner }) => owner)).toContain(0);
  const deep = (digits: number) => {
    let inner = SECRET;
    for (let layer = 0; layer < 5; layer += 1) inner = encodeURIComponent(inner);
    return `%252525252541 ${'3'.repeat(digits)} ${inner}`;
  };
  expect(search.find(deep(10)).map(({ owner }) => owner)).toContain(0);
  expect(search.find(deep(4_000))).toEqual([]);
});

test('a text can be told from ordinary text by six characters, three of them different', () => {
  expect(['abcabc', 'abcab', 'ababab', 'aAbBaAbB', '🔑🔑🔒🔓🔑🔑', '🔑🔒🔓', 'ßsaßsa'].map(isDistinct)).toEqual([
    true,
    false,
    false,
    false,
    true,
    false,
    true,
  ]);
});
