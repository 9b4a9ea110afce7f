import { describe, expect, it } from 'vitest';
import type { GatewayFacts, LimitCharge } from '../../src/contract/store.ts';
import {
  decideBy,
  definitionOf,
  GatewayScene,
  POLICY,
  POLICY_DIGEST,
  requestBy,
  WRITE,
} from '../support/store-gateway.ts';
import type { OpenHarness } from '../support/store-harness.ts';
import { storeApprovals } from './store-gateway-approvals.ts';
import { storeToolRunEndings } from './store-gateway-endings.ts';
import { storeToolReaders } from './store-gateway-readers.ts';

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
    expect(await tainted({}, null)).toBe(false);
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

function storeRestraints(open: OpenHarness): void {
  const limit = (change: Partial<LimitCharge> = {}): LimitCharge => ({
    id: 'few',
    key: '["few","agent:writer"]',
    window_ms: null,
    calls: 10,
    cost_micro_usd: null,
    ...change,
  });

  it('of a hundred parallel calls with a limit of ten, ten pass', async () => {
    await using scene = await GatewayScene.open(open);
    const runs = await Promise.all(Array.from({ length: 100 }, () => scene.begin('allow', {}, { limits: [limit()] })));
    expect(runs.filter((run) => run.dispatched_at !== null)).toHaveLength(10);
    expect(runs.filter((run) => run.reason === 'limit_reached')).toHaveLength(90);
    const other = { limits: [limit({ key: '["few","agent:reader"]' })] };
    expect(await scene.begin('allow', {}, other)).toMatchObject({ status: 'started' });
  });

  it.each([1_000, 60_000, 86_400_000, 7])(
    'a window of %i ms slides: it never holds more than the limit',
    async (window_ms) => {
      await using scene = await GatewayScene.open(open);
      const limits = [limit({ calls: 3, window_ms })];
      const passed: number[] = [];
      const step = Math.max(1, Math.floor(window_ms / 7));
      for (let turn = 0; turn < 40; turn += 1) {
        const run = await scene.begin('allow', {}, { limits });
        if (run.dispatched_at !== null) passed.push(run.dispatched_at);
        scene.advance(step + (turn % 3));
      }
      const most = Math.max(
        ...passed.map((at) => passed.filter((other) => other > at - window_ms && other <= at).length),
      );
      expect(most).toBe(3);
      // The oldest slice counts whole, a sixtieth of the window: no call waits longer than that beyond it.
      expect(passed.length).toBeGreaterThan(Math.floor((40 * step) / (window_ms * (1 + 1 / 60) + 3 * step)) * 3);
    },
  );

  it('uses still count when policy makes the window of a limit longer or shorter', async () => {
    await using scene = await GatewayScene.open(open);
    const reached = async (window_ms: number | null) =>
      (await scene.begin('allow', {}, { limits: [limit({ calls: 1, window_ms })] })).reason === 'limit_reached';
    expect(await reached(60_000)).toBe(false);
    expect([await reached(3_600_000), await reached(1_000), await reached(null)]).toEqual([true, true, true]);
    scene.advance(62_000);
    expect([await reached(3_600_000), await reached(null)]).toEqual([true, true]);
    expect(await reached(60_000)).toBe(false);
  });

  it('costs are summed to the limit, not beyond it', async () => {
    await using scene = await GatewayScene.open(open);
    const limits = [limit({ calls: null, cost_micro_usd: 100 })];
    const costs = [60, 50, 40, 1, 0];
    const runs = [];
    for (const cost_micro_usd of costs) runs.push(await scene.begin('allow', { cost_micro_usd }, { limits }));
    expect(runs.map((run) => run.reason)).toEqual([null, 'limit_reached', null, 'limit_reached', null]);
  });

  it('a call that waits counts when it is dispatched, and is refused if the limit is reached by then', async () => {
    await using scene = await GatewayScene.open(open);
    const request = { limits: [limit({ calls: 1 })] };
    const waiting = await scene.begin('ask', {}, request);
    await scene.answer(await scene.approvalOf(waiting));
    await scene.begin('allow', {}, request);
    expect(await scene.consume(waiting, decideBy('ask'), request)).toBe(false);
    expect(await scene.look(waiting)).toMatchObject({ status: 'denied', reason: 'limit_reached' });
    expect(await scene.approvalOf(waiting)).toMatchObject({ status: 'cancelled', ended_because: 'limit_reached' });
  });

  it.each(['*', 'notes', 'notes.write'])('the switch of `%s` stops calls until it is on again', async (scope) => {
    await using scene = await GatewayScene.open(open);
    const { run, approval } = await scene.approved();
    await scene.store.switchTool(scope, true, 'an incident', 'human:ann');
    expect(await scene.begin('allow')).toMatchObject({ status: 'denied', reason: 'switched_off' });
    expect(await scene.consume(run)).toBe(false);
    expect(await scene.look(run)).toMatchObject({ status: 'denied', reason: 'switched_off' });
    expect(await scene.store.approval(approval.approval_id)).toMatchObject({ status: 'cancelled' });
    await scene.store.switchTool(scope, false, 'it is over', 'human:ann');
    expect(await scene.begin('allow')).toMatchObject({ status: 'started' });
    expect(await scene.store.switches()).toEqual([
      { scope, off: 0, reason: 'it is over', switched_by: 'human:ann', switched_at: scene.now() },
    ]);
    expect((await scene.told()).filter((type) => type.startsWith('tool_switched'))).toEqual([
      'tool_switched_off',
      'tool_switched_on',
    ]);
  });

  it('the switch of another scope stops nothing', async () => {
    await using scene = await GatewayScene.open(open);
    for (const scope of ['note', 'notes.writ', 'notes.write.more', 'write', '', 'notes.*'])
      await scene.store.switchTool(scope, true, 'not this one', 'human:ann');
    expect(await scene.begin('allow')).toMatchObject({ status: 'started' });
  });

  it('only the pinned definition may be called', async () => {
    await using scene = await GatewayScene.open(open);
    const other = definitionOf('write', 'as it is now');
    for (const definition_digest of [other.digest, null])
      expect(await scene.begin('allow', { definition_digest })).toMatchObject({
        status: 'denied',
        reason: 'not_pinned',
      });
    expect(await scene.begin('allow', { source: 'others' })).toMatchObject({ reason: 'not_pinned' });
    await scene.store.pinTool('notes', 'write', null, 'human:ann');
    expect(await scene.begin('allow')).toMatchObject({ reason: 'not_pinned' });
    expect(await scene.store.pins('notes')).toMatchObject([{ name: 'write', digest: null, pinned_by: 'human:ann' }]);
  });

  it.each(['pending', 'approved'] as const)(
    'another pin cancels what was %s for the definition before it',
    async (state) => {
      await using scene = await GatewayScene.open(open);
      const { run } = state === 'approved' ? await scene.approved() : await scene.ask();
      await scene.store.pinTool('notes', 'write', WRITE.digest, 'human:ann'); // nothing new
      expect(await scene.approvalOf(run)).toMatchObject({ status: state });
      await scene.store.pinTool('notes', 'write', definitionOf('write', 'new').digest, 'human:ann');
      expect(await scene.approvalOf(run)).toMatchObject({ status: 'cancelled', ended_because: 'definition_changed' });
      expect(await scene.look(run)).toMatchObject({ status: 'denied', reason: 'definition_changed' });
      expect(await scene.consume(run)).toBe(false);
    },
  );

  it('a source that shows another definition of a tool cancels what waits for its approval, pinned or not, known or not', async () => {
    await using scene = await GatewayScene.open(open);
    const changed = definitionOf('write', 'and sends it away');
    for (const news of [[changed], []]) {
      const { run } = await scene.approved();
      expect(await scene.store.showDefinitions('notes', [changed], false)).toEqual(news);
      expect(await scene.consume(run)).toBe(false);
      expect(await scene.look(run)).toMatchObject({ status: 'denied', reason: 'definition_changed' });
      expect(await scene.store.showDefinitions('notes', [WRITE], false)).toEqual([]); // as it was again
    }
    expect(await scene.begin('allow')).toMatchObject({ status: 'started' });
    expect(await scene.store.definition('notes', 'write', changed.digest)).toBe(changed.body);
    expect(await scene.store.definition('notes', 'read', changed.digest)).toBeNull();
    const told = (await scene.told()).filter((type) => type === 'tool_definition_changed');
    expect(told).toHaveLength(2);
  });

  it("the operator's own definitions are pinned as they come", async () => {
    await using scene = await GatewayScene.open(open);
    const [one, two] = [definitionOf('add', 'one'), definitionOf('add', 'two')];
    await scene.store.showDefinitions('own', [one], true);
    const waiting = await scene.ask({ source: 'own', name: 'add', definition_digest: one.digest });
    await scene.store.showDefinitions('own', [two], true);
    expect(await scene.store.pins('own')).toMatchObject([{ digest: two.digest, pinned_by: 'service:proctor' }]);
    expect(await scene.look(waiting.run)).toMatchObject({ reason: 'definition_changed' });
    expect((await scene.store.pins(null)).map((pin) => `${pin.source}.${pin.name}`)).toEqual([
      'notes.write',
      'own.add',
    ]);
  });
}
