import type { Condition, Matcher } from '../../contract/matcher.ts';
import { type Diagnostic, diagnostic } from '../../contract/problem.ts';
import { matcherOf } from './compile.ts';

/** What an argument may be, by the schemas of the tools that have it; null where they leave that open. */
interface Declared {
  readonly types: ReadonlySet<string> | null;
  readonly values: ReadonlySet<unknown> | null;
}

/** Conditions on an argument that no value of it can meet: of another type than the schemas say, none of their values, or at odds with themselves. */
export function argumentValueProblems(
  path: readonly string[],
  schemas: readonly Readonly<Record<string, unknown>>[],
  condition: Condition,
  field: string,
): Diagnostic[] {
  // What is negated holds the more often the less the value can be.
  if (typeof condition === 'object' && condition !== null && 'not' in condition) return [];
  const name = path.join('.');
  const matcher = matcherOf(condition);
  const { min, max } = matcher ?? {};
  if (min !== undefined && max !== undefined && min > max)
    return [diagnostic(`nothing is at least ${min} and at most ${max}`, { field, hint: 'exchange `min` and `max`' })];
  const declared = together(schemas.flatMap((schema) => declaredAt(schema, path)));
  if (declared === null) return [];
  const { types, values } = declared;
  const kinds = types === null ? '' : [...types].join(' or ');
  const wanted =
    matcher === null
      ? literalsOf(condition)
      : [...(matcher.in ?? []), ...(matcher.eq === undefined ? [] : [matcher.eq])];
  const possible = (value: unknown) =>
    (values === null || values.has(value)) && (types === null || typesOf(value).some((type) => types.has(type)));
  const never = wanted.length > 0 && !wanted.some(possible); // of several values one is enough
  const hint =
    values === null ? `it is ${kinds}` : `one of: ${[...values].map((value) => JSON.stringify(value)).join(', ')}`;
  return [
    ...(never
      ? [
          diagnostic(`\`${name}\` is never ${wanted.map((value) => JSON.stringify(value)).join(' or ')}`, {
            field,
            hint,
          }),
        ]
      : []),
    ...(matcher === null || types === null ? [] : unmet(matcher, types)).map((member) =>
      diagnostic(`\`${member}\` looks at ${TYPES_OF[member]}, and \`${name}\` is ${kinds}`, {
        field,
        hint: 'use a matcher for what it is',
      }),
    ),
  ];
}

/** The type that a matcher looks at; what is of another type it cannot tell. */
const TYPES_OF = {
  glob: 'string',
  under: 'string',
  host: 'string',
  url: 'string',
  sql: 'string',
  each: 'array',
  min: 'number',
  max: 'number',
} as const;

function unmet(matcher: Matcher, types: ReadonlySet<string>): (keyof typeof TYPES_OF)[] {
  return (Object.keys(TYPES_OF) as (keyof typeof TYPES_OF)[]).filter((member) => {
    const fits = TYPES_OF[member] === 'number' ? ['number', 'integer'] : [TYPES_OF[member]];
    return matcher[member] !== undefined && !fits.some((type) => types.has(type));
  });
}

/** What one schema says of the argument: nothing where the tool has none of this name; open where it is said by other means than `type`, `enum` and `const`. */
function declaredAt(schema: unknown, path: readonly string[]): Declared[] {
  const [name, ...rest] = path;
  const open: Declared = { types: null, values: null };
  if (typeof schema !== 'object' || schema === null) return [open];
  const node = schema as Readonly<Record<string, unknown>>;
  if (OPEN.some((keyword) => node[keyword] !== undefined)) return [open];
  if (name === undefined) {
    const { type, enum: listed, const: only } = node;
    const types = typeof type === 'string' ? [type] : Array.isArray(type) ? (type as string[]) : null;
    const values = only !== undefined ? [only] : Array.isArray(listed) ? listed : null;
    return [{ types: types === null ? null : new Set(types), values: values === null ? null : new Set(values) }];
  }
  const { properties, patternProperties, additionalProperties } = node;
  if (typeof properties === 'object' && properties !== null && Object.hasOwn(properties, name))
    return declaredAt((properties as Record<string, unknown>)[name], rest);
  return patternProperties === undefined && additionalProperties === false ? [] : [open];
}

const OPEN = ['$ref', '$dynamicRef', 'anyOf', 'oneOf', 'allOf', 'if'];

/** What several tools say together: their rule may be about any of them. */
function together(all: readonly Declared[]): Declared | null {
  const one = (read: (declared: Declared) => ReadonlySet<unknown> | null) =>
    all.some((declared) => read(declared) === null)
      ? null
      : new Set(all.flatMap((declared) => [...(read(declared) ?? [])]));
  return all.length === 0
    ? null
    : { types: one(({ types }) => types) as ReadonlySet<string> | null, values: one(({ values }) => values) };
}

function literalsOf(condition: Condition): readonly unknown[] {
  if (Array.isArray(condition)) return condition;
  return typeof condition !== 'object' || condition === null ? [condition] : [];
}

function typesOf(value: unknown): readonly string[] {
  if (value === null) return ['null'];
  if (typeof value === 'number') return Number.isInteger(value) ? ['integer', 'number'] : ['number'];
  return [typeof value];
}
