import { describe, expect, test } from 'vitest';
import { regex } from '../../../src/adapters/evaluators/regex.ts';
import { ProctorError } from '../../../src/contract/problem.ts';
import { opened, outcome } from './grade.ts';

describe('regex@1', () => {
  test.each([
    [{ pattern: '^\\d{3}-\\d{4}$' }, '555-1234', 'passed', '`^\\d{3}-\\d{4}$` is found in the text "555-1234"'],
    [{ pattern: 'paris', flags: 'i' }, 'PARIS', 'passed', '`paris` is found in the text "PARIS"'],
    [{ pattern: '^b$', flags: 'm' }, 'a\nb', 'passed', '`^b$` is found in the text "a\\nb"'],
    [{ pattern: 'a.b', flags: 's' }, 'a\nb', 'passed', '`a.b` is found in the text "a\\nb"'],
    [{ pattern: 'a.b' }, 'a\nb', 'failed', '`a.b` is not found in the text "a\\nb"'],
    [{ pattern: '^.$' }, '😀', 'passed', '`^.$` is found in the text "😀"'],
    [{ pattern: '\\u00e9\\p{L}' }, 'éa', 'passed', '`\\u00e9\\p{L}` is found in the text "éa"'],
    [{ pattern: '(?<year>\\d+)/' }, '2026/', 'passed', '`(?<year>\\d+)/` is found in the text "2026/"'],
    [{ pattern: 'sorry', not: true }, 'fine', 'passed', '`sorry` is not found in the text "fine"'],
    [{ pattern: 'sorry', not: true }, 'sorry', 'failed', '`sorry` is found in the text "sorry"'],
    [{ pattern: 'x', not: true }, null, 'failed', 'the envelope has no text'],
  ])('%o on %o: %s', async (config, text, status, reason) => {
    expect(await outcome(regex, config, { answer: { text } })).toEqual([status, reason]);
  });

  test.each([
    ['^(a+)+$', `${'a'.repeat(50_000)}b`],
    ['(x+x+)+y', 'x'.repeat(50_000)],
    ['^(a|a)*$', `${'a'.repeat(50_000)}b`],
    ['([a-zA-Z]+)*[0-9]$', 'a'.repeat(50_000)],
    ['(.*)*(.*)*(.*)*=', 'a'.repeat(50_000)],
  ])('the catastrophic %s ends', async (pattern, text) => {
    const evaluator = await opened(regex, { pattern });
    const [status] = await outcome(regex, { pattern }, { answer: { text } });
    expect(status).toBe('failed');
    await evaluator.close();
  });

  test('an answer longer than the pattern may be applied to fails, and says the limit', async () => {
    expect(await outcome(regex, { pattern: 'a' }, { answer: { text: 'a'.repeat(1_000_001) } })).toEqual([
      'failed',
      'the text has 1000001 characters; this pattern is applied to at most 1000000',
    ]);
    const [status, reason] = await outcome(
      regex,
      { pattern: '[ab]{1000}', not: true },
      { answer: { text: 'c'.repeat(300_000) } },
    );
    expect([status, reason]).toEqual([
      'failed',
      expect.stringMatching(/^the text has 300000 characters; this pattern is applied to at most 199\d{3}$/),
    ]);
  });

  test.each([
    ['[', 'missing closing ]'],
    ['(?=a)b', 'no look-ahead'],
    ['(a)\\1', 'no back references'],
    ['a{1001}', 'invalid repeat count'],
    ['(?:(?:a{100}){100}){100}', 'invalid repeat count'],
    ['x'.repeat(10_001), 'the pattern has 10001 characters; the most is 10000'],
    ['(?:[ab]{50}){10}'.repeat(100), 'instructions; the most is 10000'],
  ])('refuses the pattern %s when it is opened', async (pattern, message) => {
    const error: unknown = await opened(regex, { pattern }).catch((thrown: unknown) => thrown);
    if (!(error instanceof ProctorError)) throw error;
    expect(error.code).toBe('invalid_profile');
    expect(error.message).toContain(message);
    expect(error.diagnostics.map(({ field }) => field)).toEqual(['config.pattern']);
  });

  test.each([{}, { pattern: '' }, { pattern: 3 }, { pattern: 'a', flags: 'g' }, { pattern: 'a', flags: 'ii' }])(
    'refuses the config %o',
    async (config) => {
      await expect(opened(regex, config)).rejects.toThrow();
    },
  );
});
