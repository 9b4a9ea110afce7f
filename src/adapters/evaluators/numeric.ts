import { z } from 'zod';
import { type EvaluatorInput, type EvaluatorKind, type Finding, finding } from '../../contract/evaluator.ts';
import { cannotGrade, expectedText, nothingExpected } from './parts/expected.ts';
import { inProcess } from './parts/in-process.ts';
import { within } from './parts/json-alike.ts';
import { MAX_NUMBER_TEXT, numbersIn, wholeNumber } from './parts/number-text.ts';
import { shown } from './parts/shown.ts';
import { envelopePointerSchema, noTextReason, type Subject, subjectAt } from './parts/subject.ts';

const config = z.strictObject({
  expected: z.number().optional().describe("The number expected, instead of the case's `expected`"),
  absolute: z.number().nonnegative().default(0).describe('Most that the numbers may differ by'),
  relative: z
    .number()
    .nonnegative()
    .max(1)
    .default(0)
    .describe('Most that they may differ by, as a share of the expected number; the wider of the two counts'),
  pointer: envelopePointerSchema
    .optional()
    .describe('JSON pointer into the envelope, to a number or a text with one; default: the text'),
  extract: z
    .enum(['only', 'first', 'last'])
    .default('only')
    .describe('Which number of a text: the only one (several fail), the first, or the last'),
});
type Config = z.output<typeof config>;

/** Passes when a number in the answer is within a tolerance of the expected one. */
export const numeric: EvaluatorKind<typeof config> = {
  name: 'numeric',
  version: 1,
  summary: 'A number in the answer is within a tolerance of the expected one',
  config,
  ungradable: (config, expected) => {
    const found = expectedNumber(config, expected);
    return typeof found === 'string' ? found : null;
  },
  open: ({ config }) => {
    const subject = subjectAt(config.pointer);
    return inProcess((input) => grade(input, subject, config));
  },
};

function grade(input: EvaluatorInput, subject: Subject, config: Config): Finding {
  const expected = expectedNumber(config, input.case.expected);
  if (typeof expected === 'string') return cannotGrade(expected);
  const actual = answeredNumber(input, subject, config);
  if (typeof actual === 'string') return finding('failed', `expected ${expected} but ${actual}`);
  const tolerance = Math.max(config.absolute, config.relative * Math.abs(expected));
  const passed = within(actual, expected, tolerance);
  const allowed = tolerance > 0 ? ` within ${tolerance}` : '';
  return finding(passed ? 'passed' : 'failed', `expected ${expected}${allowed} and found ${actual}`, {
    evidence: { expected, actual, tolerance },
  });
}

/** The number expected, or why there is none. */
function expectedNumber(config: Config, expected: unknown): number | string {
  if (config.expected !== undefined) return config.expected;
  if (typeof expected === 'number' && Number.isFinite(expected)) return expected;
  const text = expectedText(expected);
  const found = text === undefined ? undefined : wholeNumber(text);
  if (found !== undefined) return found;
  const cure =
    'give the case `expected` as a number or a text that is one number, such as "1,234.5", or the evaluator `config.expected`';
  return text === undefined
    ? nothingExpected(expected, cure)
    : `the case's \`expected\` is not a single number; ${cure}`;
}

/** The number answered, or why there is none. */
function answeredNumber(input: EvaluatorInput, subject: Subject, config: Config): number | string {
  const value = subject.value(input.envelope);
  if (typeof value === 'number') return Number.isFinite(value) ? value : `${subject.name} is ${value}`;
  if (typeof value !== 'string') return noTextReason(subject, input.envelope);
  if (value.length > MAX_NUMBER_TEXT)
    return `${subject.name} has ${value.length} characters; at most ${MAX_NUMBER_TEXT} are searched for a number`;
  const numbers = numbersIn(value);
  if (config.extract === 'only' && numbers.length > 1)
    return `${subject.name} holds ${numbers.length} numbers, not one (\`extract\` may take the first or last): ${shown(value)}`;
  const found = numbers.at(config.extract === 'last' ? -1 : 0);
  if (found === undefined) return `${subject.name} holds no number: ${shown(value)}`;
  return Number.isFinite(found.value)
    ? found.value
    : `${shown(found.written)} in ${subject.name} is beyond the range of numbers`;
}
