import { digestBytes } from '../../lib/canonical-json.ts';
import { setOwn } from '../../lib/own-member.ts';
import { isMembers, type Members, Unusable } from './openapi-binding.ts';
import {
  keywordValue,
  REMARKS,
  SCHEMA_LISTS,
  SCHEMA_MAPS,
  SCHEMAS,
  withNull,
  withoutFlags,
} from './openapi-keywords.ts';
import { localPointer, pointed } from './openapi-reference.ts';
import type { OpenapiDocument } from './openapi-text.ts';

/** A schema in JSON Schema 2020-12, with the pointers of the document that it refers to as `#/$defs/…`. */
export interface Translated {
  readonly schema: unknown;
  readonly uses: ReadonlySet<string>;
}

/** Whether a pattern can be checked; one that cannot is left to the server and stays as a remark. */
export type PatternCheck = (pattern: string) => boolean;

interface Definition extends Translated {
  readonly name: string;
  readonly bytes: number;
}

const MOST_HOPS = 50;

/**
 * Translates the document's schemas to JSON Schema 2020-12. References stay references, each thing referred to being translated once,
 * so that neither recursion nor doubling costs anything. `request`: properties that only an answer has are left out, and the other way.
 */
export class SchemaTranslator {
  readonly #document: OpenapiDocument;
  readonly #direction: 'request' | 'response';
  readonly #patterns: PatternCheck;
  readonly #definitions = new Map<string, Definition | Unusable>();

  constructor(document: OpenapiDocument, direction: 'request' | 'response', patterns: PatternCheck) {
    this.#document = document;
    this.#direction = direction;
    this.#patterns = patterns;
  }

