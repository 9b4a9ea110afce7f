import type { CaseChange, MetricComparison, OneSided, Pairing } from '../../core/comparison.ts';
import { type ComparedRun, compareRuns, type RunComparison } from '../../engine/compare.ts';
import { findRun } from '../../engine/run.ts';
import type { Command } from '../context.ts';
import { counted, cut, number, percent, table } from '../format.ts';
import { type Output, printable } from '../output.ts';

interface CompareOptions {
  readonly baseline: string;
  readonly candidate: string;
  readonly alpha?: number;
  readonly maxRegressions?: number;
  readonly baselineRevision?: number;
  readonly candidateRevision?: number;
  readonly minCases?: number;
  readonly anyGrading?: boolean;
}

/** `proctor compare A B`: two completed runs, paired case by case; exit 1 when B is a regression by the declared test. */
export const compare: Command<CompareOptions> = async ({ openApp, output }, options) => {
  await using app = await openApp({ existing: true });
  const baseline = await findRun(app.store, options.baseline);
  const candidate = await findRun(app.store, options.candidate);
  const found = await compareRuns(app, baseline, candidate, {
    ...(options.alpha === undefined ? {} : { alpha: options.alpha }),
    ...(options.maxRegressions === undefined ? {} : { max_regressions: options.maxRegressions }),
    ...(options.baselineRevision === undefined ? {} : { baseline_revision: options.baselineRevision }),
    ...(options.candidateRevision === undefined ? {} : { candidate_revision: options.candidateRevision }),
    ...(options.minCases === undefined ? {} : { min_cases: options.minCases }),
    ...(options.anyGrading === undefined ? {} : { any_grading: options.anyGrading }),
  });
  output.result(found, output.json ? '' : text(found, output));
  return { regression: 1, no_regression: 0, not_comparable: 5 }[found.outcome];
};

const MOST_SHOWN = 20;

function text(found: RunComparison, output: Output): string {
  const dim = (what: string) => output.style('dim', what);
  return [
    headline(found, output),
    '',
    table([
      [`  ${dim('baseline')}`, runText(found.baseline, dim)],
      [`  ${dim('candidate')}`, runText(found.candidate, dim)],
      [`  ${dim('pairing')}`, pairingText(found.pairing)],
      [
        `  ${dim('cases')}`,
        `${number(found.improved)} improved, ${number(found.regressed)} regressed, ${number(found.equal)} equal`,
      ],
    ]),
    ...(found.metrics.length === 0 ? [] : ['', metricsText(found.metrics, found.policy.alpha, output)]),
    ...(found.one_sided ?? []).map((metric) => dim(`  ${oneSidedText(metric)}`)),
    ...(found.tags_left_out === 0
      ? []
      : [dim(`  ${counted(found.tags_left_out, 'tag')} with fewer cases not compared`)]),
    ...(['regressed', 'improved', 'changed'] as const).flatMap((kind) => changesText(kind, found, output)),
  ].join('\n');
}

function headline({ outcome, reason }: RunComparison, output: Output): string {
  const [word, colour] = (
    {
      regression: ['REGRESSION', 'red'],
      no_regression: ['NO REGRESSION', 'green'],
      not_comparable: ['NOT COMPARABLE', 'yellow'],
    } as const
  )[outcome];
  return `${output.style('bold', output.style(colour, ` ${word} `))} ${reason}`;
}

function runText({ run_id, agent, repeats, revision }: ComparedRun, dim: (what: string) => string): string {
  const which = revision === 0 ? '' : `, revision ${revision}`;
  return `${printable(agent.name)} ${printable(agent.version)}  ${dim(`${run_id}${repeats > 1 ? ` × ${repeats}` : ''}${which}`)}`;
}

function pairingText(pairing: Pairing): string {
  const left = [
    [pairing.only_baseline, 'only in the baseline'],
    [pairing.only_candidate, 'only in the candidate'],
    [pairing.changed, 'changed content'],
    [pairing.ungraded, 'not graded in one of them'],
  ] as const;
  const told = left.filter(([count]) => count > 0).map(([count, what]) => `${number(count)} ${what}`);
  return [`${counted(pairing.paired, 'case')} in both`, ...told].join(', ');
}

function metricsText(metrics: readonly MetricComparison[], alpha: number, output: Output): string {
  const confidence = `${Number(((1 - alpha) * 100).toPrecision(6))} %`;
  const head = ['  metric', 'baseline', 'candidate', 'delta', confidence, 'p', 'cases', 'would show'];
  const rows = metrics.map((metric) => {
    const signed = (value: number) => `${value < 0 ? '−' : '+'}${percent(Math.abs(value))}`;
    const significant = metric.p_adjusted < alpha;
    const delta = signed(metric.delta);
    const effect = metric.minimal_detectable_effect;
    return [
      `  ${printable(metric.metric)}`,
      percent(metric.baseline),
      percent(metric.candidate),
      significant ? output.style(metric.delta < 0 ? 'red' : 'green', delta) : delta,
      `[${signed(metric.interval[0])}, ${signed(metric.interval[1])}]`,
      metric.p_adjusted < 0.0001 ? '<0.0001' : metric.p_adjusted.toFixed(4),
      number(metric.cases),
      effect === null || effect === 0 ? '' : `±${percent(effect)}`,
    ];
  });
  return table([head.map((cell) => output.style('dim', cell)), ...rows]);
}

function oneSidedText({ metric, only_baseline, only_candidate }: OneSided): string {
  const left = [
    [only_baseline, 'baseline'],
    [only_candidate, 'candidate'],
  ] as const;
  const told = left.flatMap(([count, run]) => (count > 0 ? [`${counted(count, 'case')} of the ${run}`] : []));
  return `${printable(metric)} not compared on ${told.join(' and ')}: the other run has no value`;
}

function changesText(kind: 'regressed' | 'improved' | 'changed', found: RunComparison, output: Output): string[] {
  const changes = found.changes.filter(({ change }) => change === kind);
  const total = { regressed: found.regressed, improved: found.improved, changed: found.pairing.changed }[kind];
  if (total === 0) return [];
  const shown = changes.slice(0, MOST_SHOWN);
  const mark = { regressed: output.style('red', '✗'), improved: output.style('green', '✓'), changed: '≠' }[kind];
  const rows = shown.map((change) => [`  ${mark} ${cut(printable(change.case_id), 60)}`, countsOf(change)]);
  const more = total > shown.length ? [`  ${output.style('dim', `… ${number(total - shown.length)} more`)}`] : [];
  return ['', output.style('bold', `  ${kind} (${number(total)})`), table(rows), ...more];
}

function countsOf({ baseline, candidate, change }: CaseChange): string {
  if (change === 'changed' || baseline === null || candidate === null) return '';
  return `${baseline.passed}/${baseline.graded} → ${candidate.passed}/${candidate.graded}`;
}
