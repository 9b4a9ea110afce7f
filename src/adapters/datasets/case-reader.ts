import { type Case, caseSchema, type DatasetItem, type DatasetOptions } from '../../contract/case.ts';
import { type Diagnostic, diagnostic } from '../../contract/problem.ts';
import type { Json } from '../../lib/canonical-json.ts';
import { pointerTokens, pointerValue } from '../../lib/json-pointer.ts';
import { CASE_FIELDS, type FieldSource, fieldSources } from './field-mapping.ts';
import { issueProblem } from './json-row.ts';
import { nearestName } from './nearest-name.ts';
import { fieldPath, type Row } from './row.ts';

/** Rows with JSON text behind them, rows of text cells (CSV), or rows of values alone (YAML). */
export type RowKind = 'json_text' | 'text_cells' | 'values';

/** Turns the rows of one dataset into cases or problems. */
export interface CaseReader {
  /** True where a row's numbers do not reach a case, or reach it as text. */
  ignoreNumbersAt(pointer: string): boolean;
  read(row: Row): readonly DatasetItem[];
}

/**
 * The reader for a dataset's mapping: without one a row must be a case; with one the mapped fields come from their
 * pointers, other fields from the row's member of the same name, and the rest of the row is ignored. Throws
 * `invalid_dataset` for a mapping that cannot work.
 */
export function caseReader(options: DatasetOptions, kind: RowKind = 'json_text'): CaseReader {
  const sources = fieldSources(options);
  const read = (row: Row): readonly DatasetItem[] => {
    const context: RowContext = {
      row,
      sources,
      file: options.shown_path,
      textCells: kind === 'text_cells',
      hasText: kind === 'json_text',
    };
    if (!isRecord(row.value)) {
      const message = `a row must be an object, but this is ${kindOf(row.value)}`;
      return asItems([wrongAt(context, '', message, rowHint(sources))]);
    }
    if (row.issues.length > 0) return asItems(issueProblems(context));
    const { members, problems } = sources ? mappedMembers(context, sources) : ownMembers(context, row.value);
    if (problems.length > 0) return asItems(problems);
    return caseOf(context, members);
  };
  const reaches = (source: FieldSource, pointer: string) =>
    (!source.verbatim || kind === 'values') && `${pointer}/`.startsWith(`${source.pointer}/`);
  return {
    read,
    ignoreNumbersAt: (pointer) => sources !== null && !sources.some((source) => reaches(source, pointer)),
  };
}

interface RowContext {
  readonly row: Row;
  readonly sources: readonly FieldSource[] | null;
  readonly file: string;
  readonly textCells: boolean;
  readonly hasText: boolean;
}

interface Members {
  readonly members: Readonly<Record<string, Json | undefined>>;
  readonly problems: readonly Diagnostic[];
}

/** The members that are checked by the schema; the others are JSON already, and copying them would cost the most. */
const plainFields = caseSchema.pick({ id: true, task_type: true, case_group: true, tags: true, cluster: true });
const KNOWN = new Set(CASE_FIELDS);

function caseOf(context: RowContext, members: Members['members']): readonly DatasetItem[] {
  const { row, file } = context;
  const { input, metadata = {} } = members;
  const problems: Diagnostic[] = [];
  const parsed = plainFields.safeParse({
    id: typeof members['id'] === 'number' ? String(members['id']) : members['id'],
    task_type: members['task_type'],
    case_group: members['case_group'],
    tags: tagList(context, members['tags']),
    cluster: clusterOf(context, members['cluster']),
  });
  if (members['id'] === undefined) problems.push(missing(context, 'id'));
  else if (!parsed.success) {
    for (const { path, message } of parsed.error.issues) problems.push(invalidField(context, path, message));
  }
  if (input === undefined) problems.push(missing(context, 'input'));
  if (!isRecord(metadata))
    problems.push(invalidField(context, ['metadata'], `it must be an object, but this is ${kindOf(metadata)}`));
  if (!parsed.success || input === undefined || problems.length > 0) return asItems(problems);
  const { id, task_type, case_group, tags, cluster } = parsed.data;
  const { expected = null, context: about = null } = members;
  // Strictly parsed JSON is what the schema's mutable `json` type holds; only `readonly` differs.
  const found = { id, task_type, case_group, input, expected, context: about, tags, metadata, cluster } as Case;
  return [{ type: 'case', case: found, place: { file, line: row.line } }];
}

function ownMembers(context: RowContext, value: Readonly<Record<string, Json>>): Members {
  const problems: Diagnostic[] = [];
  for (const name of Object.keys(value)) {
    if (KNOWN.has(name)) continue;
    const near = nearestName(name, CASE_FIELDS);
    const known = near ? `did you mean \`${near}\`?` : `a case has ${CASE_FIELDS.join(', ')}`;
    const hint = `${known} Map the fields (\`fields: { input: /question }\`) when the rows have a shape of their own`;
    problems.push(wrongAt(context, pointerTo(name), `a case has no field \`${name}\``, hint));
  }
  return { members: value, problems };
}

