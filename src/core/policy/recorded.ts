import type { ToolRunRow } from '../../contract/store.ts';
import type { CompiledRule, Policy } from './compile.ts';
import { decidePolicy, type PolicyDecision } from './decide.ts';
import type { CallFacts, Surface, Surroundings } from './facts.ts';
import type { Truth } from './truth.ts';

/** What of a recorded call depends on when and by which policy it is looked at, and what is taken as it is now. */
export interface RecordedContext extends Surroundings {
  readonly tainted: boolean;
  readonly pinned: boolean;
}

/** A recorded call as policies see it. */
export function recordedFacts(row: ToolRunRow, context: RecordedContext): CallFacts {
  return {
    tool: `${row.source}.${row.name}`,
    source: row.source,
    arguments: JSON.parse(row.arguments) as Record<string, unknown>,
    principal: { id: row.principal, kind: row.principal_kind, roles: JSON.parse(row.roles) as string[] },
    agent: row.agent,
    risk: row.risk,
    bound: row.run_id !== null,
    surface: row.surface as Surface,
    ...context,
  };
}

/** How one rule stood to a call. */
export interface RuleExplanation {
  readonly id: string;
  readonly effect: CompiledRule['effect'];
  /** What its conditions came to. */
  readonly truth: Truth;
  /** Whether it counted: what cannot be told counts for a rule that asks or denies. */
  readonly matched: boolean;
}

/** A decision with how every rule for the tool stood to the call. */
export function explainPolicy(policy: Policy, call: CallFacts): { decision: PolicyDecision; rules: RuleExplanation[] } {
  const rules = policy.rulesFor(call.tool).map((rule) => {
    const truth = rule.test(call);
    return {
      id: rule.id,
      effect: rule.effect,
      truth,
      matched: truth === 'holds' || (truth === 'unknown' && rule.effect !== 'allow'),
    };
  });
  return { decision: decidePolicy(policy, call), rules };
}
