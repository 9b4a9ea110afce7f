import { z } from 'zod';
import { type EvaluatorInput, type EvaluatorKind, type Finding, finding } from '../../contract/evaluator.ts';
import { type Model, type ModelAnswer, openModel, refusedForGood } from '../models/ask.ts';
import { modelSchema } from '../models/model-config.ts';
import { type Grade, parseGrades } from './parts/judge-answer.ts';
import {
  answerSchema,
  type Criterion,
  judgePrompt,
  POINTS,
  PROMPT_VERSION,
  promptDigest,
} from './parts/judge-prompt.ts';

const criterionSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,39}$/, { error: 'must be snake_case' })
    .describe('The criterion’s name, in snake_case'),
  description: z.string().min(1).max(4_000).describe('What the judge looks at, and what deserves all points'),
  weight: z.number().positive().default(1).describe('Its part of the score'),
  floor: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .default(null)
    .describe('Below this score the answer fails, whatever the rest'),
});

const config = z
  .strictObject({
    judges: z.array(modelSchema).min(1).max(9).describe('Every one is asked; several are adjudicated'),
    fallback: z
      .array(modelSchema)
      .max(3)
      .default([])
      .describe('Asked in place of a judge that gives no usable answer; none: the grader erred'),
    criteria: z.array(criterionSchema).min(1).max(20).describe('What is graded, each by itself'),
    threshold: z.number().min(0).max(1).default(0.7).describe('The weighted score from which it passes'),
    adjudication: z
      .enum(['median', 'mean', 'least'])
      .default('median')
      .describe('What several judges’ points for a criterion come to'),
    most_disagreement: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .default(null)
      .describe('Judges further apart on a criterion than this have not graded it: the grader erred'),
    shows_expected: z.boolean().default(true).describe('Whether judges see the case’s `expected`'),
    allow_agent_model: z.boolean().default(false).describe('Permit a judge that is the agent’s own model'),
  })
  .refine(({ criteria }) => new Set(criteria.map(({ id }) => id)).size === criteria.length, {
    error: 'every criterion needs its own id',
    path: ['criteria'],
  });
type Config = z.output<typeof config>;

/** A rubric graded by models: fixed prompt, temperature 0, structured answers. */
export const judge: EvaluatorKind<typeof config> = {
  name: 'judge',
  version: 1,
  summary: 'Models grade the answer by a rubric; the weighted score of its criteria is the score',
  config,
  open: ({ config: options, resolve }) => {
    const judges = options.judges.map((model) => openModel(model, resolve));
    const fallback = options.fallback.map((model) => openModel(model, resolve));
    return {
      external: true,
      evaluate: (input, { signal }) => evaluate(options, judges, fallback, input, signal),
      close: async () => undefined,
    };
  },
};

/** What one judge said, and which model it was in the end. */
interface Opinion {
  readonly model: string;
  readonly fallback_of: string | null;
  readonly grades: readonly Grade[];
  readonly answer: ModelAnswer;
}

async function evaluate(
  options: Config,
  judges: readonly Model[],
  fallback: readonly Model[],
  input: EvaluatorInput,
  signal: AbortSignal,
): Promise<Finding> {
  const asked: ModelAnswer[] = [];
  const bill = () => ({
    cost_micro_usd: summed(asked.map(({ cost_micro_usd }) => cost_micro_usd)),
    tokens: summed(asked.flatMap(({ input_tokens, output_tokens }) => [input_tokens, output_tokens])),
  });
  try {
    refuseOwnModel(options, input);
    const opinions = await Promise.all(
      judges.map((model) => opinion(options, model, fallback, input, signal, (answer) => asked.push(answer))),
    );
    return judged(options, opinions, bill());
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // What came to nothing was paid for all the same.
    return finding('error', error instanceof Error ? error.message : String(error), {
      evidence: bill(),
      ...(error instanceof Misconfigured ? { fault: 'configuration' as const } : {}),
    });
  }
}

