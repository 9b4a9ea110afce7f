import type { RunDocument } from '../../contract/documents.ts';
import { revisionNote } from '../../core/revision-note.ts';
import type { BaselineResult, ConditionResult } from '../../core/verdict.ts';
import { escapeHtml as text } from './html-escape.ts';

/** The verdict in one line, and the rule that decided. */
export function headSection(run: RunDocument): string {
  const { gate_status } = run;
  const reason = run.reason ?? `the run is ${run.status}`;
  const word = run.status === 'completed' ? gate_status : run.status;
  const note = revisionNote(run);
  return `<header><p class="verdict ${gate_status}">${text(word.toUpperCase())}</p>
<h1>${text(run.agent.name)} <span class="dim">${text(run.agent.version)}</span></h1>
<p class="reason">${text(reason)}</p>${note === null ? '' : `<p class="dim">${text(note)}</p>`}</header>\n`;
}

/** The numbers of the run. */
export function factsSection(run: RunDocument): string {
  const rate = run.pass_rate === null ? '–' : percent(run.pass_rate);
  const interval =
    run.interval === null
      ? ''
      : `${percent(run.interval[0])} to ${percent(run.interval[1])} at 95 % (${text((run.interval_method ?? '').replace('_', ' '))})`;
  const faults = Object.entries(run.faults ?? {}).filter(([, count]) => count > 0);
  const ends = Object.entries(run.executions).filter(([name, count]) => name !== 'total' && count > 0);
  const cells: [string, string, string][] = [
    ['pass rate', rate, interval],
    ['passed', `${number(run.passed)}`, `of ${number(run.graded ?? 0)} graded`],
    [
      'executions',
      number(run.executions.total),
      ends.map(([name, count]) => `${number(count)} ${name.replace('_', ' ')}`).join(', '),
    ],
    [
      'faults',
      number(faults.reduce((sum, [, count]) => sum + count, 0)),
      faults.map(([name, count]) => `${number(count)} ${name}`).join(', '),
    ],
    ['attempts', number(run.attempts), run.stale_attempts > 0 ? `${number(run.stale_attempts)} leases lost` : ''],
    ...spentCells(run),
    [
      'duration',
      run.duration_ms === null ? '–' : `${(run.duration_ms / 1000).toFixed(1)} s`,
      text(run.finished_at ?? ''),
    ],
  ];
  const scores = Object.entries(run.scores).map(
    ([name, score]) =>
      `<tr><th scope="row">${text(name)}</th><td class="n">${score.toFixed(3)}</td><td class="wide">${meter(score)}</td></tr>`,
  );
  const version = run.dataset.dataset_version === null ? '' : ` ${run.dataset.dataset_version}`;
  return `<section class="facts">${cells
    .map(
      ([name, value, more]) =>
        `<div><span class="dim">${name}</span><strong>${value}</strong><span class="dim">${more}</span></div>`,
    )
    .join('')}</section>
<section><p class="dim">profile ${text(run.profile.profile_id)} ${text(run.profile.profile_version)} · dataset ${text(run.dataset.dataset_id + version)}, ${number(run.dataset.cases)} cases × ${run.repeats}</p>
${scores.length === 0 ? '' : `<h2>Dimensions</h2><table><tbody>${scores.join('')}</tbody></table>`}</section>\n`;
}

/** What was spent, known and assumed, of each kind that the run has a budget of, and what it cost anyway. */
function spentCells({ spent, budgets }: RunDocument): [string, string, string][] {
  const cost = budgets.some(({ kind }) => kind === 'cost_micro_usd') || spent.cost_micro_usd === 0;
  const free: [string, string, string][] = cost ? [] : [['cost', amount('cost_micro_usd', spent.cost_micro_usd), '']];
  return [
    ...free,
    ...budgets.map(({ kind, cap, spent: all, known, assumed, untold }): [string, string, string] => [
      kind === 'cost_micro_usd' ? 'cost' : kind.replace('_', ' '),
      amount(kind, all),
      `of ${amount(kind, cap)}${untold === 0 ? '' : `: ${amount(kind, known)} known, ${amount(kind, assumed)} assumed for ${number(untold)} attempts that did not tell`}`,
    ]),
  ];
}

function amount(kind: string, value: number): string {
  return kind === 'cost_micro_usd' ? `$${(value / 1e6).toFixed(value < 1e6 ? 4 : 2)}` : number(value);
}

