import { z } from 'zod';
import { type EvaluatorInput, type EvaluatorKind, type Finding, finding } from '../../contract/evaluator.ts';
import { pointerValue } from '../../lib/json-pointer.ts';
import { answerJson, targetSchema } from './parts/answer-json.ts';
import { cannotGrade, kindOf, nothingExpected } from './parts/expected.ts';
import { inProcess } from './parts/in-process.ts';
import { jsonAlike } from './parts/json-alike.ts';
import { plain, shown } from './parts/shown.ts';
import { pointerSchema } from './parts/subject.ts';

const MAX_FIELDS_KEPT = 100;
const tolerance = z.number().nonnegative();

const field = z
  .strictObject({
    actual: pointerSchema.describe("JSON pointer into the agent's JSON (into `structured`, not into the envelope)"),
    expected: pointerSchema
      .optional()
      .describe("JSON pointer into the case's `expected`; default: the same as `actual`"),
    value: z.json().optional().describe("What is expected, instead of a member of the case's `expected`"),
    tolerance: tolerance.optional().describe('Most that numbers may differ by; default: the tolerance of all fields'),
    ignore_case: z.boolean().optional().describe('Ignore upper and lower case; default: as for all fields'),
    weight: z.number().positive().default(1).describe('Weight of the field in the score'),
  })
  .refine((options) => options.expected === undefined || options.value === undefined, {
    error: 'give `expected` (a pointer) or `value`, not both',
  });

const config = z
  .strictObject({
    fields: z
      .array(field)
      .min(1)
      .max(1000)
      .optional()
      .describe("The fields to compare; default: every member of the case's `expected`"),
    target: targetSchema,
    mode: z
      .enum(['all', 'share'])
      .default('all')
      .describe('Passes when all fields match, or when the weighted share that matches reaches `threshold`'),
    threshold: z.number().gt(0).max(1).optional().describe('The weighted share from which mode `share` passes'),
    tolerance: tolerance.default(0).describe('Most that numbers may differ by, in all fields'),
    ignore_case: z.boolean().default(false).describe('Ignore upper and lower case in all fields'),
    extra_members: z
      .enum(['allow', 'refuse'])
      .default('allow')
      .describe('Members that were not expected, when no `fields` are given'),
  })
  .refine((options) => (options.mode === 'share') === (options.threshold !== undefined), {
    error: 'belongs to mode `share`, which needs it',
    path: ['threshold'],
  });
type Config = z.output<typeof config>;
type Field = z.output<typeof field>;

/** Compares members of the agent's JSON with what is expected; the score is the weighted share of fields that match. */
export const jsonFields: EvaluatorKind<typeof config> = {
  name: 'json_fields',
  version: 1,
  summary: "Members of the agent's JSON equal what is expected",
  config,
  ungradable,
  open: ({ config }) => inProcess((input) => grade(input, config)),
};

interface Comparison {
  readonly path: string;
  readonly weight: number;
  readonly matches: boolean;
  readonly expected: string;
  readonly actual: string;
}

function ungradable(config: Config, expected: unknown): string | null {
  if (
    config.fields === undefined &&
    (kindOf(expected) !== 'an object' || Object.keys(expected as object).length === 0)
  ) {
    return nothingExpected(
      expected,
      'give the case `expected` as an object with at least one member, or the evaluator `config.fields`',
    );
  }
  for (const { actual, expected: pointer = actual, value } of config.fields ?? []) {
    if (value !== undefined || pointerValue(expected, pointer) !== undefined) continue;
    return `the case's \`expected\` has no \`${plain(pointer)}\`; add it, or give the field a \`value\``;
  }
  return null;
}

function grade(input: EvaluatorInput, config: Config): Finding {
  const { expected } = input.case;
  const problem = ungradable(config, expected);
  if (problem !== null) return cannotGrade(problem);
  const fields = config.fields ?? Object.keys(expected as object).map(fieldOfMember);
  const answer = answerJson(input.envelope, config.target);
  if ('problem' in answer) return finding('failed', answer.problem, { score: 0 });
  const compared = fields.map((each) => compare(each, { answer: answer.value, expected, config }));
  if (config.fields === undefined && config.extra_members === 'refuse')
    compared.push(...extraMembers(answer.value, expected as object));
  return verdict(compared, config, answer.name);
}

function fieldOfMember(name: string): Field {
  return { actual: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, weight: 1 };
}

function compare(
  each: Field,
  { answer, expected, config }: { readonly answer: unknown; readonly expected: unknown; readonly config: Config },
): Comparison {
  const wanted = each.value === undefined ? pointerValue(expected, each.expected ?? each.actual) : each.value;
  const actual = pointerValue(answer, each.actual);
  const matches = jsonAlike(actual, wanted, {
    tolerance: each.tolerance ?? config.tolerance,
    ignoreCase: each.ignore_case ?? config.ignore_case,
  });
  return { path: each.actual, weight: each.weight, matches, expected: shown(wanted), actual: shown(actual) };
}

function extraMembers(answer: unknown, expected: object): Comparison[] {
  if (typeof answer !== 'object' || answer === null) return [];
  const extra = Object.keys(answer).filter((name) => !Object.hasOwn(expected, name));
  return extra.slice(0, MAX_FIELDS_KEPT).map((name) => {
    const { actual: path, weight } = fieldOfMember(name);
    return { path, weight, matches: false, expected: 'nothing', actual: shown(pointerValue(answer, path)) };
  });
}

function verdict(compared: readonly Comparison[], config: Config, name: string): Finding {
  const total = compared.reduce((sum, { weight }) => sum + weight, 0);
  const wrong = compared.filter(({ matches }) => !matches);
  const score =
    wrong.length === 0 ? 1 : compared.reduce((sum, { weight, matches }) => sum + (matches ? weight : 0), 0) / total;
  const passed = config.mode === 'share' ? score >= (config.threshold ?? 1) : wrong.length === 0;
  const [first] = wrong;
  const matching = `${compared.length - wrong.length} of ${compared.length} fields of ${name} match`;
  const reason =
    first === undefined
      ? matching
      : `${matching}: at \`${plain(first.path)}\` expected ${first.expected} but found ${first.actual}`;
  return finding(passed ? 'passed' : 'failed', reason, {
    score,
    evidence: {
      fields: [...wrong, ...compared.filter(({ matches }) => matches)]
        .slice(0, MAX_FIELDS_KEPT)
        .map((each) => ({ ...each })),
      fields_compared: compared.length,
    },
  });
}
