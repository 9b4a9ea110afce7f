import { caseSchema, type DatasetOptions } from '../../contract/case.ts';
import { type Diagnostic, diagnostic, ProctorError } from '../../contract/problem.ts';
import { pointerTokens } from '../../lib/json-pointer.ts';
import { nearestName } from './nearest-name.ts';

/** The members of a case, as a dataset may map them. */
export const CASE_FIELDS = Object.keys(caseSchema.shape);

/** Where one case field comes from. */
export interface FieldSource {
  readonly field: string;
  readonly pointer: string;
  /** `text:/pointer`: the member's JSON text as a string instead of its value. */
  readonly verbatim: boolean;
  /** Named in the profile's `fields`: it must exist in every row. */
  readonly mapped: boolean;
}

/** The sources of a dataset's case fields, or null when its rows are cases as they stand. Throws `invalid_dataset`. */
export function fieldSources(options: DatasetOptions): readonly FieldSource[] | null {
  const entries = Object.entries(options.fields);
  if (entries.length === 0) return null;
  const problems = entries.flatMap(([field, spec]) => entryProblems(field, spec));
  if (problems.length > 0) {
    const message = `the field mapping of the dataset \`${options.shown_path}\` is not valid: ${problems[0]?.message}`;
    throw new ProctorError('invalid_dataset', message, { diagnostics: problems });
  }
  return CASE_FIELDS.map((field) => {
    const spec = Object.hasOwn(options.fields, field) ? options.fields[field] : undefined;
    if (spec === undefined) return { field, pointer: `/${field}`, verbatim: false, mapped: false };
    return { field, pointer: spec.replace(/^text:/, ''), verbatim: spec.startsWith('text:'), mapped: true };
  });
}

function entryProblems(field: string, spec: string): Diagnostic[] {
  const at = `fields.${field}`;
  if (!CASE_FIELDS.includes(field)) {
    const near = nearestName(field, CASE_FIELDS);
    const hint = near ? `did you mean \`${near}\`?` : `a case has ${CASE_FIELDS.join(', ')}`;
    return [diagnostic(`a case has no field \`${field}\``, { field: at, hint })];
  }
  try {
    pointerTokens(spec.replace(/^text:/, ''));
    return [];
  } catch (error) {
    const hint = `write \`/${spec.replace(/^text:|^\$?\./g, '')}\`, or \`text:/…\` for the member's JSON text`;
    return [diagnostic(error instanceof Error ? error.message : String(error), { field: at, hint })];
  }
}
