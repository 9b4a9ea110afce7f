import { z } from 'zod';
import type { ToolCall } from '../../contract/agent.ts';
import { type EvaluatorInput, type EvaluatorKind, type Finding, finding } from '../../contract/evaluator.ts';
import { cannotGrade, nothingExpected } from './parts/expected.ts';
import { inProcess } from './parts/in-process.ts';
import { shown } from './parts/shown.ts';
import { checkExpectations, expectedCallSchema, type ToolExpectations } from './parts/tool-expectations.ts';

const MAX_CALLS = 10_000;
const MAX_KEPT = 50;

const name = z.string().min(1).max(512);
const called = z.array(expectedCallSchema).max(200);

const config = z
  .strictObject({
    called: called
      .default([])
      .describe(
        "Calls that must be made; default, when nothing else is expected here: the `tool_calls` of the case's `expected`",
      ),
    not_called: z
      .array(name)
      .max(200)
      .default([])
      .describe('Tools that must not be called, by name or glob (`calendar.*`); reported calls count here in any case'),
    order: z
      .array(name)
      .min(1)
      .max(1000)
      .optional()
      .describe('Tools that must be called in this order; others may come between'),
    exact_order: z
      .array(name)
      .max(1000)
      .optional()
      .describe('The tools of all calls, in order and nothing else; [] for no call at all'),
    arguments_match: z
      .enum(['subset', 'exact'])
      .default('subset')
      .describe('Whether a call may have further arguments'),
    allow_reported: z
      .boolean()
      .default(true)
      .describe('Calls that the agent only tells of count; false: only gated ones do'),
  })
  .refine((options) => options.order === undefined || options.exact_order === undefined, {
    error: 'give `order` or `exact_order`, not both',
  });
type Config = z.output<typeof config>;

/** Compares the calls of tools with what is expected; the score is the share of expectations met. */
export const toolCalls: EvaluatorKind<typeof config> = {
  name: 'tool_calls',
  version: 1,
  summary: 'The right tools are called with the right arguments; the score is the share of expectations met',
  config,
  ungradable: (config, expected) => {
    const found = expectedCalls(config, expected);
    return typeof found === 'string' ? found : null;
  },
  open: ({ config }) =>
    inProcess((input) => {
      const expected = expectedCalls(config, input.case.expected);
      return typeof expected === 'string' ? cannotGrade(expected) : grade(input, expected, config);
    }),
};

/** The calls expected, or why there are none. */
function expectedCalls(config: Config, expected: unknown): Config['called'] | string {
  const configured =
    config.called.length + config.not_called.length > 0 ||
    config.order !== undefined ||
    config.exact_order !== undefined;
  if (configured) return config.called;
  const cure =
    'give the case `expected.tool_calls` (a list of names or {name, arguments}), or the evaluator `called`, `not_called`, `order` or `exact_order`';
  if (typeof expected !== 'object' || expected === null || !Object.hasOwn(expected, 'tool_calls'))
    return nothingExpected(expected, cure);
  const parsed = called.min(1).safeParse((expected as { readonly tool_calls: unknown }).tool_calls);
  return parsed.success ? parsed.data : `the case's \`expected.tool_calls\` is not a list of calls; ${cure}`;
}

function grade(input: EvaluatorInput, called: Config['called'], config: Config): Finding {
  const { tool_calls: all } = input.envelope;
  if (all.length > MAX_CALLS)
    return finding('failed', `the agent made ${all.length} calls; at most ${MAX_CALLS} are compared`, { score: 0 });
  const counted = config.allow_reported ? all : all.filter((call) => call.source === 'gated');
  const checked = checkExpectations(expectationsOf(called, config), { counted, all });
  const unmet = checked.filter(({ met }) => !met);
  const [first] = unmet;
  const share = `${checked.length - unmet.length} of ${checked.length} expectations met`;
  const uncounted = counted.length < all.length ? `; ${all.length - counted.length} reported calls do not count` : '';
  const reason =
    first === undefined ? share : `${share}: expected that ${first.expectation}, found ${first.seen}${uncounted}`;
  return finding(unmet.length === 0 ? 'passed' : 'failed', reason, {
    score: (checked.length - unmet.length) / checked.length,
    evidence: {
      expectations: checked.map((each) => ({ ...each })),
      calls: all.slice(0, MAX_KEPT).map(shownCall),
      calls_made: all.length,
    },
  });
}

function expectationsOf(called: Config['called'], config: Config): ToolExpectations {
  return {
    called,
    notCalled: config.not_called,
    order: config.order ?? null,
    exactOrder: config.exact_order ?? null,
    argumentsMatch: config.arguments_match,
  };
}

function shownCall(call: ToolCall): { name: string; arguments: string; source: ToolCall['source'] } {
  return { name: call.name.slice(0, 512), arguments: shown(call.arguments), source: call.source };
}
