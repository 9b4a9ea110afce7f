import { expect, test } from 'vitest';
import { limitCharges } from '../../src/gateway/decision.ts';
import { allowAll, askAll, gatewayProject, RECORDING } from '../support/gateway-project.ts';
import { policy } from '../support/policy.ts';

const PER_SESSION = [{ id: 'two', per: ['session'], calls: 2 }];

test('a limit of a session begins anew with the next session, and each principal has its own', async () => {
  await using project = await gatewayProject({ ...RECORDING, policy: { ...allowAll(), limits: PER_SESSION } });
  const never = new AbortController().signal;
  const act = async (session: string | undefined, who = 'agent:one') => {
    const caller = { ...project.caller(who), ...(session === undefined ? {} : { session }) };
    const call = await project.gateway.gateway.start(caller, { tool: 'own.act', arguments: {} }, never);
    const { run } = await call.next({ hold_ms: 60_000, signal: never });
    return run.reason ?? run.status;
  };
  const both = 'limit_reached';
  expect([await act('a'), await act('a'), await act('a')]).toEqual(['ok', 'ok', both]);
  expect([await act('b'), await act('a', 'agent:two')]).toEqual(['ok', 'ok']);
  // Without a session of its own, the process is one.
  expect([await act(undefined), await act(undefined), await act(undefined)]).toEqual(['ok', 'ok', both]);
  await using second = await project.another();
  expect((await second.call('own.act', {}, { as: 'agent:one' })).ended).toBe('ok');
});

test('what one approves is counted in the session that made the call', async () => {
  await using project = await gatewayProject({
    ...RECORDING,
    policy: { ...askAll(), limits: [{ id: 'one', per: ['session'], calls: 1 }] },
  });
  const asked = await Promise.all([1, 2].map((index) => project.call('own.act', { index })));
  for (const { run } of asked) await project.answer(run.approval_id ?? '');
  const ended = await Promise.all(
    [1, 2].map(async (index) => (await project.call('own.act', { index }, { hold_ms: 5_000 })).ended),
  );
  expect(ended.sort()).toEqual(['denied limit_reached', 'ok']);
});

test('the keys that calls are counted under', () => {
  const keys = (per: string[], call: object) =>
    limitCharges(policy({ limits: [{ id: 'l', per, calls: 1 }] }), {
      tool: 'a.b',
      source: 'a',
      principal: 'agent:x',
      session: 's1',
      run_id: null,
      ordinal: null,
      ...call,
    }).map(({ key }) => key);
  expect(keys(['session', 'tool'], {})).toEqual(['["l","agent:x s1","a.b"]']);
  // An examined agent may connect as often as it wants: its session is its execution.
  expect(keys(['session'], { run_id: 'run_1', ordinal: 3 })).toEqual(['["l","run_1/3"]']);
  expect(keys(['run', 'execution'], {})).toEqual(['["l","-agent:x","-agent:x"]']);
});
