import { expect, test } from 'vitest';
import { defineMachine, toMermaid } from '../../src/core/machine.ts';
import { MACHINES } from '../../src/core/machines.ts';

test('a machine is what was declared', () => {
  const declared = {
    name: 'door',
    initial: 'open',
    next: { open: ['shut'], shut: ['open', 'gone'], gone: [] },
  } as const;
  expect(defineMachine(declared)).toBe(declared);
});

test('a state that leads to an unknown one is refused, inherited names too', () => {
  expect(() => defineMachine({ name: 'door', initial: 'open', next: { open: ['ajar'] } })).toThrow(
    new TypeError('`door`: `open` leads to unknown `ajar`'),
  );
  expect(() => defineMachine({ name: 'door', initial: 'open', next: { open: ['toString'] } })).toThrow(TypeError);
});

test('the diagram draws the start, every transition, and the end of every state that nothing follows', () => {
  const machine = defineMachine({
    name: 'door',
    initial: 'open',
    next: { open: ['shut', 'gone'], shut: ['open'], gone: [] },
  });
  expect(toMermaid(machine)).toBe(
    [
      'stateDiagram-v2',
      '  [*] --> open',
      '  open --> shut',
      '  open --> gone',
      '  shut --> open',
      '  gone --> [*]',
    ].join('\n'),
  );
});

test('the machines are these', () => {
  expect(MACHINES).toEqual([
    {
      name: 'run',
      initial: 'pending',
      next: {
        pending: ['running', 'cancelled'],
        running: ['finalizing', 'failed', 'cancelled'],
        finalizing: ['completed', 'failed'],
        completed: [],
        failed: [],
        cancelled: [],
      },
    },
    {
      name: 'execution',
      initial: 'pending',
      next: {
        pending: ['running', 'cancelled'],
        running: ['completed', 'failed', 'timed_out', 'retry_scheduled', 'waiting', 'cancelled'],
        retry_scheduled: ['running', 'cancelled'],
        waiting: ['running', 'cancelled'],
        completed: [],
        failed: [],
        timed_out: [],
        cancelled: [],
      },
    },
    {
      name: 'attempt',
      initial: 'pending',
      next: {
        pending: ['running'],
        running: [
          'completed',
          'failed_agent_call',
          'failed_evaluation',
          'timed_out',
          'cancelled',
          'stale',
          'suspended',
        ],
        suspended: ['running', 'cancelled'],
        completed: [],
        failed_agent_call: [],
        failed_evaluation: [],
        timed_out: [],
        cancelled: [],
        stale: [],
      },
    },
    {
      name: 'delivery',
      initial: 'pending',
      next: { pending: ['published', 'failed'], failed: ['pending', 'dead'], dead: ['pending'], published: [] },
    },
    {
      name: 'tool_run',
      initial: 'started',
      next: {
        started: ['ok', 'error', 'timeout', 'denied', 'approval_required'],
        approval_required: ['approved', 'denied', 'error'],
        approved: ['ok', 'error', 'timeout'],
        ok: [],
        error: [],
        timeout: [],
        denied: [],
      },
    },
    {
      name: 'approval',
      initial: 'pending',
      next: {
        pending: ['approved', 'denied', 'expired', 'cancelled'],
        approved: ['consumed', 'expired', 'cancelled'],
        denied: [],
        expired: [],
        cancelled: [],
        consumed: [],
      },
    },
  ]);
});
