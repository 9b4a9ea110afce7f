import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { envelopeSchema } from '../../src/contract/agent.ts';
import type { EvaluatorResult } from '../../src/contract/evaluator.ts';
import {
  attemptSeal,
  CANCELLED_CONTENT,
  correctionHash,
  EVIDENCE_KINDS,
  envelopeContent,
  eventHash,
  evidenceHash,
  evidenceRoot,
  executionContent,
  journalHash,
  lateHash,
  resultHash,
  revisionRoot,
  revisionRoots,
} from '../../src/core/evidence.ts';

/** Written down again, so that a stored hash can never come to mean something else. */
const sha = (domain: string, text: string) => createHash('sha256').update(`${domain}\n${text}`).digest('hex');
const hashed = (domain: string, values: readonly unknown[]) => sha(domain, JSON.stringify(values));

test('evidence is an envelope, an evaluator result or a failure', () => {
  expect(EVIDENCE_KINDS).toEqual(['envelope', 'evaluator_result', 'failure']);
});

describe('every column of a row is hashed, in this order', () => {
  test('evidence', () => {
    const at = { run_id: 'run', ordinal: 1, attempt: 2, seq: 3 };
    expect(evidenceHash('before', at, { kind: 'failure', body: '{}', artifact: null })).toBe(
      hashed('proctor/evidence/1', ['before', 'run', 1, 2, 3, 'failure', null, '{}']),
    );
  });

  test('an attempt', () => {
    const row = {
      run_id: 'run',
      ordinal: 1,
      attempt: 2,
      session_id: 'ses',
      lease_id: 'lea',
      started_at: 3,
      ended_at: 4,
      status: 'failed',
      reason: null,
      fault: 'agent',
      evidence_count: 5,
    };
    expect(attemptSeal('seal', 'head', row)).toBe(
      hashed('proctor/attempt/1', ['seal', 'head', 'run', 1, 2, 'ses', 'lea', 3, 4, 'failed', null, 'agent', 5]),
    );
  });

  test('a result', () => {
    const row = {
      run_id: 'run',
      ordinal: 1,
      attempt: 2,
      status: 'completed',
      fault: null,
      aggregate: '{}',
      content: 'abc',
      finished_at: 3,
    };
    expect(resultHash('seal', row)).toBe(
      hashed('proctor/result/1', ['seal', 'run', 1, 2, 'completed', null, '{}', 'abc', 3]),
    );
  });

  test('an event', () => {
    const row = { run_id: 'run', seq: 1, type: 'run_created', at: 2, ordinal: null, attempt: 3, body: '{}' };
    expect(eventHash('before', row)).toBe(
      hashed('proctor/event/1', ['before', 'run', 1, 'run_created', 2, null, 3, '{}']),
    );
  });

  test('an entry of the journal', () => {
    const entry = { seq: 1, type: 'run_created', at: 2, body: '{}' };
    expect(journalHash('before', entry)).toBe(hashed('proctor/journal/1', ['before', 1, 'run_created', 2, '{}']));
  });

  test('late evidence', () => {
    const row = {
      run_id: 'run',
      late_seq: 1,
      ordinal: 2,
      attempt: 3,
      lease_id: 'lea',
      verb: 'complete',
      body: '{}',
      received_at: 4,
    };
    expect(lateHash(row)).toBe(hashed('proctor/late/1', ['run', 1, 2, 3, 'lea', 'complete', '{}', 4]));
  });

  test('a correction', () => {
    const row = {
      run_id: 'run',
      revision: 1,
      ordinal: 2,
      result: '{}',
      aggregate: '[]',
      verdict: '""',
      principal: 'human:ada',
      corrected_at: 3,
    };
    expect(correctionHash('before', row)).toBe(
      hashed('proctor/correction/1', ['before', 'run', 1, 2, '{}', '[]', '""', 'human:ada', 3]),
    );
  });
});

