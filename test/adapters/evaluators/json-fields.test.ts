import { describe, expect, test } from 'vitest';
import { jsonFields } from '../../../src/adapters/evaluators/json-fields.ts';
import { grade, opened, outcome } from './grade.ts';

const expected = { city: 'Paris', population: 2_100_000, mayor: { name: 'A' } };

describe('json_fields@1', () => {
  test('compares every member of `expected` and lists each as evidence, those that differ first', async () => {
    const structured = { city: 'Paris', population: 2_000_000, mayor: { name: 'A' }, extra: 1 };
    expect(await grade(jsonFields, {}, { answer: { structured }, expected })).toEqual({
      status: 'failed',
      severity: 'none',
      score: 2 / 3,
      reason: '2 of 3 fields of `structured` match: at `/population` expected 2100000 but found 2000000',
      evidence: {
        fields: [
          { path: '/population', weight: 1, matches: false, expected: '2100000', actual: '2000000' },
          { path: '/city', weight: 1, matches: true, expected: '"Paris"', actual: '"Paris"' },
          { path: '/mayor', weight: 1, matches: true, expected: '{"name":"A"}', actual: '{"name":"A"}' },
        ],
        fields_compared: 3,
      },
    });
  });

  test.each([
    ['the text as JSON', {}, { text: JSON.stringify(expected) }, 'passed', 1],
    ['another place of the envelope', { target: '/raw/result' }, { raw: { result: expected } }, 'passed', 1],
    [
      'a tolerance for all',
      { tolerance: 100_000 },
      { structured: { ...expected, population: 2_000_000 } },
      'passed',
      1,
    ],
    [
      'letters of another case',
      { ignore_case: true },
      { structured: { ...expected, city: 'PARIS', mayor: { name: 'a' } } },
      'passed',
      1,
    ],
    [
      'members that were not expected',
      { extra_members: 'refuse' },
      { structured: { ...expected, extra: 1 } },
      'failed',
      3 / 4,
    ],
    [
      'a share that is enough',
      { mode: 'share', threshold: 0.6 },
      { structured: { ...expected, city: 'Rome' } },
      'passed',
      2 / 3,
    ],
    [
      'a share that is not',
      { mode: 'share', threshold: 0.7 },
      { structured: { ...expected, city: 'Rome' } },
      'failed',
      2 / 3,
    ],
    ['nothing right', {}, { structured: [] }, 'failed', 0],
    ['no JSON', {}, { text: 'Paris' }, 'failed', 0],
  ])('grades %s', async (_, config, answer, status, score) => {
    const found = await grade(jsonFields, config, { answer, expected });
    expect([found.status, found.score]).toEqual([status, score]);
  });

  test('compares chosen fields with pointers, values, tolerances and weights', async () => {
    const fields = [
      { actual: '/answer/city', expected: '/city', weight: 3 },
      { actual: '/answer/size', expected: '/population', tolerance: 0.1 },
      { actual: '/answer/unit', value: 'PEOPLE', ignore_case: true },
      { actual: '/answer/none', value: null },
    ];
    const structured = { answer: { city: 'Paris', size: 2_100_000.05, unit: 'people' } };
    const found = await grade(jsonFields, { fields }, { answer: { structured }, expected });
    expect([found.status, found.score, found.reason]).toEqual([
      'failed',
      5 / 6,
      '3 of 4 fields of `structured` match: at `/answer/none` expected null but found nothing',
    ]);
  });

  test.each([null, 'Paris', 7, [], {}])('is an error, not a pass, when expected is %o', async (value) => {
    const [status, reason] = await outcome(jsonFields, {}, { answer: { structured: {} }, expected: value });
    expect(status).toBe('error');
    expect(reason).toContain(
      'give the case `expected` as an object with at least one member, or the evaluator `config.fields`',
    );
  });

  test('a field that the case does not expect anything for is an error', async () => {
    const found = await outcome(
      jsonFields,
      { fields: [{ actual: '/city' }, { actual: '/zip' }] },
      { answer: { structured: {} }, expected },
    );
    expect(found).toEqual(['error', "the case's `expected` has no `/zip`; add it, or give the field a `value`"]);
  });

  test('names with ~, / and __proto__ are members like others', async () => {
    const odd = JSON.parse('{"a/b":1,"c~d":2,"__proto__":3}') as unknown;
    expect(
      (await grade(jsonFields, {}, { answer: { text: '{"a/b":1,"c~d":2,"__proto__":3}' }, expected: odd })).status,
    ).toBe('passed');
    expect((await grade(jsonFields, {}, { answer: { text: '{"a/b":1,"c~d":2}' }, expected: odd })).score).toBe(2 / 3);
    const nested = { a: JSON.parse('{"__proto__":{}}') as unknown };
    expect((await grade(jsonFields, {}, { answer: { structured: { a: { b: 1 } } }, expected: nested })).status).toBe(
      'failed',
    );
    const inherited = { fields: [{ actual: '/__proto__/toString', value: 'x' }] };
    expect((await grade(jsonFields, inherited, { answer: { structured: {} } })).reason).toContain('but found nothing');
  });

  test('values of any size and depth leave short evidence', async () => {
    const deep = JSON.parse(`${'['.repeat(190)}${']'.repeat(190)}`) as unknown;
    const found = await grade(
      jsonFields,
      {},
      {
        answer: { structured: { a: 'x'.repeat(100_000), b: [] } as never },
        expected: { a: 'y'.repeat(100_000), b: deep },
      },
    );
    expect(found.score).toBe(0);
    expect(JSON.stringify(found).length).toBeLessThan(3000);
  });

  test.each([
    [{ fields: [] }],
    [{ fields: [{ actual: 'city' }] }],
    [{ fields: [{ actual: '/city', expected: '/a', value: 1 }] }],
    [{ fields: [{ actual: '/city', weight: 0 }] }],
    [{ mode: 'share' }],
    [{ threshold: 0.5 }],
    [{ tolerance: -1 }],
  ])('refuses the config %j', async (config) => {
    await expect(opened(jsonFields, config)).rejects.toThrow();
  });
});
