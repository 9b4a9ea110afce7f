/** A row of numbers: a typed array where there may be a million. */
export type Numbers = Float64Array | readonly number[];

/** The sum, compensated (Neumaier), so that a million scores lose no digit that a verdict shows. */
export function sum(values: Numbers): number {
  let total = 0;
  let lost = 0;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index]!;
    const next = total + value;
    lost += Math.abs(total) >= Math.abs(value) ? total - next + value : value - next + total;
    total = next;
  }
  return total + lost;
}

/** The mean; NaN of none. */
export function mean(values: Numbers): number {
  return sum(values) / values.length;
}
