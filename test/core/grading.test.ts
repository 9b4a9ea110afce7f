import { describe, expect, test } from 'vitest';
import type { Snapshot } from '../../src/contract/snapshot.ts';
import { gradingDigest } from '../../src/core/grading.ts';
import { digest } from '../../src/lib/canonical-json.ts';
import { groupOf, profileOf } from '../support/profile.ts';

const CODE: Snapshot['code'] = [
  { path: 'grade.ts', digest: 'a' },
  { path: 'agent.ts', digest: 'b' },
];
const evaluators = [{ ref: 'exact_match@1' }, { ref: 'module:grade.ts#grade' }];
const of = (members: object = {}, code = CODE) =>
  gradingDigest({ profile: profileOf({ case_groups: [groupOf('g', { evaluators })], ...members }), code });
const group = (members: object) => ({ case_groups: [groupOf('g', { evaluators, ...members })] });

describe('how a run was graded', () => {
  test('is the digest of groups, evaluators with their code, and what passes', () => {
    const { case_groups, defaults } = profileOf({ case_groups: [groupOf('g', { evaluators })] });
    expect(of()).toBe(
      digest('proctor/grading/1', {
        case_groups: case_groups.map((one) => ({
          ...one,
          evaluators: one.evaluators.map(({ timeout_ms: _timeout, severity: _severity, ...evaluator }) => evaluator),
        })),
        code: [{ path: 'grade.ts', digest: 'a' }],
        fail_on_any_blocking_failure: defaults.fail_on_any_blocking_failure,
        min_execution_score: defaults.min_execution_score,
      }),
    );
  });

  test.each<[string, object, Snapshot['code']?]>([
    ['another evaluator', group({ evaluators: evaluators.slice(1) })],
    ['another weight', group({ evaluators: [{ ...evaluators[0], weight: 2 }, evaluators[1]] })],
    ['the exit code as the grade', group({ evaluators: [{ ...evaluators[0], grade_by: 'exit_code' }, evaluators[1]] })],
    ['another aggregation', group({ aggregation: { dimensions: { correctness: { weight: 2 } } } })],
    ['other cases', group({ applies_to: { task_type: 'x' } })],
    ['other code of an evaluator', {}, [{ path: 'grade.ts', digest: 'c' }]],
    ['another score that passes', { defaults: { min_execution_score: 0.5 } }],
    ['blocking failures that do not decide', { defaults: { fail_on_any_blocking_failure: false } }],
  ])('changes with %s', (_, members, code) => {
    expect(of(members, code)).not.toBe(of());
  });

  test.each<[string, object, Snapshot['code']?]>([
    ['a time limit', group({ evaluators: [{ ...evaluators[0], timeout_ms: 5 }, evaluators[1]] })],
    ['a limit of memory', group({ evaluators: [{ ...evaluators[0], memory_mb: 64 }, evaluators[1]] })],
    ['the usual way to grade', group({ evaluators: [{ ...evaluators[0], grade_by: 'finding' }, evaluators[1]] })],
    ['a severity', group({ evaluators: [{ ...evaluators[0], severity: 'high' }, evaluators[1]] })],
    ['the code of the agent', {}, CODE.slice(0, 1)],
    ['an agent whose file name ends the evaluator’s', {}, [...CODE, { path: 'rade.ts', digest: 'c' }]],
    ['a gate', { gate: { min_cases: 3 } }],
  ])('does not change with %s', (_, members, code) => {
    expect(of(members, code)).toBe(of());
  });

  test('the address of an evaluator in the web is no file, whatever it ends with', () => {
    const web = group({ evaluators: [{ ref: 'https://grader.example/module:agent.ts' }] });
    expect(of(web)).toBe(of(web, CODE.slice(0, 1)));
  });
});
