import { describe, expect, test } from 'vitest';
import { gatewayEventHash } from '../../src/core/gateway.ts';
import { eventBody, gatewayChainFault, replayToolRun } from '../../src/core/gateway-replay.ts';
import { type GatewayStep, gatewayEvents, STEP } from '../support/gateway-events.ts';

const { called, asked, allowed, requested, granted, denied, again, consumed, dispatched, ok } = STEP;
const replay = (...events: readonly GatewayStep[]) => replayToolRun(gatewayEvents(...events));
const stateOf = (...events: readonly GatewayStep[]) => {
  const { state, fault } = replay(...events);
  expect(fault).toBeNull();
  return state!;
};

/** The columns of a tool run of which only the call is known. */
const NEW = {
  tool_run_id: 'trn_1',
  created_at: 1_000,
  tool: 'fs.write',
  call_digest: 'call',
  roles: '["a"]',
  open_world: 1,
  ...Object.fromEntries(
    [
      'run_id',
      'ordinal',
      'attempt',
      'definition_digest',
      'arguments_digest',
      'principal',
      'principal_kind',
      'agent',
      'surface',
      'risk',
      'cost_micro_usd',
      'request_id',
      'trace_id',
      'caused_by',
      'idempotency_key',
      'edited_from',
      'reason',
      'decision',
      'policy_digest',
      'rules',
      'execute',
      'tainted',
      'pinned',
      'session_id',
      'dispatched_at',
      'timeout_ms',
      'max_output_bytes',
      'delivered_at',
      'finished_at',
      'error_digest',
      'output_artifact',
      'output_digest',
      'output_bytes',
      'latency_ms',
    ].map((name) => [name, null]),
  ),
};
const DECIDED = { decision: 'ask', policy_digest: 'pol', rules: '["r"]', tainted: 0, pinned: 1 };
const APPROVAL = {
  approval_id: 'apr_1',
  call_digest: 'call',
  requested_at: 3_000,
  expires_at: 50_000,
  edit: 0,
  ...Object.fromEntries(
    [
      'policy_digest',
      'approvers',
      'self_approval',
      'reason',
      'decided_at',
      'decided_by',
      'decided_roles',
      'decided_on',
      'comment',
      'preview_digest',
      'ended_at',
      'ended_because',
    ].map((name) => [name, null]),
  ),
};

describe('the chain of a stream', () => {
  const [event] = gatewayEvents(called);
  const head = { count: 0, hash: 'head' };
  const chained = { ...event!, hash: gatewayEventHash('head', event!) };

  test('an event that follows the head', () => {
    expect(gatewayChainFault(head, chained)).toBeNull();
  });

  test('one that is missing, and one that was changed', () => {
    expect(gatewayChainFault({ ...head, count: 1 }, chained)).toBe('event 2 is missing: 1 is in its place');
    expect(gatewayChainFault({ ...head, hash: 'other' }, chained)).toBe(
      'event 1 (`tool_called`) is not the one that was chained',
    );
    expect(gatewayChainFault(head, { ...chained, body: '{}' })).toBe(
      'event 1 (`tool_called`) is not the one that was chained',
    );
  });
});

describe('the body of an event', () => {
  test.each([
    ['{"a":1}', { a: 1 }],
    ['{}', {}],
    ['null', null],
    ['[]', null],
    ['7', null],
    ['"x"', null],
    ['{', null],
    ['', null],
  ])('%s', (body, expected) => {
    expect(eventBody({ body })).toEqual(expected);
  });
});

