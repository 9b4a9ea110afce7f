import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_JSON_ISSUES } from '../../src/lib/json-issue.ts';
import { jsonTextAt } from '../../src/lib/json-slice.ts';
import { parseStrictJson } from '../../src/lib/strict-json.ts';

const issuesOf = (text: string) =>
  parseStrictJson(text).issues.map(({ kind, pointer, line, column, message }) => [
    kind,
    pointer,
    line,
    column,
    message,
  ]);

describe('parseStrictJson', () => {
  test('reads back whatever JSON.stringify writes, with any white space', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(0, 2), (text, indent) => {
        const value = JSON.parse(text) as unknown;
        const parsed = parseStrictJson(JSON.stringify(value, null, indent));
        expect(parsed).toEqual({ type: 'value', value: JSON.parse(JSON.stringify(value)), issues: [] });
      }),
      { numRuns: 1500 },
    );
  });

  test('accepts nothing that JSON.parse refuses, and reads what both accept alike', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      'u',
      'd',
      '8',
      '0',
      '-',
      '.',
      'e',
      '+',
      'NaN',
      'null',
      ' ',
      '\n',
      '\u0001',
      '\ud800',
      '\ufeff',
      'é',
      '"a"',
      '1',
    ];
    const mutation = fc.record({ at: fc.nat(), remove: fc.nat(3), insert: fc.constantFrom(...pieces) });
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), fc.array(mutation, { maxLength: 3 }), (text, mutations) => {
        let mutated = text;
        for (const { at, remove, insert } of mutations) {
          const place = at % (mutated.length + 1);
          mutated = mutated.slice(0, place) + insert + mutated.slice(place + remove);
        }
        const parsed = parseStrictJson(mutated);
        if (parsed.type === 'value' && parsed.issues.length === 0) {
          accepted += 1;
          expect(parsed.value).toEqual(JSON.parse(mutated));
        } else refused += 1;
      }),
      { numRuns: 4000 },
    );
    expect(Math.min(accepted, refused)).toBeGreaterThan(200);
  });

  test('names duplicate keys at any depth, by the name they decode to, and keeps the last value', () => {
    const text = '{"a": 1,\n "b": {"x": 1, "\\u0078": 2}, "a": 3}';
    expect(issuesOf(text)).toEqual([
      ['duplicate_key', '/b/x', 2, 16, 'duplicate key `x`'],
      ['duplicate_key', '/a', 2, 30, 'duplicate key `a`'],
    ]);
    expect(parseStrictJson(text)).toMatchObject({ type: 'value', value: { a: 3, b: { x: 2 } } });
  });

  test('names lone surrogates in values and member names, escaped or raw, and takes pairs', () => {
    expect(issuesOf('["\\ud83d\\ude00", "a\\ud800", {"\\udc00": 1}, "\ud800"]')).toEqual([
      ['lone_surrogate', '/1', 1, 18, 'the text `a\ufffd` holds a lone surrogate'],
      ['lone_surrogate', '/2', 1, 30, 'the member name `\ufffd` holds a lone surrogate'],
      ['lone_surrogate', '/3', 1, 44, 'the text `\ufffd` holds a lone surrogate'],
    ]);
  });

  test('collects numbers that a double does not carry without ending the parse', () => {
    const text =
      '[9007199254740993, 9007199254740992, 1e999, -Infinity, NaN, 1e-999, 10000000000000000000000, 0.1, -0, 0e-9]';
    expect(issuesOf(text)).toEqual([
      ['inexact_number', '/0', 1, 2, 'the number `9007199254740993` would be read as `9007199254740992`'],
      ['inexact_number', '/2', 1, 38, 'the number `1e999` would be read as `Infinity`'],
      ['non_finite_number', '/3', 1, 45, '`-Infinity` is not a JSON number'],
      ['non_finite_number', '/4', 1, 56, '`NaN` is not a JSON number'],
      ['inexact_number', '/5', 1, 61, 'the number `1e-999` would be read as `0`'],
    ]);
    expect(parseStrictJson(text)).toMatchObject({
      type: 'value',
      value: [9007199254740992, 9007199254740992, Infinity, -Infinity, NaN, 0, 1e22, 0.1, -0, 0],
    });
  });

  test('leaves out number issues where nobody reads the numbers, however many there are', () => {
    const text = `{"raw": [${'NaN,'.repeat(5000)}1], "read": [1e999]}`;
    const parsed = parseStrictJson(text, { ignore_numbers_at: (pointer) => pointer.startsWith('/raw') });
    expect(parsed.issues.map((issue) => issue.pointer)).toEqual(['/read/0']);
    expect(parseStrictJson(text).issues).toHaveLength(MAX_JSON_ISSUES);
  });

  test('keeps `__proto__` and `constructor` as plain own members', () => {
    const parsed = parseStrictJson('{"__proto__": {"admin": true}, "constructor": 1, "toString": 2}');
    expect(parsed.issues).toEqual([]);
    const value = parsed.type === 'value' ? (parsed.value as Record<string, unknown>) : {};
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor', 'toString']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(value['admin']).toBeUndefined();
    expect(issuesOf('{"__proto__": 1, "__proto__": 2}')).toEqual([
      ['duplicate_key', '/__proto__', 1, 18, 'duplicate key `__proto__`'],
    ]);
  });

  test.each([
    ['', 'expected a value, but the text ends', 1, 1],
    ['\ufeff{}', 'the text starts with a byte order mark', 1, 1],
    ['{} x', 'expected the end of the text, but found `x`', 1, 4],
    ['{"a" 1}', 'expected `:` after the member name, but found `1`', 1, 6],
    ['{"a": 1,}', 'expected a member name in double quotes, but found `}`', 1, 9],
    ["{'a': 1}", "expected a member name in double quotes, but found `'`", 1, 2],
    ['[1,\n 2\n 3]', 'expected `,` or `]` after an element, but found `3`', 3, 2],
    ['[1,]', 'expected a value, but found `]`', 1, 4],
    ['{"a": 1', 'expected `,` or `}` after a member, but the text ends', 1, 8],
    ['"abc', 'expected the closing `"` of a string, but the text ends', 1, 5],
    ['"abc\\', 'expected the closing `"` of a string, but the text ends', 1, 6],
    ['"a\nb"', 'a string holds the control character U+000A', 1, 3],
    ['"a\\\\\\xb"', '`\\x` is not a JSON escape', 1, 5],
    ['"\\u12g4"', '`\\u` is not a JSON escape', 1, 2],
    ['012', 'a number starts with 0', 1, 1],
    ['1.', 'expected a digit, but the text ends', 1, 3],
    ['-', 'expected a digit, but the text ends', 1, 2],
    ['-NaN', 'expected a digit, but found `N`', 1, 2],
    ['+1', 'expected a value, but found `+`', 1, 1],
    ['truest', 'expected a value, but found `t`', 1, 1],
  ])('refuses %j with the place and what was expected', (text, message, line, column) => {
    const parsed = parseStrictJson(text);
    expect({ type: parsed.type, issues: parsed.issues.map((i) => [i.message, i.line, i.column]) }).toEqual({
      type: 'invalid',
      issues: [[message, line, column]],
    });
    expect(parsed.issues.every((issue) => issue.hint !== '')).toBe(true);
  });

  test('ends at 200 levels unless told otherwise, and survives a million brackets', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(parseStrictJson(nested(200)).type).toBe('value');
    for (const text of [nested(201), '['.repeat(1e6), '{"a":'.repeat(1e6)]) {
      const parsed = parseStrictJson(text);
      expect([parsed.type, parsed.issues[0]?.kind, parsed.issues[0]?.message]).toEqual([
        'invalid',
        'depth',
        'the value is nested deeper than 200 levels',
      ]);
    }
    expect(parseStrictJson(nested(2000), { max_depth: 1e9 }).type).toBe('value');
    expect(parseStrictJson(nested(1e6), { max_depth: 1e9 }).type).toBe('invalid');
  });

  test('counts lines and columns from where the text stands in its file', () => {
    const { issues } = parseStrictJson('{"a": NaN,\n"b": NaN}', { line: 7, column: 11 });
    expect(issues.map(({ line, column }) => [line, column])).toEqual([
      [7, 17],
      [8, 6],
    ]);
  });
});

describe('jsonTextAt', () => {
  const text = '{ "a/b": [1, {"c~": [-Infinity , 12345678901234567890]}, "x\\"]"], "\\u0064": "e" , "": 0}';

  test.each([
    ['', text],
    ['/a~1b', '[1, {"c~": [-Infinity , 12345678901234567890]}, "x\\"]"]'],
    ['/a~1b/1/c~0/0', '-Infinity'],
    ['/a~1b/1/c~0/1', '12345678901234567890'],
    ['/a~1b/2', '"x\\"]"'],
    ['/d', '"e"'],
    ['/', '0'],
    ['/a~1b/3', undefined],
    ['/a~1b/01', undefined],
    ['/d/0', undefined],
    ['/missing', undefined],
  ])('finds the text at %j as it stands', (pointer, expected) => {
    expect(jsonTextAt(text, pointer)).toBe(expected);
  });

  test('gives at every pointer the text of the value that is there', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }),
        fc.constantFrom(0, 1),
        (record, indent) => {
          const source = JSON.stringify(record, null, indent);
          const value = JSON.parse(source) as Record<string, unknown>;
          for (const key of Object.keys(value)) {
            const found = jsonTextAt(source, `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
            expect(JSON.parse(found ?? '')).toEqual(value[key]);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
