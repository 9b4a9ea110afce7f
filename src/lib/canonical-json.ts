import { createHash, hash } from 'node:crypto';

/** Any value that JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Canonical JSON of a value by RFC 8785 (JCS): keys sorted by UTF-16 code units, ECMAScript number form, no whitespace.
 * Members that are `undefined` are left out, as in `JSON.stringify`. Throws a TypeError that names the path for a
 * non-finite number, a lone surrogate or a value JSON has no form for.
 */
export function canonicalJson(value: unknown): string {
  return inOrder(value) ? JSON.stringify(value) : write(value, null);
}

/** SHA-256 in lower hex over a domain line (`proctor/NAME/1`) and the canonical JSON of the value (CONTRACTS, identity). */
export function digest(domain: string, value: unknown): string {
  return hash('sha256', `${domain}\n${canonicalJson(value)}`, 'hex');
}

/** SHA-256 in lower hex over a domain line and text that is canonical already (hot path: arrays of strings and integers). */
export function digestText(domain: string, text: string): string {
  return hash('sha256', `${domain}\n${text}`, 'hex');
}

/** The digest of text that is canonical already and comes piece by piece: a large one is never held as a whole. */
export class DigestParts {
  readonly #hash = createHash('sha256');

  constructor(domain: string) {
    this.#hash.update(`${domain}\n`);
  }

  add(part: string | Uint8Array): this {
    this.#hash.update(part);
    return this;
  }

  end(): string {
    return this.#hash.digest('hex');
  }
}

/** SHA-256 in lower hex of raw bytes: the name of an artifact. */
export function digestBytes(bytes: Uint8Array | string): string {
  return hash('sha256', bytes, 'hex');
}

/**
 * True for plain data whose keys stand in order at every depth: `JSON.stringify` writes it as RFC 8785 asks, three times as
 * fast as `write`. What is written for every execution is made in that order for this reason.
 */
function inOrder(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed();
    case 'number':
      return Number.isFinite(value);
    case 'boolean':
      return true;
    case 'object':
      return value === null || (Array.isArray(value) ? value.every(inOrder) : membersInOrder(value));
    default:
      return false;
  }
}

function membersInOrder(record: object): boolean {
  if (Object.getPrototypeOf(record) !== Object.prototype) return false; // a class may have a `toJSON` of its own
  let before: string | null = null;
  for (const key of Object.keys(record)) {
    if (before !== null && before > key) return false;
    before = key;
    const member = (record as Record<string, unknown>)[key];
    if (member !== undefined && !(inOrder(member) && key.isWellFormed())) return false;
  }
  return true;
}

/** Where a value stands: linked upwards and joined only when something is refused, because nearly nothing ever is. */
interface Place {
  readonly parent: Place | null;
  readonly key: string | number;
}

function pathOf(place: Place | null): string {
  let path = '';
  for (let at = place; at !== null; at = at.parent) path = `/${at.key}${path}`;
  return path || '/';
}

function write(value: unknown, place: Place | null): string {
  switch (typeof value) {
    case 'string':
      return writeString(value, place);
    case 'number':
      if (!Number.isFinite(value))
        throw new TypeError(`a number at \`${pathOf(place)}\` is ${value}; JSON has no form for it`);
      return value === 0 ? '0' : String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? writeArray(value, place) : writeObject(value as Record<string, unknown>, place);
    default:
      throw new TypeError(`a ${typeof value} at \`${pathOf(place)}\` cannot be written as JSON`);
  }
}

function writeString(value: string, place: Place | null): string {
  if (value.length < 128 && PLAIN.test(value)) return `"${value}"`;
  if (!value.isWellFormed())
    throw new TypeError(`the text at \`${pathOf(place)}\` holds a lone surrogate; repair the source encoding`);
  return JSON.stringify(value);
}

const PLAIN = /^[ !#-[\]-~]*$/; // ASCII that JSON writes as it is

function writeArray(values: readonly unknown[], place: Place | null): string {
  if (values.length === 0) return '[]';
  let text = '[';
  for (let index = 0; index < values.length; index += 1) {
    if (index > 0) text += ',';
    text += values[index] === undefined ? 'null' : write(values[index], { parent: place, key: index });
  }
  return `${text}]`;
}

function writeObject(record: Record<string, unknown>, place: Place | null): string {
  let text = '';
  for (const key of sortedKeys(record)) {
    const member = record[key];
    if (member === undefined) continue;
    const here = { parent: place, key };
    text += `${text === '' ? '{' : ','}${writeString(key, here)}:${write(member, here)}`;
  }
  return text === '' ? '{}' : `${text}}`;
}

/** The keys by UTF-16 code units; most records are written in that order already. */
function sortedKeys(record: Record<string, unknown>): string[] {
  const keys = Object.keys(record);
  for (let index = 1; index < keys.length; index += 1)
    if ((keys[index - 1] ?? '') > (keys[index] ?? '')) return keys.sort();
  return keys;
}
