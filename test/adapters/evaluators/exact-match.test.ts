import { describe, expect, test } from 'vitest';
import { exactMatch } from '../../../src/adapters/evaluators/exact-match.ts';
import { grade, opened, outcome } from './grade.ts';

const EQUAL = 'the text equals what is expected';

describe('exact_match@1', () => {
  test.each([
    ['the expected string', {}, 'Paris', 'Paris'],
    ['the expected `text`', {}, 'Paris', { text: 'Paris', other: 1 }],
    ['white space at the ends', {}, ' Paris\n', 'Paris'],
    ['another case, when told to', { ignore_case: true }, 'PARIS', 'paris'],
    ['Unicode case', { ignore_case: true }, 'ÄÖÜ ΣΑΣ', 'äöü ΣΑΣ'],
    ['the expected value of the config before that of the case', { expected: 'Rome' }, 'Rome', 'Paris'],
    ['an empty answer where one is expected', {}, '', ''],
    ['emoji and scripts', {}, '日本語 👩‍👩‍👧', '日本語 👩‍👩‍👧'],
  ])('passes %s', async (_, config, text, expected) => {
    expect(await grade(exactMatch, config, { answer: { text }, expected })).toEqual({
      status: 'passed',
      severity: 'none',
      score: null,
      reason: EQUAL,
      evidence: null,
    });
  });

  test.each([
    ['another text', {}, 'Rome', 'Paris', 'expected "Paris" but the text is "Rome"'],
    ['another case', {}, 'paris', 'Paris', 'expected "Paris" but the text is "paris"'],
    ['white space, when it counts', { trim: false }, 'Paris ', 'Paris', 'expected "Paris" but the text is "Paris "'],
    [
      'control characters, which are shown escaped',
      {},
      'a\u001b[31mb\u202ec',
      'a',
      'expected "a" but the text is "a\\u001b[31mb\\u{202e}c"',
    ],
    [
      'another normalization, which is told',
      {},
      'e\u0301',
      '\u00e9',
      'expected "\u00e9" but the text is "e\u0301"; the two differ only in Unicode normalization',
    ],
    ['no text', {}, null, 'Paris', 'expected "Paris" but the envelope has no text'],
  ])('fails %s', async (_, config, text, expected, reason) => {
    expect(await outcome(exactMatch, config, { answer: { text }, expected })).toEqual(['failed', reason]);
  });

  test('points from a missing text to `structured`', async () => {
    const found = await outcome(exactMatch, {}, { answer: { structured: { label: 'a' } }, expected: 'a' });
    expect(found).toEqual([
      'failed',
      'expected "a" but the envelope has no text; `structured` is set: name the member by `field: /structured/…`',
    ]);
  });

  test('shows long texts around their first difference, and says where it is', async () => {
    const same = 'x'.repeat(5000);
    const found = await grade(
      exactMatch,
      {},
      { answer: { text: `${same}left${same}` }, expected: `${same}right${same}` },
    );
    expect(found.evidence).toEqual({ first_difference: 5000, actual_characters: 10_004, expected_characters: 10_005 });
    expect(found.reason).toMatch(/^from character 4960 on, expected "…x{40}rightx+…" but the text is "…x{40}leftx+…"$/);
    expect(found.reason!.length).toBeLessThan(500);
  });

  test.each([
    ['/structured/label', 'spam', 'spam', 'passed'],
    ['/structured/label', 'ham', 'spam', 'failed'],
    ['/structured/count', 3, 3, 'passed'],
    ['/structured/count', '3', 3, 'failed'],
    ['/structured/list/1', 'b', 'b', 'passed'],
    ['/structured/list', ['a', 'b'], ['a', 'b'], 'passed'],
    ['/structured/list', ['a', 'b'], ['b', 'a'], 'failed'],
    ['/metadata/a~1b', { x: 1, y: 2 }, { y: 2, x: 1 }, 'passed'],
  ])('compares %s = %o with %o: %s', async (field, value, expected, status) => {
    const structured = { label: value, count: value, list: Array.isArray(value) ? value : ['a', value] };
    const answer = { structured, metadata: { 'a/b': value } };
    expect((await grade(exactMatch, { field }, { answer, expected })).status).toBe(status);
  });

  test.each([
    '/structured/__proto__',
    '/structured/constructor',
    '/structured/constructor/name',
    '/structured/list/length',
    '/metadata/toString',
  ])('does not find inherited members by %s', async (field) => {
    const found = await outcome(exactMatch, { field }, { answer: { structured: { list: [1] } }, expected: 'Object' });
    expect(found).toEqual(['failed', `expected "Object" but the envelope has no \`${field}\``]);
  });

  test.each([
    [
      {},
      null,
      'the case has no `expected`; give the case `expected` as a string or `{text: …}`, or the evaluator `config.expected`',
    ],
    [
      {},
      42,
      "the case's `expected` is a number; give the case `expected` as a string or `{text: …}`, or the evaluator `config.expected`",
    ],
    [
      {},
      { label: 'a' },
      "the case's `expected` is an object; give the case `expected` as a string or `{text: …}`, or the evaluator `config.expected`",
    ],
    [
      { field: '/structured' },
      null,
      'the case has no `expected`; give the case `expected` as a string or `{text: …}`, or the evaluator `config.expected`',
    ],
  ])('is an error, not a pass, with config %o and expected %o', async (config, expected, reason) => {
    expect(await outcome(exactMatch, config, { answer: { text: '' }, expected })).toEqual(['error', reason]);
  });

  test.each([
    [{ field: 'label' }, 'must be a JSON pointer'],
    [
      { field: '/label' },
      'must start at a member of the envelope (/metadata, /raw, /structured, /text, /tool_calls, /trace, /turns, /usage), as in /structured/label',
    ],
    [{ field: '' }, 'must start at a member of the envelope'],
    [{ expected: 42 }, 'must be a string when no `field` is given'],
    [{ trim: 'yes' }, 'expected boolean'],
  ])('refuses the config %o', async (config, message) => {
    await expect(opened(exactMatch, config)).rejects.toThrow(message);
  });
});
