import type { Json } from '../../lib/canonical-json.ts';
import type { JsonIssue } from '../../lib/json-issue.ts';

/** A place in a dataset file; null when it is not known. */
export interface RowPlace {
  readonly line: number | null;
  readonly column: number | null;
}

/** One row of a dataset, whatever its format: its value, what is wrong with it as JSON, and how to look into it. */
export interface Row {
  readonly value: Json;
  readonly issues: readonly JsonIssue[];
  readonly line: number;
  /** Path of the row inside its file (`cases[3]`); empty when a row is a line. */
  readonly label: string;
  /** The JSON text of the value that a pointer leads to; only asked for pointers that lead somewhere. */
  textAt(pointer: string): string;
  /** Where the value that a pointer leads to stands. */
  placeOf(pointer: string): RowPlace;
}

/** The path of a member below a row: `cases[3]` and `/input/tags/0` make `cases[3].input.tags[0]`; null for nothing. */
export function fieldPath(label: string, tokens: readonly PropertyKey[]): string | null {
  let path = label;
  for (const token of tokens) {
    const name = String(token);
    if (/^(0|[1-9][0-9]*)$/.test(name)) path += `[${name}]`;
    else path += path === '' ? name : `.${name}`;
  }
  return path === '' ? null : path;
}
