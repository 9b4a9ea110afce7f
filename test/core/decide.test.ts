import { describe, expect, test } from 'vitest';
import { backoffMs } from '../../src/core/backoff.ts';
import { decide, type Failure, LEASE_LOSS_BACKOFF, MAX_LEASE_LOSSES } from '../../src/core/decide.ts';
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
  decide(one, { ...none, ...counts }, by, 'key');

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

  test('a wrong configuration is never tried again', () => {
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