/** Every condition of the gate with the value that it was held against. */
export function gateSection(run: RunDocument): string {
  const conditions = run.conditions as unknown as readonly ConditionResult[];
  if (conditions.length === 0) return '';
  const rows = conditions.map((condition) => {
    const wanted = [
      condition.min === null ? null : `≥ ${condition.min}`,
      condition.max === null ? null : `≤ ${condition.max}`,
    ].filter((part) => part !== null);
    const bound = condition.bound === 'point' ? '' : ` (${condition.bound} bound at ${condition.confidence * 100} %)`;
    const metric = `${condition.metric}${condition.k === null ? '' : `, k = ${condition.k}`}${bound}`;
    const [word, style] =
      condition.holds === null
        ? ['unknown', 'error']
        : condition.holds
          ? ['holds', 'passed']
          : ['does not hold', 'failed'];
    return `<tr><th scope="row">${text(metric)}</th><td class="n">${condition.value === null ? '–' : condition.value.toFixed(4)}</td><td class="n">${wanted.join(' and ').replaceAll('≥ ', '≥\u00a0').replaceAll('≤ ', '≤\u00a0')}</td><td class="${style}">${word}</td></tr>`;
  });
  const interval =
    run.interval === null || run.pass_rate === null ? '' : intervalBar(run.interval, run.pass_rate, conditions);
  return `<section><h2>Gate</h2>${interval}<table><thead><tr><th>metric</th><th>value</th><th>wanted</th><th></th></tr></thead><tbody>${rows.join('')}</tbody></table></section>\n`;
}

/** The comparison with the baseline. */
export function baselineSection(run: RunDocument): string {
  const baseline = run.baseline as unknown as BaselineResult | null;
  if (baseline === null) return '';
  const signed = (value: number) => `${value < 0 ? '−' : '+'}${percent(Math.abs(value))}`;
  const rows = baseline.metrics.map(
    (metric) =>
      `<tr><th scope="row">${text(metric.metric)}</th><td class="n">${percent(metric.baseline)}</td><td class="n">${percent(metric.candidate)}</td><td class="n">${signed(metric.delta)}</td><td class="n">${signed(metric.interval[0])} to ${signed(metric.interval[1])}</td><td class="n">${metric.p_adjusted.toPrecision(3)}</td></tr>`,
  );
  return `<section><h2>Against the baseline</h2><p>${text(baseline.reason)}</p>
<div class="scroll" tabindex="0"><table><thead><tr><th>metric</th><th>baseline</th><th>now</th><th>delta</th><th>interval</th><th>p</th></tr></thead><tbody>${rows.join('')}</tbody></table></div></section>\n`;
}

/** How many executions have which score. */
export function histogramSection(bins: readonly number[], unscored: number): string {
  const most = Math.max(1, ...bins);
  const width = 100 / bins.length;
  const bars = bins.map((count, index) => {
    const height = count === 0 ? 0 : Math.max(1, (count / most) * 96);
    const from = (index / bins.length).toFixed(2);
    const to = ((index + 1) / bins.length).toFixed(2);
    return `<rect x="${(index * width + 0.4).toFixed(2)}" y="${(100 - height).toFixed(2)}" width="${(width - 0.8).toFixed(2)}" height="${height.toFixed(2)}"><title>${from} to ${to}: ${count}</title></rect>`;
  });
  const left = unscored > 0 ? `, ${number(unscored)} without a score` : '';
  return `<section><h2>Scores</h2><figure><svg class="histogram" viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="Histogram of scores: ${bins.join(', ')}">${bars.join('')}</svg>
<figcaption><span>0</span><span>score; the tallest bar is ${number(most)} executions${left}</span><span>1</span></figcaption></figure></section>\n`;
}

function intervalBar(
  interval: readonly [number, number],
  rate: number,
  conditions: readonly ConditionResult[],
): string {
  const wanted =
    conditions.find((condition) => condition.metric === 'pass_rate' && condition.min !== null)?.min ?? null;
  const x = (share: number) => (share * 100).toFixed(2);
  const line =
    wanted === null
      ? ''
      : `<line class="wanted" x1="${x(wanted)}" x2="${x(wanted)}" y1="0" y2="10"><title>wanted: ${wanted}</title></line>`;
  return `<figure><svg class="interval" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="Pass rate ${percent(rate)}, interval ${percent(interval[0])} to ${percent(interval[1])}"><rect class="track" x="0" y="4" width="100" height="2"/><rect class="range" x="${x(interval[0])}" y="3" width="${x(interval[1] - interval[0])}" height="4"/><line class="point" x1="${x(rate)}" x2="${x(rate)}" y1="1" y2="9"/>${line}</svg>
<figcaption><span>0&nbsp;%</span><span>pass rate with its interval${wanted === null ? '' : ` and the wanted ${percent(wanted)}`}</span><span>100&nbsp;%</span></figcaption></figure>`;
}

function meter(score: number): string {
  return `<svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="4"/><rect class="range" width="${(score * 100).toFixed(2)}" height="4"/></svg>`;
}

/** A share for people; the space does not break. */
function percent(share: number): string {
  const shown = (share * 100).toFixed(1);
  return `${shown === '100.0' && share < 1 ? '99.9' : shown}\u00a0%`;
}

/** `12,345`. */
export function number(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
