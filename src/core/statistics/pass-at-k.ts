import { mean } from './sum.ts';

/** pass@k: the chance that at least one of k tries drawn from n passes when c of them did, 1 − C(n−c,k)/C(n,k) (Chen et al. 2021); null for n < k. */
export function passAtK(n: number, c: number, k: number): number | null {
  checkCounts(n, c, k);
  if (n < k) return null;
  return 1 - shareOfDraws(n, n - c, k);
}

/** pass^k: the chance that all of k tries drawn from n pass when c of them did, C(c,k)/C(n,k) (Yao et al. 2024); null for n < k. */
export function passHatK(n: number, c: number, k: number): number | null {
  checkCounts(n, c, k);
  if (n < k) return null;
  return shareOfDraws(n, c, k);
}

/** An average over the cases that had at least k tries, with the value of each of them in order. */
export interface AverageOverCases {
  /** Null when no case had k tries. */
  readonly value: number | null;
  readonly cases: number;
  readonly per_case: Float64Array;
}

/** pass@k or pass^k averaged over cases with n ≥ k: `tries` and `passed` hold n and c of each case. */
export function averageOverCases(
  estimator: typeof passAtK | typeof passHatK,
  counts: { readonly tries: Int32Array | readonly number[]; readonly passed: Int32Array | readonly number[] },
  k: number,
): AverageOverCases {
  const { tries, passed } = counts;
  if (tries.length !== passed.length)
    throw new RangeError(`${passed.length} counts of passes stand for ${tries.length} cases`);
  const values = new Float64Array(tries.length);
  let cases = 0;
  for (let index = 0; index < tries.length; index += 1) {
    const value = estimator(tries[index]!, passed[index]!, k);
    if (value === null) continue;
    values[cases] = value;
    cases += 1;
  }
  const per_case = values.subarray(0, cases);
  return { value: cases === 0 ? null : mean(per_case), cases, per_case };
}

/** C(m,k)/C(n,k) as a product of k factors in [0, 1], so that no binomial coefficient overflows. */
function shareOfDraws(n: number, m: number, k: number): number {
  if (m < k) return 0;
  let share = 1;
  for (let drawn = 0; drawn < k; drawn += 1) share *= (m - drawn) / (n - drawn);
  return share;
}

function checkCounts(n: number, c: number, k: number): void {
  if (!(Number.isInteger(n) && Number.isInteger(c) && c >= 0 && c <= n))
    throw new RangeError(`${c} passes of ${n} tries are no counts`);
  if (!(Number.isInteger(k) && k >= 1)) throw new RangeError(`k must be a positive integer, not ${k}`);
}
