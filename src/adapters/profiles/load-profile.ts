import path from 'node:path';
import { type Diagnostic, ProctorError } from '../../contract/problem.ts';
import { type Profile, profileSchema } from '../../contract/profile.ts';
import { FileRefused, readRegular } from '../../lib/regular-file.ts';
import { fieldOf, type PlacedDocument, parsePlaced } from '../yaml/placed-document.ts';
import { type PathDiagnostic, zodDiagnostics } from './zod-diagnostics.ts';

/** A profile read from a file. */
export interface LoadedProfile {
  readonly profile: Profile;
  /** The folder of the file; relative paths in the profile start there. */
  readonly base_dir: string;
  /** The file as the user wrote it. */
  readonly file: string;
  /** Gives diagnostics that name a field the line and column of that field. */
  locate(diagnostics: readonly Diagnostic[]): Diagnostic[];
}

const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Reads and validates a profile in YAML or JSON; `invalid_profile` lists every problem with file, line, column, field and cure.
 * `checkNames` finds names that lead nowhere in a value whose shape is wrong, so that those are told in the same breath.
 */
export async function loadProfile(
  file: string,
  cwd: string,
  checkNames: (value: unknown) => readonly PathDiagnostic[] = () => [],
): Promise<LoadedProfile> {
  const absolute = path.resolve(cwd, file);
  const document = parsePlaced(await readText(absolute, file), file);
  if (document.problems.length > 0) throw invalid(file, document.problems);
  if (isPromptfooConfig(document.value))
    throw new ProctorError(
      'invalid_profile',
      `\`${file}\` is a promptfoo configuration; \`proctor import promptfoo ${file}\` makes a profile of it`,
    );
  const wrong = zodDiagnostics(profileSchema, document.value);
  if (wrong.length > 0) {
    throw invalid(
      file,
      [...wrong, ...checkNames(document.value)].map(({ path: at, diagnostic: item }) => ({
        ...item,
        file,
        field: fieldOf(at),
        ...document.placeOf(at),
      })),
    );
  }
  return {
    profile: profileSchema.parse(document.value),
    base_dir: path.dirname(absolute),
    file,
    locate: (diagnostics) => diagnostics.map((item) => locate(item, document, file)),
  };
}

/** A configuration of promptfoo has what no profile has. */
function isPromptfooConfig(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || 'profile_id' in value) return false;
  return 'prompts' in value && ('providers' in value || 'targets' in value);
}

/** Fills in file, line and column of a diagnostic that names a field of the profile. */
function locate(item: Diagnostic, document: PlacedDocument, file: string): Diagnostic {
  if (item.file !== null || item.field === null) return item;
  const at = [...item.field.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map((match) =>
    match[2] === undefined ? (match[1] ?? '') : Number(match[2]),
  );
  return { ...item, file, ...document.placeOf(at) };
}

async function readText(absolute: string, shown: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readRegular(absolute, MOST_BYTES));
  } catch (error) {
    if (error instanceof TypeError)
      throw new ProctorError('invalid_profile', `\`${shown}\` is not valid UTF-8; save it as UTF-8`, { cause: error });
    if (!(error instanceof FileRefused)) throw error;
    const cure = error.code === 'TOO_LARGE' ? 'is it a dataset?' : '`proctor init` writes one to start from';
    throw new ProctorError('invalid_profile', `profile \`${shown}\` ${error.message}; ${cure}`, { cause: error });
  }
}

function invalid(file: string, diagnostics: readonly Diagnostic[]): ProctorError {
  return new ProctorError(
    'invalid_profile',
    `\`${file}\` has ${diagnostics.length} problem${diagnostics.length === 1 ? '' : 's'}; nothing was created`,
    { diagnostics },
  );
}
