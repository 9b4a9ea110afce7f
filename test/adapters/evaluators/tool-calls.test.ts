import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toolCalls } from '../../../src/adapters/evaluators/tool-calls.ts';
import type { ToolCall } from '../../../src/contract/agent.ts';
import { globMatches } from '../../../src/lib/glob.ts';
import { grade, opened, outcome } from './grade.ts';

function call(name: string, args: ToolCall['arguments'] = {}, source: ToolCall['source'] = 'gated'): ToolCall {
  return { name, arguments: args, result: null, source };
}

const calls = [
  call('calendar.list', { day: 'mon' }),
  call('mail.send', { to: 'ada', cc: ['bob'], body: 'hi' }),
  call('calendar.list', { day: 'tue' }, 'reported'),
];

describe('tool_calls@1', () => {
  test.each([
    [{ called: ['mail.send'] }, 'passed', '1 of 1 expectations met'],
    [
      { called: ['mail.read'] },
      'failed',
      '0 of 1 expectations met: expected that "mail.read" is called at least 1 times, found 0 calls',
    ],
    [{ called: [{ name: 'calendar.list', times: 2 }] }, 'passed', '1 of 1 expectations met'],
    [
      { called: [{ name: 'calendar.list', max: 1 }] },
      'failed',
      '0 of 1 expectations met: expected that "calendar.list" is called exactly 1 times, found 2 calls',
    ],
    [
      { called: [{ name: 'calendar.list', min: 3 }] },
      'failed',
      '0 of 1 expectations met: expected that "calendar.list" is called at least 3 times, found 2 calls',
    ],
    [
      { called: [{ name: 'calendar.list', min: 0, max: 1 }] },
      'failed',
      '0 of 1 expectations met: expected that "calendar.list" is called at most 1 times, found 2 calls',
    ],
    [{ called: [{ name: 'mail.read', max: 0 }] }, 'passed', '1 of 1 expectations met'],
    [{ called: [{ name: 'mail.send', arguments: { to: 'ada' } }] }, 'passed', '1 of 1 expectations met'],
    [{ called: [{ name: 'calendar.list', arguments: { day: 'tue' }, times: 1 }] }, 'passed', '1 of 1 expectations met'],
    [
      { called: [{ name: 'mail.send', arguments: { to: 'ada' } }], arguments_match: 'exact' },
      'failed',
      '0 of 1 expectations met: expected that "mail.send" is called with exactly {"to":"ada"} at least 1 times, found 0 calls, 1 with other arguments',
    ],
    [
      { called: [{ name: 'mail.send', arguments: { body: 'hi', cc: ['bob'], to: 'ada' } }], arguments_match: 'exact' },
      'passed',
      '1 of 1 expectations met',
    ],
    [{ not_called: ['shell.*'] }, 'passed', '1 of 1 expectations met'],
    [
      { not_called: ['mail.*'] },
      'failed',
      '0 of 1 expectations met: expected that "mail.*" is not called, found 1 calls',
    ],
    [{ order: ['calendar.list', 'calendar.list'] }, 'passed', '1 of 1 expectations met'],
    [
      { order: ['mail.send', 'mail.send'] },
      'failed',
      '0 of 1 expectations met: expected that calls in the order ["mail.send","mail.send"], found 1 of 2 in order',
    ],
    [{ exact_order: ['calendar.list', 'mail.send', 'calendar.list'] }, 'passed', '1 of 1 expectations met'],
    [
      { exact_order: [] },
      'failed',
      '0 of 1 expectations met: expected that the calls are exactly [], found ["calendar.list","mail.send","calendar.list"]',
    ],
    [
      { called: [{ name: 'calendar.list', times: 2 }], allow_reported: false },
      'failed',
      '0 of 1 expectations met: expected that "calendar.list" is called exactly 2 times, found 1 calls; 1 reported calls do not count',
    ],
  ])('%j: %s', async (config, status, reason) => {
    expect(await outcome(toolCalls, config, { answer: { tool_calls: calls } })).toEqual([status, reason]);
  });

  test('scores the share of expectations met, and keeps each of them and the calls as evidence', async () => {
    const found = await grade(
      toolCalls,
      { called: ['mail.send', 'mail.read'], not_called: ['shell.*'] },
      { answer: { tool_calls: calls } },
    );
    expect(found).toEqual({
      status: 'failed',
      severity: 'none',
      score: 2 / 3,
      reason: '2 of 3 expectations met: expected that "mail.read" is called at least 1 times, found 0 calls',
      evidence: {
        expectations: [
          { expectation: '"mail.send" is called at least 1 times', met: true, seen: '1 calls' },
          { expectation: '"mail.read" is called at least 1 times', met: false, seen: '0 calls' },
          { expectation: '"shell.*" is not called', met: true, seen: '0 calls' },
        ],
        calls: [
          { name: 'calendar.list', arguments: '{"day":"mon"}', source: 'gated' },
          { name: 'mail.send', arguments: '{"to":"ada","cc":["bob"],"body":"hi"}', source: 'gated' },
          { name: 'calendar.list', arguments: '{"day":"tue"}', source: 'reported' },
        ],
        calls_made: 3,
      },
    });
  });

  test('a forbidden call that is only reported still fails', async () => {
    const config = { not_called: ['calendar.*'], allow_reported: false };
    expect(
      (await grade(toolCalls, config, { answer: { tool_calls: [call('calendar.drop', {}, 'reported')] } })).status,
    ).toBe('failed');
  });

  test('without config it takes the calls that the case expects', async () => {
    const expected = { tool_calls: ['calendar.list', { name: 'mail.send', arguments: { to: 'bob' } }] };
    expect((await grade(toolCalls, {}, { answer: { tool_calls: calls }, expected })).score).toBe(0.5);
  });

  test.each([null, 'mail.send', {}, { tool_calls: [] }, { tool_calls: 'mail.send' }, { tool_calls: [{ nam: 'x' }] }])(
    'is an error, not a pass, when expected is %j',
    async (expected) => {
      const [status, reason] = await outcome(toolCalls, {}, { answer: { tool_calls: calls }, expected });
      expect(status).toBe('error');
      expect(reason).toContain(
        'give the case `expected.tool_calls` (a list of names or {name, arguments}), or the evaluator `called`, `not_called`, `order` or `exact_order`',
      );
    },
  );

  test('arguments match by own members only', async () => {
    const config = { called: [{ name: 'a', arguments: { constructor: {} } }] };
    expect((await grade(toolCalls, config, { answer: { tool_calls: [call('a', {})] } })).status).toBe('failed');
    expect((await grade(toolCalls, config, { answer: { tool_calls: [call('a', { constructor: {} })] } })).status).toBe(
      'passed',
    );
  });

  test('many and large calls leave short evidence, and too many fail', async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => call(`tool.${index}`, { text: 'x'.repeat(1000) }));
    const found = await grade(toolCalls, { called: ['tool.9999'] }, { answer: { tool_calls: many } });
    expect(found.status).toBe('passed');
    expect(found.evidence).toMatchObject({ calls_made: 10_000, calls: { length: 50 } });
    expect(await outcome(toolCalls, { called: ['a'] }, { answer: { tool_calls: [...many, call('a')] } })).toEqual([
      'failed',
      'the agent made 10001 calls; at most 10000 are compared',
    ]);
  });

  test('a glob matches as the pattern with .* for * does', () => {
    const parts = fc.array(fc.constantFrom('a', 'b', '*', '.'), { maxLength: 8 });
    fc.assert(
      fc.property(parts, fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 }), (glob, name) => {
        const pattern = new RegExp(
          `^${glob.map((part) => (part === '*' ? '.*' : part.replace('.', '\\.'))).join('')}$`,
        );
        expect(globMatches(glob.join(''), name)).toBe(pattern.test(name));
      }),
      { numRuns: 2000, seed: 3 },
    );
  });

  test.each([
    [{ called: [''] }],
    [{ called: [{ name: 'a', times: 1, min: 1 }] }],
    [{ called: [{ name: 'a', min: 2, max: 1 }] }],
    [{ called: [{ name: 'a', args: {} }] }],
    [{ order: [] }],
    [{ order: ['a'], exact_order: ['a'] }],
    [{ arguments_match: 'loose' }],
  ])('refuses the config %j', async (config) => {
    await expect(opened(toolCalls, config)).rejects.toThrow();
  });
});
