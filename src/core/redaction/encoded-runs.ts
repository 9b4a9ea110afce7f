import { setOf, tableOf } from './characters.ts';
import type { View } from './view.ts';

/** How bytes are written as letters. */
export interface Encoding {
  /** By code unit: what a letter is worth; `NO_LETTER` for all that is none. */
  readonly worth: Uint8Array;
  readonly bitsPerLetter: number;
  /** Letters of a group that ends with a byte: a text may begin at any of so many places within a run. */
  readonly group: number;
}

const NO_LETTER = 255;
const DIGITS = '0123456789';
const PRINTABLE = setOf(
  `\0\t\n\v\f\r${Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index)).join('')}`,
);
const LOWER = 'abcdefghijklmnopqrstuvwxyz';

/** Hexadecimal in either case. */
export const HEX: Encoding = {
  worth: tableOf([`${DIGITS}abcdef`, `${DIGITS}ABCDEF`], NO_LETTER),
  bitsPerLetter: 4,
  group: 2,
};

/** Base64 in both alphabets. */
export const BASE64: Encoding = {
  worth: tableOf([`${LOWER.toUpperCase()}${LOWER}${DIGITS}+/`, `${LOWER.toUpperCase()}${LOWER}${DIGITS}-_`], NO_LETTER),
  bitsPerLetter: 6,
  group: 4,
};

/** One run of letters, from `start` up to `end`. */
export interface Run {
  readonly start: number;
  readonly end: number;
}

/** The runs of letters that are long enough for so many bytes. */
export function runsOf(text: string, { worth, bitsPerLetter }: Encoding, leastBytes: number): Run[] {
  const least = Math.ceil((leastBytes * 8) / bitsPerLetter);
  const runs: Run[] = [];
  let start = 0;
  for (let index = 0; index <= text.length; index += 1) {
    if (index < text.length && worth[text.charCodeAt(index)] !== NO_LETTER) continue;
    if (index - start >= least) runs.push({ start, end: index });
    start = index + 1;
  }
  return runs;
}

/** Decodes a run into the memory given; answers how many bytes it has. Bits that make no whole byte are left out. */
export function decode(text: string, run: Run, { worth, bitsPerLetter }: Encoding, memory: Uint8Array): number {
  let bits = 0;
  let count = 0;
  let length = 0;
  for (let index = run.start; index < run.end; index += 1) {
    bits = ((bits << bitsPerLetter) | (worth[text.charCodeAt(index)] as number)) & 0xffff;
    count += bitsPerLetter;
    if (count < 8) continue;
    count -= 8;
    memory[length] = bits >> count;
    length += 1;
  }
  return length;
}

/** Where bytes of a decoded run come from. */
export function originIn(source: View, { start }: Run, { bitsPerLetter }: Encoding): View['origin'] {
  const letters = 8 / bitsPerLetter;
  return (from, to) => source.origin(start + Math.floor(from * letters), start + Math.ceil(to * letters));
}

/** True when at least three of four bytes are printable ASCII, white space or NUL: they may be a text that holds something encoded in its turn. */
export function isText(bytes: Uint8Array, length: number): boolean {
  let printable = 0;
  for (let index = 0; index < length; index += 1) printable += PRINTABLE[bytes[index] as number] as number;
  return printable * 4 >= length * 3;
}

/** The stretches of printable bytes that are long enough: one may be a text between letters that were never encoded, such as a path's. */
export function printableRuns(bytes: Uint8Array, length: number, least: number): Run[] {
  const runs: Run[] = [];
  let start = 0;
  for (let index = 0; index <= length; index += 1) {
    if (index < length && PRINTABLE[bytes[index] as number] === 1) continue;
    if (index - start >= least) runs.push({ start, end: index });
    start = index + 1;
  }
  return runs;
}
