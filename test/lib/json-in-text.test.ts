import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonInText } from '../../src/lib/json-in-text.ts';

const found = (text: string) => jsonInText(text).spans.map(({ start, end }) => text.slice(start, end));

describe('JSON objects and arrays in a text', () => {
  it.each([
    ['', []],
    ['no JSON at all: 0.2 "text" true', []],
    ['{}', ['{}']],
    ['Loading … done\n{"a": 1}\nbye', ['{"a": 1}']],
    ['[INFO] {"a": [1, {"b": 2}]} [x]', ['{"a": [1, {"b": 2}]}']],
    ['{"a":1}{"b":2}[3]', ['{"a":1}', '{"b":2}', '[3]']],
    ["{'a': 1}", []],
    ['{"a": NaN}', []],
    ['{"a": 1,}', []],
    ['[1, 2,]', []],
    ['[01]', []],
    ['[1 2]', []],
    ['{"a" 1}', []],
    ['{"a": "line\nbreak"}', []],
    ['{noise {"a": 1} }', ['{"a": 1}']],
    ['[1, {"a": 1}, oops]', ['{"a": 1}']],
    ['{"x {"a": 1}', []],
    ['"{"a": 1}"', ['{"a": 1}']],
    ['{"a": "\\x"}', []],
    ['{"a": "\\u12"}', []],
    ['{"a": "\\u12aF"}', ['{"a": "\\u12aF"}']],
    ['{"a": "}"}', ['{"a": "}"}']],
    ['{"a": "\\"}{"}', ['{"a": "\\"}{"}']],
    ['\u{1b}[2K\u{1b}[1A{"a": -1.5e-3}', ['{"a": -1.5e-3}']],
    ['\u{feff}{"a": null}', ['{"a": null}']],
    ['{"": [true, false, null, []]}', ['{"": [true, false, null, []]}']],
    ['{"a" : 1 , "b" :\n2 }', ['{"a" : 1 , "b" :\n2 }']],
  ])('%j', (text, expected) => {
    expect([found(text), jsonInText(text).unfinished]).toEqual([expected, null]);
  });

  it('tells what the end of the text cuts off, at every place', () => {
    const whole = '{"a": [1.5e3, "x\\n", {"b": true}], "c": null}';
    for (let end = 1; end < whole.length; end += 1)
      expect([end, jsonInText(`noise ${whole.slice(0, end)}`).unfinished]).toEqual([end, 6]);
    expect(jsonInText(whole).unfinished).toBeNull();
  });

  it('finds every value between any noise that opens nothing', () => {
    const noise = fc.string({ unit: 'binary' }).map((text) => text.replace(/[[{]/g, ''));
    const value = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue()));
    const spaced = fc.constantFrom(undefined, 2);
    fc.assert(
      fc.property(fc.array(fc.tuple(noise, value, spaced)), noise, (parts, tail) => {
        const values = parts.map(([, one, indent]) => JSON.stringify(one, null, indent));
        const text = parts.map(([before], index) => before + values[index]).join('') + tail;
        expect(found(text)).toEqual(values);
      }),
    );
  });

  it('is what JSON.parse takes, whatever the text', () => {
    const text = fc.string({ unit: fc.constantFrom(...'{}[]",:0-1.e tn\\u', 'true', 'null', '"a"') });
    fc.assert(
      fc.property(text, (one) => {
        const whole = one.trim();
        const parses = (() => {
          try {
            const value: unknown = JSON.parse(whole);
            return typeof value === 'object' && value !== null;
          } catch {
            return false;
          }
        })();
        if (parses) expect(found(whole)).toEqual([whole]);
        for (const part of found(one)) expect(() => JSON.parse(part)).not.toThrow();
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    '{',
    '[',
    '[[1,',
    '{"a":',
    '["',
    '{"a',
    '["\\',
    '{"a":1',
    '[1',
    '[111',
    '"[',
    '{"a":[',
    '[tru',
    '{"status":"passed"',
  ])('%j again and again takes no more than one pass', (part) => {
    // What were quadratic would not end.
    jsonInText(part.repeat(2 ** 17));
    jsonInText(`${part.repeat(2 ** 17)}\n`);
    jsonInText(`${part.repeat(2 ** 17)}x`);
  });
});
