import { describe, expect, test } from 'vitest';
import { backoffMs } from '../../src/core/backoff.ts';
import { decide, type Failure, LEASE_LOSS_BACKOFF, MAX_LEASE_LOSSES, retryRules } from '../../src/core/decide.ts';
import { profileOf } from '../support/profile.ts';

const profile = profileOf({ retry: { infrastructure: 3, grader: 1, backoff: { base_ms: 100, cap_ms: 1_000 } } });
const generous = profileOf({ retry: { agent_errors: true }, defaults: { max_attempts: 3 } });
const none = { infrastructure: 0, agent: 0, grader: 0, lease: 0 };
const failure = (fault: Failure['fault'], members: Partial<Failure> = {}): Failure => ({
  fault,
  timed_out: false,
  retry_after_ms: null,
  ...members,
});
const following = (one: Failure, counts: Partial<typeof none> = {}, by = profile) =>
  decide(one, { ...none, ...counts }, retryRules({ method: 2, profile: by }), 'key');

test('a lost lease waits for a quarter of a second at first, half a minute at most, and is lost five times', () => {
  expect([LEASE_LOSS_BACKOFF, MAX_LEASE_LOSSES]).toEqual([{ base_ms: 250, cap_ms: 30_000 }, 5]);
});

describe('each fault has a budget of its own', () => {
  test.each([0, 1, 2])('infrastructure after %i failures is tried again', (infrastructure) => {
    expect(following(failure('infrastructure'), { infrastructure })).toEqual({
      type: 'retry',
      attempt_status: 'failed_agent_call',
      delay_ms: backoffMs(profile.retry.backoff, infrastructure + 1, 'key'),
    });
  });

  test('infrastructure ends when its retries are used, those of others do not count', () => {
    expect(following(failure('infrastructure'), { infrastructure: 3 })).toEqual({
      type: 'end',
      attempt_status: 'failed_agent_call',
      status: 'failed',
    });
    expect(following(failure('infrastructure'), { grader: 9, agent: 9 }).type).toBe('retry');
  });

  test('a grader fault is an evaluation that failed', () => {
    expect(following(failure('grader', { timed_out: true }))).toEqual({
      type: 'retry',
      attempt_status: 'failed_evaluation',
      delay_ms: backoffMs(profile.retry.backoff, 1, 'key'),
    });
    expect(following(failure('grader'), { grader: 1 })).toEqual({
      type: 'end',
      attempt_status: 'failed_evaluation',
      status: 'failed',
    });
  });

  test('a wrong configuration and a denial by policy are never tried again', () => {
    expect(following(failure('policy'), {}, generous)).toMatchObject({ type: 'end', status: 'failed' });
    expect(following(failure('configuration'), {}, generous).type).toBe('end');
    expect(following(failure('configuration'))).toEqual({
      type: 'end',
      attempt_status: 'failed_agent_call',
      status: 'failed',
    });
  });

  test('the agent’s own failures are tried again only on request, up to its attempts', () => {
    expect(following(failure('agent'))).toEqual({ type: 'end', attempt_status: 'failed_agent_call', status: 'failed' });
    expect(following(failure('agent'), {}, profileOf({ defaults: { max_attempts: 3 } })).type).toBe('end');
    expect(following(failure('agent'), { agent: 1 }, generous).type).toBe('retry');
    expect(following(failure('agent'), { agent: 2 }, generous).type).toBe('end');
  });
});

/** Fails with the same fault until it ends; answers how many attempts that took. */
function attemptsOf(fault: 'infrastructure' | 'agent' | 'grader', members: object, method: 1 | 2 = 2): number {
  const rules = retryRules({ method, profile: profileOf(members) });
  const counts = { ...none, lease: 3 }; // lost leases are charged to nobody
  for (;;) {
    const attempts = counts[fault] + 1;
    if (decide(failure(fault), counts, rules, 'key').type === 'end') return attempts;
    counts[fault] = attempts;
  }
}

describe('max_attempts', () => {
  test.each([
    [null, 6, 1, 3],
    [1, 1, 1, 1],
    [2, 2, 1, 2],
    [3, 3, 1, 3],
    [4, 4, 1, 3],
    [50, 6, 1, 3],
  ])('%s gives %i attempts by infrastructure, %i by the agent, %i by graders', (max_attempts, ...wanted) => {
    const members = { defaults: { max_attempts } };
    expect([
      attemptsOf('infrastructure', members),
      attemptsOf('agent', members),
      attemptsOf('grader', members),
    ]).toEqual(wanted);
  });

  test('leaves no budget more retries than it leaves attempts', () => {
    const rules = retryRules({ method: 2, profile: profileOf({ defaults: { max_attempts: 2 } }) });
    expect(rules).toMatchObject({ infrastructure: 1, grader: 1, agent: 0, attempts: 2 });
  });

  test('unsaid, it is null', () => {
    expect(profileOf().defaults.max_attempts).toBeNull();
  });

  test('bounds the agent’s failures where they are retried; two attempts where it is unsaid', () => {
    const retried = (members: object = {}) => attemptsOf('agent', { retry: { agent_errors: true }, ...members });
    expect(retried()).toBe(2);
    expect([2, 3, 7].map((max_attempts) => retried({ defaults: { max_attempts } }))).toEqual([2, 3, 7]);
  });

  test('bounds the failures of all faults together', () => {
    const bounded = profileOf({ retry: { agent_errors: true }, defaults: { max_attempts: 4 } });
    for (const fault of ['infrastructure', 'agent', 'grader'] as const) {
      expect(following(failure(fault), { infrastructure: 1, grader: 1 }, bounded).type).toBe('retry');
      expect(following(failure(fault), { infrastructure: 1, grader: 1, agent: 1 }, bounded).type).toBe('end');
      expect(following(failure(fault), { infrastructure: 2, grader: 1 }, bounded).type).toBe('end');
    }
  });

  test('in a run of method 1 it bounds the agent’s own failures only', () => {
    const old = { defaults: { max_attempts: 1 } };
    expect(attemptsOf('infrastructure', old, 1)).toBe(6);
    expect(attemptsOf('grader', old, 1)).toBe(3);
    const retried = { retry: { agent_errors: true }, defaults: { max_attempts: 3 } };
    expect([attemptsOf('agent', retried, 1), attemptsOf('infrastructure', retried, 1)]).toEqual([3, 6]);
    const snapshot = { profile: profileOf(old) }; // as a run of method 1 is frozen
    expect(retryRules(snapshot)).toEqual(retryRules({ method: 1, ...snapshot }));
  });
});

test('an agent that had its whole time ends as timed out', () => {
  expect(following(failure('agent', { timed_out: true }))).toEqual({
    type: 'end',
    attempt_status: 'timed_out',
    status: 'timed_out',
  });
});

test('what the other side asks to wait is waited', () => {
  expect(following(failure('infrastructure', { retry_after_ms: 50_000 }))).toMatchObject({ delay_ms: 50_000 });
});
