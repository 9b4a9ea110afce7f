import type { Finding } from '../../../contract/evaluator.ts';
import { jsonInText, type Span } from '../../../lib/json-in-text.ts';
import { parseStrictJson } from '../../../lib/strict-json.ts';
import { readFinding } from './custom-evaluator.ts';

/** What a program printed: its finding, or why there is none in it (a clause that goes on from "it"). */
export type PrintedFinding =
  | { readonly type: 'finding'; readonly finding: Finding }
  | { readonly type: 'none' | 'invalid'; readonly problem: string };

/**
 * The finding in what a program printed, wherever it stands: the last JSON object with a member `status`. That one must be a finding; an
 * earlier one does not stand in for it, nor for one that was cut off or that is not JSON, because a wrong PASS is worse than no grade.
 */
export function printedFinding(stdout: string): PrintedFinding {
  const { spans, unfinished } = jsonInText(stdout);
  if (unfinished !== null) return invalid('ended its output in the middle of a JSON value');
  const at = spans.findLastIndex(({ start, end }) => hasStatus(stdout.slice(start, end)));
  const last = spans[at];
  if (/(["'])status\1\s*:/.test(outside(stdout, last?.end ?? 0, spans.slice(at + 1))))
    return invalid('printed a `status` in something that is not JSON');
  if (last === undefined) return { type: 'none', problem: 'printed no JSON object with a `status`' };
  return whole(stdout.slice(last.start, last.end));
}

function whole(text: string): PrintedFinding {
  const parsed = parseStrictJson(text, ANY_NUMBER);
  const issue = parsed.issues[0];
  if (parsed.type === 'invalid' || issue !== undefined)
    return invalid(`printed an object with a \`status\` that cannot be trusted: ${issue?.message ?? 'not JSON'}`);
  const read = readFinding(parsed.value);
  return typeof read === 'string'
    ? invalid(`printed an object with a \`status\` that is no finding: ${read}`)
    : { type: 'finding', finding: read };
}

const ANY_NUMBER = { ignore_numbers_at: () => true };

/** True for an object with a member `status` of its own; one that is nested too deep to be read counts when it names one. */
function hasStatus(text: string): boolean {
  if (!text.startsWith('{') || !/status|\\u/.test(text)) return false;
  const parsed = parseStrictJson(text, ANY_NUMBER);
  if (parsed.type === 'invalid') return text.includes('"status"');
  return typeof parsed.value === 'object' && parsed.value !== null && Object.hasOwn(parsed.value, 'status');
}

/** What stands behind a place and in none of the spans. */
function outside(text: string, from: number, spans: readonly Span[]): string {
  const starts = [from, ...spans.map(({ end }) => end)];
  return starts.map((start, index) => text.slice(start, spans[index]?.start)).join('\n');
}

function invalid(problem: string): PrintedFinding {
  return { type: 'invalid', problem };
}
