import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { styleText } from 'node:util';
import { type Diagnostic, ERROR_CODES, ProctorError, problemOf } from '../contract/problem.ts';
import type { Redaction } from '../contract/redaction.ts';

/** Where a command writes: results on stdout, everything for people on the way on stderr. */
export interface Output {
  readonly json: boolean;
  /** stderr is a terminal that a pinned window may be drawn on. */
  readonly pinned: boolean;
  readonly columns: number;
  /** A result: one document with `--json`, otherwise the text. */
  result(document: unknown, text: string): void;
  /** One line of a list or stream: a JSON line with `--json`, otherwise the text. */
  line(document: unknown, text: string): void;
  /** Text as it is, on stdout, as fast as it is read. */
  text(parts: AsyncIterable<string>): Promise<void>;
  /** For people, on stderr; above the pinned window when there is one. */
  note(text: string): void;
  /** Draws the pinned window at the bottom of stderr over the one before; no lines take it away. */
  pin(lines: readonly string[]): void;
  /** Styles stdout text, unless colours are off. */
  style(format: Style, text: string): string;
  /** Styles stderr text, unless colours are off. */
  noteStyle(format: Style, text: string): string;
}

/** The styles that output uses. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

interface Streams {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The output of a command, without secrets; colours by terminal, NO_COLOR and FORCE_COLOR. */
export function openOutput(json: boolean, { stdout, stderr, environment }: Streams, redaction: Redaction): Output {
  const colours = (stream: NodeJS.WriteStream) =>
    (environment['NO_COLOR'] ?? '') === '' &&
    environment['TERM'] !== 'dumb' &&
    ((environment['FORCE_COLOR'] ?? '') !== '' || stream.isTTY === true);
  const styled = (on: boolean) => (format: Style, text: string) =>
    on ? styleText(format, text, { validateStream: false }) : text;
  const emit = (document: unknown, text: string) => {
    if (json) stdout.write(`${JSON.stringify(redaction.json(document))}\n`);
    else if (text !== '') stdout.write(`${redaction.text(text)}\n`);
  };
  let window: readonly string[] = [];
  const erase = () => (window.length === 0 ? '' : `\u001b[${window.length}A\u001b[0J`);
  return {
    json,
    pinned: stderr.isTTY === true && (environment['CI'] ?? '') === '' && environment['TERM'] !== 'dumb',
    columns: Math.max(40, stderr.columns || 100),
    result: emit,
    line: emit,
    text: (parts) => pipeline(Readable.from(parts), stdout, { end: false }),
    note: (text) =>
      void stderr.write(`${erase()}${redaction.text(text)}\n${window.map((line) => `${line}\n`).join('')}`),
    pin: (lines) => {
      if (window.length === 0 && lines.length === 0) return;
      stderr.write(`${erase()}${lines.map((line) => `${line}\n`).join('')}`);
      window = lines;
    },
    style: styled(colours(stdout)),
    noteStyle: styled(colours(stderr)),
  };
}

/** Reports an error: a problem object on stdout with `--json`, else what happened and every place on stderr. Answers the exit code. */
export function reportError(error: unknown, output: Output): number {
  const problem = problemOf(error);
  if (output.json) output.result(problem, '');
  else {
    output.note(`${output.noteStyle('red', 'error')} ${printable(problem.detail)}`);
    for (const item of problem.errors) output.note(diagnosticText(item, output));
    if (!ProctorError.is(error) && error instanceof Error && error.stack)
      output.note(output.noteStyle('dim', error.stack.split('\n').slice(1, 6).join('\n')));
  }
  return ERROR_CODES[problem.code].exit;
}

/** One diagnostic: `file:line:column field: message (hint)`. */
export function diagnosticText(item: Diagnostic, output: Output): string {
  const at = [item.file, item.line, item.column].filter((part) => part !== null).join(':');
  const field = item.field === null ? '' : `${output.noteStyle('bold', item.field)}: `;
  const hint = item.hint === null ? '' : `\n      ${output.noteStyle('dim', `→ ${printable(item.hint)}`)}`;
  return `  ${output.noteStyle('cyan', at === '' ? '•' : at)} ${field}${printable(item.message)}${hint}`;
}

/** Text from data, safe for a terminal: control characters (and with them escape sequences) are shown, not sent. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (character) =>
    character === '\n' || character === '\t' ? ' ' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
