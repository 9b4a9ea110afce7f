import type { GatewayEventRecord } from '../../src/core/gateway.ts';

/** What one event says: its type, its body (an object, or text that is none), and its instant. */
export type GatewayStep = readonly [type: string, body?: unknown, at?: number];

/** A stream of events of one tool run, numbered from 1, a second apart. */
export const gatewayEvents = (...list: readonly GatewayStep[]) =>
  list.map(
    ([type, body = {}, at], index): GatewayEventRecord => ({
      run_id: 'run_1',
      seq: index + 1,
      type,
      at: at ?? (index + 1) * 1_000,
      tool_run_id: 'trn_1',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  );

/** What the events of one tool run say when a person allows it, one by one. */
export const STEP = {
  called: [
    'tool_called',
    { tool: 'fs.write', call_digest: 'call', roles: ['a'], open_world: true, agent: null, more: 1 },
  ],
  asked: ['policy_decided', { effect: 'ask', policy_digest: 'pol', rules: ['r'], tainted: false, pinned: true }],
  allowed: ['policy_decided', { effect: 'allow', policy_digest: 'pol', rules: [], execute: 'attended' }],
  requested: ['approval_requested', { approval_id: 'apr_1', call_digest: 'call', expires_at: 50_000, edit: false }],
  granted: ['approval_granted', { approval_id: 'apr_1', by: 'human:ada', roles: ['lead'], call_digest: 'call' }],
  denied: [
    'approval_denied',
    { approval_id: 'apr_1', by: 'human:ada', surface: 'cli', call_digest: 'call', comment: 'no' },
  ],
  again: ['policy_decided', { effect: 'ask', approval_id: 'apr_1' }],
  consumed: ['approval_consumed', { approval_id: 'apr_1', by: 'human:ada', because: 'used' }],
  dispatched: ['tool_dispatched', { session_id: 'ses_1', timeout_ms: 5, max_output_bytes: 6 }],
  ok: ['tool_succeeded', { status: 'ok', output_digest: 'out', output_bytes: 7, latency_ms: 8 }],
} as const satisfies Readonly<Record<string, readonly [string, unknown]>>;
