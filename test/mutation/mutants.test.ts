import { expect, test } from 'vitest';
import { javascript, mutantsOf } from './mutants.ts';

const namesOf = (typescript: string) => mutantsOf(javascript(typescript)).map(({ name }) => name);

test('a mutant is named by its function, what stood there and what stands there now', () => {
  expect(namesOf('export function more(a: number, b: number): boolean { return a + 1 > b; }')).toEqual([
    'more: { return a + 1 > b; } → {}',
    'more: a + 1 > b → true',
    'more: a + 1 > b → false',
    'more: a + 1 > b → a + 1 >= b',
    'more: a + 1 > b → a + 1 <= b',
    'more: a + 1 → a - 1',
    'more: 1 → 2',
  ]);
});

test('the same change at two places has two names', () => {
  expect(namesOf("const both = (a) => f(a ?? '', a ?? '');").filter((name) => name.includes('??'))).toEqual([
    "both: f(a ?? '', a ?? '') → undefined",
    "both: a ?? '' → a && ''",
    "both: a ?? '' → a && '' #2",
  ]);
});

test('imports, names of members and types are left alone', () => {
  expect(
    namesOf("import { f } from 'node:fs';\nexport { g } from './g.ts';\ninterface A { kind: 'b' }\nf({ 'x-y': z });"),
  ).toEqual(["module: { 'x-y': z } → {}"]);
});

test.each([
  ['if (a) b();', ['a → true', 'a → false']],
  ['while (a) b();', ['a → false']],
  ['x = a?.b;', ['a?.b → a.b']],
  ['x = a?.[0];', ['a?.[0] → a[0]', '0 → 1']],
  ['x = 1e26;', []],
  ['x = !a;', ['!a → a']],
  ['x = -a;', ['-a → +a']],
  ['x += a;', ['x += a → x -= a']],
  ['x++;', ['x++ → x--']],
  ['x = a.some(b);', ['a.some(b) → a.every(b)']],
  ['x = a.filter(b);', ['a.filter(b) → a']],
  ['x = [];', ['[] → ["mutated"]']],
  ['x = `a`;', ['`a` → ``']],
  ['x = 2n;', ['2n → 3n']],
  [
    'x = /^[a-z]+\\d$/u;',
    [
      '/^[a-z]+\\d$/u → /[a-z]+\\d$/u',
      '/^[a-z]+\\d$/u → /^[^a-z]+\\d$/u',
      '/^[a-z]+\\d$/u → /^[a-z]\\d$/u',
      '/^[a-z]+\\d$/u → /^[a-z]+\\D$/u',
      '/^[a-z]+\\d$/u → /^[a-z]+\\d/u',
    ],
  ],
])('%s', (code, changes) => {
  expect(namesOf(code)).toEqual(changes.map((change) => `module: ${change}`));
});

test('a change keeps what stands around it together, and is always a program', () => {
  const text = 'x = (a && b) || c ?? d;\ny = p && q && r;';
  expect(() => mutantsOf(text)).toThrow();
  const [first] = mutantsOf('y = p && q && r;').filter(({ name }) => name.endsWith('p && q → p || q'));
  expect(first).toMatchObject({ start: 4, end: 10, code: '((p) || (q))', line: 1 });
});
