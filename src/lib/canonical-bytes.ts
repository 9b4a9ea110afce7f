import { isUtf8 } from 'node:buffer';

/** A member of an object in canonical JSON: where its key begins, where its value begins, and where that ends. */
export interface MemberPlace {
  readonly key: string;
  readonly start: number;
  readonly value: number;
  readonly end: number;
}

const MOST_DEPTH = 20_000; // deeper than what was written by `canonicalJson`, which recurs
const MOST_KEY = 100; // bytes; a longer key is none that anybody asks for

const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const ARRAY = -1;
const BROKEN = -1;

/** True when the bytes are what `canonicalJson` makes of a value. Nothing is parsed, so a large value takes no memory but its bytes. */
export function isCanonicalBytes(bytes: Buffer): boolean {
  return isUtf8(bytes) && new Check(bytes).passes();
}

/** The members of the object that begins at a place in canonical JSON; none where no object does. */
export function* membersAt(bytes: Buffer, place: number): Generator<MemberPlace> {
  if (bytes[place] !== OPEN_OBJECT) return;
  for (let start = place + 1; bytes[start] === QUOTE; ) {
    const keyEnd = stringEnd(bytes, start);
    const value = keyEnd + 1;
    const end = valueEnd(bytes, value);
    yield { key: keyOf(bytes, start, keyEnd), start, value, end };
    start = end + 1;
  }
}

/** Where the elements of the list that begins at a place in canonical JSON begin; none where no list does. */
export function* elementsAt(bytes: Buffer, place: number): Generator<number> {
  if (bytes[place] !== OPEN_ARRAY || bytes[place + 1] === CLOSE_ARRAY) return;
  for (let at = place + 1; ; ) {
    yield at;
    at = valueEnd(bytes, at);
    if (bytes[at] !== COMMA) return;
    at += 1;
  }
}

function keyOf(bytes: Buffer, start: number, end: number): string {
  return end - start > MOST_KEY ? '' : (JSON.parse(bytes.toString('utf8', start, end)) as string);
}

/** Where a value of canonical JSON ends that begins at a place. */
function valueEnd(bytes: Buffer, place: number): number {
  let open = 0;
  for (let at = place; at < bytes.length; ) {
    const byte = bytes[at];
    if (byte === QUOTE) at = stringEnd(bytes, at);
    else {
      if (open === 0 && (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY)) return at;
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) open += 1;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) open -= 1;
      at += 1;
    }
  }
  return bytes.length;
}

/** What follows the closing quote of a string of canonical JSON. */
function stringEnd(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(QUOTE, start + 1); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let slashes = 0;
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at + 1;
  }
  return bytes.length;
}

/** One check of bytes that are UTF-8. A class for speed, and without recursion: a value may be deep. */
class Check {
  readonly #bytes: Buffer;
  /** Of every object and list that is open, where its last key begins and ends; a list has none, an object at first neither. */
  readonly #keys: number[] = [];
  readonly #keyEnds: number[] = [];
  /** True when the value in hand opened an object or list that has something in it. */
  #opened = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  passes(): boolean {
    let at = 0;
    for (;;) {
      at = this.#value(at);
      if (at === BROKEN) return false;
      if (this.#opened) continue;
      at = this.#next(at);
      if (at === BROKEN) return false;
      if (this.#keys.length === 0) return at === this.#bytes.length;
    }
  }

  /** Goes over a scalar or an empty list or object, or to the first value inside. */
  #value(at: number): number {
    const bytes = this.#bytes;
    const byte = bytes[at];
    this.#opened = false;
    if (byte === QUOTE) return this.#string(at);
    if (byte === OPEN_OBJECT) {
      if (bytes[at + 1] === CLOSE_OBJECT) return at + 2;
      return this.#open(0) ? this.#key(at + 1) : BROKEN;
    }
    if (byte === OPEN_ARRAY) {
      if (bytes[at + 1] === CLOSE_ARRAY) return at + 2;
      return this.#open(ARRAY) ? at + 1 : BROKEN;
    }
    if (byte === 110) return this.#word(at, 'null');
    if (byte === 116) return this.#word(at, 'true');
    if (byte === 102) return this.#word(at, 'false');
    return this.#number(at);
  }

