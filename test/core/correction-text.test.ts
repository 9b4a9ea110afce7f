import { expect, test } from 'vitest';
import type { ExecutionDocument } from '../../src/contract/documents.ts';
import { correctionText } from '../../src/core/correction-text.ts';

const grade = { status: 'passed', score: 1 } as const;

/** An execution whose evaluators give the reasons, with the results at these places corrected; `passed`: what it comes to now, null without. */
function told(reasons: readonly (string | null)[], places: readonly number[], passed: boolean | null): string | null {
  return correctionText({
    evaluator_results: reasons.map((reason) => ({ reason })),
    aggregate: passed === null ? null : { passed },
    corrected: {
      corrected_by: 'ada',
      own: { passed: true, score: 1, results: places.map((index) => ({ ...grade, index })) },
    },
  } as unknown as ExecutionDocument);
}

test('an execution that nobody corrected has no line', () => {
  expect(correctionText({ corrected: null, evaluator_results: [], aggregate: null } as never)).toBeNull();
});

test('a corrected one tells what it came to, by whom, and why', () => {
  expect(told(['it is right', 'untouched'], [0], true)).toBe('corrected to passed by ada: it is right');
  expect(told(['untouched', 'it is wrong'], [1], false)).toBe('corrected to not passed by ada: it is wrong');
  expect(told(['one', 'two'], [0, 1], false)).toBe('corrected to not passed by ada: one: two');
});

test('a correction without a reason, without a result or without an aggregate tells who made it', () => {
  for (const [reasons, places] of [
    [[null], [0]],
    [[], [3]],
    [['untouched'], []],
  ] as const)
    expect(told(reasons, places, true)).toBe('corrected to passed by ada');
  expect(told(['why'], [0], null)).toBe('corrected to not passed by ada: why');
});
