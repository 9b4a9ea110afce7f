import type { AnySchemaObject, ErrorObject, Options } from 'ajv';
import { configError } from './config-error.ts';
import { patternCompiler } from './linear-pattern.ts';
import { refuseExplodingSchema } from './schema-cost.ts';

const MAX_SCHEMA_CHARACTERS = 1_000_000;

/** One place where a document does not fit its schema. */
export interface SchemaFault {
  readonly path: string;
  readonly keyword: string;
  readonly message: string;
}

/** A compiled JSON Schema. */
export interface SchemaValidator {
  /** Where the value does not fit: nothing when it does; only the first fault unless `every`. Throws `TextTooLong` for a text too long for a `pattern`. */
  faults(value: unknown, every: boolean): readonly SchemaFault[];
}

type Schema = Readonly<Record<string, unknown>>;

/** Compiles a JSON Schema of draft 2020-12, or draft-07 by its `$schema`; refuses unknown keywords (unless told to ignore them) and references that leave the schema. */
export async function schemaValidator(
  schema: Schema,
  { unknown_keywords = 'refuse' }: { unknown_keywords?: 'refuse' | 'ignore' } = {},
): Promise<SchemaValidator> {
  const size = JSON.stringify(schema).length;
  if (size > MAX_SCHEMA_CHARACTERS)
    throw configError('schema', `the schema has ${size} characters; the most is ${MAX_SCHEMA_CHARACTERS}`);
  refuseExplodingSchema(schema);
  const Draft = await draftOf(schema);
  const compilePattern = await patternCompiler();
  // Keyed by the pattern's text in Ajv's own cache, hence `toString`.
  const regExp = Object.assign(
    (pattern: string) => {
      const { test } = compilePattern(pattern, '', 'schema');
      return { test, toString: () => pattern };
    },
    { code: 'proctorLinearPattern' },
  );
  const compile = (allErrors: boolean) => {
    const options: Options = {
      allErrors,
      strict: false,
      strictSchema: unknown_keywords === 'refuse',
      ownProperties: true,
      validateFormats: false,
      logger: false,
      code: { regExp },
    };
    const ajv = new Draft(options);
    for (const keyword of extensions(schema)) ajv.addKeyword(keyword);
    // Ajv compares every pair of items; a set of canonical texts is linear.
    ajv.removeKeyword('uniqueItems');
    ajv.addKeyword({
      keyword: 'uniqueItems',
      type: 'array',
      schemaType: 'boolean',
      error: { message: 'must NOT have duplicate items' },
      validate: unique,
    });
    return refusing(() => ajv.compile(schema as AnySchemaObject));
  };
  const first = compile(false);
  let all: typeof first | null = null;
  return {
    faults(value, every) {
      if (every && all === null) all = compile(true);
      const validate = every && all !== null ? all : first;
      return validate(value) ? [] : (validate.errors ?? []).map(faultOf);
    },
  };
}

async function draftOf(schema: Schema) {
  const draft = schema['$schema'];
  if (
    draft === undefined ||
    (typeof draft === 'string' && /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(draft))
  ) {
    return (await import('ajv/dist/2020.js')).Ajv2020;
  }
  if (typeof draft === 'string' && /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test(draft))
    return (await import('ajv')).Ajv;
  throw configError('schema', `\`$schema\` is \`${String(draft)}\``, {
    hint: 'use https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema#',
  });
}

function refusing<T>(compile: () => T): T {
  try {
    return compile();
  } catch (cause) {
    if (!(cause instanceof Error) || cause.name === 'ProctorError') throw cause;
    if ('missingRef' in cause) {
      throw configError('schema', `the schema refers to \`${String(cause.missingRef)}\`, which is not inside it`, {
        cause,
        hint: 'nothing is fetched: put what is referred to under `$defs`',
      });
    }
    throw configError('schema', `the schema is not valid: ${cause.message}`, {
      cause,
      hint: 'own annotations start with `x-`',
    });
  }
}

/** Every key that starts with `x-`, at any depth: annotations that are allowed although no draft knows them. */
function extensions(schema: Schema): Set<string> {
  const found = new Set<string>();
  const open: unknown[] = [schema];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, member] of Object.entries(value)) {
      if (/^x-[a-z0-9_$:-]+$/i.test(key)) found.add(key);
      open.push(member);
    }
  }
  return found;
}

function unique(flag: boolean, items: readonly unknown[]): boolean {
  return !flag || new Set(items.map(key)).size === items.length;
}

/** A text that is equal for equal JSON values only; documents are at most some hundred levels deep here. */
function key(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(key).join(',')}]`;
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${key(member)}`).join(',')}}`;
}

function faultOf(error: ErrorObject): SchemaFault {
  const name = [
    error.params['additionalProperty'],
    error.params['unevaluatedProperty'],
    error.params['propertyName'],
  ].find((param) => typeof param === 'string');
  const which = typeof name === 'string' ? `: \`${name}\`` : '';
  return { path: error.instancePath, keyword: error.keyword, message: `${error.message ?? 'does not fit'}${which}` };
}
