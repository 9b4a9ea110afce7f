import type { ExecutionDocument } from '../../contract/documents.ts';
import { whyNotPassed } from '../../core/why-not-passed.ts';
import { escapeHtml as text } from './html-escape.ts';
import { number } from './html-sections.ts';

/** What the page shows of an execution that did not pass, cut to size. */
export interface Failing {
  readonly case_id: string;
  readonly repeat: number;
  readonly execution_id: string;
  readonly attempts: number;
  readonly score: number | null;
  readonly status: string;
  readonly fault: string | null;
  readonly why: string;
  readonly output: string | null;
  readonly results: readonly {
    readonly ref: string;
    readonly dimension: string;
    readonly status: string;
    readonly score: number | null;
    readonly reason: string;
    readonly evidence: string | null;
  }[];
}

const WHY = 300; // characters
const OUTPUT = 1_500;
const REASON = 400;
const EVIDENCE = 700;
const MOST_RESULTS = 12;

/** What the page needs of an execution that did not pass; the rest is let go at once. */
export function failingOf(execution: ExecutionDocument): Failing {
  const { case_id, repeat, execution_id, attempts, aggregate, status, fault, output } = execution;
  return {
    case_id,
    repeat,
    execution_id,
    attempts,
    score: aggregate?.score ?? null,
    status,
    fault,
    why: cut(whyNotPassed(execution), WHY),
    output: shown(output, OUTPUT),
    results: execution.evaluator_results.slice(0, MOST_RESULTS).map((result) => ({
      ref: result.ref,
      dimension: result.dimension,
      status: result.status,
      score: result.score,
      reason: cut(result.reason ?? '', REASON),
      evidence: result.status === 'passed' ? null : shown(result.evidence, EVIDENCE),
    })),
  };
}

/** The cases that did not pass, each to be opened. */
export function failingSection(failing: readonly Failing[], total: number, repeats: number): string {
  if (total === 0) return '<section><h2>Not passed</h2><p>Every execution passed.</p></section>\n';
  const left = total - failing.length;
  const more =
    left > 0
      ? `<p class="dim">${number(left)} more did not pass; <code>proctor show RUN --executions --failed</code> lists them.</p>`
      : '';
  return `<section><h2>Not passed <span class="count">${number(total)}</span></h2>
<div class="cases">${failing.map((item) => details(item, repeats)).join('\n')}</div>${more}</section>\n`;
}

function details(item: Failing, repeats: number): string {
  const name = repeats > 1 ? `${item.case_id} #${item.repeat}` : item.case_id;
  const score = item.score === null ? '–' : item.score.toFixed(3);
  const attempts = item.attempts === 1 ? '1 attempt' : `${item.attempts} attempts`;
  const fault = item.fault === null ? '' : ` · fault ${text(item.fault)}`;
  const output = item.output === null ? '' : `<h3>Output</h3><pre>${text(item.output)}</pre>`;
  return `<details><summary><span class="id">${text(name)}</span><span class="score">${score}</span><span class="why">${text(item.why)}</span></summary>
<p class="dim">${text(item.status)}${fault} · ${attempts} · <code>${text(item.execution_id)}</code></p>${resultsTable(item)}${output}</details>`;
}

function resultsTable({ results }: Failing): string {
  if (results.length === 0) return '';
  const rows = results.map((result) => {
    const evidence = result.evidence === null ? '' : `<pre>${text(result.evidence)}</pre>`;
    const score = result.score === null ? '' : ` ${result.score.toFixed(3)}`;
    return `<tr><td><code>${text(result.ref)}</code><br><span class="dim">${text(result.dimension)}</span></td><td class="${result.status}">${result.status}${score}</td><td>${text(result.reason)}${evidence}</td></tr>`;
  });
  return `<table><thead><tr><th>evaluator</th><th>finding</th><th>reason</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function shown(value: unknown, most: number): string | null {
  if (value === null || value === undefined) return null;
  return cut(typeof value === 'string' ? value : JSON.stringify(value, null, 1), most);
}

function cut(value: string, most: number): string {
  return value.length <= most ? value : `${value.slice(0, most)} … (${value.length} characters)`;
}