/** What the judges' opinions come to. */
function judged(
  options: Config,
  opinions: readonly Opinion[],
  bill: { readonly cost_micro_usd: number; readonly tokens: number },
): Finding {
  const criteria = options.criteria.map((criterion) => {
    const points = opinions.map(({ grades }) => grades.find(({ id }) => id === criterion.id)?.points ?? 0);
    const apart = (Math.max(...points) - Math.min(...points)) / POINTS;
    if (options.most_disagreement !== null && apart > options.most_disagreement)
      throw new Error(
        `the judges are ${apart} apart on \`${criterion.id}\` (${points.join(', ')} of ${POINTS} points)`,
      );
    return { id: criterion.id, score: adjudicated(options.adjudication, points) / POINTS, points };
  });
  const weights = options.criteria.map(({ weight }) => weight);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const score = criteria.reduce((sum, { score: part }, index) => sum + part * (weights[index] ?? 0), 0) / total;
  const floored = options.criteria.filter(
    ({ floor }, index) => floor !== null && (criteria[index]?.score ?? 0) < floor,
  );
  const passed = floored.length === 0 && score >= options.threshold;
  return finding(passed ? 'passed' : 'failed', reasonOf(options, opinions, criteria, score, floored), {
    score,
    evidence: {
      ...bill,
      prompt: `judge/${PROMPT_VERSION}`,
      prompt_digest: promptDigest(options.criteria),
      criteria,
      judges: opinions.map(({ model, fallback_of, grades, answer }) => ({
        model,
        fallback_of,
        grades: grades.map(({ id, points, reason }) => ({ id, points, reason })),
        temperature: answer.temperature,
        input_tokens: answer.input_tokens,
        output_tokens: answer.output_tokens,
        cost_micro_usd: answer.cost_micro_usd,
      })),
    },
  });
}

/** What is told of the parts, added up. */
function summed(parts: readonly (number | null)[]): number {
  return parts.reduce<number>((sum, part) => sum + (part ?? 0), 0);
}

/** One judge's grades; a judge that gives no usable answer is replaced by the first fallback that does, which the evidence says. */
async function opinion(
  options: Config,
  asked: Model,
  fallback: readonly Model[],
  input: EvaluatorInput,
  signal: AbortSignal,
  answered: (answer: ModelAnswer) => void,
): Promise<Opinion> {
  const problems: string[] = [];
  let misconfigured = true;
  for (const model of [asked, ...fallback]) {
    try {
      const { envelope } = input;
      const prompt = judgePrompt(options.criteria, {
        task: input.case.input,
        context: input.case.context,
        expected: options.shows_expected ? input.case.expected : null,
        answer: envelope.structured ?? envelope.text,
      });
      const answer = await model.ask({ ...prompt, schema: answerSchema(options.criteria), signal });
      answered(answer);
      const grades = parseGrades(answer.text, options.criteria);
      return { model: answer.model, fallback_of: model === asked ? null : asked.config.model, grades, answer };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      misconfigured &&= refusedForGood(error);
      problems.push(`${model.config.model}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const message = `no usable grade from ${problems.join('; then ')}`;
  throw misconfigured ? new Misconfigured(message) : new Error(message);
}

/** No further try could mend it: wrong credentials, a model or route that does not exist, a judge that may not judge. */
class Misconfigured extends Error {}

function adjudicated(how: Config['adjudication'], points: readonly number[]): number {
  if (how === 'least') return Math.min(...points);
  if (how === 'mean') return points.reduce((sum, value) => sum + value, 0) / points.length;
  const sorted = points.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

function reasonOf(
  options: Config,
  opinions: readonly Opinion[],
  criteria: readonly { readonly id: string; readonly score: number }[],
  score: number,
  floored: readonly Criterion[],
): string {
  const parts = criteria.map(({ id, score: part }) => `${id} ${part.toFixed(2)}`).join(', ');
  const head = `${score.toFixed(3)} (${parts}), wanted ≥ ${options.threshold}`;
  const [worst] = criteria.toSorted((a, b) => a.score - b.score);
  const why = opinions[0]?.grades.find(({ id }) => id === worst?.id)?.reason ?? '';
  const under = floored.map(({ id, floor }) => `\`${id}\` is below its floor ${floor}`);
  return [
    head,
    ...under,
    ...(worst !== undefined && worst.score < 1 && why !== '' ? [`${worst.id}: ${why}`] : []),
  ].join('; ');
}

/** A model that grades itself is refused where the answer says which model gave it. */
function refuseOwnModel({ judges, fallback, allow_agent_model }: Config, { envelope }: EvaluatorInput): void {
  if (allow_agent_model) return;
  const raw = envelope.raw as { model?: unknown } | null;
  const said = [envelope.metadata['model'], typeof raw === 'object' && raw !== null ? raw.model : undefined];
  const own = [...judges, ...fallback].find(({ model }) => said.includes(model));
  if (own !== undefined)
    throw new Misconfigured(
      `the judge \`${own.model}\` is the model that answered; name another, or set \`allow_agent_model\``,
    );
}
