import { z } from 'zod';
import { type EvaluatorInput, type EvaluatorKind, type Finding, finding } from '../../contract/evaluator.ts';
import { inProcess } from './parts/in-process.ts';
import { type LinearPattern, patternCompiler } from './parts/linear-pattern.ts';
import { plain, shown } from './parts/shown.ts';
import { envelopePointerSchema, noTextReason, type Subject, subjectAt } from './parts/subject.ts';

const config = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .describe(
      'Pattern to find anywhere in the text, in RE2 syntax (linear time: no look-around, no back references); anchor it with ^ and $',
    ),
  flags: z
    .string()
    .regex(/^(?!.*(.).*\1)[ims]*$/, {
      error: 'must be any of i (ignore case), m (^ and $ at lines), s (dot takes line ends), each once',
    })
    .default('')
    .describe('i: ignore case; m: ^ and $ at every line; s: dot takes line ends'),
  not: z.boolean().default(false).describe('Passes when the pattern is not found'),
  field: envelopePointerSchema.optional().describe('JSON pointer into the envelope; default: the text'),
});
type Config = z.output<typeof config>;

/** Passes when a pattern is found in the text, or with `not` when it is not; always in linear time. */
export const regex: EvaluatorKind<typeof config> = {
  name: 'regex',
  version: 1,
  summary: 'A pattern is found in the text, or is not',
  config,
  open: async ({ config }) => {
    const compile = await patternCompiler();
    const pattern = compile(config.pattern, config.flags, 'pattern');
    const subject = subjectAt(config.field);
    return inProcess((input) => grade(input, { subject, pattern, config }));
  },
};

function grade(
  input: EvaluatorInput,
  open: { readonly subject: Subject; readonly pattern: LinearPattern; readonly config: Config },
): Finding {
  const { subject, pattern, config } = open;
  const text = subject.value(input.envelope);
  if (typeof text !== 'string') return finding('failed', noTextReason(subject, input.envelope));
  // The agent made the text too long, so the fault is the agent's: an error here would take the case out of the pass rate.
  if (text.length > pattern.maxCharacters) {
    return finding(
      'failed',
      `${subject.name} has ${text.length} characters; this pattern is applied to at most ${pattern.maxCharacters}`,
    );
  }
  const found = pattern.test(text);
  const reason = `\`${plain(config.pattern)}\` is ${found ? '' : 'not '}found in ${subject.name} ${shown(text)}`;
  return finding(found === config.not ? 'failed' : 'passed', reason);
}
