import { z } from 'zod';
import { type EvaluatorInput, type EvaluatorKind, type Finding, finding } from '../../contract/evaluator.ts';
import { cannotGrade, expectedValue, nothingExpected } from './parts/expected.ts';
import { inProcess } from './parts/in-process.ts';
import { jsonAlike } from './parts/json-alike.ts';
import { shown } from './parts/shown.ts';
import { envelopePointerSchema, noTextReason, type Subject, subjectAt } from './parts/subject.ts';
import { differenceReason, firstDifference } from './parts/text-difference.ts';

const config = z
  .strictObject({
    expected: z.json().optional().describe("What is expected, instead of the case's `expected`"),
    trim: z.boolean().default(true).describe('Ignore white space at both ends'),
    ignore_case: z.boolean().default(false).describe('Ignore upper and lower case (Unicode lower-casing, no locale)'),
    field: envelopePointerSchema
      .optional()
      .describe('JSON pointer into the envelope, such as /structured/label; default: the text'),
  })
  .refine(
    (options) => options.field !== undefined || options.expected === undefined || typeof options.expected === 'string',
    {
      error: 'must be a string when no `field` is given, because the text is compared',
      path: ['expected'],
    },
  );
type Config = z.output<typeof config>;

/** Passes when the text, or one member of the envelope, equals what is expected. */
export const exactMatch: EvaluatorKind<typeof config> = {
  name: 'exact_match',
  version: 1,
  summary: 'The text, or one member of the envelope, equals what is expected',
  config,
  ungradable: (config, given) => {
    const expected = expectedValue(given);
    const usable =
      expected !== null && expected !== undefined && (config.field !== undefined || typeof expected === 'string');
    return config.expected !== undefined || usable
      ? null
      : nothingExpected(
          expected,
          'give the case `expected` as a string or `{text: …}`, or the evaluator `config.expected`',
        );
  },
  open: ({ config }) => {
    const subject = subjectAt(config.field);
    return inProcess((input) => grade(input, subject, config));
  },
};

function grade(input: EvaluatorInput, subject: Subject, config: Config): Finding {
  const expected = config.expected === undefined ? expectedValue(input.case.expected) : config.expected;
  const ungradable = exactMatch.ungradable?.(config, input.case.expected) ?? null;
  if (ungradable !== null) return cannotGrade(ungradable);
  const actual = subject.value(input.envelope);
  if (typeof expected === 'string') {
    return typeof actual === 'string'
      ? gradeText(actual, expected, subject, config)
      : missing(subject, input, expected);
  }
  if (jsonAlike(actual, expected, { ignoreCase: config.ignore_case }))
    return finding('passed', `${subject.name} equals what is expected`);
  return actual === undefined
    ? missing(subject, input, expected)
    : finding('failed', `expected ${shown(expected)} but ${subject.name} is ${shown(actual)}`);
}

function gradeText(actual: string, expected: string, subject: Subject, config: Config): Finding {
  const left = normal(actual, config);
  const right = normal(expected, config);
  if (left === right) return finding('passed', `${subject.name} equals what is expected`);
  return finding('failed', differenceReason(subject.name, left, right), {
    evidence: {
      first_difference: firstDifference(left, right),
      actual_characters: left.length,
      expected_characters: right.length,
    },
  });
}

function normal(text: string, config: Config): string {
  const trimmed = config.trim ? text.trim() : text;
  return config.ignore_case ? trimmed.toLowerCase() : trimmed;
}

function missing(subject: Subject, input: EvaluatorInput, expected: unknown): Finding {
  return finding('failed', `expected ${shown(expected)} but ${noTextReason(subject, input.envelope)}`);
}
