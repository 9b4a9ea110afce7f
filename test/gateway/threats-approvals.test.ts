import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { askAll, calls, gatewayProject, RECORDING } from '../support/gateway-project.ts';
import { threat } from '../support/gateway-threats.ts';
import { eventually, pastInstant } from '../support/waiting.ts';

const never = new AbortController().signal;
const asking = (policy = askAll()) => gatewayProject({ ...RECORDING, policy });

test(
  threat(1, 'what was approved is what runs; other arguments are another call, which waits for its own answer'),
  async () => {
    await using project = await asking();
    const first = await project.call('own.act', { volume: 10 });
    expect(first.run.status).toBe('approval_required');
    await project.answer(first.run.approval_id ?? '');

    const other = await project.call('own.act', { volume: 99 });

    expect(other.run.status).toBe('approval_required');
    expect(other.run.tool_run_id).not.toBe(first.run.tool_run_id);
    expect(await calls(project)).toEqual([]);
    const same = await project.call('own.act', { volume: 10 }, { hold_ms: 10_000 });
    expect([same.run.tool_run_id, same.ended]).toEqual([first.run.tool_run_id, 'ok']);
    expect(await calls(project)).toEqual([{ name: 'act', input: { volume: 10 }, key: first.run.tool_run_id }]);
  },
);

test(
  threat(1, 'an answer to another call than the one that was shown is refused, and the refusal is on record'),
  async () => {
    await using project = await asking();
    const first = await project.call('own.act', { volume: 10 });
    const other = await project.call('own.act', { volume: 99 });

    const altered = await project.answer(first.run.approval_id ?? '', { call_digest: other.run.call_digest });

    expect(altered).toMatchObject({
      type: 'refused',
      code: 'mismatch',
      message: expect.stringMatching(/look at it again/),
    });
    expect(await project.events(first.run.tool_run_id)).toEqual([
      'tool_called',
      'policy_decided',
      'approval_requested',
      'approval_refused',
    ]);
    expect(await calls(project)).toEqual([]);
  },
);

test(threat(3, 'of fifty who use it at once, in two processes’ gateways, one runs the call'), async () => {
  await using project = await asking();
  await using second = await project.another();
  const { run } = await project.call('own.act', { once: true });
  await project.answer(run.approval_id ?? '');

  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      (index % 2 === 0 ? project : second).call('own.act', { once: true }, { hold_ms: 3_000 }),
    ),
  );

  const joined = outcomes.filter((outcome) => outcome.run.tool_run_id === run.tool_run_id);
  expect(new Set(joined.map(({ ended }) => ended))).toEqual(new Set(['ok']));
  expect(await calls(project)).toEqual([{ name: 'act', input: { once: true }, key: run.tool_run_id }]);
  // Who came after it was handed over asked for a call of its own.
  const others = outcomes.filter((outcome) => outcome.run.tool_run_id !== run.tool_run_id);
  expect(others.filter(({ ended }) => !/^(approval_required|denied too_many_pending)$/.test(ended))).toEqual([]);
  const types = await project.events(run.tool_run_id);
  expect(types.filter((type) => type === 'approval_consumed' || type === 'tool_dispatched')).toEqual([
    'approval_consumed',
    'tool_dispatched',
  ]);
});

test(threat(3, 'an approval that was used cannot be given or used again'), async () => {
  await using project = await asking();
  const { run } = await project.call('own.act', {});
  await project.answer(run.approval_id ?? '');
  await project.call('own.act', {}, { hold_ms: 10_000 });

  expect(await project.answer(run.approval_id ?? '')).toMatchObject({ type: 'refused', code: 'not_pending' });
  const again = await project.call('own.act', {});

  expect(again.run.status).toBe('approval_required');
  expect(await calls(project)).toHaveLength(1);
});

test(
  threat(3, 'an idempotency key that comes again while the call runs elsewhere is followed, not run a second time'),
  async () => {
    await using project = await gatewayProject({ ...RECORDING, policy: { rules: [{ id: 'all', effect: 'allow' }] } });
    await using second = await project.another();
    const request = { tool: 'own.slow', arguments: { ms: 700 }, idempotency_key: 'one' };
    const first = await project.gateway.gateway.start(project.caller(), request, never);

    const followed = await second.gateway.gateway.start(second.caller(), request, never);
    const attached = await second.gateway.gateway.attach(first.tool_run_id, second.caller());
    const legs = await Promise.all(
      [first, followed, attached].map((call) => call.next({ hold_ms: 20_000, signal: never })),
    );

    expect(legs.map(({ type, run }) => [type, run.tool_run_id, run.status])).toEqual(
      legs.map(() => ['done', first.tool_run_id, 'ok']),
    );
    expect(await calls(project)).toHaveLength(1);
  },
);

