import { naturalLog } from './natural-log.ts';
import type { Interval } from './wilson.ts';

const HALF_LN_TWO_PI = 0.9189385332046727;

/**
 * ln Γ(x) for x > 0 by Stirling's series from 12 up, smaller arguments by Γ(x) = Γ(x + 1)/x: absolute error under 1e-12. Basic operations
 * and our own logarithm only, so that every engine gives the same bits.
 */
export function logGamma(x: number): number {
  if (!(x > 0 && x < 1e300)) throw new RangeError(`the logarithm of the gamma function of ${x} is not defined here`);
  let shift = 1;
  let at = x;
  for (; at < 12; at += 1) shift *= at;
  const inverse = 1 / at;
  const square = inverse * inverse;
  const series =
    inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square * (1 / 1188)))));
  return (at - 0.5) * naturalLog(at) - at + HALF_LN_TWO_PI + series - naturalLog(shift);
}

/**
 * An always-valid interval of a mean of values in [0, 1] (a confidence sequence): it holds at every moment at once with the confidence
 * given, so one may look after each value and stop when one likes. Robbins' beta-binomial mixture with the uniform prior (Robbins 1970;
 * Howard et al. 2021): p is inside as long as B(1 + s, 1 + n − s)/(p^s·(1 − p)^(n−s)) < 1/(1 − confidence), s being the sum of n values. The
 * likelihood ratio is convex in each value, so that Ville's inequality holds for values between 0 and 1 too.
 */
export class MixtureSequence {
  readonly #limit: number;
  #n = 0;
  #sum = 0;

  constructor(confidence: number) {
    if (!(confidence > 0 && confidence < 1))
      throw new RangeError(`a confidence must lie between 0 and 1, not ${confidence}`);
    this.#limit = -naturalLog(1 - confidence);
  }

  get n(): number {
    return this.#n;
  }

  get mean(): number | null {
    return this.#n === 0 ? null : this.#sum / this.#n;
  }

  add(value: number): void {
    if (!(value >= 0 && value <= 1)) throw new RangeError(`the value ${value} does not lie in [0, 1]`);
    this.#n += 1;
    this.#sum += value;
  }

  /** `above` or `below`: the whole interval lies beyond `p`; null while it does not. One evaluation, whatever n. */
  beyond(p: number): 'above' | 'below' | null {
    if (this.#n === 0 || this.#evidenceAgainst(p) < this.#limit) return null;
    return this.#sum > p * this.#n ? 'above' : 'below';
  }

  /** The interval now; [0, 1] before the first value. */
  interval(): Interval {
    if (this.#n === 0) return [0, 1];
    const centre = this.#sum / this.#n;
    return [this.#edge(centre, 0), this.#edge(centre, 1)];
  }

  /** Where the evidence reaches its limit between the mean, where it is least, and an end; by bisection to the last bit. */
  #edge(centre: number, end: number): number {
    let inside = centre;
    let outside = end;
    for (let step = 0; step < 80; step += 1) {
      const middle = (inside + outside) / 2;
      if (this.#evidenceAgainst(middle) < this.#limit) inside = middle;
      else outside = middle;
    }
    return outside;
  }

  /** ln of the mixture's likelihood ratio against p. */
  #evidenceAgainst(p: number): number {
    const failed = Math.max(0, this.#n - this.#sum);
    if ((p <= 0 && this.#sum > 0) || (p >= 1 && failed > 0)) return Number.POSITIVE_INFINITY;
    const mixture = logGamma(1 + this.#sum) + logGamma(1 + failed) - logGamma(2 + this.#n);
    const own = (this.#sum > 0 ? this.#sum * naturalLog(p) : 0) + (failed > 0 ? failed * naturalLog(1 - p) : 0);
    return mixture - own;
  }
}
