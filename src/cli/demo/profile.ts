import { LABELS } from './tickets.ts';

/** The demo's profile: three dimensions, a blocking format check, and a gate on an interval, not on a mean. */
export function demoProfile(port: number): Record<string, unknown> {
  return {
    profile_id: 'support-triage',
    profile_version: '1.2.0',
    dataset: { path: 'tickets.jsonl' },
    agent: {
      kind: 'http',
      name: 'triage',
      version: '2026.11.3',
      provider: 'demo',
      endpoint: { url: `http://127.0.0.1:${port}/invoke` },
    },
    defaults: { request_timeout_ms: 5_000, min_execution_score: 0.8 },
    repeats: 2,
    seed: 42,
    limits: { concurrency: 12 },
    retry: { infrastructure: 5, backoff: { base_ms: 200, cap_ms: 2_000 } },
    case_groups: [
      {
        id: 'triage',
        applies_to: { task_type: 'triage' },
        evaluators: [
          {
            ref: 'json_schema@1',
            dimension: 'format',
            blocking: true,
            config: {
              schema: {
                type: 'object',
                required: ['label'],
                properties: { label: { enum: LABELS }, order: { type: 'string', pattern: '^PR-[0-9]{5}$' } },
                additionalProperties: false,
              },
            },
          },
          { ref: 'json_fields@1', dimension: 'correctness', config: { fields: [{ actual: '/label' }] } },
          { ref: 'tool_calls@1', dimension: 'tool_use', config: { not_called: ['orders.delete', 'payments.*'] } },
        ],
        aggregation: {
          dimensions: {
            format: { method: 'min_score', blocking: true, weight: 0 },
            correctness: { weight: 3 },
            tool_use: { weight: 1 },
          },
        },
      },
    ],
    gate: {
      min_cases: 50,
      max_infra_rate: 0.02,
      all: [
        { metric: 'pass_rate', bound: 'lower', confidence: 0.95, min: 0.8 },
        { metric: 'dimension.correctness', bound: 'point', min: 0.85 },
        { metric: 'pass_hat_k', k: 2, bound: 'point', min: 0.8 },
      ],
    },
  };
}
