import type { Envelope } from '../contract/agent.ts';
import type { Profile } from '../contract/profile.ts';
import type { AttemptSpend, Budget, BudgetKind, BudgetState, Spend } from '../contract/store.ts';

export type { Budget, BudgetState };

/** What a budget counts. */
export const BUDGET_KINDS: readonly BudgetKind[] = ['cost_micro_usd', 'tokens', 'tool_calls'];

/** Calls that may be lost while nothing is known of what one takes; then the run stops, because its cap cannot be kept. */
export const MOST_LOST_BLIND = 3;

const MICRO = 1_000_000;
const SURE = 20; // answers that all took nothing, after which the next is taken to take nothing too

/** USD as integer micro-USD, rounded up: a budget is not stretched by rounding. */
export function microUsd(usd: number): number {
  return Math.ceil(usd * MICRO - 1e-6);
}

/** The budgets that a profile sets for the run. */
export function budgetsOf({ limits }: Pick<Profile, 'limits'>): Budget[] {
  const { run, execution } = limits;
  const caps: readonly (readonly [BudgetKind, number | null, number | null])[] = [
    ['cost_micro_usd', usd(run.cost_usd), usd(execution.cost_usd)],
    ['tokens', run.tokens, execution.tokens],
    ['tool_calls', run.tool_calls, execution.tool_calls],
  ];
  return caps.flatMap(([kind, cap, reserve]) => (cap === null ? [] : [{ kind, cap, reserve }]));
}

/**
 * What an answer took: cost as the agent reports it, else its tokens at the profile's price; tokens as reported; tool calls counted.
 */
export function spendOf(envelope: Pick<Envelope, 'usage' | 'tool_calls'>, price: Profile['agent']['price']): Spend {
  const { usage, tool_calls } = envelope;
  const input = usage?.input_tokens ?? null;
  const output = usage?.output_tokens ?? null;
  const tokens = usage?.total_tokens ?? (input === null && output === null ? null : (input ?? 0) + (output ?? 0));
  let cost = usage?.cost_micro_usd ?? null;
  if (cost === null && price !== null && input !== null && output !== null)
    // USD per million tokens is micro-USD per token.
    cost = Math.ceil(input * price.input_per_mtok_usd + output * price.output_per_mtok_usd - 1e-6);
  return { cost_micro_usd: cost, tokens, tool_calls: tool_calls.length };
}

/** What an evaluator says that it took, in the members `cost_micro_usd` and `tokens` of its evidence (a judge does); else nothing. */
export function evaluatorSpend({ evidence }: { readonly evidence: unknown }): AttemptSpend['evaluators'] {
  const said = typeof evidence === 'object' && evidence !== null ? (evidence as Record<string, unknown>) : {};
  const amount = (name: string) => {
    const value = said[name];
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
  };
  return { cost_micro_usd: amount('cost_micro_usd'), tokens: amount('tokens'), tool_calls: 0 };
}

/** What an execution in flight holds back, and what counts for one that ended without telling; 0 when nothing is known yet. */
export function reserveOf({ reserve, highest }: Pick<BudgetState, 'reserve' | 'highest'>): number {
  return Math.max(reserve ?? 0, highest);
}

/** What the attempts that never told are assumed to have taken: the reserve each, so it grows when an execution is found to take more. */
export function assumedOf(budget: Pick<BudgetState, 'untold' | 'reserve' | 'highest'>): number {
  return budget.untold * reserveOf(budget);
}

/** What counts against the cap: known and assumed. */
export function spentOf(budget: BudgetState): number {
  return budget.known + assumedOf(budget);
}

/**
 * How many more executions may be in flight, `running` being so now, `own` of them this session's: as many as the rest of the cap has
 * reserves for. While nothing is known of what an execution takes, one a session; once such a call was lost, few in all, because nobody
 * will ever know what those took.
 */
export function allowance(budgets: readonly BudgetState[], running: number, own: number): number {
  let most = Number.POSITIVE_INFINITY;
  for (const budget of budgets) {
    const reserve = reserveOf(budget);
    const spent = spentOf(budget);
    if (spent >= budget.cap) return 0;
    const room =
      reserve === 0
        ? blindRoom(budget, running, own)
        : Math.max(0, Math.floor((budget.cap - spent) / reserve) - running);
    most = Math.min(most, room);
  }
  return most;
}

function blindRoom({ answers, untold, waived }: BudgetState, running: number, own: number): number {
  if (answers >= SURE) return Number.POSITIVE_INFINITY;
  if (own > 0) return 0;
  const lost = untold - waived;
  return answers > 0 || lost === 0 ? 1 : Math.max(0, Math.min(1, MOST_LOST_BLIND - lost - running));
}

/** A budget of the run that is blind to an answer which does not tell; null where all is told, or `unpriced: allow` waives it. */
export function untoldBudget(spend: Spend | null, limits: Profile['limits']): string | null {
  if (spend === null || limits.unpriced === 'allow') return null;
  return budgetsOf({ limits }).find(({ kind }) => spend[kind] === null)?.kind ?? null;
}

/** The limit of one execution that an answer went beyond, or null. */
export function overLimit(
  spend: Spend,
  limits: Profile['limits']['execution'],
): { readonly limit: string; readonly most: number; readonly taken: number } | null {
  const rows: readonly (readonly [string, number | null, number | null])[] = [
    ['tokens', limits.tokens, spend.tokens],
    ['cost_usd', limits.cost_usd, spend.cost_micro_usd === null ? null : spend.cost_micro_usd / MICRO],
    ['tool_calls', limits.tool_calls, spend.tool_calls],
  ];
  for (const [limit, most, taken] of rows)
    if (most !== null && taken !== null && taken > most) return { limit, most, taken };
  return null;
}

function usd(amount: number | null): number | null {
  return amount === null ? null : microUsd(amount);
}
