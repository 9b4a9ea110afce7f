import type { Usage } from '../contract/agent.ts';
import type { ExecutionDocument } from '../contract/documents.ts';
import { SEVERITIES } from '../contract/evaluator.ts';
import type { AttemptDocument } from '../contract/execution-document.ts';
import type { ToolRunDocument } from '../contract/tool-documents.ts';
import { visible } from './approval-preview.ts';
import { cutLines, cutTexts } from './cut-texts.ts';

/** A part of an execution for people: nothing in its text hides, moves or colours anything. */
export interface Section {
  readonly title: string;
  readonly text: string;
  /** The text by item, where it is a list (findings, attempts, calls); otherwise the text alone. */
  readonly items: readonly string[];
}

type Result = ExecutionDocument['evaluator_results'][number];
const MARKS = { passed: '✓', failed: '✗', error: '!', skipped: '-' } as const;

/** Everything that is stored of an execution, in the order in which one reads it; parts that are empty are left out. */
export function executionSections(execution: ExecutionDocument): Section[] {
  const { case: item, output, usage, turns } = execution;
  const sections: readonly (readonly [string, string | null | readonly string[]])[] = [
    ['findings', execution.evaluator_results.map(resultText)],
    ['corrected', correctedText(execution)],
    ['input', valueText(item.input)],
    ['context', valueText(item.context)],
    ['expected', valueText(item.expected)],
    ['failure', failureText(execution.failure)],
    ['output', output === null ? null : output.text],
    ['structured output', output === null ? null : valueText(output.structured)],
    ['turns', turns === null ? null : turns.map(turnText)],
    [`tool runs (${execution.tool_runs.length})`, execution.tool_runs.map(toolRunText)],
    [`tool calls in the answer (${execution.tool_calls.length})`, execution.tool_calls.map(toolCallText)],
    [`trace (${execution.trace.length})`, execution.trace.map((entry) => JSON.stringify(entry))],
    ['usage', usageText(usage)],
    [
      'not kept',
      execution.not_kept.length === 0 ? null : `${execution.not_kept.join(', ')} (the profile’s persistence)`,
    ],
    [
      'redacted',
      execution.redacted.length === 0 ? null : `${execution.redacted.join(', ')}: a secret was taken out after grading`,
    ],
    [`attempts (${execution.attempts.length})`, execution.attempts.map(attemptText)],
  ];
  return sections.flatMap(([title, content]) => {
    const items = (typeof content === 'string' ? [content] : (content ?? [])).map(shown);
    const text = items.join('\n');
    return text === '' ? [] : [{ title, text, items }];
  });
}

/** The sections in so many characters: what is short stays whole, the others share the rest, so that every part and every attempt is there. */
export function cutSections(sections: readonly Section[], most: number): Section[] {
  const texts = cutTexts(sections, most, ({ items }, share) => {
    const kept = items.slice(0, Math.max(1, Math.floor(share / LEAST_OF_ITEM)));
    const cut = cutTexts(
      kept.map((text) => ({ text })),
      share,
      ({ text }, length) => cutLines(text, length),
    );
    return [...cut, ...(kept.length < items.length ? [`… ${items.length - kept.length} more`] : [])].join('\n');
  });
  return sections.map((section, index) => ({ ...section, text: texts[index]! }));
}

const LEAST_OF_ITEM = 160; // characters: an attempt's first two lines

/** The sections as one text, cut to about so many characters. */
export function executionText(execution: ExecutionDocument, most: number): string {
  return cutSections(executionSections(execution), most)
    .map(({ title, text }) => `${title}\n${indented(text)}`)
    .join('\n');
}

/** The worst severity among the findings that did not pass; `none` where nothing was wrong. */
export function worstSeverity({ evaluator_results }: ExecutionDocument): Result['severity'] {
  const found = evaluator_results.filter(({ status }) => status === 'failed').map(({ severity }) => severity);
  return found.reduce((worst, one) => (SEVERITIES.indexOf(one) > SEVERITIES.indexOf(worst) ? one : worst), 'none');
}

function shown(text: string): string {
  return visible(text.replaceAll('\r\n', '\n').replaceAll('\t', '  '), true);
}

function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}