  #open(key: number): boolean {
    this.#opened = true;
    this.#keys.push(key);
    this.#keyEnds.push(0);
    return this.#keys.length <= MOST_DEPTH;
  }

  /** From behind a value to the next one, over what ends there; at the end of the outermost nothing is open. */
  #next(place: number): number {
    const bytes = this.#bytes;
    for (let at = place; ; at += 1) {
      const key = this.#keys.at(-1);
      if (key === undefined) return at;
      const byte = bytes[at];
      if (byte === COMMA) return key === ARRAY ? at + 1 : this.#key(at + 1);
      if (byte !== (key === ARRAY ? CLOSE_ARRAY : CLOSE_OBJECT)) return BROKEN;
      this.#keys.pop();
      this.#keyEnds.pop();
    }
  }

  /** Goes over a key, which comes after the one before it, and its colon. */
  #key(at: number): number {
    if (this.#bytes[at] !== QUOTE) return BROKEN;
    const end = this.#string(at);
    if (end === BROKEN || this.#bytes[end] !== COLON) return BROKEN;
    const top = this.#keys.length - 1;
    const before = this.#keys[top] ?? 0;
    if (before > 0 && !this.#ascends(before, this.#keyEnds[top] ?? 0, at, end)) return BROKEN;
    this.#keys[top] = at;
    this.#keyEnds[top] = end;
    return end + 1;
  }

  /** By UTF-16 code units, which bytes follow but for escapes and what lies beyond U+DFFF. */
  #ascends(one: number, oneEnd: number, other: number, otherEnd: number): boolean {
    const bytes = this.#bytes;
    const length = Math.min(oneEnd - one, otherEnd - other);
    for (let index = 1; index < length; index += 1) {
      const [a = 0, b = 0] = [bytes[one + index], bytes[other + index]];
      if (a === BACKSLASH || b === BACKSLASH || a >= 0xee || b >= 0xee) break;
      // The closing quote of the shorter key stands for its end: only a space and `!` come before it.
      if (a !== b) return a === QUOTE || (b !== QUOTE && a < b);
      if (a === QUOTE) return false;
    }
    const text = (start: number, end: number) => JSON.parse(bytes.toString('utf8', start, end)) as string;
    return text(one, oneEnd) < text(other, otherEnd);
  }

  #string(start: number): number {
    const bytes = this.#bytes;
    for (let at = start + 1; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) return at + 1;
      if (byte < 32) return BROKEN;
      if (byte !== BACKSLASH) continue;
      at += 1;
      const escaped = bytes[at] ?? 0;
      if (escaped === 117) {
        if (!isEscapedControl(bytes, at + 1)) return BROKEN;
        at += 4;
      } else if (!SHORT_ESCAPES.includes(escaped)) return BROKEN;
    }
    return BROKEN;
  }

  #word(at: number, word: string): number {
    const end = at + word.length;
    return this.#bytes.toString('latin1', at, end) === word ? end : BROKEN;
  }

  #number(start: number): number {
    const bytes = this.#bytes;
    const digits = bytes[start] === MINUS ? start + 1 : start;
    let at = digits;
    while (isDigit(bytes[at])) at += 1;
    const more = bytes[at];
    if (at - digits > 0 && at - digits < 16 && more !== 46 && more !== 101) {
      if (bytes[digits] !== ZERO) return at;
      return at - start === 1 ? at : BROKEN; // `0`; neither `-0` nor `01`
    }
    while (at - start < 40 && isOfNumber(bytes[at])) at += 1;
    const text = bytes.toString('latin1', start, at);
    const value = Number(text);
    return Number.isFinite(value) && String(value) === text ? at : BROKEN;
  }
}

const SHORT_ESCAPES: readonly number[] = [QUOTE, BACKSLASH, 98, 102, 110, 114, 116];
const SHORT_CONTROLS: readonly number[] = [8, 9, 10, 12, 13];

/** `00` and two lower hex digits of a control character that has no shorter form. */
function isEscapedControl(bytes: Buffer, at: number): boolean {
  const text = bytes.toString('latin1', at, at + 4);
  return /^00[01][0-9a-f]$/.test(text) && !SHORT_CONTROLS.includes(Number.parseInt(text, 16));
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isOfNumber(byte: number | undefined): boolean {
  return isDigit(byte) || byte === 43 || byte === MINUS || byte === 46 || byte === 101;
}
