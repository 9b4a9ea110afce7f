import type { CaseGroup, Profile } from '../../contract/profile.ts';
import type { AttemptRow, ExecutionRow } from '../../contract/store.ts';
import type { Aggregate } from '../../core/aggregate.ts';
import { countsAsFailed } from '../../core/denials.ts';
import { envelopeContent, executionContent } from '../../core/evidence.ts';
import type { Method } from '../../core/method.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Differences } from './differences.ts';
import type { Bodies } from './read-bodies.ts';

interface Content {
  readonly row: ExecutionRow;
  readonly group: CaseGroup;
  readonly defaults: Profile['defaults'];
  readonly method: Method;
  readonly bodies: Bodies;
  readonly persistence: Profile['persistence'];
}

/** Recomputes aggregate and content digest of an ended execution from the evidence of the attempt that decided. */
export function checkContent(input: Content, name: string, differences: Differences): void {
  if (input.row.status === 'completed') checkCompleted(input, name, differences);
  else checkUnanswered(input, name, differences);
}

/** Holds an attempt's end against the failure that its evidence records: whose fault it was decides what counts. */
export function checkFailure(
  attempt: AttemptRow,
  bodies: Bodies | undefined,
  at: string,
  differences: Differences,
): void {
  if (!bodies?.failure || attempt.ended_at === null) return;
  const { fault, code } = bodies.failure;
  differences.same('attempt', at, 'the fault is that of its evidence', fault, attempt.fault);
  differences.same('attempt', at, 'the reason is that of its evidence', code, attempt.reason);
}

function checkUnanswered({ row, group, method, bodies }: Content, name: string, differences: Differences): void {
  if (bodies.envelope?.redacted !== undefined) differences.cannotRecompute(['secrets']);
  const { status, fault } = row;
  const score = countsAsFailed(fault) ? method.failedAggregate(group) : null;
  checkScore(row, score, name, differences);
  const content = executionContent({ status, fault, envelope: null, evaluator_results: [], aggregate: score });
  differences.same('result', name, 'content', content, row.content);
}

function checkCompleted(
  { row, group, defaults, method, bodies, persistence }: Content,
  name: string,
  differences: Differences,
): void {
  const { envelope, results } = bodies;
  if (envelope === null) {
    differences.add('evidence', name, 'a completed execution has no envelope');
    return;
  }
  checkEvaluators(group, bodies, name, differences);
  const score = method.aggregate(group, defaults, results);
  checkScore(row, score, name, differences);
  const keepsEvidence = persistence.persist_evaluator_evidence && persistence.mode === 'full';
  differences.cannotRecompute([
    ...(envelope.envelope === null ? (['output'] as const) : []),
    ...(envelope.redacted === undefined ? [] : (['secrets'] as const)),
    ...(keepsEvidence || results.length === 0 ? [] : (['evaluator_evidence'] as const)),
  ]);
  const digest = envelope.envelope === null ? envelope.content : envelopeContent(envelope.envelope);
  const graded = { envelope: digest, evaluator_results: results, aggregate: score };
  const content = executionContent({ status: 'completed', fault: null, ...graded });
  differences.same('result', name, 'content', content, row.content);
}

/** The results are those of the group's evaluators, in their order, with the weights that were frozen. */
function checkEvaluators(group: CaseGroup, { results }: Bodies, name: string, differences: Differences): void {
  differences.same('evidence', name, 'one result of every evaluator', group.evaluators.length, results.length);
  for (const [place, result] of results.entries()) {
    const at = `${name} result ${place + 1}`;
    differences.same('evidence', at, 'index', place, result.index);
    for (const column of ['ref', 'dimension', 'blocking', 'weight'] as const) {
      differences.same('evidence', at, column, group.evaluators[place]?.[column], result[column]);
    }
    if (result.status === 'error')
      differences.add('evidence', at, 'an evaluator that erred cannot complete an execution');
  }
}

function checkScore(row: ExecutionRow, score: Aggregate | null, name: string, differences: Differences): void {
  const expected = score === null ? null : canonicalJson(score);
  differences.same('result', name, 'aggregate', expected, row.aggregate);
  differences.same('result', name, 'passed', passedBy(expected), row.passed);
}

/** Whether an aggregate says passed, as the result row writes it; no aggregate is not passed. */
function passedBy(aggregated: string | null): 0 | 1 {
  return aggregated !== null && (JSON.parse(aggregated) as { passed: boolean }).passed ? 1 : 0;
}
