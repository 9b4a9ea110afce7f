import { isMembers, type Members, Unusable } from './openapi-binding.ts';

/** Keywords that no schema here is checked by; they stay as a remark. */
export const REMARKS: ReadonlySet<string> = new Set(['$dynamicRef', '$recursiveRef']);

/** Keywords whose value is a schema. */
export const SCHEMAS: ReadonlySet<string> = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

/** Keywords whose value is a list of schemas. */
export const SCHEMA_LISTS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);

/** Keywords whose value holds schemas by name. */
export const SCHEMA_MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
]);

const COUNTS: ReadonlySet<string> = new Set([
  'maxLength',
  'minLength',
  'maxItems',
  'minItems',
  'maxProperties',
  'minProperties',
  'maxContains',
  'minContains',
]);
const NUMBERS: ReadonlySet<string> = new Set([
  'maximum',
  'minimum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'multipleOf',
]);
const TEXTS: ReadonlySet<string> = new Set(['title', 'description', 'format', 'contentEncoding', 'contentMediaType']);
const PLAIN: ReadonlySet<string> = new Set(['const', 'default', 'pattern', 'dependentRequired']);
const FLAGS: ReadonlySet<string> = new Set(['uniqueItems', 'deprecated', 'readOnly', 'writeOnly']);
const TYPES: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);

/**
 * What a keyword becomes: its value where it is one of JSON Schema's, undefined where it says nothing there (`xml`, `x-…`). A value that
 * no schema may have is refused: left in, it would make the tool uncallable, left out, it would mean something else.
 */
export function keywordValue(key: string, value: unknown): unknown {
  const wrong = (): never => {
    throw new Unusable(`it has a schema whose \`${key}\` is \`${JSON.stringify(value)?.slice(0, 60)}\``);
  };
  if (key === 'type') {
    const types: readonly unknown[] = Array.isArray(value) ? value : [value];
    return types.length > 0 && types.every((type) => TYPES.has(type as string)) && new Set(types).size === types.length
      ? value
      : wrong();
  }
  if (key === 'required')
    return Array.isArray(value) && value.every((name) => typeof name === 'string') ? [...new Set(value)] : undefined;
  if (key === 'enum' || key === 'examples') return Array.isArray(value) ? value : undefined;
  if (COUNTS.has(key)) return Number.isInteger(value) && (value as number) >= 0 ? value : wrong();
  if (NUMBERS.has(key))
    return Number.isFinite(value) && (key !== 'multipleOf' || (value as number) > 0) ? value : wrong();
  if (TEXTS.has(key)) return typeof value === 'string' ? value : undefined;
  if (FLAGS.has(key)) return typeof value === 'boolean' ? value : undefined;
  return PLAIN.has(key) ? value : undefined;
}

/** A schema with the `exclusiveMinimum: true` of 3.0, which is found in documents of 3.1 too, as JSON Schema writes it. */
export function withoutFlags(schema: Members): Members {
  const result: Record<string, unknown> = { ...schema };
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof result[flag] !== 'boolean') continue;
    const exclusive = result[flag] && result[bound] !== undefined;
    if (exclusive) result[flag] = result[bound];
    else delete result[flag];
    if (exclusive) delete result[bound];
  }
  return result;
}

/** A schema that null fits too; the letter of 3.0 asks for a `type` beside `nullable`, documents mean it without one. */
export function withNull(schema: Record<string, unknown>): Record<string, unknown> {
  const { type, enum: values } = schema;
  if (typeof type !== 'string' || ['allOf', 'anyOf', 'oneOf', 'not'].some((key) => key in schema)) {
    if (isMembers(schema) && Object.keys(schema).length === 0) return schema;
    return { anyOf: [schema, { type: 'null' }] };
  }
  const listed = Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {};
  return { ...schema, ...listed, type: [type, 'null'] };
}
