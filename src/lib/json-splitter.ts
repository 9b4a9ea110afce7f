import { startsWithMark } from './utf8.ts';

/** A piece of a JSON file: an element of the streamed array, another member of the top object, or why the cutting ended. */
export type JsonPiece =
  | ({ readonly type: 'element'; readonly index: number } & JsonBytes)
  | ({ readonly type: 'member'; readonly key: JsonBytes } & JsonBytes)
  | { readonly type: 'broken'; readonly line: number; readonly column: number; readonly message: string };

/** Bytes of a value as they stand in the file: line and column from 1 (UTF-16 units), byte offset, size. */
export interface JsonBytes {
  readonly line: number;
  readonly column: number;
  readonly offset: number;
  readonly size: number;
  /** Null when the value is larger than the limit; its bytes were not kept. */
  readonly bytes: Buffer | null;
}

type State = 'start' | 'array' | 'key' | 'value' | 'end' | 'broken';

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/**
 * Cuts a JSON file into the elements of its top array, or of the array member `name` of its top object, without holding
 * more than one piece up to `limit` bytes. It looks only at quotes, brackets, commas and colons: each piece's own syntax
 * is for `parseStrictJson` to judge.
 */
export class JsonSplitter {
  /** Whether the file is an object around the array, or the array itself; known once an element was seen. */
  enclosed = false;
  /** Whether the array was found. */
  opened = false;
  private readonly name: string;
  private readonly limit: number;
  private state: State = 'start';
  private pieces: JsonPiece[] = [];
  private line = 1;
  private column = 1;
  private offset = 0;
  private depth = 0;
  private inString = false;
  private escaped = false;
  private index = 0;
  private afterComma = false;
  private key: JsonBytes | null = null;
  private held: Buffer[] = [];
  private size = 0;
  private place: { line: number; column: number; offset: number } | null = null;

  constructor(name: string, limit: number) {
    this.name = name;
    this.limit = limit;
  }

  /** The number of the line that the next byte belongs to. */
  get lineNumber(): number {
    return this.line;
  }

  /** True after a `broken` piece: nothing more will come. */
  get isBroken(): boolean {
    return this.state === 'broken';
  }

  /** The pieces that end in this chunk. */
  push(chunk: Buffer): JsonPiece[] {
    let kept = 0; // where the bytes of the piece under way start in this chunk
    for (let at = this.offset === 0 && startsWithMark(chunk) ? 3 : 0; at < chunk.length; at += 1) {
      if (this.state === 'broken') break;
      const byte = chunk[at]!;
      const blank = byte === 32 || byte === 10 || byte === 13 || byte === 9;
      if (this.inString) this.insideString(byte);
      else if (!blank && this.separates(byte)) {
        if (this.place) this.hold(chunk.subarray(kept, at));
        this.separator(byte);
      } else if (!blank) {
        if (!this.place) {
          kept = at;
          this.place = { line: this.line, column: this.column, offset: this.offset + at };
        }
        this.structure(byte);
      }
      this.advance(byte);
    }
    if (this.place && this.state !== 'broken') this.hold(chunk.subarray(kept));
    this.offset += chunk.length;
    return this.taken();
  }

