import { describe, expect, it } from 'vitest';
import type { GatewayFacts } from '../../src/contract/store.ts';
import { decideBy, GatewayScene, POLICY, POLICY_DIGEST, requestBy } from '../support/store-gateway.ts';
import type { OpenHarness } from '../support/store-harness.ts';
import { storeApprovals } from './store-gateway-approvals.ts';
import { storeToolRunEndings } from './store-gateway-endings.ts';
import { storeToolReaders } from './store-gateway-readers.ts';
import { storeRestraints } from './store-gateway-restraints.ts';

/** What every store does for the gateway. */
export function storeGateway(open: OpenHarness): void {
  describe('begin:', () => storeBegin(open));
  describe('limits, switches, pins:', () => storeRestraints(open));
  describe('approvals:', () => storeApprovals(open));
  describe('endings:', () => storeToolRunEndings(open));
  describe('readers:', () => storeToolReaders(open));
}

function storeBegin(open: OpenHarness): void {
  it('what is allowed is dispatched in the same transaction, by the session that asked', async () => {
    await using scene = await GatewayScene.open(open);
    const call = scene.call({ idempotency_key: 'once', caused_by: 'evt_1' });
    const { run, created } = await scene.store.beginToolRun(call, requestBy(decideBy('allow')));
    expect(created).toBe(true);
    const { fence: _fence, roles, open_world, ...columns } = call;
    expect(run).toMatchObject({
      ...columns,
      roles: JSON.stringify(roles),
      open_world: Number(open_world),
      run_id: null,
      status: 'started',
      decision: 'allow',
      policy_digest: POLICY_DIGEST,
      rules: '["rule-allow"]',
      created_at: scene.now(),
      dispatched_at: scene.now(),
      finished_at: null,
      approval_id: null,
      delivered_at: null,
    });
    expect(Object.keys(run)).not.toEqual(expect.arrayContaining(['stream']));
    expect(await scene.look(run)).toEqual(run);
    expect(await scene.told(run)).toEqual(['tool_called', 'policy_decided', 'tool_dispatched']);
    expect(await scene.store.policy(POLICY_DIGEST)).toBe(POLICY);
    expect(await scene.store.policy('0'.repeat(64))).toBeNull();
  });

  it('what is asked for waits, with the terms of its approval', async () => {
    await using scene = await GatewayScene.open(open);
    const { run, approval } = await scene.ask();
    expect(run).toMatchObject({
      status: 'approval_required',
      decision: 'ask',
      execute: 'attended',
      dispatched_at: null,
    });
    expect(approval).toMatchObject({
      tool_run_id: run.tool_run_id,
      status: 'pending',
      call_digest: run.call_digest,
      approvers: '[["role:operator"]]',
      self_approval: 0,
      edit: 1,
      reason: 'it writes',
      policy_digest: POLICY_DIGEST,
      requested_at: scene.now(),
      expires_at: scene.now() + 60_000,
      decided_by: null,
      ended_at: null,
    });
    expect(await scene.told(run)).toEqual(['tool_called', 'policy_decided', 'approval_requested']);
  });

  it.each([
    ['deny', 'denied', 'policy', 'tool_denied'],
    ['error', 'error', 'invalid_arguments', 'tool_failed'],
  ] as const)('what comes to %s ends without anything done', async (effect, status, reason, type) => {
    await using scene = await GatewayScene.open(open);
    const run = await scene.begin(effect);
    expect(run).toMatchObject({
      status,
      reason,
      decision: effect === 'error' ? null : effect,
      policy_digest: POLICY_DIGEST,
      error: JSON.stringify({ code: reason, message: 'it is refused' }),
      dispatched_at: null,
      finished_at: scene.now(),
    });
    expect(await scene.told(run)).toEqual(['tool_called', 'policy_decided', type]);
  });

  it('a decision that throws leaves nothing behind, and its neighbours are not hurt', async () => {
    await using scene = await GatewayScene.open(open);
    const broken = scene.store.beginToolRun(
      scene.call(),
      requestBy(() => {
        throw new TypeError('broken policy');
      }),
    );
    const [first, , last] = await Promise.allSettled([scene.begin('allow'), broken, scene.begin('allow')]);
    await expect(broken).rejects.toThrow('broken policy');
    expect([first.status, last.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(await scene.store.toolRuns({}, { after: null, limit: 9 })).toHaveLength(2);
  });

  it('the same key of the same caller answers the same tool run, and decides nothing again', async () => {
    await using scene = await GatewayScene.open(open);
    const first = await scene.begin('allow', { idempotency_key: 'k' });
    const seen: GatewayFacts[] = [];
    const again = await scene.store.beginToolRun(
      scene.call({ idempotency_key: 'k' }),
      requestBy(decideBy('deny', {}, seen)),
    );
    expect(again).toEqual({ run: first, created: false });
    expect(seen).toEqual([]);
    expect(await scene.told()).toHaveLength(2 + 3); // the definition and its pin, then one call
  });

  it('the same key for another call is a conflict; of another caller it is another key', async () => {
    await using scene = await GatewayScene.open(open);
    const first = await scene.begin('allow', { idempotency_key: 'k' });
    const other = scene.call({ idempotency_key: 'k', arguments: '{"text":"bye"}' });
    await expect(scene.store.beginToolRun(other, requestBy(decideBy('allow')))).rejects.toMatchObject({
      code: 'idempotency_conflict',
      message: expect.stringContaining(first.tool_run_id),
    });
    expect(await scene.store.toolRun(other.tool_run_id)).toBeNull();
    const theirs = await scene.begin('allow', { idempotency_key: 'k', principal: 'agent:reader' });
    expect(theirs.tool_run_id).not.toBe(first.tool_run_id);
  });

  it('of fifty parallel calls with one key, one is made', async () => {
    await using scene = await GatewayScene.open(open);
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        scene.store.beginToolRun(scene.call({ idempotency_key: 'k' }), requestBy(decideBy('allow'))),
      ),
    );
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(answers.map(({ run }) => run.tool_run_id)).size).toBe(1);
    expect((await scene.told()).filter((type) => type === 'tool_dispatched')).toHaveLength(1);
  });

  it('a call of an attempt is in the stream of its run; one that is not held is an error and nothing is done', async () => {
    await using scene = await GatewayScene.open(open);
    const fence = await scene.fence();
    const held = await scene.begin('allow', { fence });
    expect(held).toMatchObject({ run_id: 'run_1', ordinal: fence.ordinal, attempt: 1, status: 'started' });
    const wrong = [
      { ...fence, lease_id: 'another' },
      { ...fence, attempt: 2 },
      { ...fence, ordinal: fence.ordinal + 1 },
    ];
    for (const one of wrong)
      expect(await scene.begin('allow', { fence: one })).toMatchObject({
        status: 'error',
        reason: 'lease_lost',
        decision: null,
        dispatched_at: null,
      });
    await scene.store.release(fence);
    expect(await scene.begin('allow', { fence })).toMatchObject({ reason: 'lease_lost' });
    expect(await scene.store.toolRunsOf('run_1', fence.ordinal, 1)).toHaveLength(3);
    await expect(scene.begin('allow', { fence: { ...fence, run_id: 'run_9' } })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('an unknown session dispatches nothing', async () => {
    await using scene = await GatewayScene.open(open);
    await expect(scene.begin('allow', {}, { session_id: 'wse_9' })).rejects.toMatchObject({ code: 'not_found' });
    expect(await scene.store.toolRuns({}, { after: null, limit: 9 })).toEqual([]);
  });

  it('a call is tainted by what read from outside before it: of the same attempt, or of the same caller not long ago', async () => {
    await using scene = await GatewayScene.open(open);
    const tainted = async (change = {}, taint_ms: number | null = 5_000) => {
      const seen: GatewayFacts[] = [];
      await scene.store.beginToolRun(scene.call(change), requestBy(decideBy('deny', {}, seen), { taint_ms }));
      return seen[0]?.tainted;
    };
    const [first, second] = [await scene.fence(), await scene.fence()];
    await scene.begin('deny', { open_world: true }); // was not made, so nothing was read
    expect(await tainted()).toBe(false);
    await scene.begin('allow', { open_world: true });
    await scene.begin('allow', { open_world: true, fence: first });
    expect(await tainted()).toBe(true);
    expect(await tainted({}, null), 'not asked').toBeNull();
    expect(await tainted({ principal: 'agent:reader' })).toBe(false);
    expect(await tainted({ fence: first })).toBe(true);
    expect(await tainted({ fence: second })).toBe(false);
    scene.advance(4_999);
    expect(await tainted()).toBe(true);
    scene.advance(1);
    expect(await tainted()).toBe(false);
    expect(await tainted({ fence: first })).toBe(true);
  });

  it('the pending calls of a caller are counted by stream, without what has expired', async () => {
    await using scene = await GatewayScene.open(open);
    const pending = async (change = {}) => {
      const seen: GatewayFacts[] = [];
      await scene.store.beginToolRun(scene.call(change), requestBy(decideBy('deny', {}, seen)));
      return seen[0]?.pending;
    };
    const fence = await scene.fence();
    await scene.ask();
    await scene.approved();
    await scene.ask({ fence });
    expect([await pending(), await pending({ fence }), await pending({ principal: 'agent:reader' })]).toEqual([
      2, 1, 0,
    ]);
    scene.advance(60_000);
    expect([await pending(), await pending({ fence })]).toEqual([0, 0]);
  });
}
