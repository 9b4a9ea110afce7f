import type { Json } from './canonical-json.ts';
import {
  type IssueText,
  issueText,
  type JsonIssue,
  type JsonIssueKind,
  locatedIssues,
  MAX_JSON_ISSUES,
  pointerOf,
  type RawJsonIssue,
} from './json-issue.ts';
import { carriesExactly, wordAt } from './json-literal.ts';
import { setOwn } from './own-member.ts';

/** The outcome of a strict parse: `value` is the text's value when the syntax held (it may still have issues). */
export type StrictJson =
  | { readonly type: 'value'; readonly value: Json; readonly issues: readonly JsonIssue[] }
  | { readonly type: 'invalid'; readonly issues: readonly JsonIssue[] };

/** Limits of a strict parse, and where its text stands in a larger file. */
export interface StrictJsonOptions {
  /** Deepest nesting of arrays and objects; 200 unless said, never more than 2,000 (the parser recurses). */
  readonly max_depth?: number;
  /** Line of the text's first character, 1 unless said. */
  readonly line?: number;
  /** Column of the text's first character, 1 unless said. */
  readonly column?: number;
  /** True for a pointer whose numbers nobody will read: their issues are left out. */
  readonly ignore_numbers_at?: (pointer: string) => boolean;
}

/**
 * Parses JSON (RFC 8259) and reports what `JSON.parse` hides: duplicate keys, lone surrogates, numbers that a double does
 * not carry. `NaN`, `Infinity` and `-Infinity` are read, and reported. Never throws; `__proto__` is an ordinary member.
 */
export function parseStrictJson(text: string, options: StrictJsonOptions = {}): StrictJson {
  const parser = new Parser(text, options);
  const value = parser.document();
  const issues = locatedIssues(text, parser.issues, { line: options.line ?? 1, column: options.column ?? 1 });
  return value === undefined ? { type: 'invalid', issues } : { type: 'value', value, issues };
}

/** Thrown and caught inside this file: the parse cannot go on, its issue is recorded. */
const STOP = new Error('the JSON text is not valid');

const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
/** V8 makes a string of 13 or more characters a view that keeps its whole parent alive; below that it copies. */
const VIEW_LENGTH = 13;

/** One parse. A class for speed: the hot loops need monomorphic state (measured: see test/lib/strict-json.test.ts). */
class Parser {
  readonly issues: RawJsonIssue[] = [];
  private readonly text: string;
  private readonly maxDepth: number;
  private readonly ignoreNumbersAt: ((pointer: string) => boolean) | undefined;
  private readonly path: (string | number)[] = [];
  private pos = 0;
  private depth = 0;

  constructor(text: string, options: StrictJsonOptions) {
    this.text = text;
    this.maxDepth = Math.min(options.max_depth ?? 200, 2_000);
    this.ignoreNumbersAt = options.ignore_numbers_at;
  }

  /** The value, or undefined when an issue ended the parse. */
  document(): Json | undefined {
    try {
      if (this.text.charCodeAt(0) === 0xfeff) this.stop('byte_order_mark', 0, issueText.mark());
      this.skipSpace();
      const value = this.value();
      this.skipSpace();
      if (this.pos < this.text.length) this.unexpected('the end of the text');
      return value;
    } catch (error) {
      if (error !== STOP) throw error;
      return undefined;
    }
  }

  private value(): Json {
    const code = this.text.charCodeAt(this.pos);
    if (code === QUOTE) return this.string();
    if (code === OPEN_OBJECT) return this.object();
    if (code === OPEN_ARRAY) return this.array();
    if (code === MINUS || (code >= ZERO && code <= NINE)) return this.number();
    return this.word();
  }

  private object(): Json {
    const result: Record<string, Json> = {};
    this.enter();
    if (this.text.charCodeAt(this.pos) === CLOSE_OBJECT) return this.leave(result);
    for (;;) {
      if (this.text.charCodeAt(this.pos) !== QUOTE) this.unexpected('a member name in double quotes');
      const keyAt = this.pos;
      const key = this.string(true);
      this.path[this.depth - 1] = key;
      this.skipSpace();
      if (this.text.charCodeAt(this.pos) !== COLON) this.unexpected('`:` after the member name');
      this.pos += 1;
      this.skipSpace();
      // `undefined` is no JSON value, so that only inherited names (`constructor`) need the slower own-member test.
      const known = result[key] !== undefined && Object.hasOwn(result, key);
      if (known) this.report('duplicate_key', keyAt, issueText.duplicate(key));
      const value = this.value();
      setOwn(result, key, value);
      this.skipSpace();
      const code = this.text.charCodeAt(this.pos);
      if (code === CLOSE_OBJECT) return this.leave(result);
      if (code !== COMMA) this.unexpected('`,` or `}` after a member');
      this.pos += 1;
      this.skipSpace();
    }
  }

  private array(): Json {
    const result: Json[] = [];
    this.enter();
    if (this.text.charCodeAt(this.pos) === CLOSE_ARRAY) return this.leave(result);
    for (;;) {
      this.path[this.depth - 1] = result.length;
      result.push(this.value());
      this.skipSpace();
      const code = this.text.charCodeAt(this.pos);
      if (code === CLOSE_ARRAY) return this.leave(result);
      if (code !== COMMA) this.unexpected('`,` or `]` after an element');
      this.pos += 1;
      this.skipSpace();
    }
  }