describe('what the events come to', () => {
  test('a call', () => {
    expect(stateOf(called)).toEqual({
      run: { ...NEW, status: 'started' },
      approval: null,
      cancel: null,
      decided: null,
    });
  });

  test('a call that policy allows, done and handed over', () => {
    expect(stateOf(called, allowed, dispatched, ok, ['tool_outcome_delivered'])).toEqual({
      run: {
        ...NEW,
        status: 'ok',
        decision: 'allow',
        policy_digest: 'pol',
        rules: '[]',
        execute: 'attended',
        session_id: 'ses_1',
        timeout_ms: 5,
        max_output_bytes: 6,
        dispatched_at: 3_000,
        output_digest: 'out',
        output_bytes: 7,
        latency_ms: 8,
        finished_at: 4_000,
        delivered_at: 5_000,
      },
      approval: null,
      cancel: null,
      decided: { effect: 'allow', approval_id: null },
    });
  });

  test('a call that policy asks for', () => {
    expect(stateOf(called, asked, requested)).toEqual({
      run: { ...NEW, ...DECIDED, status: 'approval_required' },
      approval: { ...APPROVAL, status: 'pending' },
      cancel: null,
      decided: { effect: 'ask', approval_id: null },
    });
  });

  test('a call that a person allowed, dispatched', () => {
    const state = stateOf(called, asked, requested, granted, again, consumed, dispatched);
    expect(state.run).toEqual({
      ...NEW,
      ...DECIDED,
      status: 'approved',
      session_id: 'ses_1',
      timeout_ms: 5,
      max_output_bytes: 6,
      dispatched_at: 7_000,
    });
    expect(state.approval).toEqual({
      ...APPROVAL,
      status: 'consumed',
      decided_at: 4_000,
      decided_by: 'human:ada',
      decided_roles: '["lead"]',
      ended_at: 6_000,
      ended_because: 'used',
    });
    expect(state.decided).toEqual({ effect: 'ask', approval_id: 'apr_1' });
  });

  test('an approval that was given has not ended', () => {
    expect(stateOf(called, asked, requested, granted).approval).toMatchObject({
      status: 'approved',
      ended_at: null,
      ended_because: null,
    });
  });

  test('a call that a person denied', () => {
    const end = ['tool_denied', { status: 'denied', reason: 'said no' }] as const;
    const state = stateOf(called, asked, requested, denied, end);
    expect(state.run).toEqual({ ...NEW, ...DECIDED, status: 'denied', reason: 'said no', finished_at: 5_000 });
    expect(state.approval).toEqual({
      ...APPROVAL,
      status: 'denied',
      decided_at: 4_000,
      decided_by: 'human:ada',
      decided_on: 'cli',
      comment: 'no',
      ended_at: 4_000,
      ended_because: 'denied',
    });
  });

  test.each(['expired', 'cancelled'])('an approval that is %s', (status) => {
    const body = { approval_id: 'apr_1', because: 'late' };
    expect(stateOf(called, asked, requested, [`approval_${status}`, body]).approval).toEqual({
      ...APPROVAL,
      status,
      ended_at: 4_000,
      ended_because: 'late',
    });
    expect(stateOf(called, asked, requested, granted, [`approval_${status}`, body]).approval).toMatchObject({ status });
  });

  test('a refused answer changes nothing', () => {
    const before = stateOf(called, asked, requested);
    expect(stateOf(called, asked, requested, ['approval_refused'])).toEqual(before);
  });

  test.each([
    ['tool_failed', 'error'],
    ['tool_timed_out', 'timeout'],
  ])('%s', (type, status) => {
    const state = stateOf(called, allowed, dispatched, [
      type,
      { status, reason: 'r', error_digest: 'e', output_artifact: 'a' },
    ]);
    expect(state.run).toMatchObject({
      status,
      reason: 'r',
      error_digest: 'e',
      output_artifact: 'a',
      finished_at: 4_000,
    });
  });

  test('a decision that could not be made is none, and the call fails', () => {
    const state = stateOf(called, ['policy_decided', { effect: 'error' }], ['tool_failed', { status: 'error' }]);
    expect(state.run).toMatchObject({ decision: null, status: 'error' });
    expect(state.decided).toEqual({ effect: 'error', approval_id: null });
  });

  test('a request to stop it', () => {
    const stop = ['tool_cancel_requested', { reason: 'enough', by: 'human:ada' }] as const;
    expect(stateOf(called, stop).cancel).toEqual({ reason: 'enough', requested_by: 'human:ada', requested_at: 2_000 });
    expect(stateOf(called, ['tool_cancel_requested']).cancel).toEqual({
      reason: null,
      requested_by: null,
      requested_at: 2_000,
    });
  });

  test('a late outcome may come after the end, and changes nothing', () => {
    const done = [called, allowed, dispatched, ok] as const;
    expect(stateOf(...done, ['tool_outcome_late'])).toEqual(stateOf(...done));
  });
});
