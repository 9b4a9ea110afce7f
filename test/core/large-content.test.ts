import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../src/contract/agent.ts';
import type { EvaluatorResult } from '../../src/contract/evaluator.ts';
import { envelopeContent, executionContent } from '../../src/core/evidence.ts';
import { caseContentIn, ExecutionContentParts, envelopeContentAt } from '../../src/core/large-content.ts';
import { membersAt } from '../../src/lib/canonical-bytes.ts';
import { canonicalJson, digest } from '../../src/lib/canonical-json.ts';

const text = fc.string({ unit: 'grapheme' });
const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' });
const usage = fc.option(fc.record({ cost_micro_usd: fc.nat(), input_tokens: fc.option(fc.nat()) }));
const call = fc.record({ arguments: json, name: text, result: json, source: fc.constant('reported') });
const turn = fc.record(
  { latency_ms: fc.nat(), structured: json, text: fc.option(text), tool_calls: fc.array(call), usage },
  { requiredKeys: ['structured'] },
);
const envelope = fc.record(
  {
    metadata: fc.dictionary(text, json),
    raw: json,
    structured: json,
    text: fc.option(text),
    tool_calls: fc.array(call, { maxLength: 3 }),
    trace: fc.array(json),
    turns: fc.array(turn, { maxLength: 3 }),
    usage,
    of_a_later_version: json,
  },
  { requiredKeys: ['structured', 'text'] },
) as fc.Arbitrary<unknown>;

const result = fc.record(
  {
    blocking: fc.boolean(),
    dimension: text,
    duration_ms: fc.nat(),
    evidence: json,
    index: fc.nat(9),
    reason: fc.option(text),
    ref: text,
    reused: fc.boolean(),
    score: fc.option(fc.constantFrom(0, 0.1, 0.5, 1)),
    severity: fc.constantFrom('none', 'high'),
    status: fc.constantFrom('passed', 'failed'),
    weight: fc.constantFrom(1, 0.25),
  },
  { noNullPrototype: true },
) as unknown as fc.Arbitrary<EvaluatorResult & { duration_ms: number; reused: boolean }>;

describe('the content of large bodies', () => {
  it('of an envelope is the digest that it has when it is parsed', () => {
    fc.assert(
      fc.property(envelope, fc.nat(), (any, latency_ms) => {
        const bytes = Buffer.from(canonicalJson({ content: null, envelope: any, latency_ms, reused: false }));
        const place = [...membersAt(bytes, 0)].find(({ key }) => key === 'envelope')?.value ?? -1;
        expect(envelopeContentAt(bytes, place)).toBe(envelopeContent(any as Envelope));
      }),
      { numRuns: 1_000 },
    );
  });

  it('of a case is the digest that it has when it is parsed', () => {
    const item = fc.record({
      id: text,
      task_type: text,
      input: json,
      expected: json,
      context: json,
      tags: fc.array(text),
    });
    fc.assert(
      fc.property(item, (any) => {
        const { task_type, input, expected, context } = any;
        const content = digest('proctor/case/1', { task_type, input, expected, context });
        expect(caseContentIn(Buffer.from(canonicalJson(any)))).toBe(content);
      }),
    );
  });

  it('of an execution is the digest that it has when its results are held, however many of them are large', () => {
    const aggregate = { blocking_failures: [], dimensions: { d: 0.5 }, passed: true, score: 0.5 };
    fc.assert(
      fc.property(fc.array(fc.tuple(result, fc.boolean()), { maxLength: 4 }), (results) => {
        const content = { status: 'completed', fault: null, envelope: 'e'.repeat(64), aggregate };
        const parts = new ExecutionContentParts(content);
        for (const [one, large] of results) {
          if (large) parts.resultIn(Buffer.from(canonicalJson(one)));
          else parts.result(one);
        }
        expect(parts.end()).toBe(executionContent({ ...content, evaluator_results: results.map(([one]) => one) }));
      }),
      { numRuns: 500 },
    );
  });
});
