import { describe, expect, test } from 'vitest';
import { replayToolRun } from '../../src/core/gateway-replay.ts';
import { type GatewayStep, gatewayEvents, STEP } from '../support/gateway-events.ts';

const { called, asked, allowed, requested, granted, denied, again, consumed, dispatched, ok } = STEP;

/** The last of these events cannot have happened, for the reason given; without it they can. */
function impossible(why: string, ...events: readonly GatewayStep[]): void {
  const last = events.at(-1)!;
  const before = gatewayEvents(...events.slice(0, -1));
  if (before.length > 0) expect(replayToolRun(before).fault).toBeNull();
  expect(replayToolRun(gatewayEvents(...events))).toEqual({
    state: null,
    fault: `event ${events.length} (\`${last[0]}\`) cannot have happened: ${why}`,
  });
}

const requestedRun = [called, asked, requested] as const;
const used = [...requestedRun, granted, again] as const;
const running = [called, allowed, dispatched] as const;
const changed = (event: GatewayStep, members: object, at?: number): GatewayStep =>
  at === undefined
    ? [event[0], { ...(event[1] as object), ...members }]
    : [event[0], { ...(event[1] as object), ...members }, at];

test('no event tells of it', () => {
  expect(replayToolRun([])).toEqual({ state: null, fault: 'no event tells of it' });
});

test('what is wrong with the stream', () => {
  impossible('its body is not a JSON object', ['tool_called', '[]']);
  impossible('the call was made before', called, called);
  impossible('the call was not made yet', allowed);
  impossible('no tool run has such an event', called, ['tool_vanished']);
  impossible('no tool run has such an event', called, ['constructor']);
});

test('nothing follows the end but the outcome’s late arrival and its handing over', () => {
  impossible('the tool run had ended as `ok`', ...running, ok, ok);
  impossible('the tool run had ended as `ok`', ...running, ok, ['tool_cancel_requested']);
});

describe('decisions', () => {
  test('once, and a second time only with an approval that was given', () => {
    impossible('the call was decided before', called, allowed, allowed);
    impossible('the call was decided before', ...requestedRun, again);
  });

  test('an approval is asked for once, of this call, where policy asks', () => {
    impossible('policy did not ask for an approval', called, requested);
    impossible('policy did not ask for an approval', called, allowed, requested);
    impossible('an approval was asked for before', ...requestedRun, requested);
    impossible('the approval is of another call', called, asked, changed(requested, { call_digest: 'other' }));
  });
});

describe('answers', () => {
  test('are refused only while one is waited for', () => {
    impossible('no answer was waited for', called, ['approval_refused']);
    impossible('no answer was waited for', ...requestedRun, granted, ['approval_refused']);
  });

  test.each([[granted], [denied]] as const)('to this call, by its approval, in time: %o', (answer) => {
    impossible('another call was shown', ...requestedRun, changed(answer, { call_digest: 'other' }));
    impossible('it is about another approval', ...requestedRun, changed(answer, { approval_id: 'apr_2' }));
    impossible('the approval had expired', ...requestedRun, changed(answer, {}, 50_000));
    expect(replayToolRun(gatewayEvents(...requestedRun, changed(answer, {}, 49_999))).fault).toBeNull();
    impossible('no approval was asked for', called, answer);
  });

  test('only where an approval was asked for', () => {
    impossible('no approval was asked for', called, ['approval_expired', { approval_id: 'apr_1' }]);
  });

  test('once', () => {
    impossible('`approved` does not become `approved`', ...requestedRun, granted, granted);
    impossible('`denied` does not become `approved`', ...requestedRun, denied, granted);
    const expired: GatewayStep = ['approval_expired', { approval_id: 'apr_1' }];
    impossible('`expired` does not become `cancelled`', ...requestedRun, expired, [
      'approval_cancelled',
      { approval_id: 'apr_1' },
    ]);
    impossible('it is about another approval', ...requestedRun, ['approval_expired', { approval_id: 'apr_2' }]);
  });
});

describe('an approval is used', () => {
  test('after the call was decided again by it', () => {
    impossible('the call was not decided again', ...requestedRun, granted, consumed);
    impossible('the call was not decided again', called, consumed);
    impossible('the call was not decided again', called, allowed, consumed);
    impossible('the call was not decided again', called, changed(allowed, { approval_id: 'apr_1' }), consumed);
    impossible(
      'the call was not decided again',
      ...requestedRun,
      granted,
      changed(again, { approval_id: 'apr_2' }),
      consumed,
    );
  });

  test('where policy still lets it', () => {
    const denies = changed(again, { effect: 'deny' });
    impossible('policy had decided `deny`', ...requestedRun, granted, denies, consumed);
    const allows = changed(again, { effect: 'allow' });
    expect(replayToolRun(gatewayEvents(...requestedRun, granted, allows, consumed)).fault).toBeNull();
  });

  test('in time, as given by this person, once', () => {
    impossible('the approval had expired', ...used, changed(consumed, {}, 50_000));
    expect(replayToolRun(gatewayEvents(...used, changed(consumed, {}, 49_999))).fault).toBeNull();
    impossible('somebody else had given the approval', ...used, changed(consumed, { by: 'human:eve' }));
    impossible('`consumed` does not become `consumed`', ...used, consumed, consumed);
  });
});

describe('dispatch', () => {
  test('once, when policy or a person allowed it', () => {
    impossible('the call was dispatched before', ...running, dispatched);
    impossible('nobody had allowed it', called, dispatched);
    impossible('nobody had allowed it', ...requestedRun, granted, dispatched);
    impossible('nobody had allowed it', called, changed(allowed, { effect: 'deny' }), dispatched);
  });
});

describe('the end', () => {
  test('says how it ended', () => {
    impossible('it says `error`', ...running, changed(ok, { status: 'error' }));
    impossible('it says `undefined`', ...running, ['tool_succeeded']);
  });

  test('a call that was dispatched is not denied, and one that was not has no outcome', () => {
    impossible('the call had been dispatched', ...running, ['tool_denied', { status: 'denied' }]);
    impossible('the call was never dispatched', called, allowed, ok);
    impossible('the call was never dispatched', called, allowed, ['tool_timed_out', { status: 'timeout' }]);
    const failed: GatewayStep = ['tool_failed', { status: 'error' }];
    expect(replayToolRun(gatewayEvents(called, allowed, failed)).fault).toBeNull();
  });

  test('is handed over once, when there is one', () => {
    impossible('the call had not ended', ...running, ['tool_outcome_delivered']);
    impossible(
      'the outcome was handed over before',
      ...running,
      ok,
      ['tool_outcome_delivered'],
      ['tool_outcome_delivered'],
    );
  });

  test('is to come early once', () => {
    impossible('the call was to be stopped before', ...running, ['tool_cancel_requested'], ['tool_cancel_requested']);
  });
});
