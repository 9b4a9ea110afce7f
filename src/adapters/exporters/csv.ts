import type { ExecutionDocument } from '../../contract/documents.ts';
import type { Exporter } from '../../contract/exporter.ts';
import { whyNotPassed } from '../../core/why-not-passed.ts';

const FIRST = ['case_id', 'repeat', 'status', 'fault', 'passed', 'score'] as const;
const LAST = ['attempts', 'latency_ms', 'reason', 'output', 'revision'] as const;

/**
 * One row an execution (RFC 4180, CRLF), a column a dimension. A text that a spreadsheet would take for a formula gets an apostrophe in
 * front: what agents say is not to be executed by whoever opens the file.
 */
export const csv: Exporter = {
  format: 'csv',
  summary: 'one row an execution, for spreadsheets',
  extension: 'csv',
  async *write({ run, executions }) {
    const dimensions = Object.keys(run.scores).sort();
    yield row([...FIRST, ...dimensions.map((name) => `dimension.${name}`), ...LAST]);
    for await (const execution of executions()) yield row(cells(execution, dimensions));
  },
};

function cells(execution: ExecutionDocument, dimensions: readonly string[]): (string | number | boolean | null)[] {
  const { aggregate, output } = execution;
  const passed = aggregate?.passed === true;
  return [
    execution.case_id,
    execution.repeat,
    execution.status,
    execution.fault,
    passed,
    aggregate?.score ?? null,
    ...dimensions.map((name) => aggregate?.dimensions[name] ?? null),
    execution.attempts,
    execution.latency_ms,
    passed ? null : whyNotPassed(execution),
    typeof output === 'string' || output === null ? output : JSON.stringify(output),
    execution.revision,
  ];
}

function row(values: readonly (string | number | boolean | null)[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

function cell(value: string | number | boolean | null): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  // Quoted always: where `;` separates, an unquoted text would fall apart into cells of its own.
  const text = /^[=+\-@\t\r＝＋－＠]/.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}