test(threat(4, 'before any sweeper ran, a late answer is refused and the call ends denied'), async () => {
  await using project = await asking(askAll({ expires_ms: 150 }));
  const { run } = await project.call('own.act', {});
  const approval = await project.app.store.approval(run.approval_id ?? '');
  await pastInstant(approval?.expires_at ?? 0);

  expect(await project.answer(run.approval_id ?? '')).toMatchObject({ type: 'refused', code: 'expired' });

  const row = await project.app.store.toolRun(run.tool_run_id);
  expect([row?.status, row?.reason]).toEqual(['denied', 'approval_expired']);
  expect((await project.events(run.tool_run_id)).slice(-2)).toEqual(['approval_expired', 'tool_denied']);
  expect(await calls(project)).toEqual([]);
});

test(threat(4, 'an approval that was given in time and not used in time counts for nothing'), async () => {
  await using project = await asking(askAll({ expires_ms: 3_000 }));
  const { run } = await project.call('own.act', {});
  expect((await project.answer(run.approval_id ?? '')).type).toBe('answered');
  await pastInstant((await project.app.store.approval(run.approval_id ?? ''))?.expires_at ?? 0);

  const { ended, run: late } = await project.call('own.act', {}, { hold_ms: 5_000 });

  expect([late.tool_run_id, ended]).toEqual([run.tool_run_id, 'denied approval_expired']);
  expect(await calls(project)).toEqual([]);
});

test(
  threat(5, 'who waits is denied by the policy of the moment at which the approval is used, both policies on record'),
  async () => {
    await using project = await asking();
    const call = await project.gateway.gateway.start(project.caller(), { tool: 'own.act', arguments: {} }, never);
    const waiting = call.next({ hold_ms: 20_000, signal: never });
    const before = await eventually(
      'the approval',
      async () => (await project.app.store.toolRun(call.tool_run_id))?.approval_id ?? null,
    );
    const tightened = { version: 1, rules: [...(askAll().rules as []), { id: 'not-now', effect: 'deny' }] };
    await writeFile(project.file('policy.yaml'), JSON.stringify(tightened));
    await project.answer(before);

    const leg = await waiting;

    expect([leg.type, leg.run.status, leg.run.reason]).toEqual(['done', 'denied', 'policy']);
    expect(await calls(project)).toEqual([]);
    const decided = (await project.stream())
      .filter(({ type, tool_run_id }) => type === 'policy_decided' && tool_run_id === call.tool_run_id)
      .map(({ body }) => JSON.parse(body) as { effect: string; policy_digest: string; rules: string[] });
    expect(decided.map(({ effect, rules }) => [effect, rules])).toEqual([
      ['ask', ['asked']],
      ['deny', ['not-now']],
    ]);
    expect(new Set(decided.map(({ policy_digest }) => policy_digest)).size).toBe(2);
    expect((await project.events(call.tool_run_id)).slice(-3)).toEqual([
      'approval_cancelled',
      'tool_denied',
      'tool_outcome_delivered',
    ]);
  },
);

test(threat(5, 'an approver who lost the role meanwhile approved nothing'), async () => {
  await using project = await asking(askAll({ approvers: ['role:operator'] }));
  const { run } = await project.call('own.act', {});
  await project.answer(run.approval_id ?? '');
  const tools = RECORDING.tools;
  await writeFile(
    project.file('proctor.yaml'),
    JSON.stringify({ version: 1, principals: [{ id: 'human:operator', roles: [] }], tools }),
  );
  await using later = await project.another();

  const { ended, message } = await later.call('own.act', {}, { hold_ms: 5_000 });

  expect(ended).toBe('denied approver_not_allowed');
  expect(message).toMatch(/human:operator.*is not among the approvers: role:operator/);
  expect(await calls(project)).toEqual([]);
});

test(threat(6, 'another caller neither joins the call nor finds it'), async () => {
  await using project = await asking();
  const { run } = await project.call('own.act', {}, { as: 'agent:a' });
  await project.answer(run.approval_id ?? '');

  const other = await project.call('own.act', {}, { as: 'agent:b' });

  expect(other.run.status).toBe('approval_required');
  expect(other.run.tool_run_id).not.toBe(run.tool_run_id);
  await expect(project.gateway.gateway.attach(run.tool_run_id, project.caller('agent:b'))).rejects.toMatchObject({
    code: 'not_found',
  });
  const bound = { ...project.caller('agent:a'), bound: boundTo('run_elsewhere') };
  await expect(project.gateway.gateway.attach(run.tool_run_id, bound)).rejects.toMatchObject({ code: 'not_found' });
  expect(await calls(project)).toEqual([]);
});

