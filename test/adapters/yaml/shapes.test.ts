import { describe, expect, test } from 'vitest';
import { zodDiagnostics } from '../../../src/adapters/profiles/zod-diagnostics.ts';
import { parsePlaced } from '../../../src/adapters/yaml/placed-document.ts';
import { policySchema } from '../../../src/contract/policy.ts';
import { SHAPES } from '../../support/yaml-shapes.ts';

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
