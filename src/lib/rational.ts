/** An exact number: numerator over denominator, in lowest terms, the denominator positive. */
export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
}

/** The number 0. */
export const ZERO: Rational = { n: 0n, d: 1n };
/** The number 1. */
export const ONE: Rational = { n: 1n, d: 1n };

/** The fraction n/d in lowest terms. Throws a RangeError for a denominator of 0. */
export function fraction(n: bigint, d: bigint): Rational {
  if (d === 0n) throw new RangeError(`${n}/0 is not a number`);
  const common = divisor(n < 0n ? -n : n, d < 0n ? -d : d);
  return d < 0n ? { n: -n / common, d: -d / common } : { n: n / common, d: d / common };
}

/**
 * The number that a person wrote: 0.8 is 8/10, not the binary fraction beside it. What JSON prints of a double is its shortest decimal, and
 * that is what counts. Throws a RangeError for NaN and infinities.
 */
export function rationalOf(value: number): Rational {
  if (Number.isSafeInteger(value)) return { n: BigInt(value), d: 1n };
  const found = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value));
  if (found === null) throw new RangeError(`${value} is not a finite number`);
  const [, sign = '', whole = '', decimals = '', exponent = '0'] = found;
  const digits = BigInt(sign + whole + decimals);
  const places = decimals.length - Number(exponent);
  return places > 0 ? fraction(digits, 10n ** BigInt(places)) : { n: digits * 10n ** BigInt(-places), d: 1n };
}

/** a + b. */
export function add(a: Rational, b: Rational): Rational {
  if (a.d === b.d) return a.d === 1n ? { n: a.n + b.n, d: 1n } : fraction(a.n + b.n, a.d);
  return fraction(a.n * b.d + b.n * a.d, a.d * b.d);
}

/** a · b. */
export function multiply(a: Rational, b: Rational): Rational {
  return fraction(a.n * b.n, a.d * b.d);
}

/** a/b. Throws a RangeError for b = 0. */
export function divide(a: Rational, b: Rational): Rational {
  return fraction(a.n * b.d, a.d * b.n);
}

/** Negative, 0 or positive, as a is less than, equal to or greater than b. */
export function compare(a: Rational, b: Rational): number {
  const difference = a.n * b.d - b.n * a.d;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

const DIGITS = 25n; // eight more than tell any two doubles apart

/** The double next to it; `rationalOf` gives the number back where a double's shortest decimal is exactly it. */
export function toNumber({ n, d }: Rational): number {
  if (d === 1n) return Number(n);
  const negative = n < 0n;
  const size = negative ? -n : n;
  // As many digits of the quotient, whatever its magnitude.
  const places = DIGITS + BigInt(Math.max(0, d.toString().length - size.toString().length));
  const quotient = (size * 10n ** places) / d;
  const value = Number(`${quotient}e-${places}`);
  return negative ? -value : value;
}

/** The decimal with so many places, half away from zero: `2/3` at 4 is `0.6667`. */
export function toFixed({ n, d }: Rational, places: number): string {
  const negative = n < 0n;
  const scaled = (negative ? -n : n) * 10n ** BigInt(places);
  const rounded = (scaled * 2n + d) / (d * 2n);
  const digits = rounded.toString().padStart(places + 1, '0');
  const whole = digits.slice(0, digits.length - places);
  const sign = negative && rounded !== 0n ? '-' : '';
  return places === 0 ? `${sign}${whole}` : `${sign}${whole}.${digits.slice(-places)}`;
}

/** A sum of many exact numbers. Addends are gathered by denominator, so that a million of them stay cheap. */
export class RationalSum {
  readonly #byDenominator = new Map<bigint, bigint>();
  #count = 0;

  /** How many were added. */
  get count(): number {
    return this.#count;
  }

  add({ n, d }: Rational): void {
    this.#count += 1;
    this.#byDenominator.set(d, (this.#byDenominator.get(d) ?? 0n) + n);
  }

  get total(): Rational {
    return [...this.#byDenominator].reduce((sum, [d, n]) => add(sum, fraction(n, d)), ZERO);
  }

  /** The mean; null of none. */
  get mean(): Rational | null {
    return this.#count === 0 ? null : divide(this.total, { n: BigInt(this.#count), d: 1n });
  }
}

function divisor(a: bigint, b: bigint): bigint {
  let [large, small] = [a, b];
  while (small !== 0n) [large, small] = [small, large % small];
  return large === 0n ? 1n : large;
}