  /** What is left to say at the end of the file. */
  end(): JsonPiece[] {
    if (this.state === 'start' && !this.place) this.broken('the file is empty');
    else if (this.state !== 'end' && this.state !== 'broken') {
      const where = this.place ? ` inside the value that starts in line ${this.place.line}` : '';
      this.broken(`the file ends${where} before ${this.state === 'array' ? '`]`' : '`}`'}`);
    }
    return this.taken();
  }

  private insideString(byte: number): void {
    if (this.escaped) this.escaped = false;
    else if (byte === BACKSLASH) this.escaped = true;
    else if (byte === QUOTE) this.inString = false;
  }

  private structure(byte: number): void {
    if (this.state === 'start') this.broken('expected `[` or `{` at the start of the file');
    else if (this.state === 'end') this.broken('expected the end of the file');
    else if (byte === QUOTE) this.inString = true;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.depth += 1;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.depth -= 1;
  }

  /** True for a byte that ends a piece, or that opens the top object or the streamed array. */
  private separates(byte: number): boolean {
    if (this.depth > 0) return false;
    if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) return this.state !== 'start' && this.state !== 'end';
    if (byte === COMMA) return this.state === 'array' || this.state === 'value';
    if (byte === COLON) return this.state === 'key';
    if (this.place || this.size > 0) return false;
    if (byte === OPEN_OBJECT) return this.state === 'start';
    return byte === OPEN_ARRAY && (this.state === 'start' || (this.state === 'value' && this.isStreamed()));
  }

  private separator(byte: number): void {
    if (byte === OPEN_OBJECT) this.state = 'key';
    else if (byte === OPEN_ARRAY) this.openArray();
    else if (this.state === 'array') this.endElement(byte);
    else if (this.state === 'key') this.endKey(byte);
    else this.endValue(byte);
  }

  private openArray(): void {
    this.enclosed = this.state === 'value';
    this.opened = true;
    this.state = 'array';
    this.key = null;
    this.afterComma = false;
  }

  private endElement(byte: number): void {
    const value = this.piece();
    const missing = !value && (byte === COMMA || this.afterComma);
    if (value) {
      this.pieces.push({ type: 'element', index: this.index, ...value });
      this.index += 1;
    }
    this.afterComma = byte === COMMA;
    if (byte === CLOSE_OBJECT) this.broken('expected `,` or `]` after an element, but found `}`');
    else if (missing) this.broken('expected a value before this');
    else if (byte === CLOSE_ARRAY) this.state = this.enclosed ? 'value' : 'end';
  }

  private endKey(byte: number): void {
    this.key = this.piece();
    if (byte === COLON && this.key) this.state = 'value';
    else if (byte === CLOSE_OBJECT && !this.key && !this.afterComma) this.state = 'end';
    else this.broken('expected a member name in double quotes and `:`');
  }

  private endValue(byte: number): void {
    const { key } = this;
    const value = this.piece();
    this.key = null;
    this.afterComma = byte === COMMA;
    if (byte === CLOSE_ARRAY) this.broken('expected `,` or `}` after a member, but found `]`');
    else if (Boolean(value) !== Boolean(key))
      this.broken('expected one value after `:`, and `,` or `}` after the value');
    else {
      if (value && key) this.pieces.push({ type: 'member', key, ...value });
      this.state = byte === COMMA ? 'key' : 'end';
    }
  }

  private isStreamed(): boolean {
    return !this.opened && this.key?.bytes?.toString('utf8') === JSON.stringify(this.name);
  }

  private piece(): JsonBytes | null {
    const { place, size } = this;
    const bytes = size > this.limit ? null : trimmedEnd(Buffer.concat(this.held));
    this.held = [];
    this.size = 0;
    this.place = null;
    return place && { ...place, size, bytes };
  }

  private hold(bytes: Buffer): void {
    this.size += bytes.length;
    if (this.size <= this.limit) this.held.push(bytes);
    else this.held = [];
  }

  /** Columns count UTF-16 units: none for a continuation byte, two for the first of four bytes. */
  private advance(byte: number): void {
    if (byte === 10) {
      this.line += 1;
      this.column = 1;
    } else if (byte < 0x80) this.column += 1;
    else if ((byte & 0xc0) !== 0x80) this.column += byte >= 0xf0 ? 2 : 1;
  }

  private broken(message: string): void {
    this.pieces.push({ type: 'broken', line: this.line, column: this.column, message });
    this.state = 'broken';
    this.held = [];
    this.place = null;
  }

  private taken(): JsonPiece[] {
    const { pieces } = this;
    this.pieces = [];
    return pieces;
  }
}

function trimmedEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1]! <= 32) end -= 1;
  return bytes.subarray(0, end);
}
