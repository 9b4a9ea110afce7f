import { z } from 'zod';
import type { Usage } from '../../contract/agent.ts';
import { type EvaluatorInput, type EvaluatorKind, type Finding, finding } from '../../contract/evaluator.ts';
import { inProcess } from './parts/in-process.ts';

const tokens = z.number().int().nonnegative().optional();

const config = z
  .strictObject({
    max_input_tokens: tokens.describe('Most input tokens'),
    max_output_tokens: tokens.describe('Most output tokens'),
    max_total_tokens: tokens.describe('Most tokens in all; when no total is reported, input plus output'),
    max_cost_usd: z.number().nonnegative().max(1e9).optional().describe('Most that the call may cost, in USD'),
    when_absent: z
      .enum(['failed', 'skipped'])
      .default('failed')
      .describe('What a limit counts as when the agent did not report what it limits'),
  })
  .refine((options) => limitsOf(options).length > 0, {
    error: 'needs at least one of max_input_tokens, max_output_tokens, max_total_tokens and max_cost_usd',
  });

/** Passes when the agent stayed within limits on tokens and cost. */
export const usage: EvaluatorKind<typeof config> = {
  name: 'usage',
  version: 1,
  summary: 'The agent stayed within limits on tokens and cost',
  config,
  open: ({ config }) => {
    const limits = limitsOf(config);
    return inProcess((input) => grade(input, limits, config.when_absent));
  },
};

interface Limit {
  readonly name: string;
  readonly max: number;
  readonly unit: string;
  used(usage: Usage): number | null;
}

/** The limits that a config sets, money in micro-USD. */
function limitsOf(options: {
  readonly max_input_tokens?: number | undefined;
  readonly max_output_tokens?: number | undefined;
  readonly max_total_tokens?: number | undefined;
  readonly max_cost_usd?: number | undefined;
}): Limit[] {
  const { max_input_tokens, max_output_tokens, max_total_tokens, max_cost_usd } = options;
  const cost = max_cost_usd === undefined ? undefined : Math.round(max_cost_usd * 1_000_000);
  const limits: (Omit<Limit, 'max'> & { readonly max: number | undefined })[] = [
    { name: 'input_tokens', unit: 'input tokens', max: max_input_tokens, used: (usage) => usage.input_tokens },
    { name: 'output_tokens', unit: 'output tokens', max: max_output_tokens, used: (usage) => usage.output_tokens },
    { name: 'total_tokens', unit: 'tokens', max: max_total_tokens, used: totalTokens },
    { name: 'cost_micro_usd', unit: 'micro-USD', max: cost, used: (usage) => usage.cost_micro_usd },
  ];
  return limits.flatMap(({ max, ...limit }) => (max === undefined ? [] : [{ ...limit, max }]));
}

function totalTokens(usage: Usage): number | null {
  if (usage.total_tokens !== null) return usage.total_tokens;
  return usage.input_tokens === null || usage.output_tokens === null ? null : usage.input_tokens + usage.output_tokens;
}

function grade(input: EvaluatorInput, limits: readonly Limit[], whenAbsent: 'failed' | 'skipped'): Finding {
  const reported = input.envelope.usage;
  const compared = limits.map(({ name, max, unit, used }) => ({
    name,
    unit,
    max,
    used: reported === null ? null : used(reported),
  }));
  const evidence = compared.map(({ name, max, used }) => ({ name, used, max }));
  const over = compared.filter(({ used, max }) => used !== null && used > max);
  if (over.length > 0)
    return finding('failed', over.map(({ used, unit, max }) => `${used} ${unit} used, limit ${max}`).join('; '), {
      evidence,
    });
  const absent = compared.filter(({ used }) => used === null);
  if (absent.length > 0 && (whenAbsent === 'failed' || absent.length === compared.length)) {
    const what = reported === null ? 'no usage' : `no ${absent.map(({ name }) => `\`${name}\``).join(' and no ')}`;
    return finding(whenAbsent, `the agent reported ${what}`, { evidence });
  }
  const told = compared
    .filter(({ used }) => used !== null)
    .map(({ used, unit, max }) => `${used} ${unit} used, limit ${max}`);
  return finding('passed', told.join('; '), { evidence });
}