  /** One schema; throws `Unusable` for what JSON Schema cannot say. */
  translate(schema: unknown): Translated {
    const uses = new Set<string>();
    return { schema: this.#convert(schema, uses), uses };
  }

  /** Everything that is referred to, directly or through others, as the `$defs` of one schema; at most `most` characters of it. */
  definitions(uses: Iterable<string>, most: number): Record<string, unknown> {
    const found: Record<string, unknown> = {};
    const seen = new Set<string>();
    const open = [...uses];
    let bytes = 0;
    for (let pointer = open.pop(); pointer !== undefined; pointer = open.pop()) {
      if (seen.has(pointer)) continue;
      seen.add(pointer);
      const definition = this.#definition(pointer);
      bytes += definition.bytes;
      if (bytes > most) throw new Unusable(`its schema has more than ${most} characters with all that it refers to`);
      setOwn(found, definition.name, definition.schema);
      open.push(...definition.uses);
    }
    return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** True when every value that fits is an object, as far as that can be seen. */
  isObject(schema: unknown, hops = MOST_HOPS): boolean {
    if (!isMembers(schema) || hops === 0 || (this.#document.version === '3.0' && schema['nullable'] === true))
      return false;
    if (typeof schema['$ref'] === 'string') return this.isObject(this.target(schema), hops - 1);
    if (schema['type'] !== undefined) return schema['type'] === 'object';
    const { allOf } = schema;
    return Array.isArray(allOf) && allOf.some((part) => this.isObject(part, Math.floor(hops / 2)));
  }

  /** The schema that a reference to a reference … leads to, as the document has it. */
  target(schema: unknown): unknown {
    let at = schema;
    for (let hop = 0; isMembers(at) && typeof at['$ref'] === 'string'; hop += 1) {
      if (hop === MOST_HOPS) throw new Unusable('the references of a schema have no end');
      at = pointed(this.#document.root, localPointer(at['$ref']));
    }
    return at;
  }

  #definition(pointer: string): Definition {
    let known = this.#definitions.get(pointer);
    if (known === undefined) {
      known = this.#defined(pointer);
      this.#definitions.set(pointer, known);
    }
    if (known instanceof Unusable) throw known;
    return known;
  }

  #defined(pointer: string): Definition | Unusable {
    try {
      const translated = this.translate(pointed(this.#document.root, pointer));
      return { ...translated, name: definitionName(pointer), bytes: JSON.stringify(translated.schema).length };
    } catch (error) {
      if (error instanceof Unusable) return error;
      throw error;
    }
  }

  #convert(schema: unknown, uses: Set<string>): unknown {
    if (typeof schema === 'boolean') return schema;
    if (!isMembers(schema))
      throw new Unusable(`it has a schema that is ${JSON.stringify(schema)?.slice(0, 40)}, no object`);
    const old = this.#document.version === '3.0';
    if (Object.hasOwn(schema, '$ref')) {
      const pointer = localPointer(schema['$ref']);
      uses.add(pointer);
      const reference = { $ref: `#/$defs/${definitionName(pointer)}` };
      if (!old) return { ...this.#members(schema, uses), ...reference };
      // In 3.0 what stands beside a reference says nothing; `nullable` is written there all the same, and meant.
      return schema['nullable'] === true ? withNull(reference) : reference;
    }
    const members = this.#members(schema, uses);
    return old && schema['nullable'] === true ? withNull(members) : members;
  }

  #members(schema: Members, uses: Set<string>): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(withoutFlags(schema))) {
      if (SCHEMAS.has(key)) result[key] = this.#convert(value, uses);
      else if (SCHEMA_LISTS.has(key)) result[this.#keyOf(key, schema)] = this.#list(key, value, uses);
      else if (SCHEMA_MAPS.has(key)) result[key] = this.#map(key, value, uses);
      else if (REMARKS.has(key) || (key === 'pattern' && !(typeof value === 'string' && this.#patterns(value))))
        result['$comment'] = `not checked here: ${key} ${JSON.stringify(value)}`;
      else if (key === 'enum' && Array.isArray(value) && value.length === 0) result['not'] = {};
      else if (key === 'example') result['examples'] ??= [value];
      else {
        const kept = keywordValue(key, value);
        if (kept !== undefined) result[key] = kept;
      }
    }
    const { properties } = schema;
    if (Array.isArray(result['required']) && isMembers(properties)) {
      const required = (result['required'] as string[]).filter(
        (name) => !(Object.hasOwn(properties, name) && this.#elsewhere(properties[name])),
      );
      if (required.length > 0) result['required'] = required;
      else delete result['required'];
    }
    return result;
  }

  /** A discriminator says which one is meant; without it, more than one may fit, which is no fault of the value. */
  #keyOf(key: string, schema: Members): string {
    return key === 'oneOf' && isMembers(schema['discriminator']) && schema['anyOf'] === undefined ? 'anyOf' : key;
  }

  #list(key: string, value: unknown, uses: Set<string>): unknown[] {
    if (!Array.isArray(value) || value.length === 0)
      throw new Unusable(`it has a schema whose \`${key}\` is no list of schemas`);
    return value.map((part) => this.#convert(part, uses));
  }

  #map(key: string, value: unknown, uses: Set<string>): Record<string, unknown> {
    if (!isMembers(value)) throw new Unusable(`it has a schema whose \`${key}\` is no mapping`);
    const result: Record<string, unknown> = {};
    for (const [name, part] of Object.entries(value))
      if (key !== 'properties' || !this.#elsewhere(part)) setOwn(result, name, this.#convert(part, uses));
    return result;
  }

  /** True for a property that only the other direction has. */
  #elsewhere(property: unknown): boolean {
    const flag = this.#direction === 'request' ? 'readOnly' : 'writeOnly';
    if (!isMembers(property)) return false;
    if (property[flag] === true) return true;
    if (typeof property['$ref'] !== 'string') return false;
    const target = this.target(property);
    return isMembers(target) && target[flag] === true;
  }
}

/** The name under `$defs`: a component's own, else the last part of the pointer and a mark of the whole of it. */
function definitionName(pointer: string): string {
  const component = /^\/components\/schemas\/([A-Za-z0-9_.-]{1,64})$/.exec(pointer)?.[1];
  if (component !== undefined && component !== '__proto__') return component;
  const tail =
    /[^/]*$/
      .exec(pointer)?.[0]
      .replaceAll(/[^A-Za-z0-9_.-]/g, '_')
      .slice(0, 40) ?? '';
  return `${tail}@${digestBytes(pointer).slice(0, 16)}`; // no component's name has an `@`
}
