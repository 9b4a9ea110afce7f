import { ProctorError } from '../../contract/problem.ts';
import { isMembers, type Writing } from './openapi-binding.ts';

type Parts =
  | { readonly type: 'one'; readonly text: string }
  | { readonly type: 'list'; readonly items: readonly string[] }
  | { readonly type: 'map'; readonly entries: readonly (readonly [string, string])[] };

type Encode = (text: string) => string;

/** What the simple, label and matrix styles make of a value in a path (RFC 6570 §3.2); null when it is undefined there. */
export function pathText(writing: Writing, value: unknown): string | null {
  const parts = partsOf(writing, value);
  if (parts === null) return null;
  const name = percent(writing.name);
  switch (writing.style) {
    case 'label':
      return `.${joined(parts, percent, writing.explode, writing.explode ? '.' : ',')}`;
    case 'matrix':
      if (parts.type !== 'one' && writing.explode)
        return pairs(parts, name, percent)
          .map((pair) => `;${pair}`)
          .join('');
      return `;${name}=${joined(parts, percent, false, ',')}`;
    default:
      return joined(parts, percent, writing.explode, ',');
  }
}

/** What the form style and its like make of a value in a query, a form or a cookie: `name=value` pairs. */
export function pairsOf(writing: Writing, value: unknown): string[] {
  const encode = writing.reserved ? percentUnreserved : percent;
  const name = percent(writing.name);
  if (writing.style === 'deepObject') return deepPairs(name, writing, value, encode);
  const parts = partsOf(writing, value);
  if (parts === null) return [];
  if (parts.type !== 'one' && writing.explode) return pairs(parts, name, encode);
  const between = { spaceDelimited: '%20', pipeDelimited: '%7C' }[writing.style as string] ?? ',';
  return [`${name}=${joined(parts, encode, false, between)}`];
}

/** What the simple style makes of a value in a header, where nothing is percent-encoded; null when it is undefined. */
export function headerText(writing: Writing, value: unknown): string | null {
  const parts = partsOf(writing, value);
  return parts === null ? null : joined(parts, (text) => text, writing.explode, ',');
}

/** A text in which only letters, digits and `-._~` stand as they are. */
export function percent(text: string): string {
  if (!text.isWellFormed()) throw misfit('a text that is given to it holds a lone surrogate');
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** As `percent`, but what a query may hold stays, except for what would end it or begin another parameter. */
function percentUnreserved(text: string): string {
  return percent(text).replaceAll(/%(3A|2F|3F|40|21|24|28|29|2A|2C)/g, (code) => decodeURIComponent(code));
}

/** A value as one text, as texts in a list, or as texts by name; null and what is null within is left out, as RFC 6570 has it. */
function partsOf({ name, json }: Writing, value: unknown): Parts | null {
  if (json) return { type: 'one', text: JSON.stringify(value) };
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) {
    const items = value.filter((item) => item !== null).map((item) => plain(name, item));
    return items.length === 0 ? null : { type: 'list', items };
  }
  if (isMembers(value)) {
    const entries = Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([key, member]) => [key, plain(name, member)] as const);
    return entries.length === 0 ? null : { type: 'map', entries };
  }
  return { type: 'one', text: plain(name, value) };
}

function plain(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw misfit(`\`${name}\` holds lists or objects within a list or an object, for which OpenAPI has no form`);
}

function joined(parts: Parts, encode: Encode, explode: boolean, between: string): string {
  if (parts.type === 'one') return encode(parts.text);
  if (parts.type === 'list') return parts.items.map(encode).join(between);
  return parts.entries.map(([key, text]) => `${encode(key)}${explode ? '=' : between}${encode(text)}`).join(between);
}

function pairs(parts: Parts, name: string, encode: Encode): string[] {
  if (parts.type === 'map') return parts.entries.map(([key, text]) => `${percent(key)}=${encode(text)}`);
  return (parts.type === 'list' ? parts.items : [parts.text]).map((text) => `${name}=${encode(text)}`);
}

function deepPairs(name: string, writing: Writing, value: unknown, encode: Encode): string[] {
  if (value === null || value === undefined) return [];
  if (isMembers(value))
    return Object.entries(value).flatMap(([key, member]) =>
      deepPairs(`${name}%5B${percent(key)}%5D`, writing, member, encode),
    );
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items.filter((item) => item !== null).map((item) => `${name}=${encode(plain(writing.name, item))}`);
}

/** The error of an argument that cannot be sent. */
export function misfit(message: string): ProctorError {
  return new ProctorError('invalid_input', message);
}