function valueText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function resultText(result: Result): string {
  const { status, ref, dimension, blocking, severity, score, reason, evidence } = result;
  const about = [
    dimension,
    ...(blocking ? ['blocking'] : []),
    ...(severity === 'none' ? [] : [`severity ${severity}`]),
    ...(score === null ? [] : [`score ${Number(score.toFixed(4))}`]),
  ];
  const more = [reason ?? status, ...(evidence === null ? [] : [`evidence ${JSON.stringify(evidence)}`])];
  return `${MARKS[status]} ${ref}  ${about.join(', ')}\n${indented(more.join('\n'))}`;
}

function correctedText({ corrected }: ExecutionDocument): string | null {
  if (corrected === null) return null;
  const own = corrected.own.results.map(
    ({ index, status, reason }) => `evaluator ${index} itself: ${status}${reason === null ? '' : `, ${reason}`}`,
  );
  return [`by ${corrected.corrected_by}`, ...own].join('\n');
}

/** What came in place of an answer: the message, and what was kept of it, a text as it is. */
function failureText(failure: unknown): string | null {
  if (typeof failure !== 'object' || failure === null) return valueText(failure);
  const { message, evidence, fault: _fault, code: _code, ...rest } = failure as Record<string, unknown>;
  const extra = Object.entries(rest).filter(([, value]) => value !== null && value !== false);
  const kept = typeof evidence === 'object' && evidence !== null ? Object.entries(evidence) : [['evidence', evidence]];
  const told = [...extra, ...kept].flatMap(([name, value]) => {
    const text = valueText(value);
    if (text === null || text === '') return [];
    return text.includes('\n') ? [`${name}\n${indented(text)}`] : [`${name}: ${text}`];
  });
  return [...(typeof message === 'string' ? [message] : []), ...told].join('\n');
}

function turnText(turn: NonNullable<ExecutionDocument['turns']>[number], index: number): string {
  const said = turn.text ?? valueText(turn.structured) ?? 'nothing';
  const calls = turn.tool_calls.length === 0 ? '' : `\n${indented(turn.tool_calls.map(toolCallText).join('\n'))}`;
  const usage = usageText(turn.usage);
  return `${index + 1}  ${turn.latency_ms} ms${usage === null ? '' : `, ${usage}`}\n${indented(said)}${calls}`;
}

function toolRunText(run: ToolRunDocument): string {
  const decided = run.decision === null ? '' : `, ${run.decision}`;
  const took = run.latency_ms === null ? '' : `, ${run.latency_ms} ms`;
  const output = run.output?.content.map((block) => textOfBlock(block)).join('\n') ?? null;
  return [
    `${run.tool}  ${run.status}${decided}${took}  ${run.tool_run_id}`,
    `  arguments ${JSON.stringify(run.arguments)}`,
    ...(run.error === null ? [] : [`  error ${run.error.code ?? ''}: ${run.error.message ?? ''}`]),
    ...(output === null ? [] : [indented(output)]),
  ].join('\n');
}

function textOfBlock(block: unknown): string {
  const { type, text } = (block ?? {}) as { type?: unknown; text?: unknown };
  return type === 'text' && typeof text === 'string' ? text : `[${String(type)}]`;
}

function toolCallText({ name, arguments: given, result, source }: ExecutionDocument['tool_calls'][number]): string {
  return `${name}  ${source}\n  arguments ${JSON.stringify(given)}${result === null ? '' : `\n  result ${JSON.stringify(result)}`}`;
}

function usageText(usage: Usage | null): string | null {
  if (usage === null) return null;
  const parts = Object.entries(usage).filter(([, value]) => value !== null);
  return parts.length === 0 ? null : parts.map(([name, value]) => `${name} ${value}`).join(', ');
}

function attemptText(attempt: AttemptDocument): string {
  const { status, fault, reason, worker, started_at, duration_ms, decides } = attempt;
  const how = [status, ...(fault === null ? [] : [`fault ${fault}`]), ...(reason === null ? [] : [reason])];
  const who = worker.name === '' ? worker.session_id : `${worker.name} on ${worker.host}, process ${worker.pid}`;
  const took = duration_ms === null ? 'not ended' : `${duration_ms} ms`;
  // Of the attempt that decided everything stands above.
  const came = decides ? null : failureText(attempt.failure);
  const answer = attempt.output === null ? null : (attempt.output.text ?? valueText(attempt.output.structured));
  return [
    `${attempt.attempt}  ${how.join(', ')}`,
    indented(`${started_at}, ${took}, ${who}`),
    ...(came === null ? [] : [indented(came)]),
    ...(answer === null ? [] : [indented(`answered ${answer}`)]),
    ...attempt.evaluator_results.map((result) => indented(resultText(result))),
  ].join('\n');
}
