import { startsWithMark } from './utf8.ts';

/** One line of a file without its `\n`: its number from 1, the offset of its first byte, its size in bytes. */
export interface Line {
  readonly number: number;
  readonly offset: number;
  readonly size: number;
  /** Null when the line is larger than the limit; its bytes were not kept. */
  readonly bytes: Buffer | null;
}

/**
 * Cuts chunks of bytes into lines and holds no more than one unfinished line up to `limit` bytes. A byte order mark at
 * the file's start is no part of the first line. A `\r` before the `\n` stays (it is white space to JSON).
 */
export class LineSplitter {
  private readonly limit: number;
  private readonly skipEmpty: boolean;
  private held: Buffer[] = [];
  private heldSize = 0;
  private number = 1;
  private offset = 0;

  /** `skip_empty`: lines without a byte are counted and not handed on; a file may hold a hundred million of them. */
  constructor(limit: number, { skip_empty = false }: { readonly skip_empty?: boolean } = {}) {
    this.limit = limit;
    this.skipEmpty = skip_empty;
  }

  /** The number of the line that the next byte belongs to. */
  get lineNumber(): number {
    return this.number;
  }

  /** The lines that end in this chunk. */
  push(chunk: Buffer): Line[] {
    const lines: Line[] = [];
    let from = this.afterEmpty(chunk, 0);
    for (let at = chunk.indexOf(10, from); at !== -1; at = chunk.indexOf(10, from)) {
      this.hold(chunk.subarray(from, at));
      lines.push(this.take());
      from = this.afterEmpty(chunk, at + 1);
    }
    this.hold(chunk.subarray(from));
    return lines;
  }

  /** The last line when the file does not end in `\n`. */
  end(): Line | null {
    return this.heldSize === 0 ? null : this.take();
  }

  /** Where the next line that is handed on begins. */
  private afterEmpty(chunk: Buffer, from: number): number {
    if (!this.skipEmpty || this.heldSize > 0) return from;
    let at = from;
    while (chunk[at] === 10) at += 1;
    this.number += at - from;
    this.offset += at - from;
    return at;
  }

  private hold(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.heldSize += bytes.length;
    if (this.heldSize <= this.limit) this.held.push(bytes);
    else this.held = [];
  }

  private take(): Line {
    const [first] = this.held;
    let bytes: Buffer | null = null;
    if (this.heldSize <= this.limit) bytes = this.held.length === 1 && first ? first : Buffer.concat(this.held);
    const marked = this.offset === 0 && bytes !== null && startsWithMark(bytes);
    const skipped = marked ? 3 : 0;
    const line = {
      number: this.number,
      offset: this.offset + skipped,
      size: this.heldSize,
      bytes: bytes?.subarray(skipped) ?? null,
    };
    this.number += 1;
    this.offset += this.heldSize + 1;
    this.held = [];
    this.heldSize = 0;
    return line;
  }
}
