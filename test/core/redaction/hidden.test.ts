import { describe, expect, test } from 'vitest';
import { agentFailure, type Envelope, envelope } from '../../../src/contract/agent.ts';
import { finding } from '../../../src/contract/evaluator.ts';
import { hiddenEnvelope, hiddenFailure, hiddenFinding } from '../../../src/core/redaction/hidden.ts';
import { Redactor } from '../../../src/core/redaction/redactor.ts';

const PIN = 20261122;
const redactor = new Redactor([
  { value: String(PIN), marker: '[secret PIN]' },
  { value: 'reported', marker: '[secret WORD]' },
]);
const usage = { cost_micro_usd: null, input_tokens: 3, output_tokens: 4, total_tokens: 7 };
const whole: Envelope = envelope({
  metadata: { a: 1 },
  raw: ['raw'],
  structured: { balance: 5 },
  text: 'text',
  tool_calls: [{ arguments: {}, name: 'look', result: null, source: 'reported' }],
  trace: ['step'],
  turns: [{ latency_ms: PIN, structured: null, text: null, tool_calls: [], usage: null }],
  usage,
});

describe('an envelope', () => {
  test('without a secret is itself', () => {
    const hidden = hiddenEnvelope(whole, redactor);
    expect(hidden).toEqual({ envelope: whole, redacted: [] });
    expect(hidden.envelope).toBe(whole);
    expect(hiddenEnvelope(envelope({}), redactor)).toEqual({ envelope: envelope({}), redacted: [] });
  });

  const turn = { latency_ms: 1, structured: null, text: null, tool_calls: [], usage: null };
  const call = { arguments: {}, name: 'look', result: null, source: 'reported' as const };
  const cases: [keyof Envelope, Partial<Envelope>, Partial<Envelope>][] = [
    ['metadata', { metadata: { [PIN]: 1 } }, { metadata: { '[secret PIN]': 1 } }],
    ['raw', { raw: { n: PIN } }, { raw: { n: '[secret PIN]' } }],
    ['structured', { structured: [PIN] }, { structured: ['[secret PIN]'] }],
    ['text', { text: `is ${PIN}` }, { text: 'is [secret PIN]' }],
    [
      'tool_calls',
      { tool_calls: [{ ...call, name: `x${PIN}` }] },
      { tool_calls: [{ ...call, name: 'x[secret PIN]' }] },
    ],
    [
      'tool_calls',
      { tool_calls: [call, { ...call, arguments: { PIN } }] },
      { tool_calls: [call, { ...call, arguments: { PIN: '[secret PIN]' } }] },
    ],
    ['tool_calls', { tool_calls: [{ ...call, result: PIN }] }, { tool_calls: [{ ...call, result: '[secret PIN]' }] }],
    ['trace', { trace: [[PIN]] }, { trace: [['[secret PIN]']] }],
    ['turns', { turns: [turn, { ...turn, text: `${PIN}` }] }, { turns: [turn, { ...turn, text: '[secret PIN]' }] }],
    ['turns', { turns: [{ ...turn, structured: PIN }] }, { turns: [{ ...turn, structured: '[secret PIN]' }] }],
    [
      'turns',
      { turns: [{ ...turn, tool_calls: [{ ...call, result: PIN }] }] },
      { turns: [{ ...turn, tool_calls: [{ ...call, result: '[secret PIN]' }] }] },
    ],
    [
      'turns',
      { turns: [{ ...turn, usage: { ...usage, total_tokens: PIN } }] },
      { turns: [{ ...turn, usage: { ...usage, total_tokens: null } }] },
    ],
    ['usage', { usage: { ...usage, cost_micro_usd: PIN } }, { usage: { ...usage, cost_micro_usd: null } }],
    ['usage', { usage: { ...usage, input_tokens: PIN } }, { usage: { ...usage, input_tokens: null } }],
    ['usage', { usage: { ...usage, output_tokens: PIN } }, { usage: { ...usage, output_tokens: null } }],
  ];
  test.each(cases)('tells that its %s held one: %j', (member, held, clean) => {
    expect(hiddenEnvelope({ ...whole, ...held }, redactor)).toEqual({
      envelope: { ...whole, ...clean },
      redacted: [member],
    });
  });

  test('tells of every member', () => {
    const { redacted } = hiddenEnvelope({ ...whole, text: `${PIN}`, usage: { ...usage, input_tokens: PIN } }, redactor);
    expect(redacted).toEqual(['text', 'usage']);
  });
});

test('a finding keeps what it decides', () => {
  const clean = finding('passed', 'fine', { score: 0.5, evidence: { a: 1 } });
  expect(hiddenFinding(clean, redactor)).toBe(clean);
  expect(hiddenFinding(finding('failed', null, { score: 0.25, evidence: { [PIN]: PIN } }), redactor)).toEqual(
    finding('failed', null, { score: 0.25, evidence: { '[secret PIN]': '[secret PIN]' } }),
  );
  expect(hiddenFinding(finding('error', `got ${PIN}`), redactor)).toEqual(finding('error', 'got [secret PIN]'));
});

test('a failure keeps whose it is', () => {
  const clean = agentFailure('agent', 'http_status', 'status 500', { evidence: { body: 'x' } });
  expect(hiddenFailure(clean, redactor)).toBe(clean);
  const told = agentFailure('agent', 'http_status', `said ${PIN}`, { retry_after_ms: PIN, evidence: null });
  expect(hiddenFailure(told, redactor)).toEqual({ ...told, message: 'said [secret PIN]' });
  const kept = agentFailure('agent', 'http_status', 'status 500', { evidence: { body: `${PIN}` } });
  expect(hiddenFailure(kept, redactor)).toEqual({ ...kept, evidence: { body: '[secret PIN]' } });
});
