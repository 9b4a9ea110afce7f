import type { Effect } from './store-gateway.ts';

/** A tool run as the model knows it, with its approval. */
export interface ModelCall {
  readonly id: string;
  readonly key: string | null;
  status: string;
  reason: string | null;
  session: string | null;
  dispatches: number;
  approval: { status: string; readonly expires_at: number; by: string | null } | null;
}

/** How an act came out: what the verb answers, in a word. */
export type Outcome = string;

export const MOST_CALLS = 3; // few enough that sequences reach it

/** What the gateway's verbs are to do, in as few words as possible. */
export class GatewayModel {
  readonly calls: ModelCall[] = [];
  off = false;
  pinned = true;
  used = 0;

  begin(id: string, effect: Effect, key: string | null, session: string, now: number, expires_ms: number): Outcome {
    const known = this.calls.find((call) => key !== null && call.key === key);
    if (known !== undefined) return `known ${known.id}`;
    const call: ModelCall = { id, key, status: 'started', reason: null, session: null, dispatches: 0, approval: null };
    this.calls.push(call);
    const { effect: comes, reason } = this.#decide(effect);
    if (comes === 'allow') this.#dispatch(call, 'started', session);
    else if (comes === 'ask') {
      call.status = 'approval_required';
      call.approval = { status: 'pending', expires_at: now + expires_ms, by: null };
    } else this.#end(call, comes === 'deny' ? 'denied' : 'error', reason);
    return call.status;
  }

  answer(call: ModelCall, decision: 'approve' | 'deny', may: boolean, same: boolean, now: number): Outcome {
    const refused = this.#whyNot(call, may, same, now);
    if (refused === 'expired' && call.approval?.status === 'pending') this.#expire(call);
    if (refused !== null) return refused;
    this.#approvalEnds(call, decision === 'approve' ? 'approved' : 'denied');
    if (call.approval !== null) call.approval.by = 'human:ann';
    if (decision === 'deny') this.#end(call, 'denied', 'approval_denied');
    return 'answered';
  }

  edit(call: ModelCall, id: string, effect: Effect, may: boolean, now: number, expires_ms: number): Outcome {
    const refused = this.#whyNot(call, may, true, now);
    if (refused !== null) return refused;
    this.begin(id, effect, null, '', now, expires_ms);
    const next = this.calls.at(-1);
    if (next?.approval == null) return 'not_editable';
    if (expires_ms <= 0) {
      this.cancel(next, 'expired');
      return 'expired';
    }
    this.cancel(call, 'superseded');
    return this.answer(next, 'approve', true, true, now);
  }

  consume(call: ModelCall, effect: Effect, session: string, now: number): Outcome {
    if (call.status !== 'approval_required' || call.approval?.status !== 'approved') return 'false';
    if (call.approval.expires_at <= now) {
      this.#expire(call);
      return 'false';
    }
    const { effect: comes, reason } = this.#decide(effect);
    if (comes === 'deny' || comes === 'error') {
      this.#approvalEnds(call, 'cancelled');
      this.#end(call, comes === 'deny' ? 'denied' : 'error', reason);
      return 'false';
    }
    this.#approvalEnds(call, 'consumed');
    this.#dispatch(call, 'approved', session);
    return 'true';
  }

  finish(call: ModelCall, status: string, session: string): Outcome {
    if (call.dispatches === 0 || this.#ended(call) || call.session !== session) return 'late';
    this.#end(call, status, status === 'ok' ? null : status === 'timeout' ? 'timeout' : 'tool_error');
    return 'written';
  }

  cancel(call: ModelCall, reason: string): Outcome {
    if (call.status !== 'approval_required') return 'false';
    this.#approvalEnds(call, 'cancelled');
    this.#end(call, 'error', reason);
    return 'true';
  }

  expire(now: number): Outcome {
    const late = this.calls.filter(
      (call) => call.status === 'approval_required' && (call.approval?.expires_at ?? 0) <= now,
    );
    for (const call of late) this.#expire(call);
    return String(late.length);
  }

  reap(session: string): Outcome {
    const lost = this.calls.filter((call) => call.session === session && call.dispatches > 0 && !this.#ended(call));
    for (const call of lost) this.#end(call, 'error', 'TOOL_OUTCOME_UNKNOWN');
    return lost
      .map((call) => call.id)
      .sort()
      .join(' ');
  }

  pin(on: boolean): void {
    if (this.pinned === on) return;
    this.pinned = on;
    for (const call of this.calls.filter(({ status }) => status === 'approval_required')) {
      this.#approvalEnds(call, 'cancelled');
      this.#end(call, 'denied', 'definition_changed');
    }
  }

  #decide(effect: Effect): { effect: Effect; reason: string | null } {
    if (this.off) return { effect: 'deny', reason: 'switched_off' };
    if (!this.pinned) return { effect: 'deny', reason: 'not_pinned' };
    if (this.used >= MOST_CALLS) return { effect: 'deny', reason: 'limit_reached' };
    return { effect, reason: effect === 'deny' ? 'policy' : effect === 'error' ? 'invalid_arguments' : null };
  }

  #whyNot({ approval }: ModelCall, may: boolean, same: boolean, now: number): Outcome | null {
    if (approval === null) return 'not_found';
    if (approval.status !== 'pending') return approval.status === 'expired' ? 'expired' : 'not_pending';
    if (approval.expires_at <= now) return 'expired';
    if (!same) return 'mismatch';
    return may ? null : 'not_an_approver';
  }

  #dispatch(call: ModelCall, status: string, session: string): void {
    this.used += 1;
    call.dispatches += 1;
    call.status = status;
    call.session = session;
  }

  #expire(call: ModelCall): void {
    this.#approvalEnds(call, 'expired');
    this.#end(call, 'denied', 'approval_expired');
  }

  #approvalEnds({ approval }: ModelCall, status: string): void {
    if (approval !== null) approval.status = status;
  }

  #end(call: ModelCall, status: string, reason: string | null): void {
    call.status = status;
    call.reason = reason;
  }

  #ended({ status }: ModelCall): boolean {
    return ['ok', 'error', 'timeout', 'denied'].includes(status);
  }
}
