/** A text with a layer of encoding taken away, and where each part of it comes from in the text that is to be redacted. */
export interface View {
  readonly text: string;
  /** The part of the original text that a part of this one comes from. */
  origin(start: number, end: number): { readonly start: number; readonly end: number };
}

/** The text itself. */
export function wholeText(text: string): View {
  return { text, origin: (start, end) => ({ start, end }) };
}

const AT = 0;
const LENGTH = 1;
const START = 2;
const END = 3;
const FIELDS = 4;

/** Makes a view part by part; what was replaced is kept in a few numbers each, because a text may be nothing but escapes. */
export class ViewMaker {
  readonly #source: View;
  readonly #parts: string[] = [];
  #fields = new Int32Array(FIELDS * 16);
  #count = 0;
  #length = 0;

  constructor(source: View) {
    this.#source = source;
  }

  /** True when nothing was replaced. */
  get untouched(): boolean {
    return this.#count === 0;
  }

  /** Adds a part of the source as it stands. */
  keep(start: number, end: number): void {
    this.#parts.push(this.#source.text.slice(start, end));
    this.#length += end - start;
  }

  /** Adds what stands for a part of the source. */
  replace(start: number, end: number, text: string): void {
    const base = this.#count * FIELDS;
    if (base === this.#fields.length) {
      const more = new Int32Array(this.#fields.length * 2);
      more.set(this.#fields);
      this.#fields = more;
    }
    this.#fields[base + AT] = this.#length;
    this.#fields[base + LENGTH] = text.length;
    this.#fields[base + START] = start;
    this.#fields[base + END] = end;
    this.#count += 1;
    this.#parts.push(text);
    this.#length += text.length;
  }

  /** The view of all that was added. */
  view(): View {
    return {
      text: this.#parts.join(''),
      origin: (start, end) => this.#source.origin(this.#startOf(start), this.#endOf(end)),
    };
  }

  /** Where the character at `offset` begins in the source. */
  #startOf(offset: number): number {
    const base = this.#lastAt(offset);
    if (base < 0) return offset;
    const inside = offset - this.#field(base, AT);
    const length = this.#field(base, LENGTH);
    if (inside >= length) return this.#field(base, END) + inside - length;
    return this.#field(base, START);
  }

  /** Where the text before `offset` ends in the source. */
  #endOf(offset: number): number {
    const base = this.#lastAt(offset - 1);
    if (base < 0) return offset;
    const inside = offset - this.#field(base, AT);
    return this.#field(base, END) + Math.max(0, inside - this.#field(base, LENGTH));
  }

  /** The fields of the last replaced part that begins at or before `offset`; negative where none does. */
  #lastAt(offset: number): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#field(middle * FIELDS, AT) <= offset) low = middle + 1;
      else high = middle;
    }
    return (low - 1) * FIELDS;
  }

  #field(base: number, field: number): number {
    return this.#fields[base + field] as number;
  }
}
