import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { elementsAt, isCanonicalBytes, membersAt } from '../../src/lib/canonical-bytes.ts';
import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { parseStrictJson } from '../../src/lib/strict-json.ts';

/** What the check has to say, by parsing and writing anew (not by `JSON.parse`, whose V8 of today mistakes the key `\n` for one of a single backslash). */
function isCanonicalText(text: string): boolean {
  const parsed = parseStrictJson(text, { ignore_numbers_at: () => true });
  if (parsed.type !== 'value' || parsed.issues.length > 0) return false;
  try {
    return canonicalJson(parsed.value) === text;
  } catch {
    return false; // a number that JSON does not have
  }
}

const odd = fc.constantFrom(
  '',
  'a',
  'a!',
  'a b',
  'é',
  '\u{1f600}',
  '\ue000',
  '\ufffd',
  '\n',
  '\u0001',
  '"',
  '\\',
  '/',
  '\u007f',
  '10',
  '9',
  '__proto__',
);
const value = fc.letrec((tie) => ({
  any: fc.oneof({ depthSize: 'small' }, tie('scalar'), tie('list'), tie('object')),
  scalar: fc.oneof(
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    odd,
    fc.string({ unit: 'grapheme' }),
  ),
  list: fc.array(tie('any')),
  object: fc.dictionary(fc.oneof(odd, fc.string({ unit: 'grapheme' })), tie('any')),
})).any;

describe('isCanonicalBytes', () => {
  it('takes what `canonicalJson` writes', () => {
    fc.assert(
      fc.property(value, (any) => {
        expect(isCanonicalBytes(Buffer.from(canonicalJson(any)))).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('takes no other text than one that is written so', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      'u',
      '0',
      '1',
      '-',
      '.',
      'e',
      '+',
      ' ',
      '\n',
      'null',
      '""',
      '\\u0001',
      '\\u000a',
      '\\u001F',
      '\\/',
      '\ue000',
      '\u{1f600}',
    );
    fc.assert(
      fc.property(value, fc.nat(), fc.nat(3), pieces, (any, place, cut, piece) => {
        const text = canonicalJson(any);
        const at = place % (text.length + 1);
        const altered = `${text.slice(0, at)}${piece}${text.slice(at + cut)}`;
        fc.pre(altered.isWellFormed());
        expect(isCanonicalBytes(Buffer.from(altered)), encodeURI(altered)).toBe(isCanonicalText(altered));
      }),
      { numRuns: 5_000 },
    );
  });

  it('takes objects written in any order only where their keys ascend', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.oneof(odd, fc.string({ unit: 'grapheme' })), { minLength: 2 }), (keys) => {
        const text = `{${keys.map((key) => `${JSON.stringify(key)}:0`).join(',')}}`;
        expect(isCanonicalBytes(Buffer.from(text)), text).toBe(isCanonicalText(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    '1e21',
    '1e+21',
    '1e-7',
    '0.000001',
    '-0',
    '0',
    '00',
    '01',
    '-1',
    '1.0',
    '1.5',
    '1e400',
    '9007199254740993',
    '123456789012345680000',
    '{"a":0,"a":1}',
    '{"b":0,"a":1}',
    '{"a":0,}',
    '[0,]',
    '[,0]',
    '{"a"}',
    '{a:0}',
    '"\\ud83d"',
    '"\\u00e9"',
    '"\\u001f"',
    '"\\u001F"',
    '"',
    '"\\',
    '[',
    '{',
    '',
    ' 1',
    '1 ',
    '1 2',
    '[1][2]',
    'nul',
    'true',
    'truefalse',
    'NaN',
    '-',
    '-Infinity',
  ])('says the same of `%s` as parsing and writing it', (text) => {
    expect(isCanonicalBytes(Buffer.from(text))).toBe(isCanonicalText(text));
  });

  it('takes no bytes that are no UTF-8', () => {
    expect(isCanonicalBytes(Buffer.from([34, 0xff, 34]))).toBe(false);
    expect(isCanonicalBytes(Buffer.from([34, 0xed, 0xa0, 0x80, 34]))).toBe(false);
  });

  it('goes to any depth that is written, and ends on one without end', () => {
    const nested = (depth: number) => Buffer.from(`${'['.repeat(depth)}${']'.repeat(depth)}`);
    expect(isCanonicalBytes(nested(10_000))).toBe(true);
    expect(isCanonicalBytes(nested(1_000_000))).toBe(false);
  });
});

describe('members and elements of canonical bytes', () => {
  it('are those of the value', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(odd, fc.string({ unit: 'grapheme' })), value),
        fc.array(value),
        (record, list) => {
          const bytes = Buffer.from(canonicalJson([record, list]));
          const [first = 0, second = 0] = elementsAt(bytes, 0);
          const members = [...membersAt(bytes, first)].map((one) => [
            one.key,
            bytes.toString('utf8', one.value, one.end),
            bytes.toString('utf8', one.start, one.end),
          ]);
          const expected = Object.keys(record)
            .sort()
            .map((key) => [key, canonicalJson(record[key]), `${JSON.stringify(key)}:${canonicalJson(record[key])}`]);
          expect(members).toEqual(expected);
          expect([...elementsAt(bytes, second)]).toHaveLength(list.length);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('are none of a value that has none', () => {
    for (const text of ['1', '"[1]"', '[]', '{}', 'null'])
      expect([[...membersAt(Buffer.from(text), 0)], [...elementsAt(Buffer.from(text), 0)]]).toEqual([[], []]);
  });
});
