import type { ExecutionDocument } from '../../contract/documents.ts';
import { cutText } from '../../core/cut-texts.ts';
import { cutSections, executionSections, type Section, worstSeverity } from '../../core/execution-sections.ts';
import { whyNotPassed } from '../../core/why-not-passed.ts';
import { escapeHtml as text } from './html-escape.ts';
import { number } from './html-sections.ts';

/** What the page shows of an execution that did not pass, cut to size. */
export interface Failing {
  /** Its place among all executions, from 0. */
  readonly at: number;
  readonly case_id: string;
  readonly repeat: number;
  readonly execution_id: string;
  readonly attempts: number;
  readonly score: number | null;
  readonly status: string;
  readonly fault: string | null;
  readonly why: string;
  readonly severity: string;
  readonly sections: readonly Section[];
  readonly results: readonly {
    readonly ref: string;
    readonly dimension: string;
    readonly status: string;
    readonly severity: string;
    readonly score: number | null;
    readonly reason: string;
    readonly evidence: string | null;
  }[];
}

const WHY = 300; // characters
const SECTIONS = 6_000; // of one case, shared out among its parts
const REASON = 400;
const EVIDENCE = 700;
const MOST_RESULTS = 12;
const MOST_DETAILS = 1_500_000; // of all cases; the rest is listed without them

/** What the page needs of an execution that did not pass; the rest is let go at once. */
export function failingOf(execution: ExecutionDocument, at: number): Failing {
  const { case_id, repeat, execution_id, attempts, aggregate, status, fault } = execution;
  return {
    at,
    case_id,
    repeat,
    execution_id,
    attempts: attempts.length,
    score: aggregate?.score ?? null,
    status,
    fault,
    why: cutText(whyNotPassed(execution), WHY),
    severity: worstSeverity(execution),
    sections: sectionsOf(execution),
    results: execution.evaluator_results.slice(0, MOST_RESULTS).map((result) => ({
      ref: result.ref,
      dimension: result.dimension,
      status: result.status,
      severity: result.severity,
      score: result.score,
      reason: cutText(result.reason ?? '', REASON),
      evidence: result.status === 'passed' ? null : shown(result.evidence, EVIDENCE),
    })),
  };
}

/** All that is stored but the findings, which have a table of their own. */
function sectionsOf(execution: ExecutionDocument): Section[] {
  const sections = executionSections(execution).filter(({ title }) => title !== 'findings');
  return cutSections(sections, SECTIONS);
}

/** The cases that did not pass, each to be opened. */
export function failingSection(failing: readonly Failing[], total: number, repeats: number): string {
  if (total === 0) return '<section><h2>Not passed</h2><p>Every execution passed.</p></section>\n';
  const left = total - failing.length;
  const more =
    left > 0
      ? `<p class="dim">${number(left)} more did not pass; they are among the other executions below, and <code>proctor show RUN --executions --failed</code> lists them.</p>`
      : '';
  return `<section><h2>Not passed <span class="count">${number(total)}</span></h2>
<div class="cases">${allDetails(failing, repeats)}</div>${more}</section>\n`;
}

function allDetails(failing: readonly Failing[], repeats: number): string {
  let left = MOST_DETAILS;
  const parts: string[] = [];
  for (const item of failing) {
    const whole = left > 0 ? details(item, repeats, insideOf(item)) : '';
    const fits = whole !== '' && whole.length <= left;
    left = fits ? left - whole.length : 0;
    parts.push(fits ? whole : details(item, repeats, LEFT_OUT));
  }
  return parts.join('\n');
}

const LEFT_OUT =
  '<p class="dim">The page would be too large with more; <code>proctor show RUN --case ID</code> has it.</p>';

function details(item: Failing, repeats: number, inside: string): string {
  const name = repeats > 1 ? `${item.case_id} #${item.repeat}` : item.case_id;
  const score = item.score === null ? '–' : item.score.toFixed(3);
  return `<details id="x${item.at}"><summary><span class="id">${text(name)}</span><span class="score">${score}</span><span class="why">${text(item.why)}</span></summary>
${inside}</details>`;
}

function insideOf(item: Failing): string {
  const attempts = item.attempts === 1 ? '1 attempt' : `${item.attempts} attempts`;
  const fault = item.fault === null ? '' : ` · fault ${text(item.fault)}`;
  const severity = item.severity === 'none' ? '' : ` · severity ${text(item.severity)}`;
  const sections = item.sections.map((part) => `<h3>${text(part.title)}</h3><pre>${text(part.text)}</pre>`).join('');
  return `<p class="dim">${text(item.status)}${fault}${severity} · ${attempts} · <code>${text(item.execution_id)}</code></p>${resultsTable(item)}${sections}`;
}

function resultsTable({ results }: Failing): string {
  if (results.length === 0) return '';
  const rows = results.map((result) => {
    const evidence = result.evidence === null ? '' : `<pre>${text(result.evidence)}</pre>`;
    const score = result.score === null ? '' : ` ${result.score.toFixed(3)}`;
    const severity = result.severity === 'none' ? '' : `<br><span class="dim">${text(result.severity)}</span>`;
    return `<tr><td><code>${text(result.ref)}</code><br><span class="dim">${text(result.dimension)}</span></td><td class="${result.status}">${result.status}${score}${severity}</td><td>${text(result.reason)}${evidence}</td></tr>`;
  });
  return `<table><thead><tr><th>evaluator</th><th>finding</th><th>reason</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function shown(value: unknown, most: number): string | null {
  if (value === null || value === undefined) return null;
  return cutText(typeof value === 'string' ? value : JSON.stringify(value, null, 1), most);
}
