import { expect } from 'vitest';
import type { z } from 'zod';
import { type Envelope, envelope } from '../../../src/contract/agent.ts';
import {
  type Evaluator,
  type EvaluatorInput,
  type EvaluatorKind,
  type Finding,
  findingSchema,
} from '../../../src/contract/evaluator.ts';

/** What a test grades: members of the envelope and the case's `expected`. */
export interface Graded {
  readonly answer: Partial<Envelope>;
  readonly expected?: unknown;
  readonly latency_ms?: number;
}

/** Opens an evaluator as a profile would, with its config parsed by its own schema. */
export async function opened<Schema extends z.ZodType>(
  kind: EvaluatorKind<Schema>,
  config: unknown,
): Promise<Evaluator> {
  return await kind.open({ config: kind.config.parse(config), base_dir: '.', resolve: (text) => text, concurrency: 1 });
}

/** Grades once by a fresh evaluator and again by another, and checks what holds of every finding: same bytes, valid shape, one bounded line. */
export async function grade<Schema extends z.ZodType>(
  kind: EvaluatorKind<Schema>,
  config: unknown,
  graded: Graded,
): Promise<Finding> {
  const [first, second] = [await opened(kind, config), await opened(kind, config)];
  expect(first.external).toBe(false);
  const finding = synchronous(first.evaluate(input(graded), { signal: new AbortController().signal }));
  const again = synchronous(second.evaluate(input(structuredClone(graded)), { signal: new AbortController().signal }));
  expect(JSON.stringify(again)).toBe(JSON.stringify(finding));
  expect(findingSchema.parse(finding)).toEqual(finding);
  expect(finding.reason).toMatch(/^[^\p{Cc}\u2028\u2029\u202e]{1,2500}$/u);
  expect(JSON.stringify(finding.evidence).length).toBeLessThan(70_000);
  return finding;
}

/** Status and reason, which most tables state. */
export async function outcome<Schema extends z.ZodType>(
  kind: EvaluatorKind<Schema>,
  config: unknown,
  graded: Graded,
): Promise<[string, string | null]> {
  const { status, reason } = await grade(kind, config, graded);
  return [status, reason];
}

function synchronous(finding: Finding | Promise<Finding>): Finding {
  if (finding instanceof Promise) throw new TypeError('a built-in evaluator answered a promise');
  return finding;
}

function input({ answer, expected = null, latency_ms = 12 }: Graded): EvaluatorInput {
  return {
    case: { case_id: 'c1', task_type: 'default', input: 'question', expected, context: null, tags: [], metadata: {} },
    envelope: envelope(answer),
    latency_ms,
    run_id: 'run_1',
    execution_id: 'exe_1',
    attempt_id: 'att_1',
    repeat: 1,
  };
}