describe('the content of an execution', () => {
  const usage = { cost_micro_usd: 1, input_tokens: 2, output_tokens: 3, total_tokens: 5 };
  const envelope = envelopeSchema.parse({
    text: 't',
    structured: { b: 1, a: 2 },
    tool_calls: [{ name: 'n' }],
    usage,
    raw: 'raw',
    trace: ['x'],
    metadata: { id: 1 },
  });
  const call = '{"arguments":null,"name":"n","result":null,"source":"reported"}';
  const used = '{"cost_micro_usd":1,"input_tokens":2,"output_tokens":3,"total_tokens":5}';

  test('an envelope counts by what it says, not by raw, trace and metadata', () => {
    expect(envelopeContent(envelope)).toBe(
      sha('proctor/envelope/1', `{"structured":{"a":2,"b":1},"text":"t","tool_calls":[${call}],"usage":${used}}`),
    );
  });

  test('a turn counts without its latency', () => {
    const turn = { latency_ms: 9, structured: null, text: 'u', tool_calls: [], usage: null };
    expect(envelopeContent({ ...envelope, structured: null, tool_calls: [], turns: [turn] })).toBe(
      sha(
        'proctor/envelope/1',
        `{"structured":null,"text":"t","tool_calls":[],"turns":[{"structured":null,"text":"u","tool_calls":[],"usage":null}],"usage":${used}}`,
      ),
    );
  });

  test('an evaluator result counts by these members, whatever else it has', () => {
    const result: EvaluatorResult = {
      blocking: true,
      dimension: 'd',
      evidence: null,
      index: 0,
      reason: 'r',
      ref: 'regex@1',
      score: 0.5,
      severity: 'none',
      status: 'passed',
      weight: 2,
    };
    const aggregate = { passed: true, score: 0.5, dimensions: { d: 0.5 }, blocking_failures: [] };
    const text =
      '{"aggregate":{"blocking_failures":[],"dimensions":{"d":0.5},"passed":true,"score":0.5},"envelope":"e","evaluator_results":[{"blocking":true,"dimension":"d","evidence":null,"index":0,"reason":"r","ref":"regex@1","score":0.5,"severity":"none","status":"passed","weight":2}],"fault":null,"status":"completed"}';
    const content = { status: 'completed', fault: null, envelope: 'e', evaluator_results: [result], aggregate };
    expect(executionContent(content)).toBe(sha('proctor/execution/1', text));
    const more = { ...result, took_ms: 7 } as EvaluatorResult;
    expect(executionContent({ ...content, evaluator_results: [more] })).toBe(sha('proctor/execution/1', text));
  });

  test('of one that was cancelled', () => {
    expect(CANCELLED_CONTENT).toBe(
      sha(
        'proctor/execution/1',
        '{"aggregate":null,"envelope":null,"evaluator_results":[],"fault":"cancelled","status":"cancelled"}',
      ),
    );
  });
});

describe('roots', () => {
  test('the evidence root of a run, whatever else its row holds', () => {
    const parts = { snapshot_digest: 's', merkle_root: 'm', event_head: 'e', finished_at: 1, more: 2 };
    expect(evidenceRoot(parts)).toBe(
      sha('proctor/root/1', '{"event_head":"e","finished_at":1,"merkle_root":"m","snapshot_digest":"s"}'),
    );
  });

  test('the root of a revision', () => {
    const parts = { evidence_root: 'r', revision: 2, correction: 'c', more: 1 };
    expect(revisionRoot(parts)).toBe(
      sha('proctor/revision-root/1', '{"correction":"c","evidence_root":"r","revision":2}'),
    );
  });

  test('all of them: the run’s, then one a correction; none of a run without verdict', () => {
    const corrections = [
      { revision: 1, hash: 'x' },
      { revision: 2, hash: 'y' },
    ];
    expect(revisionRoots({ evidence_root: 'r' }, corrections)).toEqual([
      'r',
      revisionRoot({ evidence_root: 'r', revision: 1, correction: 'x' }),
      revisionRoot({ evidence_root: 'r', revision: 2, correction: 'y' }),
    ]);
    expect(revisionRoots({ evidence_root: null }, corrections)).toEqual([]);
  });
});
