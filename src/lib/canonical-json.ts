import { hash } from 'node:crypto';

/** Any value that JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Canonical JSON of a value by RFC 8785 (JCS): keys sorted by UTF-16 code units, ECMAScript number form, no whitespace.
 * Members that are `undefined` are left out, as in `JSON.stringify`. Throws a TypeError that names the path for a
 * non-finite number, a lone surrogate or a value JSON has no form for.
 */
export function canonicalJson(value: unknown): string {
  return write(value, '');
}

/** SHA-256 in lower hex over a domain line (`proctor/NAME/1`) and the canonical JSON of the value (CONTRACTS, identity). */
export function digest(domain: string, value: unknown): string {
  return hash('sha256', `${domain}\n${canonicalJson(value)}`, 'hex');
}

/** SHA-256 in lower hex over a domain line and text that is canonical already (hot path: arrays of strings and integers). */
export function digestText(domain: string, text: string): string {
  return hash('sha256', `${domain}\n${text}`, 'hex');
}

/** SHA-256 in lower hex of raw bytes: the name of an artifact. */
export function digestBytes(bytes: Uint8Array | string): string {
  return hash('sha256', bytes, 'hex');
}

function write(value: unknown, path: string): string {
  switch (typeof value) {
    case 'string':
      return writeString(value, path);
    case 'number':
      if (!Number.isFinite(value))
        throw new TypeError(`a number at \`${path || '/'}\` is ${value}; JSON has no form for it`);
      return value === 0 ? '0' : String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? writeArray(value, path) : writeObject(value as Record<string, unknown>, path);
    default:
      throw new TypeError(`a ${typeof value} at \`${path || '/'}\` cannot be written as JSON`);
  }
}

function writeString(value: string, path: string): string {
  if (!value.isWellFormed())
    throw new TypeError(`the text at \`${path || '/'}\` holds a lone surrogate; repair the source encoding`);
  return JSON.stringify(value);
}

function writeArray(values: readonly unknown[], path: string): string {
  let text = '[';
  for (let index = 0; index < values.length; index += 1) {
    if (index > 0) text += ',';
    text += values[index] === undefined ? 'null' : write(values[index], `${path}/${index}`);
  }
  return `${text}]`;
}

function writeObject(record: Record<string, unknown>, path: string): string {
  let text = '{';
  for (const key of Object.keys(record).sort()) {
    const member = record[key];
    if (member === undefined) continue;
    const where = `${path}/${key}`;
    text += `${text.length > 1 ? ',' : ''}${writeString(key, where)}:${write(member, where)}`;
  }
  return `${text}}`;
}
