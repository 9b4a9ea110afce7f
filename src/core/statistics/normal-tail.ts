import { naturalExp } from './natural-exp.ts';

const ROOT_TWO_PI = 2.5066282746310002;
const FAR = 4;
const FRACTIONS = 120;

/**
 * P(Z > z) of the standard normal distribution, relative error under 1e-11: for |z| < 4 by the series ½ − φ(z)·Σ z^(2n+1)/(2n+1)!!
 * (Abramowitz and Stegun 26.2.11), beyond by the continued fraction φ(z)/(z + 1/(z + 2/(z + …))) (26.2.14). The same bits in every
 * engine.
 */
export function normalTail(z: number): number {
  if (Number.isNaN(z)) throw new RangeError('the tail beyond no number is not defined');
  if (z < 0) return 1 - normalTail(-z);
  const density = naturalExp(-(z * z) / 2) / ROOT_TWO_PI;
  if (z >= FAR) {
    let fraction = z;
    for (let n = FRACTIONS; n >= 1; n -= 1) fraction = z + n / fraction;
    return density / fraction;
  }
  let term = z;
  let total = z;
  for (let odd = 3; term > total * 2 ** -56; odd += 2) {
    term *= (z * z) / odd;
    total += term;
  }
  return 0.5 - density * total;
}

/** The two-sided p-value of a standard normal statistic, 2·P(Z > |z|). */
export function twoSidedP(z: number): number {
  return 2 * normalTail(Math.abs(z));
}
