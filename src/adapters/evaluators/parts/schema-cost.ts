import { pointerValue } from '../../../lib/json-pointer.ts';
import { configError } from './config-error.ts';
import { plain } from './shown.ts';

const MOST_CHECKS = 100_000;

/** Keywords that apply further schemas to the same value, with no part of the document used up. */
const IN_PLACE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas', '$ref'];

type Schema = Readonly<Record<string, unknown>>;

/**
 * Refuses a schema whose work on one value has no bound or more than 100,000 checks: a `$ref` that comes back to itself without going
 * into a member, or references that double level by level (40 lines of which mean 2^40 checks). Throws `invalid_profile`.
 */
export function refuseExplodingSchema(root: Schema): void {
  const costs = new Map<object, number>();
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    costOf(value, { root, costs, underway: new Set() });
    open.push(...Object.values(value));
  }
}

interface Walk {
  readonly root: Schema;
  readonly costs: Map<object, number>;
  readonly underway: Set<object>;
}

/** How many schemas are applied to a value when this one is. */
function costOf(schema: unknown, walk: Walk): number {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return 1;
  const known = walk.costs.get(schema);
  if (known !== undefined) return known;
  if (walk.underway.has(schema))
    throw configError('schema', 'the schema refers to itself without going into a member, so checking would not end');
  walk.underway.add(schema);
  let cost = 1;
  for (const keyword of IN_PLACE) {
    for (const part of partsOf(keyword, (schema as Schema)[keyword], walk.root)) cost += costOf(part, walk);
  }
  walk.underway.delete(schema);
  if (cost > MOST_CHECKS)
    throw configError('schema', `one value would be checked against more than ${MOST_CHECKS} schemas`, {
      hint: 'references under allOf, anyOf or oneOf multiply: list them once',
    });
  walk.costs.set(schema, cost);
  return cost;
}

function partsOf(keyword: string, value: unknown, root: Schema): readonly unknown[] {
  if (keyword === '$ref') return typeof value === 'string' && value.startsWith('#') ? [referredTo(value, root)] : [];
  if (Array.isArray(value)) return value;
  if (typeof value !== 'object' || value === null) return [];
  return keyword === 'dependentSchemas' ? Object.values(value) : [value];
}

/** What a reference by JSON pointer leads to; anchors and ids are left to the compiler. */
function referredTo(reference: string, root: Schema): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  try {
    return pointerValue(root, decodeURIComponent(reference.slice(1)));
  } catch (cause) {
    if (cause instanceof URIError)
      throw configError('schema', `\`${plain(reference)}\` is not a reference: its percent escapes are wrong`, {
        cause,
      });
    throw cause;
  }
}