function mappedMembers(context: RowContext, sources: readonly FieldSource[]): Members {
  const { row } = context;
  const members: Record<string, Json | undefined> = {};
  const problems: Diagnostic[] = [];
  for (const { field, pointer, verbatim, mapped } of sources) {
    const value = pointerValue(row.value, pointer) as Json | undefined;
    if (value === undefined && mapped) {
      const message = `\`${field}\` is mapped to \`${pointer}\`, which leads nowhere in this row`;
      problems.push(wrongAt(context, '', message, `the row has ${memberNames(row.value)}`, field));
    } else if (value === undefined || (value === null && !nullIsValue(context, field))) members[field] = undefined;
    else members[field] = verbatim ? row.textAt(pointer) : value;
  }
  return { members, problems };
}

function issueProblems(context: RowContext): Diagnostic[] {
  const { row, file, sources } = context;
  return row.issues.map((issue) => {
    const problem = issueProblem(issue, file, row.label);
    if (!context.hasText || (issue.kind !== 'inexact_number' && issue.kind !== 'non_finite_number')) return problem;
    const source = sources?.find(({ pointer }) => `${issue.pointer}/`.startsWith(`${pointer}/`));
    const field = source?.field ?? pointerTokens(issue.pointer)[0] ?? 'input';
    const cure = `map \`${field}: text:${source?.pointer ?? `/${field}`}\` to keep its JSON text`;
    return { ...problem, hint: `${issue.hint}, or ${cure}` };
  });
}

function missing(context: RowContext, field: 'id' | 'input'): Diagnostic {
  const hint = context.sources
    ? `map \`${field}\` (\`fields: { ${field}: /member }\`); the row has ${memberNames(context.row.value)}`
    : `add \`${field}\`; the case has ${memberNames(context.row.value)}`;
  const empty = context.textCells ? '; an empty cell counts as missing' : '';
  return wrongAt(context, '', `the case has no \`${field}\``, hint + empty, field);
}

function invalidField(context: RowContext, path: readonly PropertyKey[], message: string): Diagnostic {
  const [field = '', ...below] = path.map(String);
  const base = context.sources?.find((source) => source.field === field)?.pointer ?? `/${field}`;
  const pointer = base + below.map(pointerTo).join('');
  const told = `\`${fieldPath('', path)}\` is not valid: ${message.replace(/^Invalid input: /, '')}`;
  return wrongAt(context, pointer, told, FIELD_HINTS[field] ?? null, fieldPath('', path));
}

const FIELD_HINTS: Readonly<Record<string, string>> = {
  id: 'an id is one line of 1 to 512 characters, or a number',
  task_type: 'write a text that is not empty, or leave it out',
  tags: 'write a list of texts',
  metadata: 'write an object, such as { "source": "manual" }',
};

/** A problem at the value that a pointer leads to; `field` names the case's field when it is not the pointer's path. */
function wrongAt(
  context: RowContext,
  pointer: string,
  message: string,
  hint: string | null,
  field?: string | null,
): Diagnostic {
  const { row, file } = context;
  const { line, column } = pointer === '' ? { line: row.line, column: null } : row.placeOf(pointer);
  const tokens = field === undefined ? pointerTokens(pointer) : [];
  const below = field ? (row.label ? `.${field}` : field) : '';
  return diagnostic(message, { file, line, column, hint, field: fieldPath(row.label + below, tokens) });
}

function nullIsValue(context: RowContext, field: string): boolean {
  return field === 'expected' || field === 'context' || (field === 'input' && !context.textCells);
}

/** In rows that are no cases of ours, tags may be one text. */
function tagList(context: RowContext, value: Json | undefined): Json | undefined {
  if (typeof value !== 'string' || !(context.textCells || context.sources)) return value;
  return value
    .split(/[,;]/)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
}

function clusterOf(context: RowContext, value: Json | undefined): Json | undefined {
  return typeof value === 'number' && context.sources ? String(value) : value;
}

function rowHint(sources: readonly FieldSource[] | null): string {
  return sources ? 'write one JSON object a row' : 'write a case, such as {"id": "a-1", "input": "…", "expected": "…"}';
}

function memberNames(value: Json): string {
  if (!isRecord(value)) return 'no members';
  const names = Object.keys(value);
  const shown = names.slice(0, 12).map((name) => `\`${name.slice(0, 60)}\``);
  if (names.length > shown.length) shown.push(`${names.length - shown.length} more`);
  return shown.length > 0 ? shown.join(', ') : 'no members';
}

function pointerTo(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function isRecord(value: Json | undefined): value is Readonly<Record<string, Json>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(value: Json | undefined): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function asItems(problems: readonly Diagnostic[]): DatasetItem[] {
  return problems.map((problem) => ({ type: 'problem', problem }));
}