  private enter(): void {
    if (this.depth >= this.maxDepth) this.stop('depth', this.pos, issueText.depth(this.maxDepth));
    this.depth += 1;
    this.pos += 1;
    this.skipSpace();
  }

  private leave<T>(result: T): T {
    this.depth -= 1;
    this.path.length = this.depth;
    this.pos += 1;
    return result;
  }

  private skipSpace(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.pos);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.pos += 1;
    }
  }

  private string(isKey = false): string {
    const { text } = this;
    const start = this.pos;
    let at = start + 1;
    let plain = true;
    let surrogates = false;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        plain = false;
        at += 1;
      } else if (code < 32) this.stop('syntax', at, issueText.control(code));
      else if (code >= 0xd800 && code <= 0xdfff) surrogates = true;
      else if (at >= text.length) this.unexpected('the closing `"` of a string', text.length);
      at += 1;
    }
    this.pos = at + 1;
    const content =
      plain && (isKey || at - start <= VIEW_LENGTH) ? text.slice(start + 1, at) : this.decoded(start, this.pos);
    if ((surrogates || !plain) && !content.isWellFormed()) {
      this.report('lone_surrogate', start, issueText.surrogate(content, isKey));
    }
    return content;
  }

  /** JSON.parse of one string literal: faster than joining pieces, and a copy instead of a view of the whole text. */
  private decoded(start: number, end: number): string {
    try {
      return JSON.parse(this.text.slice(start, end)) as string;
    } catch {
      // Only a bad escape is left to be wrong here.
      const bad = /\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})/g;
      const literal = this.text.slice(start, end).replaceAll('\\\\', '  ');
      const offset = start + (bad.exec(literal)?.index ?? 0);
      return this.stop('syntax', offset, issueText.escape(this.text.slice(offset, offset + 2)));
    }
  }

  private number(): number {
    const { text } = this;
    const start = this.pos;
    let at = text.charCodeAt(start) === MINUS ? start + 1 : start;
    const firstDigit = text.charCodeAt(at);
    if (firstDigit === 73) return this.nonFinite(start); // -Infinity
    const digitsAt = at;
    at = this.digits(at);
    if (firstDigit === ZERO && at > digitsAt + 1) this.stop('syntax', digitsAt, issueText.leadingZero());
    let integer = true;
    if (text.charCodeAt(at) === DOT) {
      integer = false;
      at = this.digits(at + 1);
    }
    const code = text.charCodeAt(at);
    if (code === 101 || code === 69) {
      integer = false;
      const sign = text.charCodeAt(at + 1);
      at = this.digits(sign === 43 || sign === MINUS ? at + 2 : at + 1);
    }
    this.pos = at;
    const value = Number(text.slice(start, at));
    if ((!integer || at - digitsAt > 15) && !carriesExactly(text.slice(start, at), value, integer)) {
      this.numberIssue('inexact_number', start, issueText.inexact(text.slice(start, at), value));
    }
    return value;
  }

  private digits(from: number): number {
    let at = from;
    for (;;) {
      const code = this.text.charCodeAt(at);
      if (!(code >= ZERO && code <= NINE)) break;
      at += 1;
    }
    if (at === from) this.unexpected('a digit', at);
    return at;
  }

  private word(): Json {
    const { text, pos } = this;
    const word = wordAt(text, pos);
    if (word === 'true' || word === 'false' || word === 'null') {
      this.pos += word.length;
      return word === 'null' ? null : word === 'true';
    }
    if (word === 'NaN' || word === 'Infinity') return this.nonFinite(pos);
    return this.unexpected('a value');
  }

  private nonFinite(start: number): number {
    const digits = this.text.charCodeAt(start) === MINUS ? start + 1 : start;
    const word = wordAt(this.text, digits);
    if (word !== 'Infinity' && (word !== 'NaN' || digits > start)) this.unexpected('a digit', digits);
    this.pos = digits + word.length;
    const literal = this.text.slice(start, this.pos);
    this.numberIssue('non_finite_number', start, issueText.nonFinite(literal));
    return Number(literal);
  }

  private numberIssue(kind: JsonIssueKind, offset: number, text: IssueText): void {
    if (!this.ignoreNumbersAt?.(this.pointer())) this.report(kind, offset, text);
  }

  private unexpected(expected: string, offset: number = this.pos): never {
    return this.stop('syntax', offset, issueText.unexpected(expected, this.text, offset));
  }

  private stop(kind: JsonIssueKind, offset: number, text: IssueText): never {
    this.report(kind, offset, text);
    throw STOP;
  }

  private report(kind: JsonIssueKind, offset: number, text: IssueText): void {
    if (this.issues.length >= MAX_JSON_ISSUES) this.issues.pop(); // the last place is kept for what ends the parse
    this.issues.push({ kind, pointer: this.pointer(), offset, ...text });
  }

  private pointer(): string {
    return pointerOf(this.path);
  }
}
