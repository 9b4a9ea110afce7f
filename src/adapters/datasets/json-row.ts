import { type Diagnostic, diagnostic } from '../../contract/problem.ts';
import type { JsonIssue } from '../../lib/json-issue.ts';
import { pointerTokens } from '../../lib/json-pointer.ts';
import { jsonSpanAt, jsonTextAt } from '../../lib/json-slice.ts';
import { parseStrictJson } from '../../lib/strict-json.ts';
import { positionsOf } from '../../lib/text-position.ts';
import { decodeUtf8 } from '../../lib/utf8.ts';
import { fieldPath, type Row } from './row.ts';

/** Largest line of JSONL, element of a JSON array, or CSV record. */
export const MAX_ROW_BYTES = 16 * 1024 * 1024;

/** Bytes of one row and where they stand in the file; `bytes` is null when there are more than `MAX_ROW_BYTES`. */
export interface RowBytes {
  readonly file: string;
  readonly label: string;
  readonly line: number;
  readonly column: number;
  readonly offset: number;
  readonly size: number;
  readonly bytes: Buffer | null;
}

/** A row read from JSON bytes, or the problems that keep it from being one. */
export type JsonRow =
  | { readonly type: 'row'; readonly row: Row }
  | { readonly type: 'blank' }
  | { readonly type: 'problems'; readonly problems: readonly Diagnostic[] };

/** Decodes and strictly parses the bytes of one row. */
export function jsonRow(source: RowBytes, ignoreNumbersAt: (pointer: string) => boolean): JsonRow {
  const text = rowText(source);
  if (typeof text !== 'string') return { type: 'problems', problems: [text] };
  if (isBlank(text)) return { type: 'blank' };
  const { file, label, line, column } = source;
  const parsed = parseStrictJson(text, { line, column, ignore_numbers_at: ignoreNumbersAt });
  if (parsed.type === 'invalid') {
    return { type: 'problems', problems: parsed.issues.map((issue) => issueProblem(issue, file, label)) };
  }
  const row: Row = {
    value: parsed.value,
    issues: parsed.issues,
    line,
    label,
    textAt: (pointer) => jsonTextAt(text, pointer) ?? '',
    placeOf: (pointer) => {
      const span = jsonSpanAt(text, pointer);
      return (span && positionsOf(text, [span.start], { line, column })[0]) ?? { line, column };
    },
  };
  return { type: 'row', row };
}

/** What a strict parse found, as a diagnostic of the dataset. */
export function issueProblem(issue: JsonIssue, file: string, label: string): Diagnostic {
  const { line, column, message, hint } = issue;
  return diagnostic(message, { file, line, column, hint, field: fieldPath(label, pointerTokens(issue.pointer)) });
}

/** The text of a row, or why it has none: too large, or not UTF-8. */
export function rowText(source: RowBytes): string | Diagnostic {
  const { file, line } = source;
  const field = fieldPath(source.label, []);
  if (source.bytes === null) {
    const message = `the row has ${source.size} bytes; at most ${MAX_ROW_BYTES} are read`;
    return diagnostic(message, {
      file,
      line,
      field,
      hint: 'keep large bodies in files and put their paths in the row',
    });
  }
  const decoded = decodeUtf8(source.bytes);
  if (decoded.type === 'text') return decoded.text;
  const byte = (source.bytes[decoded.offset] ?? 0).toString(16).padStart(2, '0');
  const offset = source.offset + decoded.offset;
  const message = `byte 0x${byte} at offset ${offset} of the file is not valid UTF-8`;
  return diagnostic(message, {
    file,
    line,
    field,
    hint: 'convert the file to UTF-8, for example with `iconv -t utf-8`',
  });
}

function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text);
}
