import type { SQLInputValue } from 'node:sqlite';
import type { Column } from './tampered-store.ts';

const WORDS: readonly (readonly string[])[] = [
  ['pending', 'running', 'finalizing', 'completed', 'failed', 'cancelled', 'timed_out'],
  ['pass', 'fail', 'inconclusive', 'unknown'],
  ['infrastructure', 'agent', 'grader', 'policy'],
  ['failed_agent_call', 'failed_evaluation', 'stale', 'suspended'],
  ['envelope', 'evaluator_result', 'failure'],
];

/**
 * What a cell could be altered to: text of the same shape, JSON with a space more, an integer beside it, null for a value
 * and a value for null. Each entry lists candidates, of which the first that its table takes is meant.
 */
export function otherValues(column: Column, value: SQLInputValue): SQLInputValue[][] {
  const nothing = column.notnull === 0 && column.pk === 0 && value !== null ? [[null]] : [];
  if (column.type === 'INTEGER') {
    if (value === null) return [[1]];
    return [[Number(value) + 1, Number(value) - 1, Number(value) + 1000], ...nothing];
  }
  if (value === null) return [['x']];
  const text = String(value);
  const spaced = text.startsWith('{') ? [[`${text} `]] : []; // the same JSON, other bytes
  return [[otherText(text), `${text}x`], ...spaced, ...nothing];
}

function otherText(text: string): string {
  const words = WORDS.find((list) => list.includes(text));
  if (words) return words[(words.indexOf(text) + 1) % words.length] ?? '';
  if (text === '') return 'x';
  const number = /\d(?=\D*$)/.exec(text); // the last digit: in JSON a value, in a digest or an id a character
  const at = number?.index ?? text.length - 1;
  const before = text[at] ?? '';
  return (
    text.slice(0, at) +
    (before === '1' ? '2' : /\d/.test(before) ? '1' : before === 'a' ? 'b' : 'a') +
    text.slice(at + 1)
  );
}
