import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { type Diagnostic, diagnostic, ProctorError } from '../../contract/problem.ts';
import { type Profile, profileSchema } from '../../contract/profile.ts';
import { nearestName } from '../datasets/nearest-name.ts';
import { fieldOf, type PlacedDocument, parsePlaced } from './yaml-document.ts';

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

/** Reads and validates a profile in YAML or JSON; `invalid_profile` lists every problem with file, line, column, field and cure. */
export async function loadProfile(file: string, cwd: string): Promise<LoadedProfile> {
  const absolute = path.resolve(cwd, file);
  const document = parsePlaced(await readText(absolute, file), file);
  if (document.problems.length > 0) throw invalid(file, document.problems);
  const parsed = profileSchema.safeParse(document.value);
  if (!parsed.success)
    throw invalid(
      file,
      parsed.error.issues.flatMap((issue) => diagnosticsOf(issue, document, file)),
    );
  return {
    profile: parsed.data,
    base_dir: path.dirname(absolute),
    file,
    locate: (diagnostics) => diagnostics.map((item) => locate(item, document, file)),
  };
}

/** Diagnostics of zod issues, one for every unknown key, each with the place it stands at. */
function diagnosticsOf(issue: z.core.$ZodIssue, document: PlacedDocument, file: string): Diagnostic[] {
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(issue.path);
    return issue.keys.map((key) => {
      const near = nearestName(key, known);
      const hint = near === null ? `known here: ${known.join(', ')}` : `did you mean \`${near}\`?`;
      const at = [...issue.path, key];
      return diagnostic(`\`${key}\` is not known here`, {
        file,
        field: fieldOf(at),
        ...document.placeOf(at),
        hint: known.length === 0 ? 'take it out' : hint,
      });
    });
  }
  if (issue.code === 'invalid_union' && issue.errors[0])
    return issue.errors[0].flatMap((inner) =>
      diagnosticsOf({ ...inner, path: [...issue.path, ...inner.path] }, document, file),
    );
  return [
    diagnostic(messageOf(issue), {
      file,
      field: fieldOf(issue.path),
      ...document.placeOf(issue.path),
      hint: hintOf(issue),
    }),
  ];
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.input === undefined)
    return `\`${String(issue.path.at(-1) ?? 'profile')}\` is missing`;
  return issue.message;
}

function hintOf(issue: z.core.$ZodIssue): string | null {
  if (issue.code === 'invalid_value') return `one of: ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'invalid_type') return `write a value of type ${issue.expected}`;
  if (issue.code === 'too_small') return `at least ${issue.minimum}`;
  if (issue.code === 'too_big') return `at most ${issue.maximum}`;
  return null;
}

/** The members that the profile's schema has at a path. */
function knownKeys(at: readonly PropertyKey[]): string[] {
  let node = z.toJSONSchema(profileSchema, { io: 'input', unrepresentable: 'any' }) as JsonSchema | undefined;
  const root = node;
  for (const key of at) {
    node = resolve(root, node);
    node =
      typeof key === 'number'
        ? node?.items
        : (node?.properties?.[String(key)] ??
          (typeof node?.additionalProperties === 'object' ? node.additionalProperties : undefined));
    if (node?.anyOf) node = node.anyOf.find((option) => option.type !== 'null');
  }
  return Object.keys(resolve(root, node)?.properties ?? {});
}

interface JsonSchema {
  readonly type?: string;
  readonly $ref?: string;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

function resolve(root: JsonSchema | undefined, node: JsonSchema | undefined): JsonSchema | undefined {
  return node?.$ref === undefined ? node : root?.$defs?.[node.$ref.slice('#/$defs/'.length)];
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
    const { size } = await stat(absolute);
    if (size > MOST_BYTES)
      throw new ProctorError(
        'invalid_profile',
        `\`${shown}\` has ${size} bytes; a profile has at most ${MOST_BYTES}. Is it a dataset?`,
      );
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(absolute));
  } catch (error) {
    if (ProctorError.is(error)) throw error;
    if (error instanceof TypeError)
      throw new ProctorError('invalid_profile', `\`${shown}\` is not valid UTF-8; save it as UTF-8`, { cause: error });
    const { code } = error as NodeJS.ErrnoException;
    const what = code === 'ENOENT' ? 'does not exist' : code === 'EISDIR' ? 'is a folder' : `cannot be read (${code})`;
    throw new ProctorError(
      'invalid_profile',
      `profile \`${shown}\` ${what}; \`proctor init\` writes one to start from`,
      { cause: error },
    );
  }
}

function invalid(file: string, diagnostics: readonly Diagnostic[]): ProctorError {
  return new ProctorError(
    'invalid_profile',
    `\`${file}\` has ${diagnostics.length} problem${diagnostics.length === 1 ? '' : 's'}; nothing was created`,
    { diagnostics },
  );
}
