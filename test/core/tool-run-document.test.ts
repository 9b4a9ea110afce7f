import { describe, expect, test } from 'vitest';
import type { ToolRunRow } from '../../src/contract/store.ts';
import type { ToolOutput } from '../../src/contract/tool.ts';
import { toolRunDocumentSchema } from '../../src/contract/tool-documents.ts';
import { toolRunDocument } from '../../src/core/tool-run-document.ts';
import { attemptId, executionId } from '../../src/lib/id.ts';

const NULLS = {
  reason: null,
  agent: null,
  run_id: null,
  ordinal: null,
  attempt: null,
  request_id: null,
  trace_id: null,
  caused_by: null,
  idempotency_key: null,
  edited_from: null,
  edited_into: null,
  definition_digest: null,
  decision: null,
  rules: null,
  policy_digest: null,
  approval_id: null,
  error: null,
  output_artifact: null,
  output_digest: null,
  output_bytes: null,
  latency_ms: null,
  cost_micro_usd: 0,
  dispatched_at: null,
  finished_at: null,
};
const row = (members: object = {}) =>
  ({
    ...NULLS,
    tool_run_id: 'trn_1',
    source: 'shop',
    name: 'refund',
    status: 'started',
    principal: 'ada',
    surface: 'mcp',
    risk: 'high',
    arguments: '{"amount":3}',
    arguments_digest: 'd1',
    call_digest: 'd2',
    created_at: 0,
    ...members,
  }) as unknown as ToolRunRow;

describe('the document of a tool run', () => {
  test('of a call that was only asked for', () => {
    const { ordinal: _ordinal, attempt: _attempt, ...nulls } = NULLS;
    const document = toolRunDocument(row(), null);
    expect(document).toEqual({
      ...nulls,
      tool_run_id: 'trn_1',
      tool: 'shop.refund',
      status: 'started',
      principal: 'ada',
      surface: 'mcp',
      risk: 'high',
      execution_id: null,
      attempt_id: null,
      arguments: { amount: 3 },
      arguments_digest: 'd1',
      call_digest: 'd2',
      rules: [],
      output: null,
      created_at: '1970-01-01T00:00:00.000Z',
    });
    expect(toolRunDocumentSchema.parse(document)).toEqual(document);
  });

  test('names its execution and its attempt where there are some', () => {
    const run_id = 'run_01jd9f0000aaaaaaaaaaaaaaaa';
    const ids = (members: object) => {
      const { execution_id, attempt_id } = toolRunDocument(row(members), null);
      return [execution_id, attempt_id];
    };
    expect(ids({ run_id, ordinal: 2, attempt: 1 })).toEqual([executionId(run_id, 2), attemptId(run_id, 2, 1)]);
    expect(ids({ run_id, ordinal: 0, attempt: null })).toEqual([executionId(run_id, 0), null]);
    expect(ids({ run_id, ordinal: null, attempt: 1 })).toEqual([null, null]);
    expect(ids({ run_id: null, ordinal: 2, attempt: 1 })).toEqual([null, null]);
  });

  test('has what came of it', () => {
    const told = {
      rules: '["r1","r2"]',
      error: '{"code":"E","message":"no"}',
      created_at: 1,
      dispatched_at: 2,
      finished_at: 3,
      latency_ms: 7,
      decision: 'allow',
    };
    const output = { content: [{ type: 'text', text: 'done' }], structured: { ok: true } } as unknown as ToolOutput;
    expect(toolRunDocument(row(told), output)).toMatchObject({
      rules: ['r1', 'r2'],
      error: { code: 'E', message: 'no' },
      created_at: '1970-01-01T00:00:00.001Z',
      dispatched_at: '1970-01-01T00:00:00.002Z',
      finished_at: '1970-01-01T00:00:00.003Z',
      latency_ms: 7,
      decision: 'allow',
      output: { content: [{ type: 'text', text: 'done' }], structured: { ok: true } },
    });
    const plain = { content: [] } as unknown as ToolOutput;
    expect(toolRunDocument(row(), plain).output).toEqual({ content: [], structured: null });
  });
});
