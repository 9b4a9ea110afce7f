import type { App } from '../app.ts';
import type { ExecutionDocument, RunDocument } from '../contract/documents.ts';
import { revisionNote } from '../core/revision-note.ts';
import type { BaselineResult } from '../core/verdict.ts';
import { whyNotPassed } from '../core/why-not-passed.ts';
import { describeExecutions } from '../engine/describe-executions.ts';
import type { RunView } from '../engine/run-view.ts';
import { counted, cut, duration, number, percent, table, usd } from './format.ts';
import { type Output, printable, type Style } from './output.ts';

const MOST_SHOWN = 10;

/** The report of a run for people: verdict first, then the numbers behind it, then the cases that did not pass, with reasons. */
export async function runReport(
  app: Pick<App, 'store' | 'artifacts'>,
  view: RunView,
  document: RunDocument,
  output: Output,
): Promise<string> {
  const failing = view.run.finished_at === null ? [] : await firstFailing(app, view);
  return [
    headline(document, output),
    '',
    facts(document, output),
    ...(failing.length > 0 ? ['', failingText(failing, document, output)] : []),
    '',
    footer(document, output),
  ].join('\n');
}

const COLOURS: Readonly<Record<string, Style>> = { pass: 'green', fail: 'red', inconclusive: 'yellow', unknown: 'dim' };

function headline(document: RunDocument, output: Output): string {
  const word =
    document.paused !== null
      ? 'PAUSED'
      : (document.status === 'completed' ? document.gate_status : document.status).toUpperCase();
  const colour = COLOURS[document.gate_status] ?? 'dim';
  const which = revisionNote(document);
  const note = which === null ? '' : ` ${output.style('dim', `(${printable(which)})`)}`;
  return `${output.style('bold', output.style(colour, ` ${word} `))} ${printable(document.reason ?? 'no verdict yet')}${note}`;
}

function facts(document: RunDocument, output: Output): string {
  const { executions, interval, faults } = document;
  const dim = (text: string) => output.style('dim', text);
  const rows: [string, string][] = [
    ['agent', `${document.agent.name} ${document.agent.version} ${dim(`(${document.agent.kind})`)}`],
    ['profile', `${document.profile.profile_id} ${document.profile.profile_version}`],
    [
      'dataset',
      `${document.dataset.dataset_id}${document.dataset.dataset_version === null ? '' : ` ${document.dataset.dataset_version}`} ${dim(`${counted(document.dataset.cases, 'case')} × ${document.repeats}`)}`,
    ],
  ];
  if (document.regrade_of !== null) rows.push(['answers', `of ${document.regrade_of}, graded anew`]);
  if (document.pass_rate !== null) {
    const bounds =
      interval === null
        ? ''
        : ` ${dim(`[${percent(interval[0])}, ${percent(interval[1])}] at 95 %, ${document.interval_method?.replace('_', ' ')}`)}`;
    rows.push([
      'pass rate',
      `${output.style('bold', percent(document.pass_rate))} ${number(document.passed)}/${number(document.graded ?? 0)}${bounds}`,
    ]);
  }
  const scores = Object.entries(document.scores).map(([name, score]) => `${printable(name)} ${score.toFixed(3)}`);
  if (scores.length > 0) rows.push(['scores', scores.join(dim(' · '))]);
  const ends = [
    `${number(executions.completed)} completed`,
    ...(
      ['failed', 'timed_out', 'cancelled', 'pending', 'running', 'retry_scheduled', 'waiting', 'left_out'] as const
    ).flatMap((key) => (executions[key] > 0 ? [`${number(executions[key])} ${key.replace('_', ' ')}`] : [])),
  ];
  rows.push(['executions', `${number(executions.total)} ${dim('=')} ${ends.join(', ')}`]);
  const blamed = Object.entries(faults ?? {}).filter(([, n]) => n > 0);
  if (blamed.length > 0) rows.push(['faults', blamed.map(([name, n]) => `${name} ${number(n)}`).join(', ')]);
  const stale = document.stale_attempts > 0 ? `, ${counted(document.stale_attempts, 'lease')} lost and taken over` : '';
  rows.push(['attempts', `${number(document.attempts)}${stale}`]);
  const baseline = document.baseline as BaselineResult | null;
  if (baseline !== null)
    rows.push([
      'baseline',
      `${number(baseline.improved)} improved, ${number(baseline.regressed)} regressed, ${number(baseline.equal)} equal`,
    ]);
  if (document.spent.cost_micro_usd > 0 || document.spent.tokens > 0 || document.budgets.length > 0)
    rows.push(['spent', spentText(document)]);
  if (document.stopped?.reason === 'early_stop') {
    const saved = executions.left_out + executions.cancelled;
    rows.push([
      'stopped',
      `early, after ${counted(document.stopped.after_cases ?? 0, 'case')}: ${counted(saved, 'execution')} saved`,
    ]);
  }
  if (document.duration_ms !== null)
    rows.push(['duration', `${duration(document.duration_ms)} ${dim(`(${rate(document)}/s)`)}`]);
  return table(rows.map(([name, value]) => [`  ${dim(name)}`, value]));
}

