import { mean, type Numbers } from './sum.ts';

/** A mean with its standard error, which is null where the data do not say it: fewer than two values, or fewer than two clusters. */
export interface MeanWithError {
  readonly mean: number;
  readonly standard_error: number | null;
}

/** The mean and s/√n, with s the sample standard deviation (divisor n − 1). Throws a RangeError for no values. */
export function meanStandardError(values: Numbers): MeanWithError {
  const n = values.length;
  if (n === 0) throw new RangeError('no values have no mean');
  const average = mean(values);
  if (n < 2) return { mean: average, standard_error: null };
  let squares = 0;
  for (let index = 0; index < n; index += 1) squares += (values[index]! - average) ** 2;
  return { mean: average, standard_error: Math.sqrt(squares / (n - 1) / n) };
}

/**
 * The mean and its standard error clustered by code: √(C/(C−1)·Σ_c(Σ_{i∈c}(xᵢ − x̄))²)/n with the finite-cluster factor C/(C−1)
 * (Miller 2024, appendix, with the factor of CR1). `codes` number the clusters from 0 to `clusters` − 1. With every value its own
 * cluster it equals `meanStandardError`. Throws a RangeError for no values or codes of another length.
 */
export function clusteredStandardError(values: Numbers, codes: Int32Array, clusters: number): MeanWithError {
  const n = values.length;
  if (n === 0) throw new RangeError('no values have no mean');
  if (codes.length !== n) throw new RangeError(`${codes.length} cluster codes stand for ${n} values`);
  const average = mean(values);
  if (clusters < 2) return { mean: average, standard_error: null };
  const deviations = new Float64Array(clusters);
  for (let index = 0; index < n; index += 1) {
    const code = codes[index]!;
    deviations[code] = deviations[code]! + (values[index]! - average);
  }
  let squares = 0;
  for (const deviation of deviations) squares += deviation * deviation;
  return { mean: average, standard_error: Math.sqrt((clusters / (clusters - 1)) * squares) / n };
}
