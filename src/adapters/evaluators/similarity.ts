import { z } from 'zod';
import { type EvaluatorInput, type EvaluatorKind, type Finding, finding } from '../../contract/evaluator.ts';
import { cannotGrade, expectedText, nothingExpected } from './parts/expected.ts';
import { inProcess } from './parts/in-process.ts';
import { shown } from './parts/shown.ts';
import { envelopePointerSchema, noTextReason, type Subject, subjectAt } from './parts/subject.ts';
import { codePoints, levenshtein, longestCommonSubsequence } from './parts/text-distance.ts';
import { f1, jaccard, numbered, tokenF1, tokensOf } from './parts/tokens.ts';

const config = z.strictObject({
  metric: z
    .enum(['levenshtein', 'token_f1', 'jaccard', 'rouge_l'])
    .default('levenshtein')
    .describe(
      'levenshtein: 1 − edits / longer length, by code point; token_f1, jaccard: common tokens; rouge_l: F1 of the longest common subsequence of tokens',
    ),
  threshold: z
    .number()
    .min(0)
    .max(1)
    .default(0.8)
    .describe('The similarity from which it passes; the similarity is the score'),
  expected: z.string().optional().describe("What is expected, instead of the case's `expected`"),
  ignore_case: z.boolean().default(false).describe('Ignore upper and lower case (Unicode lower-casing, no locale)'),
  field: envelopePointerSchema.optional().describe('JSON pointer into the envelope; default: the text'),
  max_chars: z
    .number()
    .int()
    .positive()
    .max(100_000)
    .default(20_000)
    .describe(
      'Longest text that levenshtein and rouge_l compare, in UTF-16 units: their time grows with the product of the lengths',
    ),
});
type Config = z.output<typeof config>;

/** Passes when the text is similar enough to what is expected; the similarity is the score. */
export const similarity: EvaluatorKind<typeof config> = {
  name: 'similarity',
  version: 1,
  summary: 'The text is similar enough to what is expected; the similarity is the score',
  config,
  ungradable: (config, given) => {
    const expected = config.expected ?? expectedText(given);
    if (expected === undefined)
      return nothingExpected(
        given,
        'give the case `expected` as a string or `{text: …}`, or the evaluator `config.expected`',
      );
    const limited = METRICS[config.metric].most !== null && expected.length > config.max_chars;
    return limited
      ? `the text expected is longer than \`max_chars\`, which is ${config.max_chars} (at most 100000); raise it, or use token_f1 or jaccard`
      : null;
  },
  open: ({ config }) => {
    const subject = subjectAt(config.field);
    return inProcess((input) => grade(input, subject, config));
  },
};

/** How alike two rows of symbols are, and how alike two rows of such lengths can be at most. */
interface Metric {
  similarity(actual: string, expected: string): number;
  /** Null where the time is linear in the lengths, so that no limit is needed. */
  readonly most: ((actual: string, expected: string) => number) | null;
}

const METRICS: Readonly<Record<Config['metric'], Metric>> = {
  levenshtein: {
    similarity(actual, expected) {
      const [left, right] = [codePoints(actual), codePoints(expected)];
      const longer = Math.max(left.length, right.length);
      return longer === 0 ? 1 : 1 - levenshtein(left, right) / longer;
    },
    most(actual, expected) {
      const [left, right] = [codePoints(actual).length, codePoints(expected).length];
      return Math.min(left, right) / Math.max(left, right);
    },
  },
  token_f1: { similarity: (actual, expected) => tokenF1(tokensOf(actual), tokensOf(expected)), most: null },
  jaccard: { similarity: (actual, expected) => jaccard(tokensOf(actual), tokensOf(expected)), most: null },
  rouge_l: {
    similarity(actual, expected) {
      const [left = new Int32Array(), right = new Int32Array()] = numbered(tokensOf(actual), tokensOf(expected));
      return f1(longestCommonSubsequence(left, right), left.length, right.length);
    },
    most(actual, expected) {
      const [left, right] = [tokensOf(actual).length, tokensOf(expected).length];
      return f1(Math.min(left, right), left, right);
    },
  },
};

function grade(input: EvaluatorInput, subject: Subject, config: Config): Finding {
  const expected = config.expected ?? expectedText(input.case.expected);
  const problem = similarity.ungradable?.(config, input.case.expected) ?? null;
  if (problem !== null || expected === undefined) return cannotGrade(problem ?? 'nothing is expected');
  const actual = subject.value(input.envelope);
  if (typeof actual !== 'string') return finding('failed', noTextReason(subject, input.envelope), { score: 0 });
  const refused = tooLong(actual, expected, { subject, config });
  if (refused !== null) return refused;
  const [left, right] = config.ignore_case ? [actual.toLowerCase(), expected.toLowerCase()] : [actual, expected];
  const score = METRICS[config.metric].similarity(left, right);
  const passed = score >= config.threshold;
  const relation = passed ? 'reaches' : 'is under';
  return finding(
    passed ? 'passed' : 'failed',
    `${config.metric} ${score.toFixed(4)} ${relation} ${config.threshold}: expected ${shown(expected)}, ${subject.name} is ${shown(actual)}`,
    {
      score,
      evidence: { metric: config.metric, similarity: score, threshold: config.threshold },
    },
  );
}

/**
 * What to find where an answer is over the limit. Nothing is cut: the similarity of a part is not the similarity. It fails only by proof (the lengths alone keep it under the threshold), else the limit is too low for the case.
 */
function tooLong(
  actual: string,
  expected: string,
  { subject, config }: { readonly subject: Subject; readonly config: Config },
): Finding | null {
  const { max_chars, threshold, metric } = config;
  const { most } = METRICS[metric];
  if (most === null || actual.length <= max_chars) return null;
  const lengths = `${subject.name} has ${actual.length} characters, what is expected ${expected.length}; \`max_chars\` is ${max_chars}`;
  const evidence = { metric, actual_characters: actual.length, expected_characters: expected.length, max_chars };
  if (most(actual, expected) < threshold) {
    return finding('failed', `${lengths}, and texts of such lengths cannot reach ${threshold}`, { evidence });
  }
  return finding(
    'error',
    `${lengths} (at most 100000): raise it, compare less by \`field\`, or use token_f1 or jaccard`,
    { evidence, fault: 'configuration' },
  );
}
