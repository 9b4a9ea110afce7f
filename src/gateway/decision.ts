import type { ApprovalRow, GatewayDecision, GatewayFacts, LimitCharge } from '../contract/store.ts';
import { RISK_CLASSES } from '../contract/tool.ts';
import { whyNotApprover } from '../core/gateway.ts';
import type { Policy } from '../core/policy/compile.ts';
import { decidePolicy, type PolicyDecision } from '../core/policy/decide.ts';
import type { CallFacts } from '../core/policy/facts.ts';

/** A call as it is decided: at first, and again when its approval is used. */
export interface Decidable {
  readonly policy: Policy | null;
  /** Why there is no policy. */
  readonly policy_problem: string | null;
  readonly facts: Omit<CallFacts, 'pinned' | 'tainted'>;
  /** Whether there is such a tool. */
  readonly known: boolean;
  /** What denies the call whatever policy says. */
  readonly refusal: { readonly code: string; readonly message: string } | null;
  /** What is wrong with the arguments by the tool's schema: told only to who may call the tool. */
  readonly invalid: string | null;
  /** The answer that was given; null when the call is decided for the first time. */
  readonly answered: { readonly approval: ApprovalRow; readonly roles: readonly string[] } | null;
  /** In an evaluation the declared operator answers for everybody. */
  readonly simulated: boolean;
}

/** The principal that stands for people in evaluations. */
export const SIMULATED_OPERATOR = 'service:simulated-operator';

/** Decides a call from what the transaction found out: everything that speaks against it, then policy. Never throws: an error denies. */
export function decideCall(call: Decidable, facts: GatewayFacts): GatewayDecision {
  const policy_digest = call.policy?.digest ?? 'none';
  const no = (
    effect: 'deny' | 'error',
    code: string,
    message: string | null,
    rules: readonly string[] = [],
  ): GatewayDecision => ({
    effect,
    code,
    message,
    policy_digest,
    rules,
    ask: null,
    obligations: null,
  });
  try {
    if (!facts.held) return no('error', 'lease_lost', 'the attempt that made the call is not held any more');
    if (facts.switched_off !== null)
      return no(
        'deny',
        'switched_off',
        `${facts.switched_off.scope === '*' ? 'the whole gateway' : `\`${facts.switched_off.scope}\``} is switched off: ${facts.switched_off.reason}`,
      );
    if (!call.known) return no('deny', 'unknown_tool', `there is no tool \`${call.facts.tool}\``);
    if (call.policy === null) return no('deny', 'policy_error', call.policy_problem);
    // What is wrong with the call itself its caller may know; why a source is down only who may call the tool.
    const { refusal } = call;
    if (refusal !== null && refusal.code !== 'source_unavailable') return no('deny', refusal.code, refusal.message);
    const decision = decidePolicy(call.policy, {
      ...call.facts,
      pinned: facts.pinned,
      tainted: facts.tainted === true,
    });
    if (refusal !== null) {
      // Without its source nobody can tell what risk a tool is of: operators are told why it is down, as is who may call it in any case.
      if (decision.effect !== 'deny' || call.facts.principal.roles.includes('operator'))
        return no('deny', refusal.code, refusal.message);
      if (mayCallAtSomeRisk(call, call.policy))
        return no('deny', refusal.code, `\`${call.facts.source}\` cannot be asked for its tools now`);
    }
    if (decision.effect === 'deny') return no('deny', 'policy', decision.reason ?? 'a rule denies it', decision.rules);
    if (!facts.pinned)
      return no(
        'deny',
        'not_pinned',
        `the definition of \`${call.facts.tool}\` is new or has changed; \`proctor tool pin ${call.facts.tool}\` lets it be called`,
      );
    if (facts.reached.length > 0)
      return no('deny', 'limit_reached', `the limit \`${facts.reached.join('`, `')}\` is reached`, decision.rules);
    if (call.invalid !== null) return no('error', 'invalid_arguments', call.invalid);
    const { rules, obligations } = decision;
    return decision.effect === 'allow'
      ? { effect: 'allow', code: null, message: null, policy_digest, rules, ask: null, obligations }
      : asked(call, call.policy, decision, facts, no);
  } catch (error) {
    return no(
      'deny',
      'policy_error',
      `the policy could not be asked: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function mayCallAtSomeRisk({ facts }: Decidable, policy: Policy): boolean {
  return RISK_CLASSES.some(
    (risk) => decidePolicy(policy, { ...facts, risk, pinned: true, tainted: false }).effect !== 'deny',
  );
}

function asked(
  call: Decidable,
  policy: Policy,
  decision: PolicyDecision,
  facts: GatewayFacts,
  no: (effect: 'deny' | 'error', code: string, message: string) => GatewayDecision,
): GatewayDecision {
  const { ask } = decision;
  if (ask === null) return no('deny', 'policy_error', 'policy asks without terms');
  const approvers = call.simulated ? [[SIMULATED_OPERATOR]] : ask.approvers;
  if (call.answered !== null) {
    const { approval, roles } = call.answered;
    const why = whyNotApprover(
      { approvers, self_approval: ask.self_approval, requested_by: call.facts.principal.id },
      { id: approval.decided_by ?? '', kind: (approval.decided_by ?? '').split(':')[0] ?? '', roles },
    );
    if (why !== null) return no('deny', 'approver_not_allowed', `by the policy of now ${why}`);
  } else if (facts.pending >= policy.document.approvals.max_pending)
    return no('deny', 'too_many_pending', `${facts.pending} calls wait for an answer already; policy allows no more`);
  return {
    effect: 'ask',
    code: null,
    message: null,
    policy_digest: policy.digest,
    rules: decision.rules,
    ask: { ...ask, approvers },
    obligations: decision.obligations,
  };
}

/** The caps that a call counts against, each with the key that it is counted under. */
export function limitCharges(
  policy: Policy | null,
  call: {
    readonly tool: string;
    readonly source: string;
    readonly principal: string;
    readonly session: string;
    readonly run_id: string | null;
    readonly ordinal: number | null;
  },
): LimitCharge[] {
  return (policy?.limitsFor(call.tool) ?? []).map(({ id, per, calls, window_ms, cost_usd }) => {
    const parts = per.map((what) => {
      if (what === 'gateway') return '*';
      if (what === 'principal') return call.principal;
      if (what === 'source') return call.source;
      if (what === 'tool') return call.tool;
      // Outside of runs a principal is its own; a session is one of its principal, and in a run the execution, however often it connects.
      if (call.run_id === null) return what === 'session' ? `${call.principal} ${call.session}` : `-${call.principal}`;
      return what === 'run' ? call.run_id : `${call.run_id}/${call.ordinal}`;
    });
    return {
      id,
      key: JSON.stringify([id, ...parts]),
      window_ms: window_ms ?? null,
      calls: calls ?? null,
      cost_micro_usd: cost_usd === undefined ? null : Math.round(cost_usd * 1e6),
    };
  });
}
