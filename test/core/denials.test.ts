import { expect, test } from 'vitest';
import { agentFailure } from '../../src/contract/agent.ts';
import { FAULTS, type Fault, TOOL_RUN_STATUSES } from '../../src/contract/state.ts';
import { afterDenials, contradictedByDenials, countsAsFailed, deniedByPolicy } from '../../src/core/denials.ts';
import { profileOf } from '../support/profile.ts';

test('rules and limits of the policy deny; people, time and what is unknown do not', () => {
  const reasons = [
    'policy',
    'limit_reached',
    'approval_denied',
    'approval_expired',
    'unknown_tool',
    'switched_off',
    null,
  ];
  const by = (status: (typeof TOOL_RUN_STATUSES)[number]) =>
    reasons.filter((reason) => deniedByPolicy({ status, reason }));
  expect(by('denied')).toEqual(['policy', 'limit_reached']);
  for (const status of TOOL_RUN_STATUSES) if (status !== 'denied') expect(by(status)).toEqual([]);
});

test('a failure of the agent after a denial is policy’s and names the tool', () => {
  const failure = agentFailure('agent', 'http_status', 'it answered with 500', { evidence: { status: 500 } });
  expect(afterDenials(failure, ['box.write', 'box.burn'])).toEqual({
    ...failure,
    fault: 'policy',
    code: 'policy_denied: box.write',
    message: 'policy denied `box.write`, and the agent came to no answer: it answered with 500',
    evidence: { status: 500, denied: ['box.write', 'box.burn'], failure: 'http_status' },
  });
  for (const evidence of [null, 'text'])
    expect(afterDenials({ ...failure, evidence }, ['a.b']).evidence).toEqual({
      denied: ['a.b'],
      failure: 'http_status',
    });
});

test('without a denial, by another’s fault, or with an answer beyond a limit it stays what it is', () => {
  const agent = agentFailure('agent', 'timeout', 'late', { timed_out: true });
  expect(afterDenials(agent, [])).toBe(agent);
  expect(afterDenials(agent, ['a.b'])).toMatchObject({ fault: 'policy', timed_out: true });
  for (const fault of ['infrastructure', 'configuration'] as const)
    expect(afterDenials({ ...agent, fault }, ['a.b'])).toEqual({ ...agent, fault });
  expect(afterDenials({ ...agent, code: 'limit_tokens' }, ['a.b'])).toMatchObject({ fault: 'agent' });
});

test('what an attempt says of its failure is held against the calls that were denied', () => {
  const none = {
    execution: { time_ms: null, tokens: null, cost_usd: null, tool_calls: null },
    run: { time_ms: 1, tokens: null, cost_usd: null, tool_calls: null },
  };
  const limits = (more: object = {}) => ({ ...profileOf().limits, ...none, ...more });
  const why = (fault: Fault | null, reason: string | null, denied: readonly string[], more = {}) =>
    contradictedByDenials({ fault, reason }, denied, limits(more));
  for (const code of ['http_status', 'timeout', 'exit_code', 'invalid_body', 'limit_tokens']) {
    const failure = agentFailure('agent', code, 'no');
    for (const denied of [[], ['a.b'], ['a.b', 'c.d']]) {
      const { fault, code: reason } = afterDenials(failure, denied);
      const set = { execution: { ...none.execution, tokens: 5 } };
      expect(why(fault, reason, denied, set)).toBeNull(); // what Proctor writes is never contradicted
    }
    if (code !== 'limit_tokens') expect(why('agent', code, ['a.b'])).toContain('its failure is policy’s');
  }
  for (const denied of [[], ['c.d']]) expect(why('policy', 'policy_denied: a.b', denied)).toContain('no such call');
  expect(why('policy', null, ['a.b'])).toContain('no such call');
  expect(why('policy', 'policy_denied: c.d', ['a.b', 'c.d'])).toBeNull();
  const limited: readonly (readonly [string, object])[] = [
    ['time_limit', { execution: { ...none.execution, time_ms: 5 } }],
    ['limit_tokens', { execution: { ...none.execution, tokens: 5 } }],
    ['limit_cost_usd', { execution: { ...none.execution, cost_usd: 5 } }],
    ['limit_tool_calls', { execution: { ...none.execution, tool_calls: 5 } }],
    ['usage_missing', { run: { ...none.run, tokens: 5 } }],
    ['usage_missing', { run: { ...none.run, cost_usd: 5 } }],
    ['usage_missing', { run: { ...none.run, tool_calls: 5 } }],
  ];
  for (const [reason, more] of limited) {
    expect(why('agent', reason, ['a.b'], more), reason).toBeNull();
    for (const [, other] of limited.filter(([of]) => of !== reason))
      expect(why('agent', reason, ['a.b'], other), reason).not.toBeNull();
  }
  for (const fault of FAULTS.filter((one) => !['agent', 'policy'].includes(one)))
    expect(why(fault, 'x', ['a.b'])).toBeNull();
  expect(why(null, null, ['a.b'])).toBeNull();
});

test('the agent’s and policy’s faults count as not passed', () => {
  expect(FAULTS.filter((fault) => countsAsFailed(fault))).toEqual(['agent', 'policy']);
  expect(countsAsFailed(null)).toBe(false);
});
