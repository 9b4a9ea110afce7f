/** A part of a text; `end` is behind its last character. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where JSON objects and arrays stand in a text that holds other things too. */
export interface JsonInText {
  /** The outermost whole ones, in the text's order. */
  readonly spans: readonly Span[];
  /** Where an object or array begins that is JSON up to the end of the text and is not closed there, or null. */
  readonly unfinished: number | null;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** How far a scalar or a string goes, -1 when it is none, or the text's length when the text ends inside. */
type Scan = (text: string, at: number) => number;

/**
 * Finds every outermost JSON object and array in a text, in one pass. Where something that begins like JSON turns out not to be, what was
 * whole inside of it stands for itself, and the search goes on behind the place that broke it: no text takes more than linear time.
 */
export function jsonInText(text: string): JsonInText {
  const spans: Span[] = [];
  let at = nextOpening(text, 0);
  let unfinished: number | null = null;
  while (at < text.length) {
    const tried = new Attempt(text, at, spans);
    const end = tried.run();
    if (end === text.length && tried.open > 0) unfinished = at;
    at = nextOpening(text, end);
  }
  return { spans, unfinished };
}

/** One try to read an object or array from where it opens. */
class Attempt {
  /** Starts of the objects and arrays that are open, the outermost first. */
  readonly #starts: number[] = [];
  readonly #text: string;
  readonly #spans: Span[];
  #at: number;
  /** True right behind an opening bracket, where no comma stands. */
  #fresh = false;

  constructor(text: string, at: number, spans: Span[]) {
    this.#text = text;
    this.#at = at;
    this.#spans = spans;
  }

  /** How many objects and arrays are still open. */
  get open(): number {
    return this.#starts.length;
  }

  /** Reads on until the outermost is closed, the text ends, or it is no JSON; answers where. */
  run(): number {
    this.#enter();
    while (this.#starts.length > 0 && this.#at < this.#text.length) if (!this.#step()) return this.#at;
    return this.#at;
  }

  /** Reads one member or element, or a closing bracket, with what parts it from the next; false when it is no JSON. */
  #step(): boolean {
    const isObject = this.#text.charCodeAt(this.#starts.at(-1) ?? 0) === OPEN_OBJECT;
    const code = this.#peek();
    if (code === (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return this.#leave();
    if (Number.isNaN(code)) return true;
    if (!this.#fresh) {
      if (code !== COMMA) return false;
      this.#at += 1;
      if (Number.isNaN(this.#peek())) return true;
    }
    this.#fresh = false;
    if (isObject) {
      if (this.#peek() !== QUOTE || !this.#take(stringEnd)) return false;
      if (Number.isNaN(this.#peek())) return true;
      if (this.#peek() !== COLON) return false;
      this.#at += 1;
    }
    return this.#value();
  }

  #value(): boolean {
    const code = this.#peek();
    if (Number.isNaN(code)) return true;
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) return this.#enter();
    return this.#take(code === QUOTE ? stringEnd : scalarEnd);
  }

  #take(scan: Scan): boolean {
    const end = scan(this.#text, this.#at);
    if (end >= 0) this.#at = end;
    return end >= 0;
  }

  #enter(): boolean {
    this.#starts.push(this.#at);
    this.#at += 1;
    this.#fresh = true;
    return true;
  }

  #leave(): boolean {
    const start = this.#starts.pop() ?? 0;
    this.#at += 1;
    this.#fresh = false;
    while ((this.#spans.at(-1)?.start ?? -1) > start) this.#spans.pop(); // they stand inside of this one
    this.#spans.push({ start, end: this.#at });
    return true;
  }

  /** The next character that is no white space; NaN at the end of the text. */
  #peek(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return code;
      this.#at += 1;
    }
  }
}

function nextOpening(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) return at;
  }
  return text.length;
}

/** An escape, or what the end of the text leaves of one. */
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4}|u?[\da-fA-F]{0,3}$)/y;

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code < 32) return -1;
    if (code !== BACKSLASH) continue;
    ESCAPE.lastIndex = at;
    if (!ESCAPE.test(text)) return -1;
    at = ESCAPE.lastIndex - 1;
  }
  return text.length;
}

const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
/** What may be the beginning of a scalar that the end of the text cuts off. */
const CUT_SCALAR = /(?:-?(?:0|[1-9]\d*)?(?:\.\d*)?(?:[eE][+-]?\d*)?|t|tr|tru|f|fa|fal|fals|n|nu|nul)$/y;

function scalarEnd(text: string, start: number): number {
  SCALAR.lastIndex = start;
  if (SCALAR.test(text)) return SCALAR.lastIndex;
  CUT_SCALAR.lastIndex = start;
  return CUT_SCALAR.test(text) ? text.length : -1;
}
