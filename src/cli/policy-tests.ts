import path from 'node:path';
import { loadPolicy } from '../adapters/project/load-project.ts';
import { readProjectFile } from '../adapters/project/read-file.ts';
import { type PolicyTest, policyTestSchema } from '../contract/policy.ts';
import { kindOfPrincipal } from '../contract/principal.ts';
import { ProctorError } from '../contract/problem.ts';
import type { RiskClass } from '../contract/tool.ts';
import type { Policy } from '../core/policy/compile.ts';
import { decidePolicy } from '../core/policy/decide.ts';
import type { GatewayApp } from '../gateway-app.ts';
import type { CommandContext } from './context.ts';
import { counted } from './format.ts';
import { printable } from './output.ts';

type Case = PolicyTest['cases'][number];

/** Runs a table of calls against a policy; exit 1 when one gets another decision than it must. */
export async function policyTests({ cwd, output }: CommandContext, app: GatewayApp, file: string): Promise<number> {
  const absolute = path.resolve(cwd, file);
  const read = await readProjectFile(absolute, file, policyTestSchema, 'invalid_policy');
  if (read === null) throw new ProctorError('invalid_policy', `there is no table at \`${file}\``);
  const { policy: other, cases } = read.value;
  const policy =
    other === undefined ? await app.policy() : await loadPolicy(path.resolve(path.dirname(absolute), other), cwd);
  if (policy === null)
    throw new ProctorError('invalid_policy', `there is no policy at \`${other}\`, which \`${file}\` names`);
  const { tools } = await app.gateway.catalogue(new AbortController().signal);
  const risks = new Map(tools.map((tool) => [tool.tool, tool.risk]));
  let failed = 0;
  for (const [index, one] of cases.entries()) {
    const result = tried(policy, app, risks, one);
    if (!result.ok) failed += 1;
    const place = read.locate([
      { file: null, line: null, column: null, field: `cases[${index}]`, message: '', hint: null },
    ])[0];
    const name = one.name ?? `${one.tool} ${JSON.stringify(one.args)}`;
    const wrong = result.ok
      ? ''
      : `: expected ${one.expect}${one.rules === undefined ? '' : ` by ${one.rules.join(', ')}`}, got ${result.effect}${result.rules.length > 0 ? ` by ${result.rules.join(', ')}` : ''} (${file}:${place?.line})`;
    output.line(
      { case: index, name, line: place?.line ?? null, ...result },
      `${result.ok ? output.style('green', '✓') : output.style('red', '✗')} ${printable(name)}${printable(wrong)}`,
    );
  }
  output.note(`${counted(cases.length - failed, 'case')} as expected, ${failed} not`);
  return failed === 0 ? 0 : 1;
}

function tried(policy: Policy, app: GatewayApp, risks: ReadonlyMap<string, RiskClass>, one: Case) {
  const { effect, rules } = decidePolicy(policy, {
    tool: one.tool,
    source: one.tool.split('.', 1)[0] ?? '',
    arguments: one.args,
    principal: { id: one.principal, kind: one.kind ?? kindOfPrincipal(one.principal), roles: one.roles },
    agent: one.agent,
    risk: one.risk ?? risks.get(one.tool) ?? 'execute_gated',
    pinned: one.pinned,
    bound: one.bound,
    tainted: one.tainted,
    surface: one.surface,
    ...app.gateway.deps.surroundings,
  });
  const sameRules = one.rules === undefined || [...one.rules].sort().join() === [...rules].sort().join();
  return { ok: effect === one.expect && sameRules, effect, expect: one.expect, rules };
}
