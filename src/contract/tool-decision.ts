import type { ToolRunRow } from './tool-store.ts';

/** A cap that a call counts against: denied when it is reached, counted when the call is dispatched. */
export interface LimitCharge {
  readonly id: string;
  readonly key: string;
  /** Null: over all time. */
  readonly window_ms: number | null;
  readonly calls: number | null;
  readonly cost_micro_usd: number | null;
}

/** What the transaction finds out for the decision. */
export interface GatewayFacts {
  readonly now: number;
  /** The scope that is switched off, with the reason; null when none is. */
  readonly switched_off: { readonly scope: string; readonly reason: string } | null;
  /** Whether the definition of the call is the one that is pinned. */
  readonly pinned: boolean;
  /** Ids of limits that are reached. */
  readonly reached: readonly string[];
  /** Pending approvals of the principal in the same run. */
  readonly pending: number;
  /** Whether a tool of the open world has answered before; null where that was not asked. */
  readonly tainted: boolean | null;
  /** False when the call belongs to an attempt that is not held any more. */
  readonly held: boolean;
}

/** Under which terms a person is asked. */
export interface AskTerms {
  /** Each list must hold one who answers; several rules that ask must all be satisfied by the same person. */
  readonly approvers: readonly (readonly string[])[];
  readonly expires_ms: number;
  readonly self_approval: boolean;
  readonly edit: boolean;
  readonly execute: 'attended' | 'on_approval';
  readonly reason: string | null;
}

/** What an allowed call is bound to. */
export interface Obligations {
  readonly timeout_ms: number | null;
  readonly max_output_bytes: number | null;
}

/** What the decision comes to, as it is recorded. */
export interface GatewayDecision {
  readonly effect: 'allow' | 'ask' | 'deny' | 'error';
  /** Why, in snake_case: `policy`, `switched_off`, `not_pinned`, `limit_reached`, `lease_lost`, `invalid_arguments`, …; null when allowed. */
  readonly code: string | null;
  readonly message: string | null;
  readonly policy_digest: string;
  readonly rules: readonly string[];
  /** Where the effect is `ask`. */
  readonly ask: AskTerms | null;
  /** What the rules that allow the call bind it to; null where it is not made. */
  readonly obligations: Obligations | null;
}

/** What the gateway asks the store for at a decision; `decide` is pure, is called in the transaction, and must not throw. */
export interface DecideRequest {
  /** Which session will carry the call out. */
  readonly session_id: string;
  readonly limits: readonly LimitCharge[];
  /** Look whether the call is tainted, outside of a run by what answered in the last so many milliseconds; null: do not look. */
  readonly taint_ms: number | null;
  /**
   * Before a call is recorded: the newest of the same call, made at `since` or later, that policy asked for and whose outcome nobody has got
   * yet takes its place, if it is one that `joins`. Null: every call is one of its own.
   */
  readonly rejoin: { readonly since: number; joins(row: ToolRunRow): boolean } | null;
  decide(facts: GatewayFacts): GatewayDecision;
}
