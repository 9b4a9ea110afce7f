import { pointerTokens } from './json-pointer.ts';

/** A value's place in a JSON text: offsets of its first character and of the one after its last. */
export interface JsonSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the value that a pointer leads to stands in a JSON text, or undefined; builds no values and does not recurse.
 * The text must have been accepted by `parseStrictJson` (its non-finite numbers are allowed). Throws a TypeError for a
 * pointer that is none.
 */
export function jsonSpanAt(text: string, pointer: string): JsonSpan | undefined {
  let at: number | undefined = afterSpace(text, 0);
  for (const token of pointerTokens(pointer)) {
    if (text[at] === '{') at = memberStart(text, at, token);
    else if (text[at] === '[' && /^(0|[1-9][0-9]*)$/.test(token)) at = elementStart(text, at, Number(token));
    else return undefined;
    if (at === undefined) return undefined;
  }
  return { start: at, end: valueEnd(text, at) };
}

/** The verbatim JSON text of the value that a pointer leads to, or undefined (see `jsonSpanAt`). */
export function jsonTextAt(text: string, pointer: string): string | undefined {
  const span = jsonSpanAt(text, pointer);
  return span && text.slice(span.start, span.end);
}

function memberStart(text: string, object: number, name: string): number | undefined {
  let at = afterSpace(text, object + 1);
  while (text[at] === '"') {
    const keyEnd = stringEnd(text, at);
    const literal = text.slice(at, keyEnd);
    const key: unknown = literal.includes('\\') ? JSON.parse(literal) : literal.slice(1, -1);
    const value = afterSpace(text, afterSpace(text, keyEnd) + 1);
    if (key === name) return value;
    at = afterSpace(text, valueEnd(text, value));
    if (text[at] !== ',') return undefined;
    at = afterSpace(text, at + 1);
  }
  return undefined;
}

function elementStart(text: string, array: number, index: number): number | undefined {
  let at = afterSpace(text, array + 1);
  if (text[at] === ']') return undefined;
  for (let passed = 0; passed < index; passed += 1) {
    at = afterSpace(text, valueEnd(text, at));
    if (text[at] !== ',') return undefined;
    at = afterSpace(text, at + 1);
  }
  return at;
}

function valueEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const character = text[at];
    if (character === '"') {
      at = stringEnd(text, at);
      if (depth === 0) return at;
      continue;
    }
    if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (character === ',' || isSpace(text.charCodeAt(at)))) return at;
    at += 1;
  }
  return at;
}

function stringEnd(text: string, quote: number): number {
  let at = quote + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}
