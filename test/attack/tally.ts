import { type SeededRandom, seededRandom, seedOf } from '../../src/core/statistics/seeded-random.ts';

/** What each part of the attack is given. */
export interface AttackOptions {
  readonly seed: number;
  /** Told now and then how far the part has come. */
  readonly say: (text: string) => void;
}

/** Counts what was tried, by kind, and keeps every failure. */
export class Tally {
  readonly #kinds = new Map<string, { tried: number; held: number }>();
  readonly failures: string[] = [];
  /** What was measured beside it, a line each. */
  readonly notes: string[] = [];

  /** Books one trial; `failure` says what went wrong, null that the promise was kept. */
  tried(kind: string, name: string, failure: string | null): void {
    const counts = this.#kinds.get(kind) ?? { tried: 0, held: 0 };
    counts.tried += 1;
    if (failure === null) counts.held += 1;
    else this.failures.push(`${kind}: ${name}: ${failure}`);
    this.#kinds.set(kind, counts);
  }

  /** A part that tries fewer than it must proves too little. */
  atLeast(least: number, what: string): void {
    if (this.total < least) this.failures.push(`only ${this.total} ${what} were tried; at least ${least} must be`);
  }

  get total(): number {
    return this.#kinds.values().reduce((sum, { tried }) => sum + tried, 0);
  }

  /** Kind, tried, held: for the table. */
  rows(): [string, number, number][] {
    return [...this.#kinds].map(([kind, { tried, held }]) => [kind, tried, held]);
  }
}

/** The same numbers for the same seed and name on every machine. */
export function randomFor(seed: number, name: string): SeededRandom {
  return seededRandom(seedOf(`attack ${seed}`, name));
}

/** One of a list. */
export function oneOf<T>(random: SeededRandom, list: readonly T[]): T {
  const one = list[random.below(list.length)];
  if (one === undefined) throw new Error('there is nothing to choose from');
  return one;
}

/** So many of a list, in its order. */
export function someOf<T>(random: SeededRandom, list: readonly T[], count: number): T[] {
  const places = list.map((_, index) => index);
  while (places.length > count) places.splice(random.below(places.length), 1);
  return places.flatMap((index) => list.slice(index, index + 1));
}
