import type { Estimate } from '../engine/estimate.ts';
import { counted, duration, number, table, usd } from './format.ts';

const NAMES: Readonly<Record<string, string>> = { cost_micro_usd: 'cost', tokens: 'tokens', tool_calls: 'tool calls' };

/** What a run is expected to take, for people. */
export function planText(found: Estimate): string {
  const rows: [string, string][] = [
    [
      'plan',
      `${counted(found.cases, 'case')} × ${found.repeats} = ${counted(found.executions, 'execution')}, ${found.concurrency} at once`,
    ],
    ['cost', found.cost_micro_usd === null ? 'not known' : `about ${usd(found.cost_micro_usd)}`],
    ['tokens', found.tokens === null ? 'not known' : `about ${number(found.tokens)}`],
    ['time', found.duration_ms === null ? 'not known' : `about ${duration(found.duration_ms)}`],
    ...found.budgets.map(({ kind, cap, executions, enough }): [string, string] => {
      const shown = kind === 'cost_micro_usd' ? usd(cap) : number(cap);
      const pays =
        executions === null
          ? 'for how many executions is not known'
          : `${enough ? 'enough:' : 'NOT ENOUGH:'} pays for about ${number(executions)}`;
      return [`budget of ${NAMES[kind] ?? kind}`, `${shown}, ${pays}`];
    }),
    ['expected from', found.from_run ?? 'no earlier run of this profile and agent; `--limit 20` makes a small one'],
  ];
  return table(rows.map(([name, text]) => [`  ${name}`, text]));
}
