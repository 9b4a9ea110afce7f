import { createHash } from 'node:crypto';
import { fstatSync, readSync } from 'node:fs';
import { ProctorError } from '../../contract/problem.ts';
import { lineOf, MOST_BODY_BYTES, MOST_LINE_BYTES } from './bundle-format.ts';
import type { BundleValue } from './bundle-rows.ts';

/** One line of a bundle. */
export interface BundleLine {
  readonly number: number;
  readonly kind: string;
  readonly members: Readonly<Record<string, BundleValue>>;
}

const CHUNK_BYTES = 1024 * 1024;
const MOST_MEMBERS = 100;

/** Reads a bundle of format 2 from its first byte to its last, holding one line at a time. */
export class BundleLines {
  readonly size: number;
  readonly #file: number;
  readonly #shown: string;
  readonly #hash = createHash('sha256');
  /** Bytes of the file from `#base` on; those before `#hashed` are in the digest, the line in hand begins at `#start` and the next at `#at`. */
  #held: Buffer = Buffer.alloc(0);
  #base = 0;
  #hashed = 0;
  #start = 0;
  #at = 0;
  #number = 0;

  constructor(file: number, shown: string) {
    this.#file = file;
    this.#shown = shown;
    this.size = fstatSync(file).size;
  }

  /** Where the next line begins. */
  get offset(): number {
    return this.#base + this.#at;
  }

  /** The next line; null at the end. Throws `store_altered`. */
  next(): BundleLine | null {
    this.#start = this.#at;
    const end = this.#lineEnd();
    if (end === null) return null;
    this.#number += 1;
    const line = this.#parsed(this.#held.subarray(this.#start, end + 1));
    this.#at = end + 1;
    return line;
  }

  /** The digest of all that stands before the line in hand. */
  digestBefore(): string {
    this.#digest(this.#start);
    return this.#hash.copy().digest('hex');
  }

  /** Goes over the raw bytes of an artifact and its newline; answers where it stands and the digest that it has. */
  body(bytes: number): { readonly offset: number; readonly digest: string } {
    if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes > MOST_BODY_BYTES)
      throw this.broken(`an artifact is to have ${bytes} bytes; at most ${MOST_BODY_BYTES} are read`);
    const { offset } = this;
    const own = createHash('sha256');
    for (let left = bytes; left > 0; ) {
      this.#start = this.#at;
      if (this.#at === this.#held.length && !this.#more()) throw this.broken('the file ends within an artifact');
      const part = this.#held.subarray(this.#at, this.#at + left);
      left -= part.length;
      own.update(part);
      this.#at += part.length;
    }
    this.#start = this.#at;
    if (this.#at === this.#held.length) this.#more();
    if (this.#held[this.#at] !== 10) throw this.broken('an artifact does not end where it says');
    this.#at += 1;
    return { offset, digest: own.digest('hex') };
  }

  /** The error for a file that is not what a bundle is. */
  broken(message: string): ProctorError {
    const at = `line ${this.#number}`;
    return new ProctorError('store_altered', `\`${this.#shown}\` is not a bundle that Proctor made: ${at}: ${message}`);
  }

  /** Where the line in hand ends; null at the end of the file. */
  #lineEnd(): number | null {
    for (let seen = 0; ; ) {
      const at = this.#held.indexOf(10, this.#start + seen);
      if (at !== -1) return at;
      seen = this.#held.length - this.#start;
      if (seen > MOST_LINE_BYTES) throw this.broken(`the next line is longer than ${MOST_LINE_BYTES} bytes`);
      if (this.#more()) continue;
      if (seen === 0) return null;
      throw this.broken('the last line does not end');
    }
  }

  /** Reads on and lets go of what stands before the line in hand. */
  #more(): boolean {
    this.#digest(this.#start);
    const left = this.#held.length - this.#start;
    // As much again as is held: a long line is copied a few times, not once a chunk.
    const buffer = Buffer.allocUnsafe(left + Math.max(CHUNK_BYTES, left));
    const read = readSync(this.#file, buffer, left, buffer.length - left, this.#base + this.#held.length);
    if (read === 0) return false;
    this.#held.copy(buffer, 0, this.#start);
    this.#held = buffer.subarray(0, left + read);
    this.#base += this.#start;
    this.#at -= this.#start;
    this.#hashed = 0;
    this.#start = 0;
    return true;
  }

  #digest(end: number): void {
    if (end > this.#hashed) this.#hash.update(this.#held.subarray(this.#hashed, end));
    this.#hashed = Math.max(this.#hashed, end);
  }

  #parsed(bytes: Buffer): BundleLine {
    if (!isFlat(bytes)) throw this.broken('it is not a list of a name and a flat object');
    let value: unknown;
    const text = bytes.toString('utf8');
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw this.broken(`it is not JSON: ${(error as Error).message}`);
    }
    const [kind, members] = value as readonly unknown[];
    if (typeof kind !== 'string' || typeof members !== 'object' || members === null)
      throw this.broken('it is not a list of a name and a flat object');
    const row = members as Readonly<Record<string, BundleValue>>;
    // In any other form the same row could be written in another way, and a byte would be free to differ.
    if (!isCanonical(text, kind, row)) throw this.broken('it is not in canonical form');
    return { number: this.#number, kind, members: row };
  }
}

function isCanonical(text: string, kind: string, row: Readonly<Record<string, BundleValue>>): boolean {
  try {
    return lineOf(kind, row) === text;
  } catch {
    return false; // a lone surrogate, or a number that JSON does not have
  }
}

const QUOTE = 34;
const BACKSLASH = 92;

/** True when a line has no lists and objects but its own two, and few members: others could fill the memory when they are parsed. */
function isFlat(bytes: Buffer): boolean {
  let opened = 0;
  let commas = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = stringEnd(bytes, at);
    else if (byte === 0x5b || byte === 0x7b) opened += 1;
    else if (byte === 0x2c) commas += 1;
    if (opened > 2 || commas > MOST_MEMBERS) return false;
  }
  return opened === 2 && bytes[0] === 0x5b;
}

function stringEnd(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(QUOTE, start + 1); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let slashes = 0;
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return bytes.length;
}
