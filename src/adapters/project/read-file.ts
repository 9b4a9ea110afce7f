import type { z } from 'zod';
import { type Diagnostic, type ErrorCode, ProctorError } from '../../contract/problem.ts';
import { FileRefused, readRegular } from '../../lib/regular-file.ts';
import { zodDiagnostics } from '../profiles/zod-diagnostics.ts';
import { fieldOf, parsePlaced } from '../yaml/placed-document.ts';

const MOST_PROBLEMS = 100;
const MOST_BYTES = 4 * 1024 * 1024;

/** A file of the project that fits its schema, with the place of every member. */
export interface ReadFile<Value> {
  readonly value: Value;
  /** Gives diagnostics that name a field the file, line and column of it. */
  locate(diagnostics: readonly Diagnostic[]): Diagnostic[];
}

/** Reads a YAML (or JSON) file by a schema; the error lists every problem with line and column. Null when the file is not there. */
export async function readProjectFile<Schema extends z.ZodType>(
  absolute: string,
  shown: string,
  schema: Schema,
  code: ErrorCode,
): Promise<ReadFile<z.output<Schema>> | null> {
  const text = await readText(absolute, shown, code);
  if (text === null) return null;
  const document = parsePlaced(text, shown);
  if (document.problems.length > 0) throw invalid(shown, code, document.problems);
  const wrong = zodDiagnostics(schema, document.value).map(({ path, diagnostic }) => ({
    ...diagnostic,
    file: shown,
    field: fieldOf(path),
    ...document.placeOf(path),
  }));
  if (wrong.length > 0) throw invalid(shown, code, wrong);
  return {
    value: schema.parse(document.value),
    locate: (diagnostics) =>
      diagnostics
        .slice(0, MOST_PROBLEMS)
        .map((item) =>
          item.field === null
            ? { ...item, file: shown }
            : { ...item, file: shown, ...document.placeOf(pathOf(item.field, document.value)) },
        ),
  };
}

/** The error that lists what is wrong in a file. */
export function invalid(shown: string, code: ErrorCode, diagnostics: readonly Diagnostic[]): ProctorError {
  return new ProctorError(
    code,
    `\`${shown}\` has ${diagnostics.length} problem${diagnostics.length === 1 ? '' : 's'}`,
    { diagnostics: [...diagnostics].sort((a, b) => (a.line ?? Number.MAX_VALUE) - (b.line ?? Number.MAX_VALUE)) },
  );
}

/** The path behind a field; a key may hold dots (`when.args.path`), so it is found by what is there. */
function pathOf(field: string, value: unknown): PropertyKey[] {
  const path: PropertyKey[] = [];
  let at = value;
  let rest = field;
  while (rest !== '') {
    const index = /^\[(\d+)\]\.?/.exec(rest);
    if (index !== null) {
      path.push(Number(index[1]));
      at = Array.isArray(at) ? at[Number(index[1])] : undefined;
      rest = rest.slice(index[0].length);
      continue;
    }
    const keys = typeof at === 'object' && at !== null ? Object.keys(at) : [];
    const known = keys
      .filter((key) => rest === key || rest.startsWith(`${key}.`) || rest.startsWith(`${key}[`))
      .sort((a, b) => b.length - a.length)[0];
    const key = known ?? /^[^.[]+/.exec(rest)?.[0] ?? rest;
    path.push(key);
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined;
    rest = rest.slice(key.length).replace(/^\./, '');
  }
  return path;
}

async function readText(absolute: string, shown: string, code: ErrorCode): Promise<string | null> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readRegular(absolute, MOST_BYTES));
  } catch (error) {
    if (error instanceof TypeError)
      throw new ProctorError(code, `\`${shown}\` is not valid UTF-8; save it as UTF-8`, { cause: error });
    if (!(error instanceof FileRefused)) throw error;
    if (error.code === 'ENOENT') return null; // a link that leads nowhere is no missing file: it was meant to lead somewhere
    throw new ProctorError(code, `\`${shown}\` ${error.message}`, { cause: error });
  }
}
