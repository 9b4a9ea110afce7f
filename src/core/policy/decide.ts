import type { Rule } from '../../contract/policy.ts';
import type { AskTerms, Obligations } from '../../contract/store.ts';
import type { Caller, CompiledRule, Policy } from './compile.ts';
import type { CallFacts, Surface } from './facts.ts';

/** What a policy says of one call. */
export interface PolicyDecision {
  readonly effect: 'allow' | 'ask' | 'deny';
  /** The ids of the rules that decided, in the order of the file; none when the default did. */
  readonly rules: readonly string[];
  readonly reason: string | null;
  /** Where the effect is `ask`. */
  readonly ask: AskTerms | null;
  readonly obligations: Obligations;
}

/**
 * Decides a call: all rules that match are collected; deny beats ask, ask beats allow, what no rule matches gets the default. What
 * cannot be told about a condition never opens a door: the rule matches when it denies or asks, and does not when it allows.
 */
export function decidePolicy(policy: Policy, given: CallFacts): PolicyDecision {
  const call = lookingOnce(given);
  const allowed: CompiledRule[] = [];
  const asked: CompiledRule[] = [];
  const denied: CompiledRule[] = [];
  for (const rule of policy.rulesFor(call.tool)) {
    const truth = rule.test(call);
    if (truth === 'fails' || (truth === 'unknown' && rule.effect === 'allow')) continue;
    if (rule.effect === 'deny') denied.push(rule);
    else if (rule.effect === 'ask') asked.push(rule);
    else allowed.push(rule);
  }
  const obligations = obligationsOf(allowed);
  const ids = (rules: readonly CompiledRule[]) => rules.map(({ id }) => id);
  if (denied.length > 0) {
    const reason = denied.map(({ rule }) => denyReason(rule)).find((text) => text !== null) ?? null;
    return { effect: 'deny', rules: ids(denied), reason, ask: null, obligations };
  }
  if (asked.length > 0)
    return { effect: 'ask', rules: ids(asked), reason: null, ask: askTerms(policy, asked, call.surface), obligations };
  if (allowed.length > 0) return { effect: 'allow', rules: ids(allowed), reason: null, ask: null, obligations };
  const effect = policy.document.default;
  const ask = effect === 'ask' ? askTerms(policy, [], call.surface) : null;
  return { effect, rules: [], reason: effect === 'deny' ? 'no rule allows it' : null, ask, obligations };
}

/** The same call that follows each path and reads each text of SQL once in a decision, however many rules ask; the next one looks again. */
function lookingOnce(call: CallFacts): CallFacts {
  const paths = new Map<string, string | null>();
  const texts = new Map<string, ReturnType<CallFacts['sql']>>();
  return {
    ...call,
    realPath: (path) => known(paths, path, () => call.realPath(path)),
    sql: (text, dialect) => known(texts, `${dialect} ${text}`, () => call.sql(text, dialect)),
  };
}

function known<Value>(found: Map<string, Value>, key: string, look: () => Value): Value {
  const before = found.get(key);
  if (before !== undefined) return before;
  const value = look();
  found.set(key, value);
  return value;
}

function denyReason({ effect }: Rule): string | null {
  return typeof effect === 'object' && 'deny' in effect ? (effect.deny.reason ?? null) : null;
}

/** The strictest of what the rules that ask say. */
function askTerms(policy: Policy, rules: readonly CompiledRule[], surface: Surface): AskTerms {
  const { approvals } = policy.document;
  const terms = rules.map(({ rule: { effect } }) =>
    typeof effect === 'object' && 'ask' in effect ? effect.ask : null,
  );
  const each = <Value>(
    read: (term: NonNullable<(typeof terms)[number]>) => Value | undefined,
    otherwise: Value,
  ): Value[] =>
    terms.length === 0 ? [otherwise] : terms.map((term) => (term === null ? otherwise : (read(term) ?? otherwise)));
  const unsaid = surface === 'cli' ? 'on_approval' : 'attended';
  const approvers = each((term) => term.approvers, approvals.approvers);
  return {
    approvers: approvers.filter((list, at) => approvers.findIndex((other) => other.join() === list.join()) === at),
    expires_ms: Math.min(...each((term) => term.expires_ms, approvals.expires_ms)),
    self_approval: each((term) => term.self_approval, approvals.self_approval).every(Boolean),
    edit: each((term) => term.edit, false).every(Boolean),
    execute: each((term) => term.execute, unsaid).every((execute) => execute === 'on_approval')
      ? 'on_approval'
      : 'attended',
    reason: terms.map((term) => term?.reason).find((text) => text !== undefined) ?? null,
  };
}

function obligationsOf(rules: readonly CompiledRule[]): Obligations {
  const least = (name: 'timeout_ms' | 'max_output_bytes'): number | null => {
    const values = rules.flatMap(({ rule: { effect } }) =>
      typeof effect === 'object' && 'allow' in effect && effect.allow[name] !== undefined ? [effect.allow[name]] : [],
    );
    return values.length === 0 ? null : Math.min(...values);
  };
  return { timeout_ms: least('timeout_ms'), max_output_bytes: least('max_output_bytes') };
}

/** Whether policy may ever let the caller call the tool, whatever the arguments: what is hidden from it otherwise. */
export function mayEverCall(policy: Policy, caller: Caller): boolean {
  let open = policy.document.default !== 'deny';
  for (const rule of policy.rulesFor(caller.tool)) {
    const reach = rule.reach(caller);
    if (rule.effect === 'deny' && rule.fixed && reach !== 'fails') return false;
    if (rule.effect === 'allow') open ||= reach === 'holds';
    if (rule.effect === 'ask') open ||= reach !== 'fails';
  }
  return open;
}
