import { describe, expect, test } from 'vitest';
import { contains } from '../../../src/adapters/evaluators/contains.ts';
import { grade, opened, outcome } from './grade.ts';

const HELD = 'the text holds what is wanted and nothing forbidden';

describe('contains@1', () => {
  test.each([
    ['the expected string', {}, 'It is Paris.', 'Paris', 'passed', HELD],
    ['the expected `text`', {}, 'It is Paris.', { text: 'Paris' }, 'passed', HELD],
    ['every phrase of an expected list', {}, 'a b', ['a', 'b'], 'passed', HELD],
    ['a phrase of the config', { values: '北京' }, '北京 is Beijing', null, 'passed', HELD],
    ['one of several', { values: ['x', 'b'], all: false }, 'a b', null, 'passed', HELD],
    ['another case', { values: ['PARIS'], ignore_case: true }, 'paris', null, 'passed', HELD],
    ['none that is forbidden', { not: ['sorry'] }, 'fine', 'unused', 'passed', HELD],
    ['a missing phrase', {}, 'It is Rome.', 'Paris', 'failed', 'the text lacks "Paris": "It is Rome."'],
    ['several missing', { values: ['x', 'y', 'a'] }, 'a b', null, 'failed', 'the text lacks "x", "y": "a b"'],
    [
      'none of several',
      { values: ['x', 'y'], all: false },
      'a b',
      null,
      'failed',
      'the text lacks every one of "x", "y": "a b"',
    ],
    [
      'a forbidden phrase',
      { values: 'b', not: ['a'] },
      'a b',
      null,
      'failed',
      'the text holds the forbidden "a": "a b"',
    ],
    [
      'both faults',
      { values: 'x', not: ['a'] },
      'a b',
      null,
      'failed',
      'the text lacks "x" and holds the forbidden "a": "a b"',
    ],
    ['no text, even when only phrases are forbidden', { not: ['a'] }, null, null, 'failed', 'the envelope has no text'],
  ])('%s', async (_, config, text, expected, status, reason) => {
    expect(await outcome(contains, config, { answer: { text }, expected })).toEqual([status, reason]);
  });

  test('keeps what was missing and what was found as evidence', async () => {
    const found = await grade(contains, { values: ['x', 'b'], not: ['a', 'z'] }, { answer: { text: 'a b' } });
    expect(found.evidence).toEqual({ missing: ['x'], forbidden_found: ['a'] });
  });

  test('looks at a member of the envelope', async () => {
    const answer = { structured: { summary: 'all good' } };
    expect(await outcome(contains, { field: '/structured/summary', values: 'good' }, { answer })).toEqual([
      'passed',
      '`/structured/summary` holds what is wanted and nothing forbidden',
    ]);
    expect(await outcome(contains, { field: '/structured', values: 'good' }, { answer })).toEqual([
      'failed',
      '`/structured` is not text but {"summary":"all good"}',
    ]);
  });

  test.each([null, '', 7, [], ['a', ''], ['a', 1], { label: 'a' }])(
    'is an error, not a pass, when expected is %o',
    async (expected) => {
      const [status, reason] = await outcome(contains, {}, { answer: { text: 'a' }, expected });
      expect(status).toBe('error');
      expect(reason).toContain(
        'give the case `expected` as a non-empty string, a list of them or `{text: …}`, or the evaluator `config.values`',
      );
    },
  );

  test.each([{ values: '' }, { values: [] }, { values: [''] }, { not: [''] }, { values: 3 }, { all: 'no' }])(
    'refuses the config %o',
    async (config) => {
      await expect(opened(contains, config)).rejects.toThrow();
    },
  );

  test('a text of ten million characters is searched', async () => {
    const found = await grade(contains, { values: ['needle'] }, { answer: { text: 'hay '.repeat(2_500_000) } });
    expect(found.reason!.length).toBeLessThan(400);
  });
});
