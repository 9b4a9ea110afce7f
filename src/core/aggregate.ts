import type { EvaluatorResult } from '../contract/evaluator.ts';
import type { CaseGroup, DimensionPolicy, Profile } from '../contract/profile.ts';
import { add, compare, divide, multiply, ONE, type Rational, rationalOf, toNumber, ZERO } from '../lib/rational.ts';
import { exactOf, fractionText } from './exact-number.ts';

/** The per-execution result by policy: its score, whether it passed, every dimension's score, and what blocked it. */
export interface Aggregate {
  /** Refs of failed blocking evaluators and `dimension NAME` of failed blocking dimensions. */
  readonly blocking_failures: readonly string[];
  readonly dimensions: Readonly<Record<string, number>>;
  /** The scores that no decimal number is, as fractions `n/d`; absent where there are none. */
  readonly exact?: { readonly dimensions?: Readonly<Record<string, string>>; readonly score?: string };
  readonly passed: boolean;
  /** In [0, 1]. */
  readonly score: number;
}

const UNDECLARED: DimensionPolicy = { method: 'weighted_mean', blocking: false, weight: 1, min: 1 };

/**
 * Aggregates the evaluator results of one execution (CONTRACTS, aggregation and gate): passed counts 1 and failed 0 unless a
 * score is given, skipped leaves the weights, the execution's score is the weighted mean of the dimensions with weight > 0. Sums and
 * comparisons are exact in the decimal numbers that people write: three scores of 0.7 are 0.7.
 * When every evaluator was skipped nothing was shown, so the execution does not pass.
 */
export function aggregate(
  group: CaseGroup,
  defaults: Profile['defaults'],
  results: readonly EvaluatorResult[],
): Aggregate {
  const graded = results.filter((result) => result.status !== 'skipped');
  const dimensions = new Map<string, Rational>();
  const blocking: string[] = graded
    .filter((result) => result.blocking && result.status === 'failed')
    .map((result) => result.ref);
  for (const name of dimensionsOf(group)) {
    const policy = group.aggregation.dimensions[name] ?? UNDECLARED;
    const members = graded.filter((result) => result.dimension === name);
    if (members.length === 0) continue;
    const score = dimensionScore(policy, members);
    dimensions.set(name, score);
    if (policy.blocking && compare(score, rationalOf(policy.min)) < 0) blocking.push(`dimension ${name}`);
  }
  const score = executionScore(group, dimensions);
  const blocked = defaults.fail_on_any_blocking_failure && blocking.length > 0;
  const enough =
    defaults.min_execution_score === null
      ? graded.every((result) => result.status === 'passed')
      : compare(score, rationalOf(defaults.min_execution_score)) >= 0;
  const exact = fractions(score, dimensions);
  return {
    blocking_failures: blocking,
    dimensions: Object.fromEntries([...dimensions].map(([name, value]) => [name, toNumber(value)])),
    ...(exact === null ? {} : { exact }),
    passed: graded.length > 0 && !blocked && enough,
    score: toNumber(score),
  };
}

/** The aggregate of an execution that the agent failed without an answer: zero in every dimension of its group. */
export function failedAggregate(group: CaseGroup): Aggregate {
  const dimensions = Object.fromEntries(dimensionsOf(group).map((name) => [name, 0]));
  return { blocking_failures: [], dimensions, passed: false, score: 0 };
}

/** The exact score of an aggregate. */
export function exactScore({ score, exact }: Pick<Aggregate, 'score' | 'exact'>): Rational {
  return exactOf(score, exact?.score);
}

/** The exact score of a dimension; null where the execution has none. */
export function exactDimension(
  { dimensions, exact }: Pick<Aggregate, 'dimensions' | 'exact'>,
  name: string,
): Rational | null {
  const score = Object.hasOwn(dimensions, name) ? dimensions[name] : undefined;
  return score === undefined ? null : exactOf(score, exact?.dimensions?.[name]);
}

/** The dimensions of a group, sorted: those its evaluators name. */
export function dimensionsOf(group: CaseGroup): string[] {
  return [...new Set(group.evaluators.map((evaluator) => evaluator.dimension))].sort();
}

function fractions(score: Rational, dimensions: ReadonlyMap<string, Rational>): NonNullable<Aggregate['exact']> | null {
  const named = [...dimensions].flatMap(([name, value]) => {
    const text = fractionText(value);
    return text === null ? [] : [[name, text] as const];
  });
  const text = fractionText(score);
  if (named.length === 0 && text === null) return null;
  return {
    ...(named.length === 0 ? {} : { dimensions: Object.fromEntries(named) }),
    ...(text === null ? {} : { score: text }),
  };
}

function dimensionScore(policy: DimensionPolicy, members: readonly EvaluatorResult[]): Rational {
  const scores = members.map((result) => rationalOf(scoreOf(result)));
  if (policy.method === 'min_score')
    return scores.reduce((least, score) => (compare(score, least) < 0 ? score : least));
  return weightedMean(
    scores,
    members.map((member) => member.weight),
  );
}

function executionScore(group: CaseGroup, dimensions: ReadonlyMap<string, Rational>): Rational {
  if (dimensions.size === 0) return ZERO;
  const weights = [...dimensions.keys()].map((name) => (group.aggregation.dimensions[name] ?? UNDECLARED).weight);
  return weightedMean([...dimensions.values()], weights);
}

/** Weights that are all zero weigh nothing against each other: the plain mean. That of one value is the value. */
function weightedMean(values: readonly Rational[], weights: readonly number[]): Rational {
  const [only] = values;
  if (only !== undefined && values.length === 1) return only;
  const even = weights.every((weight) => weight === 0);
  let total = ZERO;
  let sum = ZERO;
  for (const [index, value] of values.entries()) {
    const weight = even ? ONE : rationalOf(weights[index] ?? 0);
    total = add(total, weight);
    sum = add(sum, multiply(value, weight));
  }
  return divide(sum, total);
}

function scoreOf(result: EvaluatorResult): number {
  return result.score ?? (result.status === 'passed' ? 1 : 0);
}
