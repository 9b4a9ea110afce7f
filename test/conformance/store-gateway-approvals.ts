import { expect, it } from 'vitest';
import type { ApprovalAnswer } from '../../src/contract/store.ts';
import {
  answerTo,
  type CallChange,
  decideBy,
  EXPIRES_MS,
  GatewayScene,
  OTHER_POLICY_DIGEST,
  POLICY_DIGEST,
  requestBy,
} from '../support/store-gateway.ts';
import type { OpenHarness } from '../support/store-harness.ts';
import { storeEdits } from './store-gateway-edits.ts';

/** Approvals: answered once by who may, in time, for the call that was shown; used once, under the policy of that moment. */
export function storeApprovals(open: OpenHarness): void {
  storeAnswers(open);
  storeUses(open);
  storeEdits(open);
}

function storeAnswers(open: OpenHarness): void {
  it('of fifty parallel answers one counts', async () => {
    await using scene = await GatewayScene.open(open);
    const { run, approval } = await scene.ask();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        scene.answer(approval, { principal: `human:p${index}`, decision: index % 2 === 0 ? 'approve' : 'deny' }),
      ),
    );
    const [winner, ...more] = answers.filter((answer) => answer.type === 'answered');
    expect(more).toEqual([]);
    expect(answers.filter((answer) => answer.type === 'refused' && answer.code === 'not_pending')).toHaveLength(49);
    expect(winner?.type === 'answered' && winner.approval).toEqual(await scene.approvalOf(run));
    const told = await scene.told(run);
    expect(told.filter((type) => type === 'approval_granted' || type === 'approval_denied')).toHaveLength(1);
  });

  it('an approval says who gave it, where, and what they saw', async () => {
    await using scene = await GatewayScene.open(open);
    const { run, approval } = await scene.ask();
    scene.advance(5);
    await scene.answer(approval, { comment: 'fine', surface: 'web' });
    const given = { ...answerTo(approval), comment: 'fine' };
    expect(await scene.approvalOf(run)).toMatchObject({
      status: 'approved',
      decided_at: scene.now(),
      decided_by: 'human:ann',
      decided_on: 'web',
      comment: 'fine',
      preview_digest: given.preview_digest,
      ended_at: null,
    });
    expect(await scene.look(run)).toMatchObject({ status: 'approval_required', dispatched_at: null });
    expect(await scene.body(run, 'approval_granted')).toEqual({
      approval_id: approval.approval_id,
      by: 'human:ann',
      call_digest: run.call_digest,
      comment: 'fine',
      preview_digest: given.preview_digest,
      roles: ['operator'],
      surface: 'web',
    });
  });

  it("a person's no ends the call, and says whose it was", async () => {
    await using scene = await GatewayScene.open(open);
    const { run, approval } = await scene.ask();
    await scene.answer(approval, { decision: 'deny', comment: 'not today' });
    expect(await scene.approvalOf(run)).toMatchObject({
      status: 'denied',
      decided_by: 'human:ann',
      ended_because: 'denied',
    });
    expect(await scene.look(run)).toMatchObject({
      status: 'denied',
      reason: 'approval_denied',
      error: '{"code":"approval_denied","message":"human:ann denied it: not today"}',
    });
    expect(await scene.consume(run)).toBe(false);
    expect((await scene.told(run)).slice(-2)).toEqual(['approval_denied', 'tool_denied']);
  });

  it('in the last millisecond it may be answered, at its expiry and one later not, whether or not it was swept', async () => {
    await using scene = await GatewayScene.open(open);
    for (const [late, answered] of [
      [-1, true],
      [0, false],
      [1, false],
    ] as const) {
      const { run, approval } = await scene.ask();
      scene.advance(EXPIRES_MS + late);
      const answer = await scene.answer(approval);
      expect(answer).toMatchObject(answered ? { type: 'answered' } : { type: 'refused', code: 'expired' });
      expect(await scene.approvalOf(run)).toMatchObject({ status: answered ? 'approved' : 'expired' });
      expect(await scene.look(run)).toMatchObject(
        answered ? { status: 'approval_required' } : { status: 'denied', reason: 'approval_expired' },
      );
      expect(await scene.answer(approval)).toMatchObject({ code: answered ? 'not_pending' : 'expired' });
    }
  });

  it.each<[string, Partial<ApprovalAnswer>, string]>([
    ['of another call', { call_digest: 'f'.repeat(64) }, 'mismatch'],
    ['by who asked for it', { principal: 'agent:writer', principal_kind: 'service' }, 'not_an_approver'],
    ['by an agent, whatever its roles', { principal: 'agent:boss', principal_kind: 'agent' }, 'not_an_approver'],
    ['by somebody of another role', { principal: 'human:bob', roles: ['viewer'] }, 'not_an_approver'],
    ['by somebody without roles', { principal: 'human:bob', roles: [] }, 'not_an_approver'],
    ['by somebody who is named like a role', { principal: 'role:operator', roles: [] }, 'not_an_approver'],
  ])('an answer %s is refused, told, and leaves the approval to others', async (_name, change, code) => {
    await using scene = await GatewayScene.open(open);
    for (const decision of ['approve', 'deny'] as const) {
      const { run, approval } = await scene.ask();
      expect(await scene.answer(approval, { ...change, decision })).toMatchObject({ type: 'refused', code });
      expect(await scene.approvalOf(run)).toEqual(approval);
      expect((await scene.told(run)).at(-1)).toBe('approval_refused');
      expect(await scene.body(run, 'approval_refused')).toMatchObject({ code, by: change.principal ?? 'human:ann' });
      expect(await scene.answer(approval)).toMatchObject({ type: 'answered' });
    }
  });

  it('who asked may answer where policy lets them; every list of approvers has to hold the one who answers', async () => {
    await using scene = await GatewayScene.open(open);
    const terms = {
      approvers: [
        ['role:operator', 'human:eve'],
        ['human:ann', 'human:eve'],
      ],
      self_approval: true,
    };
    const decide = decideBy('ask', { terms });
    const mine: CallChange = { principal: 'human:ann', principal_kind: 'human' };
    const { approval } = await scene.ask(mine, decide);
    expect(await scene.answer(approval, { principal: 'human:bob' })).toMatchObject({ code: 'not_an_approver' });
    expect(await scene.answer(approval, { roles: [] })).toMatchObject({ code: 'not_an_approver' });
    expect(await scene.answer(approval)).toMatchObject({ type: 'answered' });
    const second = await scene.ask(mine, decide);
    expect(await scene.answer(second.approval, { principal: 'human:eve', roles: [] })).toMatchObject({
      type: 'answered',
    });
  });

  it('an id that is not there is not found, for answers and for changed calls', async () => {
    await using scene = await GatewayScene.open(open);
    const answer = answerTo({ approval_id: 'apr_none', call_digest: 'f'.repeat(64) });
    const refused = { type: 'refused', code: 'not_found' };
    expect(await scene.store.answerApproval(answer)).toMatchObject(refused);
    expect(await scene.store.editToolRun(answer, scene.call(), requestBy(decideBy('ask')))).toMatchObject(refused);
    expect(await scene.store.approval('apr_none')).toBeNull();
  });
}

