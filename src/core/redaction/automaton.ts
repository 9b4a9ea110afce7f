/** A text to look for, and whose it is. */
export interface Needle {
  readonly text: string;
  readonly owner: number;
}

/** Where something was found: from `start` up to `end`, and whose it is. */
export interface Found {
  readonly start: number;
  readonly end: number;
  readonly owner: number;
}

const ROOT = 0;
const UNSEEN = -1;
const NOBODY = -1;

/**
 * Finds every occurrence of any needle, in whatever case, in one pass over a text (Aho and Corasick): two table lookups a character,
 * however many needles there are and however they overlap. Where several end at one place, the longest is told.
 */
export class Automaton {
  /** The class of every code unit up to the last that stands in a needle; 0 is every one that stands in none. */
  readonly #classOf: Uint16Array;
  readonly #classes: number;
  readonly #next: Int32Array;
  /** By state: how long the longest needle is that ends there (0: none), and whose it is. */
  readonly #length: Int32Array;
  readonly #owner: Int32Array;

  constructor(needles: readonly Needle[]) {
    const classes = classesOf(needles);
    this.#classes = 1 + new Set(classes.values()).size;
    this.#classOf = new Uint16Array(1 + Math.max(0, ...classes.keys()));
    for (const [unit, letter] of classes) this.#classOf[unit] = letter;
    const states = 1 + needles.reduce((sum, { text }) => sum + text.length, 0);
    this.#next = new Int32Array(states * this.#classes).fill(UNSEEN);
    this.#length = new Int32Array(states);
    this.#owner = new Int32Array(states).fill(NOBODY);
    this.#plant(needles);
    this.#complete();
  }

  /** Tells every occurrence, by where it ends. */
  search(text: string, tell: (found: Found) => void): void {
    const classOf = this.#classOf;
    const next = this.#next;
    const length = this.#length;
    const classes = this.#classes;
    let state = ROOT;
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      const letter = unit < classOf.length ? (classOf[unit] as number) : 0;
      state = next[state * classes + letter] as number;
      const found = length[state] as number;
      if (found > 0) tell({ start: index + 1 - found, end: index + 1, owner: this.#owner[state] as number });
    }
  }

  /** The same over the first `count` bytes. */
  searchBytes(bytes: Uint8Array, count: number, tell: (found: Found) => void): void {
    const classOf = this.#classOf;
    const next = this.#next;
    const length = this.#length;
    const classes = this.#classes;
    let state = ROOT;
    for (let index = 0; index < count; index += 1) {
      const unit = bytes[index] as number;
      const letter = unit < classOf.length ? (classOf[unit] as number) : 0;
      state = next[state * classes + letter] as number;
      const found = length[state] as number;
      if (found > 0) tell({ start: index + 1 - found, end: index + 1, owner: this.#owner[state] as number });
    }
  }

  /** The tree of all needles. */
  #plant(needles: readonly Needle[]): void {
    let states = 1;
    for (const { text, owner } of needles) {
      let state = ROOT;
      for (let index = 0; index < text.length; index += 1) {
        const edge = state * this.#classes + (this.#classOf[text.charCodeAt(index)] as number);
        if (this.#next[edge] === UNSEEN) {
          this.#next[edge] = states;
          states += 1;
        }
        state = this.#next[edge] as number;
      }
      this.#length[state] = text.length;
      if (this.#owner[state] === NOBODY) this.#owner[state] = owner;
    }
  }

  /** Where no edge leads on, the state of the longest end that is also a beginning does: breadth first, so that it is known already. */
  #complete(): void {
    const fallback = new Int32Array(this.#length.length);
    const queue = new Int32Array(this.#length.length);
    let planned = 1; // the root
    for (let done = 0; done < planned; done += 1) {
      const state = queue[done] as number;
      for (let letter = 0; letter < this.#classes; letter += 1) {
        const edge = state * this.#classes + letter;
        const to = this.#next[edge] as number;
        const elsewhere =
          state === ROOT ? ROOT : (this.#next[(fallback[state] as number) * this.#classes + letter] as number);
        if (to === UNSEEN) {
          this.#next[edge] = elsewhere;
          continue;
        }
        fallback[to] = elsewhere;
        if (this.#length[to] === 0) {
          this.#length[to] = this.#length[elsewhere] as number;
          this.#owner[to] = this.#owner[elsewhere] as number;
        }
        queue[planned] = to;
        planned += 1;
      }
    }
  }
}

/** The letters of all needles by code unit, each with a number from 1, a letter in both cases with the same. */
function classesOf(needles: readonly Needle[]): Map<number, number> {
  const classes = new Map<number, number>();
  let last = 0;
  for (const { text } of needles) {
    for (let index = 0; index < text.length; index += 1) {
      if (classes.has(text.charCodeAt(index))) continue;
      last += 1;
      for (const same of casesOf(text.charAt(index))) classes.set(same.charCodeAt(0), last);
    }
  }
  return classes;
}

/** A letter in every case that is a single code unit too. */
function casesOf(letter: string): string[] {
  const [lower, upper] = [letter.toLowerCase(), letter.toUpperCase()];
  return [letter, lower, upper, lower.toUpperCase(), upper.toLowerCase()].filter((one) => one.length === 1);
}
