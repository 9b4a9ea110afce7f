import type { ExecutionDocument } from '../contract/documents.ts';
import { executionSections, worstSeverity } from '../core/execution-sections.ts';
import { whyNotPassed } from '../core/why-not-passed.ts';
import { counted, cut, wrapped } from './format.ts';
import { type Output, printable, type Style } from './output.ts';

const WIDTH = 80;
const INDENT = '    ';
const MOST_LINES = 20; // of a section, unless all is asked for

/** One line of a list of executions. */
export function executionLine(execution: ExecutionDocument, output: Output): string {
  const passed = execution.aggregate?.passed === true;
  const mark = passed ? output.style('green', '✓') : output.style('red', '✗');
  const score = execution.aggregate === null ? '-' : execution.aggregate.score.toFixed(3);
  const worst = worstSeverity(execution);
  const severity = worst === 'none' ? '' : `  ${output.style('yellow', worst)}`;
  const attempts =
    execution.attempts.length > 1 ? output.style('dim', ` (${counted(execution.attempts.length, 'attempt')})`) : '';
  return `${mark} ${printable(execution.case_id)} #${execution.repeat}  ${execution.status}  ${score}${severity}${attempts}${passed ? '' : `  ${cut(printable(whyNotPassed(execution)), 160)}`}`;
}

/** Everything of one execution, wrapped; long parts are cut unless `full`. */
export function executionReport(execution: ExecutionDocument, output: Output, full: boolean): string {
  const width = Math.min(WIDTH, output.columns);
  const { aggregate, fault, latency_ms, revision } = execution;
  const passed = aggregate?.passed === true;
  const mark = passed ? output.style('green', '✓') : output.style('red', '✗');
  const about = [
    execution.execution_id,
    `${execution.case.task_type}, graded by ${execution.case.case_group}`,
    ...(fault === null ? [] : [`fault ${fault}`]),
    ...(latency_ms === null ? [] : [`${latency_ms} ms`]),
    ...(revision === 0 ? [] : [`revision ${revision}`]),
  ].join(' · ');
  const score = aggregate === null ? '' : `  ${aggregate.score.toFixed(3)}`;
  const head = `${printable(execution.case_id)} #${execution.repeat}  ${execution.status}${score}`;
  const why = passed ? [] : wrapped(printable(whyNotPassed(execution)), width - 2).map((line) => `  ${line}`);
  const sections = executionSections(execution).flatMap(({ title, text }) => [
    output.style('bold', `  ${title}`),
    ...cutLines(wrapped(text, width - INDENT.length), full, output).map((line) => `${INDENT}${line}`),
  ]);
  return [
    ...wrapped(head, width - 2).map((line, index) => (index === 0 ? `${mark} ${line}` : `  ${line}`)),
    ...wrapped(printable(about), width - 2).map((line) => output.style('dim', `  ${line}`)),
    ...why,
    ...sections,
  ].join('\n');
}

function cutLines(lines: readonly string[], full: boolean, output: Output): string[] {
  const coloured = lines.map((line) => marked(line, output));
  if (full || lines.length <= MOST_LINES) return coloured;
  const more = counted(lines.length - MOST_LINES + 1, 'more line');
  return [
    ...coloured.slice(0, MOST_LINES - 1),
    output.style('dim', `… ${more}: --full shows all, --json has it whole`),
  ];
}

const COLOURS: Readonly<Record<string, Style>> = { '✓': 'green', '✗': 'red', '!': 'red', '-': 'yellow' };

/** The mark of a finding in its colour. */
function marked(line: string, output: Output): string {
  const colour = /^[✓✗!-] \S+@|^[✓✗!-] (?:module|command|https?):/.test(line) ? COLOURS[line[0] ?? ''] : undefined;
  return colour === undefined ? line : `${output.style(colour, line[0] ?? '')}${line.slice(1)}`;
}
