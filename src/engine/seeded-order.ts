import { type Diagnostic, diagnostic } from '../contract/problem.ts';
import { seededRandom, seedOf } from '../core/statistics/index.ts';

/**
 * Puts the cases of a run that may stop early into an order by its seed: the always-valid interval is about cases as they come, and a
 * dataset that begins with the easy ones would be decided by those. The same seed and cases give the same order on every machine.
 */
export class SeededOrder {
  readonly #lines: string[] = [];
  readonly #seed: string;
  readonly #most: number;
  #told = false;

  constructor(seed: number, most: number) {
    this.#seed = seedOf(String(seed), 'early_stop/order');
    this.#most = most;
  }

  /** Takes a case; answers what keeps a run with it from stopping early. */
  add(line: string, cluster: string | null, place: Partial<Diagnostic>): Diagnostic[] {
    this.#lines.push(line);
    if (this.#told) return [];
    if (cluster !== null) {
      this.#told = true;
      const hint = 'take out `early_stop`, or the clusters';
      return [
        diagnostic('cases in clusters are not independent, so that no prefix of them decides', { ...place, hint }),
      ];
    }
    if (this.#lines.length <= this.#most) return [];
    this.#told = true;
    return [
      diagnostic(`early_stop orders at most ${this.#most} cases`, {
        ...place,
        hint: 'narrow the dataset with `select.limit`',
      }),
    ];
  }

  /** The cases in their order (Fisher and Yates). */
  lines(): readonly string[] {
    const random = seededRandom(this.#seed);
    for (let last = this.#lines.length - 1; last > 0; last -= 1) {
      const other = random.below(last + 1);
      const line = this.#lines[last] ?? '';
      this.#lines[last] = this.#lines[other] ?? '';
      this.#lines[other] = line;
    }
    return this.#lines;
  }
}
