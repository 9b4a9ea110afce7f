import { describe, expect, test } from 'vitest';
import { latency } from '../../../src/adapters/evaluators/latency.ts';
import { usage } from '../../../src/adapters/evaluators/usage.ts';
import { grade, opened, outcome } from './grade.ts';

const used = { input_tokens: 100, output_tokens: 20, total_tokens: null, cost_micro_usd: 1500 };

describe('latency@1', () => {
  test.each([
    [100, 'passed', 'the agent took 100 ms; the limit is 100 ms'],
    [100.5, 'failed', 'the agent took 100.5 ms; the limit is 100 ms'],
  ])('%d ms of 100: %s', async (latency_ms, status, reason) => {
    expect(await grade(latency, { max_ms: 100 }, { answer: {}, latency_ms })).toEqual({
      status,
      severity: 'none',
      score: null,
      reason,
      evidence: { latency_ms, max_ms: 100 },
    });
  });

  test.each([{}, { max_ms: 0 }, { max_ms: 1.5 }, { max_ms: '100' }])('refuses the config %o', async (config) => {
    await expect(opened(latency, config)).rejects.toThrow();
  });
});

describe('usage@1', () => {
  test.each([
    [{ max_input_tokens: 100 }, used, 'passed', '100 input tokens used, limit 100'],
    [
      { max_input_tokens: 99, max_output_tokens: 19 },
      used,
      'failed',
      '100 input tokens used, limit 99; 20 output tokens used, limit 19',
    ],
    [{ max_total_tokens: 120 }, used, 'passed', '120 tokens used, limit 120'],
    [{ max_total_tokens: 120 }, { ...used, total_tokens: 121 }, 'failed', '121 tokens used, limit 120'],
    [{ max_cost_usd: 0.0015 }, used, 'passed', '1500 micro-USD used, limit 1500'],
    [{ max_cost_usd: 0.001 }, used, 'failed', '1500 micro-USD used, limit 1000'],
    [{ max_cost_usd: 0.01 }, null, 'failed', 'the agent reported no usage'],
    [{ max_cost_usd: 0.01, when_absent: 'skipped' }, null, 'skipped', 'the agent reported no usage'],
    [{ max_total_tokens: 10 }, { ...used, input_tokens: null }, 'failed', 'the agent reported no `total_tokens`'],
    [
      { max_input_tokens: 500, max_cost_usd: 1 },
      { ...used, cost_micro_usd: null },
      'failed',
      'the agent reported no `cost_micro_usd`',
    ],
    [
      { max_input_tokens: 500, max_cost_usd: 1, when_absent: 'skipped' },
      { ...used, cost_micro_usd: null },
      'passed',
      '100 input tokens used, limit 500',
    ],
    [
      { max_input_tokens: 50, max_cost_usd: 1, when_absent: 'skipped' },
      { ...used, cost_micro_usd: null },
      'failed',
      '100 input tokens used, limit 50',
    ],
  ])('%j of %j: %s', async (config, reported, status, reason) => {
    expect(await outcome(usage, config, { answer: { usage: reported } })).toEqual([status, reason]);
  });

  test('keeps what was used and the limits as evidence', async () => {
    const found = await grade(usage, { max_input_tokens: 1, max_cost_usd: 2 }, { answer: { usage: used } });
    expect(found.evidence).toEqual([
      { name: 'input_tokens', used: 100, max: 1 },
      { name: 'cost_micro_usd', used: 1500, max: 2_000_000 },
    ]);
  });

  test.each([
    {},
    { when_absent: 'skipped' },
    { max_input_tokens: -1 },
    { max_cost_usd: -1 },
    { max_total_tokens: 1, when_absent: 'passed' },
  ])('refuses the config %o', async (config) => {
    await expect(opened(usage, config)).rejects.toThrow();
  });
});
