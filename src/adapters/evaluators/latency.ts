import { z } from 'zod';
import { type EvaluatorKind, finding } from '../../contract/evaluator.ts';
import { inProcess } from './parts/in-process.ts';

const config = z.strictObject({
  max_ms: z.number().int().positive().describe('Most milliseconds that the call of the agent may take'),
});

/** Passes when the agent answered in time; what it finds differs from run to run. */
export const latency: EvaluatorKind<typeof config> = {
  name: 'latency',
  version: 1,
  summary: 'The agent answered within a time',
  config,
  open: ({ config }) =>
    inProcess(({ latency_ms }) => {
      const passed = latency_ms <= config.max_ms;
      return finding(
        passed ? 'passed' : 'failed',
        `the agent took ${latency_ms} ms; the limit is ${config.max_ms} ms`,
        {
          evidence: { latency_ms, max_ms: config.max_ms },
        },
      );
    }),
};
