import { naturalLog } from './natural-log.ts';

/**
 * Quantile of the standard normal distribution for a probability in (0, 1), relative error about 1e-16 (Wichura 1988, algorithm AS 241,
 * PPND16). Rational approximations, `Math.sqrt` and an own logarithm: the same bits in every engine. Throws a RangeError outside (0, 1).
 */
export function normalQuantile(probability: number): number {
  if (!(probability > 0 && probability < 1))
    throw new RangeError(`a probability must lie between 0 and 1, not ${probability}`);
  const fromMiddle = probability - 0.5;
  if (Math.abs(fromMiddle) <= 0.425) {
    return fromMiddle * ratio(CENTRE, 0.180625 - fromMiddle * fromMiddle);
  }
  const tail = Math.sqrt(-naturalLog(fromMiddle < 0 ? probability : 1 - probability));
  const quantile = tail <= 5 ? ratio(SHOULDER, tail - 1.6) : ratio(TAIL, tail - 5);
  return fromMiddle < 0 ? -quantile : quantile;
}

/** The number of standard errors on either side of a two-sided interval: 1.959964 for 0.95. Throws a RangeError outside (0, 1). */
export function twoSidedQuantile(confidence: number): number {
  if (!(confidence > 0 && confidence < 1))
    throw new RangeError(`a confidence must lie between 0 and 1, not ${confidence}`);
  return -normalQuantile((1 - confidence) / 2);
}

interface Rational {
  /** Coefficients from the highest power down. */
  readonly over: readonly number[];
  readonly under: readonly number[];
}

function ratio({ over, under }: Rational, x: number): number {
  return horner(over, x) / horner(under, x);
}

function horner(coefficients: readonly number[], x: number): number {
  let value = 0;
  for (const coefficient of coefficients) value = value * x + coefficient;
  return value;
}

const CENTRE: Rational = {
  over: [
    2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987, 13731.69376550946, 1971.5909503065513,
    133.14166789178438, 3.3871328727963665,
  ],
  under: [
    5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597, 5394.196021424751, 687.1870074920579,
    42.31333070160091, 1,
  ],
};

const SHOULDER: Rational = {
  over: [
    0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684, 3.6478483247632045,
    5.769497221460691, 4.630337846156546, 1.4234371107496835,
  ],
  under: [
    1.0507500716444169e-9, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008, 0.6897673349851,
    1.6763848301838038, 2.053191626637759, 1,
  ],
};

const TAIL: Rational = {
  over: [
    2.0103343992922881e-7, 2.7115555687434876e-5, 0.0012426609473880784, 0.026532189526576124, 0.29656057182850487,
    1.7848265399172913, 5.463784911164114, 6.657904643501103,
  ],
  under: [
    2.0442631033899397e-15, 1.421511758316446e-7, 1.8463183175100548e-5, 0.0007868691311456133, 0.014875361290850615,
    0.1369298809227358, 0.599832206555888, 1,
  ],
};
