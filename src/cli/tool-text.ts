import type { ToolOutput } from '../contract/tool.ts';
import type { ToolRunDocument } from '../contract/tool-documents.ts';
import { visible } from '../core/approval-preview.ts';
import { cut, duration } from './format.ts';
import type { Output, Style } from './output.ts';

const STYLES: Readonly<Record<ToolRunDocument['status'], Style>> = {
  ok: 'green',
  error: 'red',
  timeout: 'red',
  denied: 'red',
  approval_required: 'yellow',
  approved: 'cyan',
  started: 'cyan',
};

/** A status, in its colour. */
export function statusText(status: ToolRunDocument['status'], output: Output): string {
  return output.style(STYLES[status], status);
}

/** Text of callers and tools on one line of a terminal: nothing in it hides, moves or colours. */
export function oneLine(text: string): string {
  return visible(text.replaceAll(/[\n\t]/g, ' '));
}

/** What a tool gave, for a terminal: texts as they are (controls made visible), the other blocks by what they are. */
export function outputText(output: ToolOutput): string {
  return output.content
    .map((block) => {
      if (block.type === 'text' && typeof block['text'] === 'string') return visible(block['text'], true);
      const about = typeof block['mimeType'] === 'string' ? ` ${oneLine(block['mimeType'])}` : '';
      return `[${oneLine(block.type)}${about}]`;
    })
    .join('\n');
}

/** One line of a list of tool runs. */
export function toolRunLine(run: ToolRunDocument, output: Output): string[] {
  const why = run.error?.message ?? '';
  return [
    run.tool_run_id,
    statusText(run.status, output),
    oneLine(run.tool),
    oneLine(run.principal),
    cut(oneLine(JSON.stringify(run.arguments)), 60),
    run.latency_ms === null ? '' : duration(run.latency_ms),
    oneLine(cut(why, 80)),
  ];
}

/** Everything of one tool run. */
export function toolRunText(run: ToolRunDocument, output: Output): string {
  const row = (name: string, value: string | number | null) =>
    value === null || value === '' ? [] : [`  ${name.padEnd(11)} ${value}`];
  return [
    `${output.style('bold', oneLine(run.tool))}  ${statusText(run.status, output)}${run.reason === null ? '' : ` (${run.reason})`}`,
    ...row('tool run', run.tool_run_id),
    ...row('caller', `${oneLine(run.principal)} by ${run.surface}`),
    ...row('arguments', oneLine(JSON.stringify(run.arguments))),
    ...row(
      'decision',
      run.decision === null
        ? null
        : `${run.decision}${run.rules.length > 0 ? ` by ${run.rules.join(', ')}` : ''}, policy ${run.policy_digest?.slice(0, 12)}`,
    ),
    ...row('approval', run.approval_id),
    ...row('edited from', run.edited_from),
    ...row('edited into', run.edited_into),
    ...row('run', run.attempt_id),
    ...row('called', run.created_at),
    ...row('dispatched', run.dispatched_at),
    ...row(
      'ended',
      run.finished_at === null
        ? null
        : `${run.finished_at}${run.latency_ms === null ? '' : `, ${duration(run.latency_ms)}`}`,
    ),
    ...row('error', run.error === null ? null : `${run.error.code}: ${oneLine(run.error.message ?? '')}`),
    ...row('artifact', run.output_artifact),
    ...(run.output === null ? [] : ['', outputText(run.output as unknown as ToolOutput)]),
  ].join('\n');
}
