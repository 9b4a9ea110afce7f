import { z } from 'zod';
import { type EvaluatorInput, type EvaluatorKind, type Finding, finding } from '../../contract/evaluator.ts';
import { cannotGrade, expectedText, nothingExpected } from './parts/expected.ts';
import { inProcess } from './parts/in-process.ts';
import { shown, shownList } from './parts/shown.ts';
import { envelopePointerSchema, noTextReason, type Subject, subjectAt } from './parts/subject.ts';

const phrase = z.string().min(1);

const config = z.strictObject({
  values: z
    .union([phrase, z.array(phrase).min(1)])
    .optional()
    .describe("Phrase or phrases that must occur; default, when `not` is not given either: the case's `expected`"),
  all: z.boolean().default(true).describe('Every value must occur; false: at least one'),
  ignore_case: z.boolean().default(false).describe('Ignore upper and lower case (Unicode lower-casing, no locale)'),
  not: z.array(phrase).default([]).describe('Phrases that must not occur'),
  field: envelopePointerSchema.optional().describe('JSON pointer into the envelope; default: the text'),
});
type Config = z.output<typeof config>;

/** Passes when the text holds the phrases that are wanted and none that is forbidden. */
export const contains: EvaluatorKind<typeof config> = {
  name: 'contains',
  version: 1,
  summary: 'The text holds the phrases that are wanted and none that is forbidden',
  config,
  ungradable: (config, expected) =>
    config.values === undefined && config.not.length === 0 && expectedPhrases(expected).length === 0
      ? nothingExpected(
          expected,
          'give the case `expected` as a non-empty string, a list of them or `{text: …}`, or the evaluator `config.values`',
        )
      : null,
  open: ({ config }) => {
    const subject = subjectAt(config.field);
    const forbidden = folded(config.not, config);
    const values = config.values === undefined ? undefined : folded([config.values].flat(), config);
    const wanted = values ?? (config.not.length > 0 ? [] : undefined);
    return inProcess((input) => {
      const ungradable = contains.ungradable?.(config, input.case.expected) ?? null;
      if (ungradable !== null) return cannotGrade(ungradable);
      const phrases = wanted ?? folded(expectedPhrases(input.case.expected), config);
      return grade(input, subject, { phrases, forbidden, config });
    });
  },
};

interface Phrases {
  readonly phrases: readonly string[];
  readonly forbidden: readonly string[];
  readonly config: Config;
}

function grade(input: EvaluatorInput, subject: Subject, { phrases, forbidden, config }: Phrases): Finding {
  const value = subject.value(input.envelope);
  if (typeof value !== 'string') return finding('failed', noTextReason(subject, input.envelope));
  const text = config.ignore_case ? value.toLowerCase() : value;
  const missing = phrases.filter((phrase) => !text.includes(phrase));
  const found = forbidden.filter((phrase) => text.includes(phrase));
  const enough = missing.length === 0 || (!config.all && missing.length < phrases.length);
  if (enough && found.length === 0)
    return finding('passed', `${subject.name} holds what is wanted and nothing forbidden`);
  const faults: string[] = [];
  if (!enough) faults.push(`lacks ${config.all ? '' : 'every one of '}${shownList(missing)}`);
  if (found.length > 0) faults.push(`holds the forbidden ${shownList(found)}`);
  return finding('failed', `${subject.name} ${faults.join(' and ')}: ${shown(value)}`, {
    evidence: { missing: enough ? [] : missing.slice(0, 50), forbidden_found: found.slice(0, 50) },
  });
}

function expectedPhrases(expected: unknown): readonly string[] {
  const text = expectedText(expected);
  if (text !== undefined) return text === '' ? [] : [text];
  const listed = Array.isArray(expected) && expected.every((item) => typeof item === 'string' && item !== '');
  return listed ? (expected as readonly string[]) : [];
}

function folded(phrases: readonly string[], config: Config): readonly string[] {
  return config.ignore_case ? phrases.map((phrase) => phrase.toLowerCase()) : phrases;
}
