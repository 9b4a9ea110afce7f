import { expect, it } from 'vitest';
import type { ApprovalRow, GatewayEventRow, ToolRunFilter, ToolRunRow } from '../../src/contract/store.ts';
import { pages } from '../support/store-fixture.ts';
import { decideBy, definitionOf, endOf, GatewayScene, requestBy } from '../support/store-gateway.ts';
import type { OpenHarness } from '../support/store-harness.ts';

const ALL = { after: null, limit: 1_000 };

/** What is read of the gateway: by whom, in which order, in pages; and which outcomes nobody has got yet. */
export function storeToolReaders(open: OpenHarness): void {
  it('tool runs are read newest first, in pages, by any of their filters', async () => {
    await using scene = await GatewayScene.open(open);
    const READ = definitionOf('read');
    await scene.store.showDefinitions('notes', [READ], true);
    const fence = await scene.fence();
    const made: ToolRunRow[] = [];
    for (const change of [
      {},
      { principal: 'agent:reader' },
      { name: 'read', definition_digest: READ.digest },
      { fence },
      { fence, name: 'read', definition_digest: READ.digest },
    ]) {
      scene.advance(1);
      made.push(await scene.begin('allow', change), await scene.begin('deny', change));
    }
    const newest = [...made].sort((a, b) => (a.tool_run_id < b.tool_run_id ? 1 : -1));
    const read = (filter: ToolRunFilter, limit = 3) =>
      pages<ToolRunRow, string>(
        (page) => scene.store.toolRuns(filter, page),
        (row) => row.tool_run_id,
        limit,
      );
    expect(await read({})).toEqual(newest);
    expect(await read({}, 1)).toEqual(newest);
    const { run_id, ordinal } = fence;
    const since = made.at(-1)?.created_at ?? 0;
    for (const [filter, match] of [
      [{ run_id }, (row) => row.run_id === run_id],
      [{ run_id, ordinal, attempt: 1 }, (row) => row.run_id === run_id],
      [{ run_id, ordinal: ordinal + 1 }, () => false],
      [{ status: 'denied' }, (row) => row.status === 'denied'],
      [{ tool: 'notes.read' }, (row) => row.name === 'read'],
      [{ principal: 'agent:reader' }, (row) => row.principal === 'agent:reader'],
      [{ since }, (row) => row.created_at >= since],
      [{ run_id, status: 'started', tool: 'notes.read' }, (row) => row === made[8]],
    ] as const satisfies readonly [ToolRunFilter, (row: ToolRunRow) => boolean][])
      expect(await read(filter), JSON.stringify(filter)).toEqual(newest.filter(match));
    const calls = await scene.store.toolRunsOf(run_id, ordinal, 1);
    expect(calls).toEqual(made.slice(6)); // in the order in which they were made
    await expect(scene.store.toolRuns({ run_id: 'run_9' }, ALL)).rejects.toMatchObject({ code: 'not_found' });
    expect(await scene.store.toolRun('trn_none')).toBeNull();
  });

  it('approvals are read newest first, in pages, all or the open ones', async () => {
    await using scene = await GatewayScene.open(open);
    const made: ApprovalRow[] = [];
    for (let index = 0; index < 7; index += 1) {
      scene.advance(1);
      const { run } = index % 2 === 0 ? await scene.ask() : await scene.approved();
      if (index > 4) await scene.store.cancelToolRun(run.tool_run_id, 'cancelled', '', 'human:ann');
      made.unshift(await scene.approvalOf(run));
    }
    const read = (only: boolean) =>
      pages<ApprovalRow, string>(
        (page) => scene.store.approvals(only, page),
        (row) => row.approval_id,
        2,
      );
    expect(await read(false)).toEqual(made);
    expect(await read(true)).toEqual(made.slice(2));
  });

  it('events are read in the order of their commits, by run, outside of runs, or by tool run', async () => {
    await using scene = await GatewayScene.open(open);
    const fence = await scene.fence();
    const outside = await scene.begin('allow');
    const inside = await scene.begin('allow', { fence });
    await scene.store.finishToolRun(endOf(outside.tool_run_id));
    await scene.store.finishToolRun(endOf(inside.tool_run_id));
    const read = (filter: { run_id?: string | null; tool_run_id?: string }) =>
      pages<GatewayEventRow, number>(
        (page) => scene.store.gatewayEvents(filter, page),
        (event) => event.position,
        2,
      );
    const all = await read({});
    expect(all.map((event) => event.position)).toEqual(all.map((_, index) => index + 1));
    expect(await read({ run_id: 'run_1' })).toEqual(all.filter((event) => event.run_id === 'run_1'));
    expect(await read({ run_id: null })).toEqual(all.filter((event) => event.run_id === null));
    expect((await read({ run_id: 'run_1' })).map((event) => event.seq)).toEqual([1, 2, 3, 4]);
    for (const { tool_run_id } of [inside, outside])
      expect(await read({ tool_run_id })).toEqual(all.filter((event) => event.tool_run_id === tool_run_id));
    expect(await read({ tool_run_id: 'trn_none' })).toEqual([]);
    expect(await read({ tool_run_id: inside.tool_run_id, run_id: null })).toEqual([]);
  });

  it('an outcome that nobody has got is found by the same call again, and by no other', async () => {
    await using scene = await GatewayScene.open(open);
    const since = scene.now();
    const { run } = await scene.ask();
    const found = async (change = {}, from = since, joins = () => true) => {
      const request = requestBy(decideBy('deny'), { rejoin: { since: from, joins } });
      const { run: joined, created } = await scene.store.beginToolRun(scene.call(change), request);
      return created ? null : joined.tool_run_id;
    };
    expect(await found()).toBe(run.tool_run_id);
    const fence = await scene.fence();
    for (const other of [
      { principal: 'agent:reader' },
      { agent: 'reader' },
      { arguments: '{"text":"bye"}' },
      { definition_digest: null },
      { fence },
      { name: 'write2' },
      { source: 'other' },
    ])
      expect(await found(other), JSON.stringify(other)).toBeNull();
    scene.advance(10);
    expect(await found({}, since + 1)).toBeNull(); // it was made before that
    expect(await found({}, since, () => false)).toBeNull(); // the caller does not want it
    await expect(scene.store.deliverToolRun(run.tool_run_id)).rejects.toMatchObject({ code: 'illegal_transition' });
    await scene.answer(await scene.approvalOf(run), { decision: 'deny' });
    expect(await found()).toBe(run.tool_run_id); // how it ended was not handed over either
    await scene.store.deliverToolRun(run.tool_run_id);
    scene.advance(1);
    await scene.store.deliverToolRun(run.tool_run_id);
    expect(await scene.look(run)).toMatchObject({ delivered_at: scene.now() - 1 });
    expect(await found()).toBeNull();
    const { run: second } = await scene.ask();
    expect(await found()).toBe(second.tool_run_id);
  });

  it('what policy allowed is not found again: the same call is made twice then', async () => {
    await using scene = await GatewayScene.open(open);
    const rejoin = { since: 0, joins: () => true };
    await scene.begin('allow', {}, { rejoin });
    const second = await scene.store.beginToolRun(scene.call(), requestBy(decideBy('allow'), { rejoin }));
    expect(second.created).toBe(true);
  });

  it('of fifty that ask for the same call at once one asks', async () => {
    await using scene = await GatewayScene.open(open);
    const request = requestBy(decideBy('ask'), { rejoin: { since: 0, joins: () => true } });
    const asked = await Promise.all(Array.from({ length: 50 }, () => scene.store.beginToolRun(scene.call(), request)));
    expect(asked.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(asked.map(({ run }) => run.tool_run_id)).size).toBe(1);
  });

  it('the arguments that were approved last are those of the last approval that was used', async () => {
    await using scene = await GatewayScene.open(open);
    expect(await scene.store.lastApproved('notes', 'write')).toBeNull();
    const [first, second] = [
      await scene.approved({ arguments: '{"n":1}' }),
      await scene.approved({ arguments: '{"n":2}' }),
    ];
    await scene.consume(first.run);
    expect(await scene.store.lastApproved('notes', 'write')).toBe('{"n":1}');
    await scene.consume(second.run, decideBy('deny'));
    expect(await scene.store.lastApproved('notes', 'write')).toBe('{"n":1}');
    expect(await scene.store.lastApproved('notes', 'read')).toBeNull();
  });

  it('a backup holds the gateway as it was', async () => {
    await using scene = await GatewayScene.open(open);
    const { run } = await scene.approved();
    await scene.consume(run);
    const copy = await scene.scene.harness.openBackup();
    try {
      expect(await copy.toolRuns({}, ALL)).toEqual(await scene.store.toolRuns({}, ALL));
      expect(await copy.gatewayEvents({}, ALL)).toEqual(await scene.store.gatewayEvents({}, ALL));
      expect(await copy.invariants()).toEqual([]);
    } finally {
      await copy.close();
    }
  });
}
