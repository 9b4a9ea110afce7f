import { describe, expect, test } from 'vitest';
import { numeric } from '../../../src/adapters/evaluators/numeric.ts';
import { numbersIn, wholeNumber } from '../../../src/adapters/evaluators/parts/number-text.ts';
import { grade, opened, outcome } from './grade.ts';

describe('numeric@1', () => {
  test.each([
    [{}, 'The answer is 42.', 42, 'passed', 'expected 42 and found 42'],
    [{}, '42', '42', 'passed', 'expected 42 and found 42'],
    [{}, '1,234.5', { text: '1234.50' }, 'passed', 'expected 1234.5 and found 1234.5'],
    [{}, '-0', 0, 'passed', 'expected 0 and found 0'],
    [{}, '1e3 m', 1000, 'passed', 'expected 1000 and found 1000'],
    [{}, 'it is −7 °C', -7, 'passed', 'expected -7 and found -7'],
    [{ expected: 3 }, '3', 4, 'passed', 'expected 3 and found 3'],
    [{}, '41', 42, 'failed', 'expected 42 and found 41'],
    [{ absolute: 0.1 }, '1.1', 1, 'passed', 'expected 1 within 0.1 and found 1.1'],
    [{ absolute: 0.1 }, '1.11', 1, 'failed', 'expected 1 within 0.1 and found 1.11'],
    [{ relative: 0.01 }, '101', 100, 'passed', 'expected 100 within 1 and found 101'],
    [{ relative: 0.01, absolute: 5 }, '104', 100, 'passed', 'expected 100 within 5 and found 104'],
    [{ extract: 'first' }, '3 of 4', 3, 'passed', 'expected 3 and found 3'],
    [{ extract: 'last' }, '3 of 4', 4, 'passed', 'expected 4 and found 4'],
    [
      {},
      '3 of 4',
      3,
      'failed',
      'expected 3 but the text holds 2 numbers, not one (`extract` may take the first or last): "3 of 4"',
    ],
    [{}, 'NaN', 3, 'failed', 'expected 3 but the text holds no number: "NaN"'],
    [{}, 'Infinity', 3, 'failed', 'expected 3 but the text holds no number: "Infinity"'],
    [{}, '1e999', 3, 'failed', 'expected 3 but "1e999" in the text is beyond the range of numbers'],
    [{}, null, 3, 'failed', 'expected 3 but the envelope has no text'],
  ])('%j: %j against %j %s', async (config, text, expected, status, reason) => {
    expect(await outcome(numeric, config, { answer: { text }, expected })).toEqual([status, reason]);
  });

  test('reads a number, or a text with one, at a pointer', async () => {
    const answer = { structured: { total: 7, note: 'about 7', ok: true } };
    const at = (pointer: string) => outcome(numeric, { pointer }, { answer, expected: 7 });
    expect(await at('/structured/total')).toEqual(['passed', 'expected 7 and found 7']);
    expect(await at('/structured/note')).toEqual(['passed', 'expected 7 and found 7']);
    expect(await at('/structured/ok')).toEqual(['failed', 'expected 7 but `/structured/ok` is not text but true']);
    expect(await at('/structured/__proto__')).toEqual([
      'failed',
      'expected 7 but the envelope has no `/structured/__proto__`',
    ]);
  });

  test('keeps both numbers and the tolerance as evidence', async () => {
    expect((await grade(numeric, { relative: 0.5 }, { answer: { text: '12' }, expected: 10 })).evidence).toEqual({
      expected: 10,
      actual: 12,
      tolerance: 5,
    });
  });

  test.each([null, 'forty-two', '42 or 43', '', '1e999', 'NaN', {}, [42], true])(
    'is an error, not a pass, when expected is %o',
    async (expected) => {
      const [status, reason] = await outcome(numeric, {}, { answer: { text: '42' }, expected });
      expect(status).toBe('error');
      expect(reason).toContain('give the case `expected` as a number or a text that is one number');
    },
  );

  test.each([
    ['1,234,567.89', [1234567.89]],
    ['$1,234.50!', [1234.5]],
    ['1,2,3', [1, 2, 3]],
    ['12,34', [12, 34]],
    ['1,2345', [1, 2345]],
    ['1234,567', [1234, 567]],
    ['2026-01-15', [2026, 1, 15]],
    ['10-5', [10, 5]],
    ['x=-5', [-5]],
    ['+5 and -5', [5, -5]],
    ['.5 and -.5', [0.5, -0.5]],
    ['5.', [5]],
    ['50%', [50]],
    ['GPT4 and v1.2.3 and x_1', []],
    ['5km', [5]],
    ['1e3x', [1]],
    ['1.5e-3', [0.0015]],
    ['٣', []],
    ['', []],
  ])('finds in %j the numbers %j', (text, numbers) => {
    expect(numbersIn(text).map(({ value }) => value)).toEqual(numbers);
  });

  test('a whole number is the whole text', () => {
    expect([' 1,000 ', '-0', '1 2', 'a1', '1e400', '9'.repeat(2000)].map(wholeNumber)).toEqual([
      1000,
      0,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test.each([
    ['digits', '9'.repeat(1_000_000)],
    ['groups', '1,234,'.repeat(160_000)],
    ['dots', '1.1.'.repeat(250_000)],
    ['exponents', '1e'.repeat(500_000)],
    ['signs', '-'.repeat(1_000_000)],
    ['a long exponent', `1e${'1'.repeat(900_000)}x`],
  ])('a million characters of %s are searched', async (_, text) => {
    expect((await grade(numeric, {}, { answer: { text }, expected: 1 })).status).toBeOneOf(['failed', 'passed']);
  });

  test('a longer answer fails, and says the limit', async () => {
    expect(await outcome(numeric, {}, { answer: { text: '1'.repeat(1_000_001) }, expected: 1 })).toEqual([
      'failed',
      'expected 1 but the text has 1000001 characters; at most 1000000 are searched for a number',
    ]);
  });

  test.each([
    { expected: '3' },
    { absolute: -1 },
    { relative: 2 },
    { pointer: '/x' },
    { extract: 'all' },
    { expected: Number.NaN },
  ])('refuses the config %o', async (config) => {
    await expect(opened(numeric, config)).rejects.toThrow();
  });
});
