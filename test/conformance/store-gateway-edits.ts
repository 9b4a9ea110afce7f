import { expect, it } from 'vitest';
import type { ApprovalAnswer, ApprovalRow, ToolRunRow } from '../../src/contract/store.ts';
import { answerTo, type CallChange, decideBy, EXPIRES_MS, GatewayScene, requestBy } from '../support/store-gateway.ts';
import type { OpenHarness } from '../support/store-harness.ts';

/** Answers with other arguments: a new call takes the place of the one that was made. */
export function storeEdits(open: OpenHarness): void {
  const edit = (
    scene: GatewayScene,
    of: ToolRunRow,
    approval: ApprovalRow,
    decide = decideBy('ask'),
    change: CallChange = {},
  ) => {
    const next = scene.call({ arguments: '{"text":"goodbye"}', edited_from: of.tool_run_id, ...change });
    return { next, answer: scene.store.editToolRun(answerTo(approval), next, requestBy(decide)) };
  };

  it('a changed call takes the place of the one that was asked for: what was proposed, approved and made are three records', async () => {
    await using scene = await GatewayScene.open(open);
    const { run, approval } = await scene.ask();
    const { next, answer } = edit(scene, run, approval);
    const given = await answer;
    expect(given).toMatchObject({ type: 'answered', approval: { status: 'approved', tool_run_id: next.tool_run_id } });
    expect(await scene.look(run)).toMatchObject({
      status: 'error',
      reason: 'superseded',
      edited_into: next.tool_run_id,
    });
    expect(await scene.approvalOf(run)).toMatchObject({
      status: 'cancelled',
      ended_because: 'superseded',
      decided_by: null,
    });
    const changed = await scene.store.toolRun(next.tool_run_id);
    if (changed === null) throw new Error('the changed call should be there');
    expect(changed).toMatchObject({
      status: 'approval_required',
      edited_from: run.tool_run_id,
      arguments: next.arguments,
    });
    expect(await scene.approvalOf(changed)).toMatchObject({ call_digest: next.call_digest, decided_by: 'human:ann' });
    expect(await scene.consume(run)).toBe(false);
    expect(await scene.consume(changed)).toBe(true);
    expect((await scene.told(run)).slice(-2)).toEqual(['approval_cancelled', 'tool_failed']);
  });

  it('what is refused of a changed call leaves the old one as it was, however often; the last change counts', async () => {
    await using scene = await GatewayScene.open(open);
    const { run, approval } = await scene.ask();
    for (const effect of ['deny', 'error'] as const) {
      const { next, answer } = edit(scene, run, approval, decideBy(effect));
      expect(await answer).toMatchObject({ type: 'refused', code: 'not_editable' });
      expect(await scene.store.toolRun(next.tool_run_id)).toMatchObject({
        dispatched_at: null,
        finished_at: scene.now(),
      });
    }
    expect(await scene.look(run)).toEqual(run);
    expect(await scene.approvalOf(run)).toEqual(approval);
    const { next, answer } = edit(scene, run, approval);
    expect(await answer).toMatchObject({ type: 'answered' });
    expect(await scene.look(run)).toMatchObject({ edited_into: next.tool_run_id });
    const rows = await scene.store.toolRuns({}, { after: null, limit: 99 });
    expect(rows.filter((row) => row.tool_run_id === run.tool_run_id)).toHaveLength(1);
    expect(rows).toHaveLength(4);
  });

  it('a changed call that this person may not approve is refused, and the old one still waits', async () => {
    await using scene = await GatewayScene.open(open);
    const { run, approval } = await scene.ask();
    const stricter = decideBy('ask', { terms: { approvers: [['role:lead']] } });
    const { next, answer } = edit(scene, run, approval, stricter);
    expect(await answer).toMatchObject({ type: 'refused', code: 'not_an_approver' });
    expect(await scene.look(run)).toEqual(run);
    expect(await scene.store.toolRun(next.tool_run_id)).toMatchObject({ status: 'error', reason: 'not_an_approver' });
    expect((await scene.store.approvals(true, { after: null, limit: 9 })).map((row) => row.tool_run_id)).toEqual([
      run.tool_run_id,
    ]);
    expect(await scene.answer(approval)).toMatchObject({ type: 'answered' });
  });

  it('a decision that would dispatch the changed call at once is refused whole: nobody would carry it out', async () => {
    await using scene = await GatewayScene.open(open);
    const { run, approval } = await scene.ask();
    const { next, answer } = edit(scene, run, approval, decideBy('allow'));
    await expect(answer).rejects.toThrow('asks, or refuses it');
    expect(await scene.store.toolRun(next.tool_run_id)).toBeNull();
    expect(await scene.approvalOf(run)).toEqual(approval);
  });

  it.each<[string, Partial<ApprovalAnswer>, number, string]>([
    ['by somebody who may not answer', { roles: [] }, 0, 'not_an_approver'],
    ['of another call than was shown', { call_digest: 'f'.repeat(64) }, 0, 'mismatch'],
    ['after the expiry', {}, EXPIRES_MS, 'expired'],
  ])('a change %s is refused before anything is recorded', async (_name, change, late, code) => {
    await using scene = await GatewayScene.open(open);
    const { run, approval } = await scene.ask();
    scene.advance(late);
    const next = scene.call({ edited_from: run.tool_run_id });
    const answer = await scene.store.editToolRun(answerTo(approval, change), next, requestBy(decideBy('ask')));
    expect(answer).toMatchObject({ type: 'refused', code });
    expect(await scene.store.toolRun(next.tool_run_id)).toBeNull();
  });

  it('a call whose arguments policy does not let be changed is not changed; one that was answered neither', async () => {
    await using scene = await GatewayScene.open(open);
    const fixed = await scene.ask({}, decideBy('ask', { terms: { edit: false } }));
    expect(await edit(scene, fixed.run, fixed.approval).answer).toMatchObject({
      type: 'refused',
      code: 'not_editable',
    });
    const { run, approval } = await scene.approved();
    expect(await edit(scene, run, approval).answer).toMatchObject({ type: 'refused', code: 'not_pending' });
  });
}
