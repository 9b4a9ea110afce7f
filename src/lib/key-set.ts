import { hash } from 'node:crypto';

const MOST_TEXTS = 50_000;

/**
 * A set of texts that remembers a number for each. The first are kept as they are; of those beyond, whatever their length, 20
 * bytes each: 128 bits of their SHA-256, so that a million case ids fit in 40 MB and two different ids are never taken for one.
 */
export class KeySet {
  readonly #texts = new Map<string, number>();
  #capacity = 1024;
  #size = 0;
  #keys = new BigUint64Array(this.#capacity * 2);
  #numbers = new Uint32Array(this.#capacity);

  /** Adds a text; answers the number that an equal text was added with before, or null. */
  add(text: string, number: number): number | null {
    const before = this.#texts.get(text);
    if (before !== undefined) return before;
    if (this.#texts.size >= MOST_TEXTS) return this.#addDigest(text, number);
    this.#texts.set(text, number);
    return null;
  }

  #addDigest(text: string, number: number): number | null {
    if (this.#size * 2 >= this.#capacity) this.#grow();
    const bytes = hash('sha256', text, 'buffer');
    // A zero pair marks an empty place; SHA-256 of nothing we store gives it.
    const place = this.#place(bytes.readBigUInt64LE(0), bytes.readBigUInt64LE(8));
    if (place.found) return this.#numbers[place.index] ?? 0;
    this.#keys[place.index * 2] = bytes.readBigUInt64LE(0);
    this.#keys[place.index * 2 + 1] = bytes.readBigUInt64LE(8);
    this.#numbers[place.index] = number;
    this.#size += 1;
    return null;
  }

  #place(high: bigint, low: bigint): { index: number; found: boolean } {
    for (let index = Number(high % BigInt(this.#capacity)); ; index = (index + 1) % this.#capacity) {
      const key = this.#keys[index * 2];
      const rest = this.#keys[index * 2 + 1];
      if (key === 0n && rest === 0n) return { index, found: false };
      if (key === high && rest === low) return { index, found: true };
    }
  }

  #grow(): void {
    const keys = this.#keys;
    const numbers = this.#numbers;
    this.#capacity *= 2;
    this.#keys = new BigUint64Array(this.#capacity * 2);
    this.#numbers = new Uint32Array(this.#capacity);
    for (let old = 0; old < numbers.length; old += 1) {
      const high = keys[old * 2] ?? 0n;
      const low = keys[old * 2 + 1] ?? 0n;
      if (high === 0n && low === 0n) continue;
      const { index } = this.#place(high, low);
      this.#keys[index * 2] = high;
      this.#keys[index * 2 + 1] = low;
      this.#numbers[index] = numbers[old] ?? 0;
    }
  }
}
