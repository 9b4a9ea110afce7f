import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  codePoints,
  levenshtein,
  longestCommonSubsequence,
} from '../../../src/adapters/evaluators/parts/text-distance.ts';
import { similarity } from '../../../src/adapters/evaluators/similarity.ts';
import { grade, opened, outcome } from './grade.ts';

describe('similarity@1', () => {
  test.each([
    ['levenshtein', 'kitten', 'sitting', 1 - 3 / 7],
    ['levenshtein', 'same', 'same', 1],
    ['levenshtein', '', '', 1],
    ['levenshtein', '', 'abc', 0],
    ['levenshtein', '😀a', '😁a', 0.5],
    ['token_f1', 'the cat sat', 'the cat ran off', 4 / 7],
    ['token_f1', 'a a b', 'a b b', 2 / 3],
    ['token_f1', '!!', '??', 1],
    ['jaccard', 'the cat sat', 'the cat ran off', 2 / 5],
    ['jaccard', 'a, a; a', 'a', 1],
    ['rouge_l', 'the cat sat on the mat', 'the cat on mat', 8 / 10],
    ['rouge_l', 'b a', 'a b', 0.5],
    ['rouge_l', '東京都', '東京', 4 / 5],
  ])('%s of %j and %j is %d', async (metric, text, expected, score) => {
    const found = await grade(similarity, { metric, threshold: 0.5 }, { answer: { text }, expected });
    expect(found.score).toBeCloseTo(score, 12);
    expect(found.status).toBe(score >= 0.5 ? 'passed' : 'failed');
    expect(found.evidence).toEqual({ metric, similarity: found.score, threshold: 0.5 });
  });

  test('says both values and how far it came', async () => {
    expect(await outcome(similarity, {}, { answer: { text: 'kitten' }, expected: { text: 'sitting' } })).toEqual([
      'failed',
      'levenshtein 0.5714 is under 0.8: expected "sitting", the text is "kitten"',
    ]);
    expect(await outcome(similarity, { ignore_case: true, expected: 'ABC' }, { answer: { text: 'abc' } })).toEqual([
      'passed',
      'levenshtein 1.0000 reaches 0.8: expected "ABC", the text is "abc"',
    ]);
    expect(await grade(similarity, {}, { answer: {}, expected: 'a' })).toMatchObject({
      status: 'failed',
      score: 0,
      reason: 'the envelope has no text',
    });
  });

  test.each([null, 7, [], { label: 'a' }])('is an error, not a pass, when expected is %o', async (expected) => {
    const [status, reason] = await outcome(similarity, {}, { answer: { text: '' }, expected });
    expect(status).toBe('error');
    expect(reason).toContain('give the case `expected` as a string or `{text: …}`, or the evaluator `config.expected`');
  });

  test.each(['levenshtein', 'rouge_l'])(
    '%s of an answer over the limit fails when lengths alone rule out the threshold, and is an error otherwise',
    async (metric) => {
      const words = (count: number) => 'ab '.repeat(count);
      const hopeless = await outcome(
        similarity,
        { metric, max_chars: 300 },
        { answer: { text: words(1000) }, expected: words(100) },
      );
      expect(hopeless).toEqual([
        'failed',
        'the text has 3000 characters, what is expected 300; `max_chars` is 300, and texts of such lengths cannot reach 0.8',
      ]);
      const near = await outcome(
        similarity,
        { metric, max_chars: 300 },
        { answer: { text: words(101) }, expected: words(100) },
      );
      expect(near).toEqual([
        'error',
        'the text has 303 characters, what is expected 300; `max_chars` is 300 (at most 100000): raise it, compare less by `field`, or use token_f1 or jaccard',
      ]);
      const [status] = await outcome(
        similarity,
        { metric, max_chars: 300 },
        { answer: { text: 'a' }, expected: words(101) },
      );
      expect(status).toBe('error');
    },
  );

  test.each(['token_f1', 'jaccard'])('%s takes a million characters', async (metric) => {
    expect(
      (await grade(similarity, { metric }, { answer: { text: 'ab cd '.repeat(170_000) }, expected: 'ab cd' })).status,
    ).toBeOneOf(['passed', 'failed']);
  });

  test('bit-parallel distances equal the textbook tables, over block borders too', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '😀'), maxLength: 110 });
    fc.assert(
      fc.property(text, text, (left, right) => {
        const [a, b] = [codePoints(left), codePoints(right)];
        expect([levenshtein(a, b), longestCommonSubsequence(a, b)]).toEqual([
          tableDistance(a, b),
          tableSubsequence(a, b),
        ]);
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  test('two texts of 10,000 characters are compared', () => {
    const text = (step: number) =>
      codePoints(
        Array.from({ length: 10_000 }, (_, index) => String.fromCharCode(97 + ((index * index * step) % 26))).join(''),
      );
    expect(levenshtein(text(7), text(11))).toBeGreaterThan(1000);
  });

  test.each([
    { metric: 'cosine' },
    { threshold: 2 },
    { expected: 3 },
    { max_chars: 100_001 },
    { max_chars: 0 },
    { field: 'x' },
  ])('refuses the config %o', async (config) => {
    await expect(opened(similarity, config)).rejects.toThrow();
  });
});

function tableDistance(left: Int32Array, right: Int32Array): number {
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  left.forEach((symbol, row) => {
    const current = [row + 1];
    right.forEach((other, column) => {
      current.push(Math.min(above[column + 1]! + 1, current[column]! + 1, above[column]! + (symbol === other ? 0 : 1)));
    });
    above = current;
  });
  return above[right.length]!;
}

function tableSubsequence(left: Int32Array, right: Int32Array): number {
  let above = new Array<number>(right.length + 1).fill(0);
  for (const symbol of left) {
    const current = [0];
    right.forEach((other, column) => {
      current.push(symbol === other ? above[column]! + 1 : Math.max(above[column + 1]!, current[column]!));
    });
    above = current;
  }
  return above[right.length]!;
}
