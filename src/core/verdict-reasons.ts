import { rationalOf } from '../lib/rational.ts';
import { type Limits, valueText } from './exact-number.ts';
import type { BaselineResult, HeldCondition, PrefixDecision, Verdict } from './verdict.ts';

/** A condition with its numbers: `the lower 95% bound of pass_rate is 0.8869 over 168 cases, as wanted ≥ 0.8`. */
export function conditionText(condition: HeldCondition): string {
  const { exact, holds, cases = 0 } = condition;
  const value = exact === null ? 'unknown' : valueText(exact, condition);
  return `${nameOf(condition)} is ${value} over ${counted(cases)}, ${holds ? 'as wanted' : 'wanted'} ${wanted(condition)}`;
}

/** Why a condition says nothing: the cases that it stands on are too few, or none. */
export function tooFewText(condition: HeldCondition): string {
  const { exact, cases = 0, least_cases = 0, executions = 0, least_executions = 0 } = condition;
  const value = exact === null ? 'could not be computed' : `is ${valueText(exact, condition)}`;
  const missing =
    cases < least_cases || least_executions === 0
      ? `it rests on ${counted(cases)}, fewer than the ${least_cases} that it needs`
      : `it rests on ${executions} executions, fewer than the ${least_executions} that it needs`;
  return `${nameOf(condition)} ${value}: ${missing}; see which cases were skipped or ended by a fault, or set the condition's \`min_cases\``;
}

/** The rule that decided before the plan was through; corrections may leave the prefix without a decision. */
export function decidedEarly({ after_cases, outcome, conditions }: PrefixDecision): [Verdict['gate_status'], string] {
  if (outcome === 'undecided') {
    const open = conditions.filter(({ holds }) => holds === null).map(({ metric }) => metric);
    const reason = `the run stopped after ${after_cases} cases, and as corrected they no longer decide ${open.join(', ')}; run it anew`;
    return ['inconclusive', reason];
  }
  const deciding = outcome === 'fail' ? conditions.filter(({ holds }) => holds === false).slice(0, 1) : conditions;
  const reasons = deciding.map((condition) => {
    const { metric, mean, interval, cases } = condition;
    const range = interval.map((end) => valueText(rationalOf(end), condition)).join(', ');
    const value = mean === null ? 'unknown' : valueText(rationalOf(mean), condition);
    return `${metric} is ${value} in [${range}] over ${counted(cases)}, ${outcome === 'fail' ? 'wanted' : 'as wanted'} ${wanted(condition)}`;
  });
  return [outcome, `decided after ${after_cases} cases by an always-valid interval: ${reasons.join('; ')}`];
}

/** What the comparison with the baseline means for the gate. */
export function againstBaseline(baseline: BaselineResult | null): [Verdict['gate_status'], string] {
  if (baseline === null)
    return ['inconclusive', 'no run of this profile is blessed yet; `proctor bless RUN` makes one the baseline'];
  const reason = `against the baseline ${baseline.reason}`;
  if (baseline.outcome === 'not_comparable') return ['inconclusive', reason];
  return [baseline.outcome === 'regression' ? 'fail' : 'pass', reason];
}

function nameOf({ metric, k, bound, confidence }: HeldCondition): string {
  const name = k === null ? metric : `${metric} (k=${k})`;
  return bound === 'point' ? name : `the ${bound} ${Number((confidence * 100).toPrecision(12))}% bound of ${name}`;
}

function wanted({ min, max }: Limits): string {
  return [min === null ? null : `≥ ${min}`, max === null ? null : `≤ ${max}`]
    .filter((text) => text !== null)
    .join(' and ');
}

function counted(cases: number): string {
  return `${cases} ${cases === 1 ? 'case' : 'cases'}`;
}
