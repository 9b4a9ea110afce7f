import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/lib/canonical-json.ts';

/** The same value with the members of every object in another order. */
function shuffled(value: unknown, turn: number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, turn));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const from = entries.length === 0 ? 0 : turn % entries.length;
  const turned = [...entries.slice(from), ...entries.slice(0, from)].toReversed();
  return Object.fromEntries(turned.map(([key, member]) => [key, shuffled(member, turn)]));
}

describe('canonical JSON', () => {
  test('is that of the example in RFC 8785 §3.2', () => {
    const value = JSON.parse(
      String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'B\u0022\u005c\\\"\/","literals":[null,true,false]}`,
    ) as unknown;
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test('sorts keys by UTF-16 code units, as RFC 8785 §3.2.3 does', () => {
    const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 };
    const order = [...canonicalJson(value).matchAll(/:(\d)/g)].map((match) => match[1]).join('');
    expect(order).toBe('2467153');
    expect(canonicalJson({ '9': 0, '10': 0 })).toBe('{"10":0,"9":0}'); // objects list whole numbers by their value
  });

  test('does not depend on the order in which members were made', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat(9), (value, turn) => {
        expect(canonicalJson(shuffled(value, turn))).toBe(canonicalJson(value));
      }),
      { numRuns: 500 },
    );
  });

  test('means what it was made of', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test.each([
    ['in order', (value: unknown) => ({ a: 1, b: value })],
    ['out of order', (value: unknown) => ({ b: value, a: 1 })],
    ['in a list', (value: unknown) => [1, value]],
  ])('refuses what JSON cannot carry, %s', (_, around) => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, '\ud800', 1n, Symbol('s'), () => 1, { '\udfff': 1 }])
      expect(() => canonicalJson(around(value))).toThrow(TypeError);
  });

  test('leaves out members that are undefined, and takes no `toJSON` for an answer', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
    expect(canonicalJson({ b: 1, a: undefined })).toBe('{"b":1}');
    expect(canonicalJson([undefined, -0])).toBe('[null,0]');
    expect(() => canonicalJson({ a: 1, toJSON: () => 'no' })).toThrow(TypeError);
    expect(
      canonicalJson({
        a: new (class Own {
          b = 1;
          toJSON() {
            return 'no';
          }
        })(),
      }),
    ).toBe('{"a":{"b":1}}');
  });
});
