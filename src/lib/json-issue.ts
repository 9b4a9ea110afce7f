import { positionsOf, type TextPosition } from './text-position.ts';

/** What a strict parse refuses; only `syntax`, `depth` and `byte_order_mark` end the parse, the others are collected. */
export type JsonIssueKind =
  | 'syntax'
  | 'depth'
  | 'byte_order_mark'
  | 'duplicate_key'
  | 'lone_surrogate'
  | 'non_finite_number'
  | 'inexact_number';

/** One thing that is wrong in a JSON text: where (JSON pointer, line and column from 1), what, and the cure. */
export interface JsonIssue {
  readonly kind: JsonIssueKind;
  readonly pointer: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly hint: string;
}

/** An issue at an offset of the text, before lines are counted. */
export type RawJsonIssue = Omit<JsonIssue, 'line' | 'column'> & { readonly offset: number };

/** Most issues collected from one text; whoever gets one refuses the text, so that further ones would not be read. */
export const MAX_JSON_ISSUES = 100;

/** The issues in the order of the text, with line and column. */
export function locatedIssues(text: string, raw: readonly RawJsonIssue[], origin: TextPosition): JsonIssue[] {
  if (raw.length === 0) return [];
  const ordered = raw.toSorted((a, b) => a.offset - b.offset);
  const offsets = ordered.map((issue) => issue.offset);
  const places = positionsOf(text, offsets, origin);
  return ordered.map(({ offset: _, ...issue }, index) => ({ ...issue, ...places[index]! }));
}

/** The JSON pointer of a path of member names and indexes. */
export function pointerOf(path: readonly (string | number)[]): string {
  return path.map((token) => `/${String(token).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** What is wrong, and its cure. */
export interface IssueText {
  readonly message: string;
  readonly hint: string;
}

/** The texts of the issues, by what was found. */
export const issueText = {
  mark: (): IssueText => ({
    message: 'the text starts with a byte order mark',
    hint: 'save the text as UTF-8 without BOM',
  }),
  depth: (limit: number): IssueText => ({
    message: `the value is nested deeper than ${limit} levels`,
    hint: 'flatten it, or write it as a string',
  }),
  duplicate: (key: string): IssueText => ({
    message: `duplicate key \`${shortened(key)}\``,
    hint: 'remove or rename one of the two',
  }),
  surrogate: (content: string, isKey: boolean): IssueText => ({
    message: `${isKey ? 'the member name' : 'the text'} \`${shortened(content)}\` holds a lone surrogate`,
    hint: 'repair the encoding of the source',
  }),
  nonFinite: (literal: string): IssueText => ({
    message: `\`${literal}\` is not a JSON number`,
    hint: 'write the number as a string',
  }),
  inexact: (literal: string, value: number): IssueText => ({
    message: `the number \`${shortened(literal)}\` would be read as \`${value}\``,
    hint: 'write the number as a string',
  }),
  control: (code: number): IssueText => ({
    message: `a string holds the control character U+${code.toString(16).padStart(4, '0').toUpperCase()}`,
    hint: code === 10 ? 'write `\\n`, or close the string' : 'escape it',
  }),
  escape: (literal: string): IssueText => ({
    message: `\`${literal.toWellFormed()}\` is not a JSON escape`,
    hint: 'write `\\\\` for a backslash',
  }),
  leadingZero: (): IssueText => ({
    message: 'a number starts with 0',
    hint: 'remove the leading zeros, or write it as a string',
  }),
  unexpected: (expected: string, text: string, offset: number): IssueText => ({
    message: `expected ${expected}, but ${foundAt(text, offset)}`,
    hint: 'repair the JSON at this place',
  }),
};

function shortened(text: string): string {
  return (text.length > 40 ? `${text.slice(0, 40)}…` : text).toWellFormed();
}

function foundAt(text: string, offset: number): string {
  const code = text.codePointAt(offset);
  return code === undefined ? 'the text ends' : `found \`${String.fromCodePoint(code).toWellFormed()}\``;
}
