import type { ExecutionDocument } from '../../contract/documents.ts';
import type { Exporter } from '../../contract/exporter.ts';
import { cutText, shares } from '../../core/cut-texts.ts';
import { worstSeverity } from '../../core/execution-sections.ts';
import { whyNotPassed } from '../../core/why-not-passed.ts';

const FIRST = ['case_id', 'repeat', 'status', 'fault', 'passed', 'score'] as const;
const LAST = [
  ...[
    'attempts',
    'latency_ms',
    'severity',
    'reason',
    'input',
    'context',
    'expected',
    'output',
    'structured',
    'tool_calls',
  ],
  ...[
    'tool_runs',
    'turns',
    'trace',
    'input_tokens',
    'output_tokens',
    'total_tokens',
    'cost_micro_usd',
    'findings',
    'attempt_details',
    'failure',
  ],
  'corrected',
  'not_kept',
  'redacted',
  'revision',
] as const;
const MOST_CHARACTERS = 32_000; // a spreadsheet takes 32,767 in a cell

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
  const { aggregate, output, usage, failure, case: item } = execution;
  const passed = aggregate?.passed === true;
  return [
    execution.case_id,
    execution.repeat,
    execution.status,
    execution.fault,
    passed,
    aggregate?.score ?? null,
    ...dimensions.map((name) => aggregate?.dimensions[name] ?? null),
    execution.attempts.length,
    execution.latency_ms,
    worstSeverity(execution),
    passed ? null : whyNotPassed(execution),
    text(item.input),
    text(item.context),
    text(item.expected),
    output?.text ?? null,
    text(output?.structured),
    text(execution.tool_calls),
    text(execution.tool_runs),
    text(execution.turns),
    text(execution.trace),
    usage?.input_tokens ?? null,
    usage?.output_tokens ?? null,
    usage?.total_tokens ?? null,
    usage?.cost_micro_usd ?? null,
    text(execution.evaluator_results),
    text(execution.attempts),
    text(failure),
    text(execution.corrected),
    text(execution.not_kept),
    text(execution.redacted),
    execution.revision,
  ];
}

/** A value as a cell has it: a text as it is, nothing for nothing, anything else as JSON. */
function text(value: unknown): string | null {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  if (typeof value === 'string') return value;
  const json = JSON.stringify(value);
  return json.length <= MOST_CHARACTERS ? json : JSON.stringify(withCutTexts(value));
}

/** A value whose long texts are cut so that it fits in a cell: it stays JSON, and nothing behind a long text is lost. */
function withCutTexts(value: unknown): unknown {
  const lengths: number[] = [];
  const textsIn = (from: string) => lengths.push(JSON.stringify(from).length);
  mapTexts(value, textsIn);
  const given = shares(lengths, MOST_CHARACTERS / 2);
  let at = 0;
  return mapTexts(value, (whole) => {
    const most = given[at++] ?? 0;
    return JSON.stringify(whole).length <= most ? whole : cutText(whole, Math.floor(most / 2));
  });
}

/** The same value with every text in it, but no name of a member, replaced; in one order. */
function mapTexts(value: unknown, replaced: (text: string) => unknown): unknown {
  if (typeof value === 'string') return replaced(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, replaced));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, replaced)]));
}

function row(values: readonly (string | number | boolean | null)[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

function cell(value: string | number | boolean | null): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  // Quoted always: where `;` separates, an unquoted text would fall apart into cells of its own.
  const given = /^[=+\-@\t\r＝＋－＠]/.test(value) ? `'${value}` : value;
  const kept =
    given.length > MOST_CHARACTERS
      ? `${given.slice(0, MOST_CHARACTERS)} … (${value.length} characters; the jsonl export has them)`
      : given;
  return `"${kept.replaceAll('"', '""')}"`;
}
