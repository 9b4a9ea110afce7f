import type { EvaluatorResult } from '../../contract/evaluator.ts';
import type { CaseGroup, Profile } from '../../contract/profile.ts';
import type { AttemptRow, ExecutionRow } from '../../contract/store.ts';
import type { Aggregate } from '../../core/aggregate.ts';
import { countsAsFailed } from '../../core/denials.ts';
import { type ExecutionContent, executionContent } from '../../core/evidence.ts';
import { ExecutionContentParts } from '../../core/large-content.ts';
import type { Method } from '../../core/method.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Differences } from './differences.ts';
import type { Bodies, ReadResult } from './read-bodies.ts';

interface Content {
  readonly row: ExecutionRow;
  readonly group: CaseGroup;
  readonly defaults: Profile['defaults'];
  readonly method: Method;
  readonly bodies: Bodies;
  readonly persistence: Profile['persistence'];
}

/** Recomputes aggregate and content digest of an ended execution from the evidence of the attempt that decided. */
export async function checkContent(input: Content, name: string, differences: Differences): Promise<void> {
  if (input.row.status === 'completed') await checkCompleted(input, name, differences);
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

async function checkCompleted(
  { row, group, defaults, method, bodies, persistence }: Content,
  name: string,
  differences: Differences,
): Promise<void> {
  const { envelope } = bodies;
  if (envelope === null) {
    differences.add('evidence', name, 'a completed execution has no envelope');
    return;
  }
  const results = bodies.results.map(({ result }) => result);
  checkEvaluators(group, results, name, differences);
  const score = method.aggregate(group, defaults, results);
  checkScore(row, score, name, differences);
  const keepsEvidence = persistence.persist_evaluator_evidence && persistence.mode === 'full';
  differences.cannotRecompute([
    ...(envelope.kept ? [] : (['output'] as const)),
    ...(envelope.redacted === undefined ? [] : (['secrets'] as const)),
    ...(keepsEvidence || results.length === 0 ? [] : (['evaluator_evidence'] as const)),
  ]);
  const graded = { status: 'completed', fault: null, envelope: envelope.content(), aggregate: score };
  differences.same('result', name, 'content', await contentOf(graded, bodies.results), row.content);
}

/** The content of an execution; large results are read one after another. */
async function contentOf(
  content: Omit<ExecutionContent, 'evaluator_results'>,
  results: readonly ReadResult[],
): Promise<string> {
  if (results.every(({ bytes }) => bytes === null))
    return executionContent({ ...content, evaluator_results: results.map(({ result }) => result) });
  const parts = new ExecutionContentParts(content);
  for (const { result, bytes } of results) {
    if (bytes === null) parts.result(result);
    else parts.resultIn(await bytes());
  }
  return parts.end();
}

/** The results are those of the group's evaluators, in their order, with the weights that were frozen. */
function checkEvaluators(
  group: CaseGroup,
  results: readonly EvaluatorResult[],
  name: string,
  differences: Differences,
): void {
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
