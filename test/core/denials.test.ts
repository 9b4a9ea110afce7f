import { expect, test } from 'vitest';
import { agentFailure } from '../../src/contract/agent.ts';
import { FAULTS, TOOL_RUN_STATUSES } from '../../src/contract/state.ts';
import { afterDenials, countsAsFailed, deniedByPolicy } from '../../src/core/denials.ts';

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

test('the agent’s and policy’s faults count as not passed', () => {
  expect(FAULTS.filter((fault) => countsAsFailed(fault))).toEqual(['agent', 'policy']);
  expect(countsAsFailed(null)).toBe(false);
});
