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

const CHUNK_BYTES = 256 * 1024;
const MOST_MEMBERS = 100;

/** Reads a bundle of format 2 from its first byte to its last, holding one line at a time. */
export class BundleLines {
  readonly size: number;
  readonly #file: number;
  readonly #shown: string;
  readonly #hash = createHash('sha256');
  #held: Buffer = Buffer.alloc(0);
  #offset = 0;
  #number = 0;

  constructor(file: number, shown: string) {
    this.#file = file;
    this.#shown = shown;
    this.size = fstatSync(file).size;
  }

  /** Where the next line begins. */
  get offset(): number {
    return this.#offset;
  }

  /** The next line, and the digest of all that stands before it; null at the end. Throws `store_altered`. */
  next(): (BundleLine & { readonly digest_before: string }) | null {
    const end = this.#lineEnd();
    if (end === null) return null;
    this.#number += 1;
    const digest_before = this.#hash.copy().digest('hex');
    const bytes = this.#held.subarray(0, end + 1);
    const line = this.#parsed(bytes);
    this.#taken(bytes);
    return { ...line, digest_before };
  }

  /** Goes over the raw bytes of an artifact and its newline; answers where it stands and the digest that it has. */
  body(bytes: number): { readonly offset: number; readonly digest: string } {
    if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes > MOST_BODY_BYTES)
      throw this.broken(`an artifact is to have ${bytes} bytes; at most ${MOST_BODY_BYTES} are read`);
    const offset = this.#offset;
    const own = createHash('sha256');
    for (let left = bytes; left > 0; ) {
      if (this.#held.length === 0 && !this.#more()) throw this.broken('the file ends within an artifact');
      const part = this.#held.subarray(0, left);
      left -= part.length;
      own.update(part);
      this.#taken(part);
    }
    if (this.#held.length === 0) this.#more();
    if (this.#held[0] !== 10) throw this.broken('an artifact does not end where it says');
    this.#taken(this.#held.subarray(0, 1));
    return { offset, digest: own.digest('hex') };
  }

  /** The error for a file that is not what a bundle is. */
  broken(message: string): ProctorError {
    const at = `line ${this.#number}`;
    return new ProctorError('store_altered', `\`${this.#shown}\` is not a bundle that Proctor made: ${at}: ${message}`);
  }

  /** Where the line in hand ends; null at the end of the file. */
  #lineEnd(): number | null {
    for (let from = 0; ; ) {
      const at = this.#held.indexOf(10, from);
      if (at !== -1) return at;
      from = this.#held.length;
      if (from > MOST_LINE_BYTES) throw this.broken(`the next line is longer than ${MOST_LINE_BYTES} bytes`);
      if (this.#more()) continue;
      if (from === 0) return null;
      throw this.broken('the last line does not end');
    }
  }

  #more(): boolean {
    // As much again as is held: a long line is copied a few times, not once a chunk.
    const buffer = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, this.#held.length));
    const read = readSync(this.#file, buffer, 0, buffer.length, this.#offset + this.#held.length);
    if (read > 0) this.#held = Buffer.concat([this.#held, buffer.subarray(0, read)]);
    return read > 0;
  }

  #taken(bytes: Buffer): void {
    this.#hash.update(bytes);
    this.#held = this.#held.subarray(bytes.length);
    this.#offset += bytes.length;
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
