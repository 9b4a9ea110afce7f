import { describe, expect, test } from 'vitest';
import type { ExecutionDocument } from '../../src/contract/documents.ts';
import { whyNotPassed } from '../../src/core/why-not-passed.ts';

const result = (status: string, members: object = {}) => ({
  ref: 'regex@1',
  status,
  blocking: false,
  reason: null,
  ...members,
});
const why = (members: object) =>
  whyNotPassed({
    status: 'completed',
    beyond_stop: false,
    evaluator_results: [],
    failure: null,
    fault: null,
    reason: null,
    aggregate: { score: 0.12345 },
    ...members,
  } as unknown as ExecutionDocument);

describe('the reason of an evaluator', () => {
  test('an error before a failure, a blocking failure before another, the first of each', () => {
    const plain = result('failed', { ref: 'a@1', reason: 'plain' });
    const blocking = result('failed', { ref: 'b@1', reason: 'blocks', blocking: true });
    const second = result('failed', { ref: 'c@1', reason: 'blocks too', blocking: true });
    const erred = result('error', { ref: 'd@1', reason: 'broke' });
    const late = result('error', { ref: 'e@1', reason: 'broke too' });
    expect(why({ evaluator_results: [result('passed', { blocking: true }), plain] })).toBe('a@1: plain');
    expect(why({ evaluator_results: [plain, result('failed', { reason: 'other' })] })).toBe('a@1: plain');
    expect(why({ evaluator_results: [plain, blocking, second] })).toBe('b@1: blocks');
    expect(why({ evaluator_results: [plain, blocking, erred, late] })).toBe('d@1: broke');
  });

  test('its status where it gave none', () => {
    expect(why({ evaluator_results: [result('failed')] })).toBe('regex@1: failed');
    expect(why({ evaluator_results: [result('error')] })).toBe('regex@1: error');
  });
});

describe('without a failed evaluator', () => {
  test('the score, or that there is none', () => {
    expect(why({ evaluator_results: [result('passed')] })).toBe('score 0.123 is too low');
    expect(why({ aggregate: null })).toBe('score none is too low');
  });

  test('how the execution ended, whose fault, and the message', () => {
    expect(why({ status: 'timed_out', fault: 'agent', failure: { message: 'after 5 s' }, reason: 'timeout' })).toBe(
      'timed out, agent: after 5 s',
    );
    expect(why({ status: 'failed', failure: { message: 7 }, reason: 'lease' })).toBe('failed: lease');
    expect(why({ status: 'failed', fault: 'infrastructure' })).toBe('failed, infrastructure: no reason recorded');
  });
});

test('cancelled and beyond a stop', () => {
  expect(why({ status: 'cancelled', beyond_stop: true })).toBe('not made: the run was cancelled or had stopped');
  expect(why({ beyond_stop: true })).toBe('beyond the stop, not counted: score 0.123 is too low');
});
