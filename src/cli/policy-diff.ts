import { loadPolicy } from '../adapters/project/load-project.ts';
import type { App } from '../app.ts';
import { ProctorError } from '../contract/problem.ts';
import type { ToolRunRow } from '../contract/store.ts';
import type { Policy } from '../core/policy/compile.ts';
import { decidePolicy } from '../core/policy/decide.ts';
import { recordedFacts } from '../core/policy/recorded.ts';
import type { GatewayApp } from '../gateway-app.ts';
import type { PolicyOptions } from './commands/policy.ts';
import type { CommandContext } from './context.ts';
import { counted, cut, table } from './format.ts';
import { printable } from './output.ts';

const PAGE = 1_000;
const DAY_MS = 86_400_000;

/** Which recorded calls two policies decide differently; exit 1 when there is one. */
export async function policyDiff(
  { cwd, output }: CommandContext,
  gateway: GatewayApp,
  app: App,
  options: PolicyOptions,
): Promise<number> {
  const { first, second } = options;
  if (first === undefined || second === undefined)
    throw new ProctorError('usage', 'which two? `proctor policy diff OLD NEW`');
  const [before, after] = [await policyOf(first, cwd, { app, gateway }), await policyOf(second, cwd, { app, gateway })];
  const since = app.clock.now() - options.days * DAY_MS;
  const flips: { row: ToolRunRow; before: string; after: string; rules: readonly string[] }[] = [];
  const { surroundings } = gateway.gateway.deps;
  const decide = async (policy: Policy, row: ToolRunRow) => {
    const tainted = policy.asks_taint && (await app.store.wasTainted(row.tool_run_id, policy.document.taint_ms));
    return decidePolicy(policy, recordedFacts(row, { ...surroundings, tainted, pinned: row.pinned === 1 }));
  };
  let calls = 0;
  let after_id: string | null = null;
  for (;;) {
    const filter = { since, ...(options.run === undefined ? {} : { run_id: options.run }) };
    const rows: readonly ToolRunRow[] = await app.store.toolRuns(filter, { after: after_id, limit: PAGE });
    for (const row of rows) {
      if (row.definition_digest === null) continue; // no such tool: no policy was asked
      calls += 1;
      const was = await decide(before, row);
      const is = await decide(after, row);
      if (was.effect !== is.effect) flips.push({ row, before: was.effect, after: is.effect, rules: is.rules });
    }
    after_id = rows.at(-1)?.tool_run_id ?? null;
    if (rows.length < PAGE) break;
  }
  const shown = flips.slice(0, options.limit);
  const document = {
    calls,
    flipped: flips.length,
    flips: shown.map(({ row, before: was, after: is, rules }) => ({
      tool_run_id: row.tool_run_id,
      tool: `${row.source}.${row.name}`,
      arguments: JSON.parse(row.arguments) as unknown,
      principal: row.principal,
      before: was,
      after: is,
      rules,
    })),
  };
  const lines = shown.map(({ row, before: was, after: is, rules }) => [
    row.tool_run_id,
    `${was} → ${output.style(is === 'deny' ? 'red' : 'yellow', is)}`,
    printable(`${row.source}.${row.name}`),
    cut(printable(row.arguments), 70),
    rules.length > 0 ? `by ${rules.join(', ')}` : 'by the default',
  ]);
  const head = `${counted(flips.length, 'call')} of ${counted(calls, 'recorded call')} would be decided otherwise`;
  output.result(
    document,
    [
      head,
      ...(lines.length > 0 ? [table(lines)] : []),
      ...(flips.length > shown.length ? [`… and ${flips.length - shown.length} more (--limit)`] : []),
    ].join('\n'),
  );
  return flips.length === 0 ? 0 : 1;
}

/** A policy by its file, or by the digest that decisions name (12 characters are enough where they are of one). */
async function policyOf(
  name: string,
  cwd: string,
  { app, gateway }: { app: App; gateway: GatewayApp },
): Promise<Policy> {
  const stored = /^[0-9a-f]{64}$/.test(name) ? await app.store.policy(name) : null;
  if (stored !== null) {
    const { policySchema } = await import('../contract/policy.ts');
    return await gateway.ready(policySchema.parse(JSON.parse(stored)));
  }
  const policy = await loadPolicy(name, cwd);
  if (policy === null)
    throw new ProctorError(
      'invalid_policy',
      `there is no policy at \`${name}\`, and none with that digest in the store`,
    );
  return policy;
}
