import { expect, it } from 'vitest';
import type { LimitCharge } from '../../src/contract/store.ts';
import { decideBy, definitionOf, GatewayScene, WRITE } from '../support/store-gateway.ts';
import type { OpenHarness } from '../support/store-harness.ts';

/** What holds calls back: limits, switches, pins. */
export function storeRestraints(open: OpenHarness): void {
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
