const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;

/**
 * Natural logarithm of a positive normal number by IEEE basic operations only, so that every engine gives the same bits, which
 * `Math.log` does not promise. x = 2^e·m with m in [√½, √2); ln m = 2·artanh((m−1)/(m+1)) by its series up to s^25 (the next term is
 * under 2^−60); relative error under 1e-15.
 */
export function naturalLog(x: number): number {
  if (!(x >= 2 ** -1022 && x < Number.POSITIVE_INFINITY))
    throw new RangeError(`the logarithm of ${x} is not defined here`);
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const high = view.getUint32(0);
  let exponent = (high >>> 20) - 1023;
  view.setUint32(0, (high & 0x000fffff) | 0x3ff00000);
  let mantissa = view.getFloat64(0);
  if (mantissa > Math.SQRT2) {
    mantissa /= 2;
    exponent += 1;
  }
  const s = (mantissa - 1) / (mantissa + 1);
  const square = s * s;
  let series = 0;
  for (let odd = 25; odd >= 3; odd -= 2) series = (series + 1 / odd) * square;
  return exponent * LN2_HIGH + (2 * (s + s * series) + exponent * LN2_LOW);
}
