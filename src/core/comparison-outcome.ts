import type { Comparison, ComparisonPolicy, MetricComparison, Pairing } from './comparison.ts';
import { lessFaults } from './least-cases.ts';
import { exactMcNemar } from './statistics/index.ts';

/** What the outcome of a comparison follows from. */
interface Compared {
  readonly policy: ComparisonPolicy;
  readonly pairing: Pairing;
  readonly same_grading: boolean | null;
  readonly improved: number;
  readonly regressed: number;
  /** The pass rate over the paired cases; undefined when none is paired. */
  readonly rate: MetricComparison | undefined;
}

/** The outcome by the declared policy, and the rule that decided with its numbers. */
export function comparisonOutcome(compared: Compared): [Comparison['outcome'], string] {
  const { policy, pairing, same_grading, improved, regressed, rate } = compared;
  const { alpha, max_regressions } = policy;
  const paired = `${pairing.paired} of ${pairing.baseline_cases} baseline cases are paired${missingText(pairing)}`;
  if (same_grading !== true && policy.any_grading !== true) return ['not_comparable', gradingText(same_grading)];
  if (rate === undefined) return ['not_comparable', `no case was graded in both runs: ${paired}`];
  const changes = `${regressed} of ${rate.cases} cases regressed, ${improved} improved; ${paired}`;
  if (max_regressions !== null && regressed > max_regressions)
    return ['regression', `${changes}; at most ${max_regressions} may regress`];
  const least = leastCases(policy, pairing.baseline_cases);
  if (pairing.paired < least) return ['not_comparable', `${changes}; a comparison needs ${least} (\`min_cases\`)`];
  const hidden = notShown(policy, pairing);
  if (max_regressions !== null && regressed + hidden > max_regressions)
    return [
      'not_comparable',
      `${changes}; ${hidden} baseline ${hidden === 1 ? 'pass is' : 'passes are'} not shown, and at most ${max_regressions} may regress`,
    ];
  // A test that could not have found anything is no comfort: unless a count decides, too few units are no comparison.
  if (max_regressions === null && rate.units < leastUnits(alpha))
    return [
      'not_comparable',
      `${changes}; ${rate.units} cases or clusters cannot show a regression at alpha ${alpha}, which takes ${leastUnits(alpha)}`,
    ];
  const test = `${rate.test} p = ${rate.p_value.toPrecision(3)}`;
  if (rate.delta < 0 && rate.p_value < alpha)
    return ['regression', `${changes}; the pass rate fell by ${(-rate.delta).toFixed(4)}, ${test} below ${alpha}`];
  // Passes that are not shown may have failed: where that would be a regression, nothing says that there is none.
  if (max_regressions === null && hidden > 0 && exactMcNemar(improved, regressed + hidden) < alpha)
    return [
      'not_comparable',
      `${changes}; ${hidden} baseline ${hidden === 1 ? 'pass is' : 'passes are'} not shown, enough to hide a regression`,
    ];
  return [
    'no_regression',
    `${changes}; ${rate.delta < 0 ? `${test}, not below ${alpha}` : 'the pass rate did not fall'}`,
  ];
}

/** The fewest units that could show a difference at all: with n that all fall, an exact test comes to 2^(1 − n). */
export function leastUnits(alpha: number): number {
  let units = 1;
  while (2 ** (1 - units) >= alpha) units += 1;
  return units;
}

/** The fewest cases that have to be paired: as many as the policy says, else all of the baseline's but the allowed faults. */
function leastCases(policy: ComparisonPolicy, baselineCases: number): number {
  return policy.min_cases ?? baselineCases - allowedFaults(policy, baselineCases);
}

/** Baseline passes that the candidate does not show: every lost and changed one, and the ungraded ones beyond the allowed faults. */
function notShown(policy: ComparisonPolicy, { passes_not_shown, baseline_cases }: Pairing): number {
  const { lost = 0, changed = 0, ungraded = 0 } = passes_not_shown ?? {};
  return lost + changed + Math.max(0, ungraded - allowedFaults(policy, baseline_cases));
}

function allowedFaults({ max_infra_rate = 0 }: ComparisonPolicy, cases: number): number {
  return cases - lessFaults(cases, max_infra_rate);
}

function missingText({ only_baseline, changed, ungraded }: Pairing): string {
  const parts = [
    [only_baseline, 'missing from the candidate'],
    [changed, 'with changed content'],
    [ungraded, 'not graded in one of the runs'],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return told.length === 0 ? '' : ` (${told.join(', ')})`;
}

function gradingText(same: false | null): string {
  return same === null
    ? 'the baseline does not say how it was graded; bless a run made by this version'
    : 'the runs were graded by different evaluators or rules; `proctor regrade` grades one like the other';
}
