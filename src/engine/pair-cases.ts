import type { CaseSummary } from '../core/case-summary.ts';

/** A case as one of two runs has it, or both. */
export interface CasePair<Candidate> {
  readonly baseline: CaseSummary | null;
  readonly candidate: Candidate | null;
}

/**
 * Pairs the cases of two runs, each in case_id order: candidates are handed in as they come, the baseline is read along. Case ids are
 * ordered by their UTF-8 bytes, as the store orders them.
 */
export class CasePairing<Candidate extends { readonly summary: CaseSummary }> {
  readonly #baseline: AsyncIterator<CaseSummary>;
  readonly #take: (pair: CasePair<Candidate>) => void;
  #next: CaseSummary | null | undefined;

  constructor(baseline: AsyncIterable<CaseSummary>, take: (pair: CasePair<Candidate>) => void) {
    this.#baseline = baseline[Symbol.asyncIterator]();
    this.#take = take;
  }

  /** The candidate's next case; baseline cases that stand before it are handed on alone. */
  async add(candidate: Candidate): Promise<void> {
    for (;;) {
      const baseline = await this.#peek();
      const order = baseline === null ? 1 : compareText(baseline.case_id, candidate.summary.case_id);
      if (order > 0) return this.#take({ baseline: null, candidate });
      this.#next = undefined;
      this.#take({ baseline, candidate: order === 0 ? candidate : null });
      if (order === 0) return;
    }
  }

  /** Hands on what is left of the baseline. */
  async end(): Promise<void> {
    for (let baseline = await this.#peek(); baseline !== null; baseline = await this.#peek()) {
      this.#next = undefined;
      this.#take({ baseline, candidate: null });
    }
  }

  async #peek(): Promise<CaseSummary | null> {
    if (this.#next === undefined) {
      const read = await this.#baseline.next();
      this.#next = read.done ? null : read.value;
    }
    return this.#next;
  }
}

const BASIC = /^[\0-\ud7ff]*$/; // below the surrogates UTF-16 and UTF-8 order alike

function compareText(a: string, b: string): number {
  if (BASIC.test(a) && BASIC.test(b)) return a < b ? -1 : a > b ? 1 : 0;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