function spentText({ spent, budgets }: RunDocument): string {
  const shown = (kind: 'cost_micro_usd' | 'tokens' | 'tool_calls', text: (amount: number) => string, unit = '') => {
    const budget = budgets.find((one) => one.kind === kind);
    if (budget === undefined) return spent[kind] > 0 || kind === 'tokens' ? [`${text(spent[kind])}${unit}`] : [];
    const untold =
      budget.untold === 0
        ? ''
        : ` (${text(budget.known)} known, ${text(budget.assumed)} assumed for ${counted(budget.untold, 'attempt')} that did not tell)`;
    return [`${text(budget.spent)} of ${text(budget.cap)}${unit}${untold}`];
  };
  const calls = budgets.some(({ kind }) => kind === 'tool_calls') ? shown('tool_calls', number, ' tool calls') : [];
  return [...shown('cost_micro_usd', usd), ...shown('tokens', number, ' tokens'), ...calls].join(', ');
}

function rate(document: RunDocument): string {
  const { completed, failed, timed_out } = document.executions;
  const perSecond = (completed + failed + timed_out) / Math.max(0.001, (document.duration_ms ?? 0) / 1000);
  return perSecond >= 10 ? number(Math.round(perSecond)) : perSecond.toFixed(1);
}

async function firstFailing(app: Pick<App, 'store' | 'artifacts'>, view: RunView): Promise<ExecutionDocument[]> {
  const found: ExecutionDocument[] = [];
  for await (const execution of describeExecutions(app, view, { type: 'not_passed' })) {
    if (execution.status === 'cancelled' || execution.beyond_stop) continue; // never made, or not counted: nothing failed
    found.push(execution);
    if (found.length > MOST_SHOWN) break;
  }
  return found;
}

function failingText(failing: readonly ExecutionDocument[], document: RunDocument, output: Output): string {
  const shown = failing.slice(0, MOST_SHOWN);
  const rows = shown.map((execution) => {
    const repeat = document.repeats > 1 ? ` #${execution.repeat}` : '';
    return [
      `  ${output.style('red', '✗')} ${cut(printable(execution.case_id), 40)}${repeat}`,
      cut(printable(whyNotPassed(execution)), 110),
    ];
  });
  const { completed, failed, timed_out } = document.executions;
  const ended =
    document.stopped?.after_cases == null
      ? completed + failed + timed_out
      : document.stopped.after_cases * document.repeats;
  const total = Math.max(ended - document.passed, shown.length);
  const more =
    total > shown.length
      ? `\n  ${output.style('dim', `… ${number(total - shown.length)} more: proctor show ${document.run_id} --executions --failed`)}`
      : '';
  return `${output.style('bold', `  not passed (${number(total)})`)}\n${table(rows)}${more}`;
}

function footer(document: RunDocument, output: Output): string {
  const rows = [
    ['run', document.run_id],
    ...(document.evidence_root === null ? [] : [['evidence', document.evidence_root]]),
    ...(document.revision === null || document.revision.number === 0
      ? []
      : [[`revision ${document.revision.number}`, document.revision.revision_root]]),
    ...(document.evidence_root === null ? [] : [['check', `proctor verify ${document.run_id}`]]),
  ];
  return table(rows.map(([name, value]) => [`  ${output.style('dim', name ?? '')}`, value ?? '']));
}
