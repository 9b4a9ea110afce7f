import { z } from 'zod';
import { type Diagnostic, diagnostic } from '../../contract/problem.ts';
import { nearestName } from '../datasets/nearest-name.ts';

/** A diagnostic with the path that it is about, from the value that was parsed. */
export interface PathDiagnostic {
  readonly path: readonly PropertyKey[];
  readonly diagnostic: Diagnostic;
}

const MOST = 100; // problems told at once

/** What is wrong with a value by a schema: one diagnostic a place, one for every unknown key, each with what would be right; the first hundred. */
export function zodDiagnostics(schema: z.ZodType, value: unknown): PathDiagnostic[] {
  const parsed = schema.safeParse(value);
  if (parsed.success) return [];
  return parsed.error.issues
    .slice(0, MOST)
    .flatMap((issue) => ofIssue(issue, schema, value))
    .slice(0, MOST);
}

function ofIssue(issue: z.core.$ZodIssue, schema: z.ZodType, value: unknown): PathDiagnostic[] {
  if (issue.code === 'unrecognized_keys') {
    const known = knownMembers(schema, issue.path);
    return issue.keys.slice(0, MOST).map((key) => {
      const near = nearestName(key, known);
      const hint =
        near !== null
          ? `did you mean \`${near}\`?`
          : known.length > 0
            ? `known here: ${known.join(', ')}`
            : 'take it out';
      return { path: [...issue.path, key], diagnostic: diagnostic(`\`${key}\` is not known here`, { hint }) };
    });
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const closest = issue.errors.toSorted((left, right) => left.length - right.length)[0] ?? [];
    return closest.flatMap((inner) => ofIssue({ ...inner, path: [...issue.path, ...inner.path] }, schema, value));
  }
  return [{ path: issue.path, diagnostic: diagnostic(messageOf(issue, value), { hint: hintOf(issue, value) }) }];
}

function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'too_small' || issue.code === 'too_big') return boundText(issue, memberAt(value, issue.path));
  if (issue.code !== 'invalid_type') return issue.message;
  const found = memberAt(value, issue.path);
  if (found === undefined) return `\`${String(issue.path.at(-1) ?? 'the value')}\` is missing`;
  const shown = found === null ? '' : ` ${JSON.stringify(found)?.slice(0, 60) ?? ''}`;
  return `must be ${named(issue.expected)}, but it is ${found === null ? 'empty' : named(kindOf(found))}${shown}`;
}

/** What a number, a length or a size must be, and what it is. */
function boundText(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, found: unknown): string {
  const bound =
    issue.code === 'too_small'
      ? `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`
      : `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`;
  if (typeof found === 'number') return `must be ${bound}, but it is ${found}`;
  if (found === '' || (Array.isArray(found) && found.length === 0)) return 'must not be empty';
  return `must have ${bound} ${typeof found === 'string' ? 'characters' : 'entries'}`;
}

function hintOf(issue: z.core.$ZodIssue, value: unknown): string | null {
  if (issue.code === 'invalid_value') return `one of: ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'custom' && issue.path[0] === 'unfinished')
    return 'settle it in the profile, then delete this line';
  if (issue.code !== 'invalid_type') return null;
  const found = memberAt(value, issue.path);
  if (found === undefined) return `write ${named(issue.expected)}`;
  return issue.expected === 'string' && ['number', 'boolean'].includes(typeof found)
    ? 'put it in quotes, as it stands there'
    : null;
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

function named(kind: string): string {
  return (
    {
      string: 'text',
      number: 'a number',
      int: 'a whole number',
      boolean: 'true or false',
      array: 'a list',
      object: 'a mapping',
      record: 'a mapping',
      null: 'null',
    }[kind] ?? kind
  );
}

function memberAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return current;
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

/** The members that a schema has at a path. */
function knownMembers(schema: z.ZodType, at: readonly PropertyKey[]): string[] {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const whole = (node: JsonSchema | undefined): JsonSchema | undefined => {
    const target = node?.$ref === undefined ? node : root.$defs?.[node.$ref.slice('#/$defs/'.length)];
    return target?.anyOf ? whole(target.anyOf.find((option) => option.type !== 'null')) : target;
  };
  let node = whole(root);
  for (const key of at) {
    const extra = node?.additionalProperties;
    node = whole(
      typeof key === 'number'
        ? node?.items
        : (node?.properties?.[String(key)] ?? (typeof extra === 'object' ? extra : undefined)),
    );
  }
  return Object.keys(node?.properties ?? {});
}