function storeUses(open: OpenHarness): void {
  it('of fifty parallel uses of an approval one dispatches', async () => {
    await using scene = await GatewayScene.open(open);
    const { run } = await scene.approved();
    const sessions = ['wse_g1', 'wse_g2'];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        scene.consume(run, decideBy('ask'), { session_id: sessions[index % 2] ?? '' }),
      ),
    );
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(await scene.look(run)).toMatchObject({ status: 'approved', dispatched_at: scene.now() });
    expect(await scene.approvalOf(run)).toMatchObject({
      status: 'consumed',
      ended_at: scene.now(),
      ended_because: null,
    });
    expect((await scene.told(run)).slice(-3)).toEqual(['policy_decided', 'approval_consumed', 'tool_dispatched']);
  });

  it('an approval that was not given is not used', async () => {
    await using scene = await GatewayScene.open(open);
    const { run } = await scene.ask();
    expect(await scene.consume(run)).toBe(false);
    expect(await scene.consume(await scene.begin('allow'))).toBe(false);
    expect(await scene.store.consumeApproval('trn_none', requestBy(decideBy('ask')))).toBe(false);
    expect(await scene.look(run)).toMatchObject({ status: 'approval_required' });
  });

  it.each(['ask', 'allow'] as const)('an approval satisfies a policy that comes to %s now', async (effect) => {
    await using scene = await GatewayScene.open(open);
    const { run } = await scene.approved();
    expect(await scene.consume(run, decideBy(effect, { policy_digest: OTHER_POLICY_DIGEST }))).toBe(true);
    expect(await scene.body(run, 'approval_consumed')).toMatchObject({
      policy_digest: OTHER_POLICY_DIGEST,
      by: 'human:ann',
    });
    expect(await scene.look(run)).toMatchObject({ decision: 'ask', policy_digest: POLICY_DIGEST });
  });

  it.each([
    ['deny', 'denied', 'policy'],
    ['error', 'error', 'invalid_arguments'],
  ] as const)(
    'a policy that comes to %s now cancels the approval; both policies are on record',
    async (effect, status, reason) => {
      await using scene = await GatewayScene.open(open);
      const { run } = await scene.approved();
      expect(await scene.consume(run, decideBy(effect, { policy_digest: OTHER_POLICY_DIGEST }))).toBe(false);
      expect(await scene.approvalOf(run)).toMatchObject({
        status: 'cancelled',
        ended_because: reason,
        decided_by: 'human:ann',
      });
      expect(await scene.look(run)).toMatchObject({ status, reason, dispatched_at: null });
      const { approval_id } = run;
      expect(await scene.body(run, 'approval_requested')).toMatchObject({ policy_digest: POLICY_DIGEST });
      expect(await scene.body(run, 'policy_decided')).toMatchObject({
        effect,
        policy_digest: OTHER_POLICY_DIGEST,
        approval_id,
      });
      expect(await scene.consume(run)).toBe(false);
    },
  );

  it('an approval that has expired since it was given is not used', async () => {
    await using scene = await GatewayScene.open(open);
    const { run } = await scene.approved();
    scene.advance(EXPIRES_MS);
    expect(await scene.consume(run)).toBe(false);
    expect(await scene.approvalOf(run)).toMatchObject({ status: 'expired', decided_by: 'human:ann' });
    expect(await scene.look(run)).toMatchObject({ status: 'denied', reason: 'approval_expired' });
  });

  it('a call of an attempt that is not held any more is not made, although it was approved', async () => {
    await using scene = await GatewayScene.open(open);
    const fence = await scene.fence();
    const [held, lost] = [await scene.approved({ fence }), await scene.approved({ fence })];
    expect(await scene.consume(held.run)).toBe(true);
    await scene.store.release(fence);
    expect(await scene.consume(lost.run)).toBe(false);
    expect(await scene.look(lost.run)).toMatchObject({ status: 'error', reason: 'lease_lost', dispatched_at: null });
    expect(await scene.approvalOf(lost.run)).toMatchObject({ status: 'cancelled', ended_because: 'lease_lost' });
  });

  it('a call of an attempt that was set aside is not made while nobody holds it', async () => {
    await using scene = await GatewayScene.open(open);
    const fence = await scene.fence();
    const { run } = await scene.approved({ fence });
    await scene.store.suspend(fence, scene.now() + EXPIRES_MS);
    expect(await scene.consume(run)).toBe(false);
    expect(await scene.look(run)).toMatchObject({ reason: 'lease_lost' });
  });
}
