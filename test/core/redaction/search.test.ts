import { expect, test } from 'vitest';
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

test('a text can be told from ordinary text by six characters, three of them different', () => {
  expect(['abcabc', 'abcab', 'ababab', 'aAbBaAbB', '🔑🔑🔒🔓🔑🔑', '🔑🔒🔓'].map(isDistinct)).toEqual([
    true,
    false,
    false,
    false,
    true,
    false,
  ]);
});
