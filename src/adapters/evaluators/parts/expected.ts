import { type Finding, finding } from '../../../contract/evaluator.ts';

/** The expected text of a case: `expected` itself when it is a string, or its member `text`; undefined when it is neither. */
export function expectedText(expected: unknown): string | undefined {
  if (typeof expected === 'string') return expected;
  if (typeof expected !== 'object' || expected === null || !Object.hasOwn(expected, 'text')) return undefined;
  const { text } = expected as { readonly text: unknown };
  return typeof text === 'string' ? text : undefined;
}

/** The expected text, or else the expected JSON value as it is. */
export function expectedValue(expected: unknown): unknown {
  return expectedText(expected) ?? expected;
}

/** Why an evaluator has nothing to compare with: what is expected, and the cure. */
export function nothingExpected(expected: unknown, cure: string): string {
  const absent = expected === null || expected === undefined;
  return absent ? `the case has no \`expected\`; ${cure}` : `the case's \`expected\` is ${kindOf(expected)}; ${cure}`;
}

/** The finding of an evaluator that can grade no answer to a case: an error, because a case without an answer must not pass. */
export function cannotGrade(reason: string): Finding {
  return finding('error', reason, { fault: 'configuration' });
}

/** What a JSON value is, in words: `a number`, `an object`, …. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return `a ${typeof value}`;
}
