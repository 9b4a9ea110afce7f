import { Automaton, type Found, type Needle } from './automaton.ts';
import { cutPieces } from './cut-pieces.ts';
import {
  BASE64,
  decode,
  type Encoding,
  HEX,
  isText,
  originIn,
  printableRuns,
  type Run,
  runsOf,
} from './encoded-runs.ts';
import { withoutEscapes, withoutSpaces } from './escapes.ts';
import { type View, wholeText } from './view.ts';

/** The fewest characters that a secret must have, and how many of them must differ, for it to be told from ordinary text. */
export const LEAST_CHARACTERS = 6;
/** See `LEAST_CHARACTERS`. */
export const LEAST_DIFFERENT = 3;

/** Encodings within encodings that are looked through. */
const MOST_LAYERS = 5;
/** All that is decoded of a text together is at most so many times as long as it (and a little, for short ones). */
const MOST_DECODED = 16;
const ALWAYS_DECODED = 4_096;

/** True when a text can be told from ordinary text, so that it can be looked for. */
export function isDistinct(text: string): boolean {
  return [...text].length >= LEAST_CHARACTERS && new Set(text.toLowerCase()).size >= LEAST_DIFFERENT;
}

/**
 * Looks for secrets in a text, whatever usual encoding they stand in: the text is searched as it is, and then what it becomes when a layer of
 * escapes, hexadecimal or base64 is taken away, breadth first, until nothing is left to decode or the bounds are reached. So the work is
 * linear in the length of the text, and no form needs a pattern of its own.
 */
export class SecretSearch {
  readonly #automaton: Automaton;
  /** Finds secrets with spaces in a text without any: a line break, a plus or more of them may stand for one. */
  readonly #spaceless: Automaton | null;
  readonly #leastBytes: number;
  /** The fewest letters that so many bytes are written with. */
  readonly #leastLetters: number;
  readonly #secrets: readonly string[];

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
    const needles = secrets.flatMap((text, owner) => needlesOf(text, owner));
    const spaceless = secrets.flatMap((text, owner) => {
      const joined = withoutSpaces(wholeText(text));
      return joined === null ? [] : needlesOf(joined.text, owner);
    });
    this.#automaton = new Automaton(needles);
    this.#spaceless = spaceless.length === 0 ? null : new Automaton(spaceless);
    this.#leastBytes = Math.min(...[...needles, ...spaceless].map(({ text }) => text.length));
    this.#leastLetters = Math.ceil((this.#leastBytes * 4) / 3);
  }

  /** Every place in the text that holds a secret, in no particular order; places may overlap. */
  find(text: string): Found[] {
    const walk = new Walk(text);
    let layer: View[] = [wholeText(text)];
    for (let depth = 0; layer.length > 0; depth += 1) {
      const deeper: View[] = [];
      for (const view of layer) {
        this.#look(view, walk);
        if (depth < MOST_LAYERS) this.#decode(view, walk, deeper);
      }
      layer = deeper;
    }
    return walk.found;
  }

  #look(view: View, walk: Walk): void {
    this.#automaton.search(view.text, walk.teller(view));
    for (const piece of cutPieces(view.text, this.#secrets, LEAST_CHARACTERS)) walk.teller(view)(piece);
    if (this.#spaceless === null) return;
    const without = withoutSpaces(view);
    if (without !== null) this.#spaceless.search(without.text, walk.teller(without));
  }

  /** Takes one layer of encoding away, as long as there is work left to be done. */
  #decode(view: View, walk: Walk, deeper: View[]): void {
    if (walk.left <= 0) return;
    const plain = withoutEscapes(view);
    if (plain !== null) {
      walk.left -= plain.text.length;
      deeper.push(plain);
    }
    for (const encoding of [BASE64, HEX]) {
      for (const run of runsOf(view.text, encoding, this.#leastBytes)) {
        if (walk.left <= 0) return;
        this.#decodeRun(view, run, encoding, walk, deeper);
      }
    }
  }

  /** Decodes a run of letters from every place that a text may begin at. */
  #decodeRun(view: View, run: Run, encoding: Encoding, walk: Walk, deeper: View[]): void {
    const letters = view.text.slice(run.start, run.end);
    const harmless = walk.harmless(encoding);
    if (harmless.has(letters)) return; // seen before a layer of escapes around it was taken away
    const before = walk.found.length + deeper.length;
    for (let start = run.start; start < run.start + encoding.group; start += 1) {
      const part = { start, end: run.end };
      const length = decode(view.text, part, encoding, walk.memory);
      walk.left -= length;
      const origin = originIn(view, part, encoding);
      const whole = isText(walk.memory, length);
      if (!whole) this.#automaton.searchBytes(walk.memory, length, (one) => walk.teller({ origin })(one));
      for (const text of whole ? [{ start: 0, end: length }] : printableRuns(walk.memory, length, this.#leastLetters))
        deeper.push({
          text: Buffer.from(walk.memory.subarray(text.start, text.end)).toString('latin1'),
          origin: (from, to) => origin(text.start + from, text.start + to),
        });
    }
    if (walk.found.length + deeper.length === before) harmless.add(letters);
  }
}

/** The state of one search: what was found, and how much may still be decoded. */
class Walk {
  readonly found: Found[] = [];
  readonly #harmless = new Map<Encoding, Set<string>>();
  left: number;
  #memory: Uint8Array | null = null;
  readonly #length: number;

  constructor(text: string) {
    this.#length = text.length;
    this.left = ALWAYS_DECODED + text.length * MOST_DECODED;
  }

  /** Runs of letters that decode to nothing. */
  harmless(encoding: Encoding): Set<string> {
    const known = this.#harmless.get(encoding) ?? new Set();
    this.#harmless.set(encoding, known);
    return known;
  }

  /** Room for the bytes of any run. */
  get memory(): Uint8Array {
    this.#memory ??= new Uint8Array(this.#length);
    return this.#memory;
  }

  /** Takes what is found in a part, by its place in the whole text. */
  teller({ origin }: Pick<View, 'origin'>): (one: Found) => void {
    return ({ start, end, owner }) => void this.found.push({ ...origin(start, end), owner });
  }
}

/** Everything that a secret may read as once a text is decoded: itself, in other cases and compositions, with its own escapes taken away, as bytes. */
function needlesOf(secret: string, owner: number): Needle[] {
  const needles = new Set<string>();
  for (const text of writings(secret)) {
    let view: View | null = wholeText(text);
    for (let layer = 0; layer <= MOST_LAYERS && view !== null && isDistinct(view.text); layer += 1) {
      needles.add(view.text);
      needles.add(Buffer.from(view.text).toString('latin1'));
      needles.add(Buffer.from(view.text, 'utf16le').toString('latin1').slice(0, -1)); // without its last byte, in either byte order
      view = withoutEscapes(view);
    }
  }
  return [...needles].map((text) => ({ text, owner }));
}

/** A secret as the search cannot tell to be the same: cases of other length (`ß`, `SS`) and of other bytes, compositions of letters and accents. */
function writings(secret: string): Set<string> {
  const cased = [secret, secret.toUpperCase(), secret.toLowerCase()];
  if (isAscii(secret)) return new Set([secret]);
  return new Set(cased.flatMap((text) => [text, text.normalize('NFC'), text.normalize('NFD')]));
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