test(threat(6, 'another attempt of the same agent finds nothing of the first'), async () => {
  await using project = await asking();
  const { run } = await project.call('own.act', {}, { as: 'agent:a' });
  const first = { run_id: 'run_1', ordinal: 0, attempt: 1 };
  for (const bound of [first, { ...first, attempt: 2 }, { ...first, ordinal: 1 }] as never[])
    await expect(
      project.gateway.gateway.attach(run.tool_run_id, { ...project.caller('agent:a'), bound }),
    ).rejects.toMatchObject({ code: 'not_found' });
});

test(
  threat(3, 'what was carried out in the absence of its caller is handed to the caller, not done again'),
  async () => {
    await using project = await asking(askAll({ execute: 'on_approval' }));
    const { run } = await project.call('own.act', { n: 1 }, { as: 'agent:a' });
    const answered = await project.answer(run.approval_id ?? '');
    if (answered.type === 'refused') throw new Error(answered.message);
    await project.gateway.gateway.carryOnIfUnattended(answered.approval);
    expect(await calls(project)).toHaveLength(1);

    const fetched = await project.call('own.act', { n: 1 }, { as: 'agent:a' });

    expect([fetched.run.tool_run_id, fetched.ended]).toEqual([run.tool_run_id, 'ok']);
    expect(await calls(project)).toHaveLength(1);
    const next = await project.call('own.act', { n: 1 }, { as: 'agent:a' });
    expect([next.ended, next.run.tool_run_id === run.tool_run_id]).toEqual(['approval_required', false]);
  },
);

test(
  threat(7, 'nobody answers for an agent but those that policy names: not it, not another agent, not who asked'),
  async () => {
    await using project = await gatewayProject({
      ...RECORDING,
      policy: askAll(),
      project: {
        principals: [
          { id: 'human:operator', roles: ['operator'] },
          { id: 'agent:tester', roles: ['operator'] },
          { id: 'agent:other', roles: ['operator'] },
          { id: 'human:passer-by', roles: [] },
        ],
      },
    });
    const { run } = await project.call('own.act', {});
    const by = async (id: string) =>
      await project.answer(run.approval_id ?? '', { who: project.gateway.principal(id) });

    for (const id of ['agent:tester', 'agent:other', 'human:passer-by'])
      expect(await by(id), id).toMatchObject({ type: 'refused', code: 'not_an_approver' });

    expect((await project.app.store.approval(run.approval_id ?? ''))?.status).toBe('pending');
    expect((await project.events(run.tool_run_id)).filter((type) => type === 'approval_refused')).toHaveLength(3);
    const own = await project.call('own.act', { mine: true }, { as: 'human:operator' });
    expect(await project.answer(own.run.approval_id ?? '')).toMatchObject({
      code: 'not_an_approver',
      message: expect.stringMatching(/self_approval/),
    });
    expect(await calls(project)).toEqual([]);
  },
);

test(
  threat(26, 'of a thousand calls at most as many wait as policy allows, the others are denied with the reason'),
  async () => {
    await using project = await asking(askAll({}, { approvals: { max_pending: 20 } }));

    const outcomes = await Promise.all(Array.from({ length: 1_000 }, (_, index) => project.call('own.act', { index })));

    const count = (ended: string) => outcomes.filter((outcome) => outcome.ended === ended).length;
    expect([count('approval_required'), count('denied too_many_pending')]).toEqual([20, 980]);
    expect(await project.app.store.approvals(true, { after: null, limit: 1_000 })).toHaveLength(20);
    expect(outcomes.find(({ ended }) => ended.startsWith('denied'))?.message).toMatch(
      /20 calls wait for an answer already/,
    );
    expect((await project.stream()).filter(({ type }) => type === 'tool_denied')).toHaveLength(980);
    expect((await project.call('own.act', { index: -1 }, { as: 'agent:other' })).ended).toBe('approval_required');
    expect(await calls(project)).toEqual([]);
  },
);

test(threat(26, 'the same call a thousand times is one question'), async () => {
  await using project = await asking();
  await project.call('own.act', { same: true });

  const outcomes = await Promise.all(Array.from({ length: 1_000 }, () => project.call('own.act', { same: true })));

  expect(new Set(outcomes.map(({ run }) => run.tool_run_id)).size).toBe(1);
  expect(await project.app.store.approvals(true, { after: null, limit: 100 })).toHaveLength(1);
});

function boundTo(run_id: string) {
  return { run_id, ordinal: 0, attempt: 1 } as never; // nothing but the ids is looked at before the call is found
}
