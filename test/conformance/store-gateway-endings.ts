import { expect, it } from 'vitest';
import { decideBy, EXPIRES_MS, endOf, failedEnd, GatewayScene } from '../support/store-gateway.ts';
import type { OpenHarness } from '../support/store-harness.ts';

/** How tool runs end: by their outcome, by who cancels them, by time, or with the process that made them. */
export function storeToolRunEndings(open: OpenHarness): void {
  storeOutcomes(open);
  storeCancels(open);
  storeLost(open);
}

function storeOutcomes(open: OpenHarness): void {
  it.each([
    ['ok', 'tool_succeeded'],
    ['error', 'tool_failed'],
    ['timeout', 'tool_timed_out'],
  ] as const)('a call ends as %s with its outcome, once', async (status, type) => {
    await using scene = await GatewayScene.open(open);
    for (const run of [await scene.begin('allow'), (await scene.approved()).run]) {
      if (run.status === 'approval_required') await scene.consume(run);
      scene.advance(12);
      const end = status === 'ok' ? endOf(run.tool_run_id) : failedEnd(run.tool_run_id, status);
      expect(await scene.store.finishToolRun(end)).toEqual(expect.any(Number));
      const { session_id: _session, error, ...columns } = end;
      expect(await scene.look(run)).toMatchObject({
        ...columns,
        error: error === null ? null : JSON.stringify(error),
        finished_at: scene.now(),
      });
      expect((await scene.told(run)).at(-1)).toBe(type);
    }
  });

  it('an outcome that comes late is told and changes nothing', async () => {
    await using scene = await GatewayScene.open(open);
    const run = await scene.begin('allow');
    await scene.store.finishToolRun(endOf(run.tool_run_id));
    const ended = await scene.look(run);
    scene.advance(1);
    for (const end of [endOf(run.tool_run_id), failedEnd(run.tool_run_id, 'error')])
      expect(await scene.store.finishToolRun(end)).toBeNull();
    expect(await scene.look(run)).toEqual(ended);
    expect((await scene.told(run)).slice(-3)).toEqual(['tool_succeeded', 'tool_outcome_late', 'tool_outcome_late']);
    expect(await scene.body(run, 'tool_outcome_late')).toMatchObject({ status: 'error', code: 'tool_error' });
  });

  it('of fifty parallel outcomes one is written', async () => {
    await using scene = await GatewayScene.open(open);
    const run = await scene.begin('allow');
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        scene.store.finishToolRun(endOf(run.tool_run_id, { latency_ms: index })),
      ),
    );
    expect(answers.filter((answer) => answer !== null)).toHaveLength(1);
    expect(await scene.look(run)).toMatchObject({ latency_ms: answers.findIndex((answer) => answer !== null) });
  });

  it('an outcome counts only by the session that made the call, and only of a call that was made', async () => {
    await using scene = await GatewayScene.open(open);
    const run = await scene.begin('allow');
    const { run: waiting } = await scene.approved();
    expect(await scene.store.finishToolRun(endOf(run.tool_run_id, { session_id: 'wse_g2' }))).toBeNull();
    expect(await scene.store.finishToolRun(endOf(waiting.tool_run_id))).toBeNull();
    expect(await scene.look(run)).toEqual(run);
    expect(await scene.look(waiting)).toMatchObject({ status: 'approval_required' });
    for (const end of [endOf('trn_none'), endOf(run.tool_run_id, { session_id: 'wse_9' })])
      await expect(scene.store.finishToolRun(end)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('an outcome that no event can tell is refused, and the call can still end', async () => {
    await using scene = await GatewayScene.open(open);
    const run = await scene.begin('allow');
    const broken = endOf(run.tool_run_id, { latency_ms: Number.NaN });
    await expect(scene.store.finishToolRun(broken)).rejects.toThrow();
    expect(await scene.look(run)).toEqual(run);
    expect(await scene.store.finishToolRun(endOf(run.tool_run_id))).toEqual(expect.any(Number));
  });
}

function storeCancels(open: OpenHarness): void {
  it.each(['pending', 'approved'] as const)(
    'a call whose approval is %s is cancelled, with the approval',
    async (state) => {
      await using scene = await GatewayScene.open(open);
      const { run } = state === 'approved' ? await scene.approved() : await scene.ask();
      expect(await scene.store.cancelToolRun(run.tool_run_id, 'cancelled', 'no more', 'human:bob')).toBe(true);
      expect(await scene.store.cancelToolRun(run.tool_run_id, 'cancelled', 'no more', 'human:bob')).toBe(false);
      expect(await scene.look(run)).toMatchObject({ status: 'error', reason: 'cancelled', dispatched_at: null });
      expect(await scene.approvalOf(run)).toMatchObject({ status: 'cancelled', ended_because: 'cancelled' });
      expect(await scene.body(run, 'approval_cancelled')).toMatchObject({ by: 'human:bob' });
      expect(await scene.answer(await scene.approvalOf(run))).toMatchObject({ code: 'not_pending' });
      expect(await scene.consume(run)).toBe(false);
    },
  );

  it('cancelling and using an approval at once: one of them wins', async () => {
    await using scene = await GatewayScene.open(open);
    for (let turn = 0; turn < 10; turn += 1) {
      const { run } = await scene.approved();
      const cancel = () => scene.store.cancelToolRun(run.tool_run_id, 'cancelled', 'no more', 'human:bob');
      const [first, second] = await Promise.all(
        turn % 2 === 0 ? [cancel(), scene.consume(run)] : [scene.consume(run), cancel()],
      );
      expect([first, second]).toEqual([true, false]);
    }
  });

  it('a call that is being made is asked to stop once, and ends by its outcome', async () => {
    await using scene = await GatewayScene.open(open);
    const run = await scene.begin('allow');
    expect(await scene.store.cancelToolRun(run.tool_run_id, 'cancelled', 'no more', 'human:bob')).toBe(false);
    expect(await scene.store.toolCancelRequested(run.tool_run_id)).toBeNull();
    expect(await scene.store.requestToolCancel(run.tool_run_id, 'too slow', 'human:bob')).toBe(true);
    expect(await scene.store.requestToolCancel(run.tool_run_id, 'again', 'human:ann')).toBe(true);
    expect(await scene.store.toolCancelRequested(run.tool_run_id)).toEqual({ reason: 'too slow', by: 'human:bob' });
    expect(await scene.look(run)).toEqual(run);
    await scene.store.finishToolRun(failedEnd(run.tool_run_id, 'error'));
    expect(await scene.store.requestToolCancel(run.tool_run_id, 'too late', 'human:bob')).toBe(false);
    expect((await scene.told(run)).slice(-2)).toEqual(['tool_cancel_requested', 'tool_failed']);
    for (const ask of [
      scene.store.cancelToolRun('trn_none', 'cancelled', '', 'human:bob'),
      scene.store.requestToolCancel('trn_none', '', 'human:bob'),
      scene.store.deliverToolRun('trn_none'),
    ])
      await expect(ask).rejects.toMatchObject({ code: 'not_found' });
  });
}

function storeLost(open: OpenHarness): void {
  it('what nobody answered, or used, in time expires with its call; the rest stays', async () => {
    await using scene = await GatewayScene.open(open);
    const pending = await scene.ask();
    const approved = await scene.approved();
    const used = await scene.approved();
    await scene.consume(used.run);
    scene.advance(1);
    const later = await scene.ask();
    scene.advance(EXPIRES_MS - 2);
    expect(await scene.store.expireApprovals(9)).toBe(0);
    scene.advance(1);
    expect([await scene.store.expireApprovals(1), await scene.store.expireApprovals(9)]).toEqual([1, 1]);
    expect(await scene.store.expireApprovals(9)).toBe(0);
    expect(await scene.approvalOf(pending.run)).toMatchObject({
      status: 'expired',
      ended_because: 'nobody answered in time',
    });
    expect(await scene.approvalOf(approved.run)).toMatchObject({
      status: 'expired',
      ended_because: 'it was approved, but nobody made the call in time',
    });
    for (const { run } of [pending, approved])
      expect(await scene.look(run)).toMatchObject({ status: 'denied', reason: 'approval_expired' });
    expect(await scene.look(used.run)).toMatchObject({ status: 'approved' });
    expect(await scene.approvalOf(later.run)).toMatchObject({ status: 'pending' });
  });

  it('what a dead session was making ends as unknown and is never made again', async () => {
    await using scene = await GatewayScene.open(open);
    const allowed = await scene.begin('allow', { idempotency_key: 'k' });
    const { run: used } = await scene.approved();
    await scene.consume(used);
    const { run: waiting } = await scene.approved();
    const ended = await scene.begin('allow');
    await scene.store.finishToolRun(endOf(ended.tool_run_id));
    const elsewhere = await scene.begin('allow', {}, { session_id: 'wse_g2' });
    expect(await scene.store.reapToolRuns([], 9)).toEqual([]);
    const reaped = [...(await scene.store.reapToolRuns(['wse_g1'], 1)), ...(await scene.store.reapToolRuns([], 9))];
    expect(reaped.sort()).toEqual([allowed.tool_run_id, used.tool_run_id].sort());
    expect(await scene.store.reapToolRuns(['wse_g1'], 9)).toEqual([]);
    for (const run of [allowed, used])
      expect(await scene.look(run)).toMatchObject({ status: 'error', reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(await scene.look(waiting)).toMatchObject({ status: 'approval_required' });
    expect(await scene.look(elsewhere)).toEqual(elsewhere);
    expect((await scene.store.liveSessions(0)).map((session) => session.session_id)).toEqual(['wse_1', 'wse_g2']);

    expect(await scene.consume(used)).toBe(false);
    expect(await scene.begin('allow', { idempotency_key: 'k' })).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(await scene.store.finishToolRun(endOf(allowed.tool_run_id))).toBeNull();
    expect(await scene.look(allowed)).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN', output: null });
    expect((await scene.told()).filter((type) => type === 'tool_dispatched')).toHaveLength(4);
    expect(await scene.consume(waiting, decideBy('ask'), { session_id: 'wse_g2' })).toBe(true);
  });

  it('what a session left when it closed ends as unknown too', async () => {
    await using scene = await GatewayScene.open(open);
    const run = await scene.begin('allow');
    await scene.store.closeSession('wse_g1');
    expect(await scene.store.reapToolRuns([], 9)).toEqual([run.tool_run_id]);
  });

  it('a gateway that was taken for dead and is not goes on: what it makes from then on is its own', async () => {
    await using scene = await GatewayScene.open(open);
    const lost = await scene.begin('allow');
    await scene.store.reapToolRuns(['wse_g1'], 9);
    const run = await scene.begin('allow');
    expect(await scene.store.reapToolRuns([], 9)).toEqual([]);
    expect(await scene.store.finishToolRun(endOf(lost.tool_run_id))).toBeNull();
    expect(await scene.store.finishToolRun(endOf(run.tool_run_id))).toEqual(expect.any(Number));
    expect((await scene.store.liveSessions(0)).map((session) => session.session_id)).toContain('wse_g1');
  });
}
