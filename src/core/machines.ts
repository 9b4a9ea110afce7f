import { defineMachine } from './machine.ts';

/** A batch evaluation of one agent against one dataset. */
export const runMachine = defineMachine({
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
});

/** One case × repeat. The live states stand on the queue row, the terminal ones on the result. */
export const executionMachine = defineMachine({
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
});

/** One worker's leased effort at an execution. */
export const attemptMachine = defineMachine({
  name: 'attempt',
  initial: 'pending',
  next: {
    pending: ['running'],
    running: ['completed', 'failed_agent_call', 'failed_evaluation', 'timed_out', 'cancelled', 'stale', 'suspended'],
    suspended: ['running', 'cancelled'],
    completed: [],
    failed_agent_call: [],
    failed_evaluation: [],
    timed_out: [],
    cancelled: [],
    stale: [],
  },
});

/** One outbox row on its way to one endpoint. */
export const deliveryMachine = defineMachine({
  name: 'delivery',
  initial: 'pending',
  next: { pending: ['published', 'failed'], failed: ['pending', 'dead'], dead: ['pending'], published: [] },
});

/** One call of a tool, as the gateway records it. */
export const toolRunMachine = defineMachine({
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
});

/** A person's single-use answer to one call that policy asks for. */
export const approvalMachine = defineMachine({
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
});

/** Every machine whose table the store enforces and the documentation draws. */
export const MACHINES = [
  runMachine,
  executionMachine,
  attemptMachine,
  deliveryMachine,
  toolRunMachine,
  approvalMachine,
] as const;
