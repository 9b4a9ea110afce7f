import { compare, fraction, type Rational, rationalOf, toFixed, toNumber } from '../lib/rational.ts';

/** A number as it is stored: the double, and the fraction where the double is not it. */
export function fractionText(value: Rational): string | null {
  return compare(rationalOf(toNumber(value)), value) === 0 ? null : `${value.n}/${value.d}`;
}

/** The number that `fractionText` stored. */
export function exactOf(value: number, text: string | undefined): Rational {
  if (text === undefined) return rationalOf(value);
  const [n = '', d = ''] = text.split('/');
  return fraction(BigInt(n), BigInt(d));
}

/** What a value is held against: both ends may be missing. */
export interface Limits {
  readonly min: number | null;
  readonly max: number | null;
}

/** Whether the value lies within the limits, exactly. */
export function within(value: Rational, { min, max }: Limits): boolean {
  return (
    (min === null || compare(value, rationalOf(min)) >= 0) && (max === null || compare(value, rationalOf(max)) <= 0)
  );
}

const LEAST_PLACES = 4;
const MOST_PLACES = 40;

/** The value for people: four decimal places, or as many as it takes to lie on the same side of the limits as the value does. */
export function valueText(value: Rational, limits: Limits): string {
  const sides = (of: Rational) =>
    [limits.min, limits.max].map((limit) => (limit === null ? 0 : compare(of, rationalOf(limit)))).join();
  for (let places = LEAST_PLACES; places <= MOST_PLACES; places += 1) {
    const text = toFixed(value, places);
    if (sides(fraction(BigInt(text.replace('.', '')), 10n ** BigInt(places))) === sides(value)) return text;
  }
  return `${value.n}/${value.d}`;
}

/** The double next to the value on the same side of the limits: what a program compares comes out as the value does. */
export function valueNumber(value: Rational, limits: Limits): number {
  const near = toNumber(value);
  if (within(rationalOf(near), limits) === within(value, limits)) return near;
  const step = compare(value, rationalOf(near)) < 0 ? -1 : 1;
  return neighbour(near, step);
}

/** The next double below (−1) or above (1) a positive one. */
function neighbour(value: number, step: -1 | 1): number {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigInt64(0, bits.getBigInt64(0) + BigInt(step));
  return bits.getFloat64(0);
}
