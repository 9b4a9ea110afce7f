import type { EvaluatorResult } from '../../contract/evaluator.ts';
import type { CaseGroup, DimensionPolicy, Profile } from '../../contract/profile.ts';
import type { Aggregate } from '../aggregate.ts';

const UNDECLARED: DimensionPolicy = { method: 'weighted_mean', blocking: false, weight: 1, min: 1 };

/**
 * Aggregates the evaluator results of one execution (CONTRACTS, aggregation and gate): passed counts 1 and failed 0 unless a
 * score is given, skipped leaves the weights, the execution's score is the weighted mean of the dimensions with weight > 0.
 * When every evaluator was skipped nothing was shown, so the execution does not pass.
 */
export function aggregate(
  group: CaseGroup,
  defaults: Profile['defaults'],
  results: readonly EvaluatorResult[],
): Aggregate {
  const graded = results.filter((result) => result.status !== 'skipped');
  const dimensions: Record<string, number> = {};
  const blocking: string[] = graded
    .filter((result) => result.blocking && result.status === 'failed')
    .map((result) => result.ref);
  for (const name of dimensionsOf(group)) {
    const policy = group.aggregation.dimensions[name] ?? UNDECLARED;
    const members = graded.filter((result) => result.dimension === name);
    if (members.length === 0) continue;
    const score = dimensionScore(policy, members);
    dimensions[name] = score;
    if (policy.blocking && score < policy.min) blocking.push(`dimension ${name}`);
  }
  const score = executionScore(group, dimensions);
  const blocked = defaults.fail_on_any_blocking_failure && blocking.length > 0;
  const enough =
    defaults.min_execution_score === null
      ? graded.every((result) => result.status === 'passed')
      : score >= defaults.min_execution_score;
  return { blocking_failures: blocking, dimensions, passed: graded.length > 0 && !blocked && enough, score };
}

/** The aggregate of an execution that the agent failed without an answer: zero in every dimension of its group. */
export function failedAggregate(group: CaseGroup): Aggregate {
  const dimensions = Object.fromEntries(dimensionsOf(group).map((name) => [name, 0]));
  return { passed: false, score: 0, dimensions, blocking_failures: [] };
}

/** The dimensions of a group, sorted: those its evaluators name. */
function dimensionsOf(group: CaseGroup): string[] {
  return [...new Set(group.evaluators.map((evaluator) => evaluator.dimension))].sort();
}

function dimensionScore(policy: DimensionPolicy, members: readonly EvaluatorResult[]): number {
  const scores = members.map(scoreOf);
  if (policy.method === 'min_score') return Math.min(...scores);
  return weightedMean(
    scores,
    members.map((member) => member.weight),
  );
}

function executionScore(group: CaseGroup, dimensions: Readonly<Record<string, number>>): number {
  const names = Object.keys(dimensions);
  if (names.length === 0) return 0;
  const weights = names.map((name) => (group.aggregation.dimensions[name] ?? UNDECLARED).weight);
  return weightedMean(
    names.map((name) => dimensions[name] ?? 0),
    weights,
  );
}

/** Weights that are all zero weigh nothing against each other: the plain mean. */
function weightedMean(values: readonly number[], weights: readonly number[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value, index) => sum + value * (weights[index] ?? 0), 0) / total;
}

function scoreOf(result: EvaluatorResult): number {
  return result.score ?? (result.status === 'passed' ? 1 : 0);
}
