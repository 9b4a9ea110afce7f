const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;

/**
 * e to the power x for −745 ≤ x ≤ 700 by IEEE basic operations only, so that every engine gives the same bits, which `Math.exp` does
 * not promise. x = k·ln 2 + r with |r| ≤ ½ ln 2; e^r by its series up to r^17/17! (the next term is under 2^−70); relative error under
 * 1e-15. 0 below −745; a RangeError above 700.
 */
export function naturalExp(x: number): number {
  if (x < -745) return 0;
  if (!(x <= 700)) throw new RangeError(`the exponential of ${x} is not defined here`);
  const k = Math.round(x * Math.LOG2E);
  const r = x - k * LN2_HIGH - k * LN2_LOW;
  let series = 1;
  for (let n = 17; n >= 1; n -= 1) series = 1 + (series * r) / n;
  let value = series;
  let step = k < 0 ? 0.5 : 2;
  for (let left = Math.abs(k); left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) value *= step;
    step *= step;
  }
  return value;
}
