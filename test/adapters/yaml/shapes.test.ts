import { describe, expect, test } from 'vitest';
import { zodDiagnostics } from '../../../src/adapters/profiles/zod-diagnostics.ts';
import { parsePlaced } from '../../../src/adapters/yaml/placed-document.ts';
import { policySchema } from '../../../src/contract/policy.ts';

const lines = (n: number, line: (index: number) => string) => Array.from({ length: n }, (_, i) => line(i)).join('');

/** Texts that took minutes where a step looked at all the others; each is read well within the limit against hangs. */
const SHAPES: Readonly<Record<string, () => string>> = {
  'a map of many keys': () => lines(100_000, (i) => `k${i}: 1\n`),
  'a flow map of many keys': () => `{${lines(60_000, (i) => `k${i}: 1, `)}}`,
  'a map of explicit keys': () => lines(30_000, (i) => `? k${i}\n: 1\n`),
  'one key over and over': () => 'k: 1\n'.repeat(50_000),
  'maps within maps': () =>
    lines(150, (depth) => lines(200, (i) => `${' '.repeat(depth)}k${i}: 1\n`).concat(' '.repeat(depth), 'n:\n')),
  'anchors, each used once': () => lines(40_000, (i) => `- &a${i} x\n- *a${i}\n`),
  'one anchor used often': () => `- &a x\n${'- *a\n'.repeat(50_000)}`,
  'anchors that grow tenfold': () => `- &a0 [x]\n${lines(12, (i) => `- &a${i + 1} [${`*a${i}, `.repeat(10)}]\n`)}`,
  'an anchor within itself': () => '&a [*a, *a]\n',
  'collections as keys': () => '? '.repeat(1_000),
  'flow collections as keys': () => `${'{ '.repeat(800)}x${' }'.repeat(800)}: 1\n`,
  'lists within lists': () => '['.repeat(50_000),
  'dashes within dashes': () => '- '.repeat(50_000),
  'many documents': () => '---\na\n'.repeat(100_000),
  'many comments': () => `a:\n${'  # c\n'.repeat(100_000)}  b: 1\n`,
  'many directives': () => `${'%X y\n'.repeat(30_000)}---\na\n`,
  'empty lines': () => `${'\n'.repeat(200_000)}a: 1\n`,
  'one long text': () => `a: ${'x'.repeat(4_000_000)}\n`,
  'one long text in lines': () => `a: >\n${'  y\n'.repeat(300_000)}`,
  'one long number': () => `a: ${'1'.repeat(1_000_000)}\n`,
  'quotes that end nowhere': () => `a: "${'x\n '.repeat(200_000)}`,
  'many mistakes': () => 'a: b: c\n'.repeat(50_000),
  'closing brackets': () => ']'.repeat(50_000),
  'unknown tags': () => '- !x x\n'.repeat(50_000),
};

describe.each(Object.entries(SHAPES))('%s', (_, text) => {
  test('is read or refused, and told in at most a hundred problems', () => {
    const { value, problems, placeOf } = parsePlaced(text(), 'x.yaml');
    expect(problems.length).toBeLessThanOrEqual(100);
    for (const { line, message } of problems) expect({ line, message }).not.toMatchObject({ line: 0 });
    if (problems.length > 0) return;
    const wrong = zodDiagnostics(policySchema, value);
    expect(wrong.length).toBeLessThanOrEqual(100);
    for (const { path } of wrong) placeOf(path);
  });
});

test('a hundred thousand members are found by their places in one pass each', () => {
  const { placeOf } = parsePlaced(SHAPES['a map of many keys']?.() ?? '', 'x.yaml');
  for (let i = 0; i < 100_000; i += 1) expect(placeOf([`k${i}`]).line).toBe(i + 1);
});

test('duplicate keys are told with their place, and what no JSON carries is refused', () => {
  const { problems } = parsePlaced('a: 1\nb:\n  c: 1\n  c: 2\n? [x]\n: 1\n', 'x.yaml');
  expect(problems.map(({ line, column, field }) => [line, column, field])).toEqual([
    [4, 3, 'b.c'],
    [5, 3, null],
  ]);
});

test('merge keys are taken in where they are wanted, and refused elsewhere', () => {
  const text = 'base: &base { x: 1, y: 2 }\none:\n  <<: *base\n  y: 3\ntwo:\n  <<: [*base, { z: 4 }]\n';
  expect(parsePlaced(text, 'x.yaml', { merge: true })).toMatchObject({
    problems: [],
    value: { one: { x: 1, y: 3 }, two: { x: 1, y: 2, z: 4 } },
  });
  expect(parsePlaced(text, 'x.yaml').problems[0]?.message).toMatch(/merge keys/);
  expect(parsePlaced('a: { <<: 1 }', 'x.yaml', { merge: true }).problems).toHaveLength(1);
});
