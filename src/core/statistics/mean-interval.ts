import { bisect, falsePosition } from './false-position.ts';
import { naturalLog } from './natural-log.ts';
import { normalQuantile } from './normal-quantile.ts';
import type { Numbers } from './sum.ts';
import type { Interval } from './wilson.ts';

/** Values in [0, 1] by unit (a case, or a cluster of cases): the sum of each unit's values, and how many they are. */
export interface Units {
  readonly sums: Numbers;
  readonly counts: Numbers;
}

/** Bounds are numbers of so many decimal places: what is printed is what was compared. */
const PLACES = 1e9;
/**
 * Above so many units means are rounded to 5,040 steps, towards the wider interval: means of passes of up to ten tries stay as they are, and scores of any value get an interval that is 3 %
 * (5,000 units) to 18 % (a million) wider. The number of units decides, which no value changes, so that the bound stays monotone.
 */
const MOST_UNITS_APART = 2_048;
const STEPS = 5_040;

/**
 * The two-sided interval of the mean of values in [0, 1] that come in units, in which they may be alike (Gaffke 2005; Learned-Miller and
 * Thomas 2020). The lower bound is the (1 − confidence)/2 quantile of Σ sᵢEᵢ/(Σ mᵢEᵢ + M·E₀), with the sum sᵢ and count mᵢ of unit i, M the largest
 * count, and independent exponential variables E: for units of one value Gaffke's bound, for values 0 and 1 Clopper and Pearson's. The weight
 * of the largest unit on E₀ is ours, for unequal units: the bound is about the mean over values, as the point is. No value made worse raises it, since every weight is positive.
 * The upper bound is 1 − the lower bound of 1 − x. Rounded to nine places. Null for no values.
 */
export function meanInterval({ sums, counts }: Units, confidence: number): Interval | null {
  if (!(confidence > 0 && confidence < 1))
    throw new RangeError(`a confidence must lie between 0 and 1, not ${confidence}`);
  if (sums.length !== counts.length) throw new RangeError(`${sums.length} sums stand beside ${counts.length} counts`);
  const others = new Float64Array(sums.length);
  for (let index = 0; index < sums.length; index += 1) {
    const sum = sums[index]!;
    const count = counts[index]!;
    if (!(count > 0 && sum >= 0 && sum <= count * (1 + 1e-12)))
      throw new RangeError(`unit ${index}: ${count} values in [0, 1] cannot add up to ${sum}`);
    others[index] = Math.max(0, count - sum);
  }
  if (sums.length === 0) return null;
  const error = (1 - confidence) / 2;
  const low = lowerBound({ sums, counts }, error);
  const high = 1 - lowerBound({ sums: others, counts }, error);
  return [Math.round(low * PLACES) / PLACES, Math.round(high * PLACES) / PLACES];
}

/** The lower bound at the one-sided `error`: where the distribution of the weighted mean reaches it. */
function lowerBound(units: Units, error: number): number {
  const terms = termsOf(units);
  const top = terms.mean.at(-1)!;
  const far = Math.max(8, 1 - naturalLog(error));
  const spread = (t: number, wanted: number) => distance(terms, t) > wanted;
  // Beyond these two the distribution is below or above every error that may be asked for, and the inversion would lose digits.
  const low = bisect(top, (t) => spread(t, far));
  const high = bisect(top, (t) => spread(t, -far));
  const usual = -normalQuantile(error);
  return falsePosition(
    (t) => shareBelow(terms, t) - error,
    { low, high, atLow: -error, atHigh: 1 - error },
    // Around where the normal distribution has it.
    [usual + 0.25, usual - 0.25].map((guess) => bisect(top, (t) => spread(t, guess))),
  );
}

/** Units that are equal in mean and count, counted, by growing mean; `weight` is the count over the largest count. */
interface Terms {
  readonly mean: Float64Array;
  readonly weight: Float64Array;
  readonly times: Float64Array;
}

function termsOf({ sums, counts: sizes }: Units): Terms {
  let largest = 0;
  for (const count of sizes) largest = Math.max(largest, count);
  const stepped = sums.length > MOST_UNITS_APART;
  const found = new Map<number, Map<number, number>>();
  for (let index = 0; index < sums.length; index += 1) {
    const count = sizes[index]!;
    const exact = Math.min(1, sums[index]! / count);
    const mean = stepped ? Math.floor(exact * STEPS + 1e-9) / STEPS : exact;
    let counts = found.get(mean);
    if (counts === undefined) {
      counts = new Map();
      found.set(mean, counts);
    }
    counts.set(count, (counts.get(count) ?? 0) + 1);
  }
  const terms = [...found].flatMap(([mean, counts]) => [...counts].map(([count, times]) => ({ mean, count, times })));
  // Ordered, so that the order of units changes no bit.
  terms.sort((a, b) => a.mean - b.mean || a.count - b.count);
  return {
    mean: Float64Array.from(terms, ({ mean }) => mean),
    weight: Float64Array.from(terms, ({ count }) => count / largest),
    times: Float64Array.from(terms, ({ times }) => times),
  };
}

/** The λᵢ at `t`, with the mean and the standard deviation of Σ λᵢEᵢ. */
function scalesAt(
  { mean, weight, times }: Terms,
  t: number,
): { scales: Float64Array; first: number; deviation: number } {
  const scales = new Float64Array(mean.length);
  let first = -t;
  let second = t * t;
  for (let index = 0; index < scales.length; index += 1) {
    const scale = weight[index]! * (mean[index]! - t);
    scales[index] = scale;
    first += times[index]! * scale;
    second += times[index]! * scale * scale;
  }
  return { scales, first, deviation: Math.sqrt(second) };
}

/** By how many of its standard deviations the mean of Σ λᵢEᵢ lies above 0. */
function distance(terms: Terms, t: number): number {
  const { first, deviation } = scalesAt(terms, t);
  return first / deviation;
}

const STEP = 0.08; // of ln u
const RATIO = 1.0832870676749586; // e^0.08
const START = 1e-4; // below, Im φ is linear to 1e-12
const NEGLIGIBLE = 1e26; // |φ|^−2 from which on nothing more comes
const MOST_TURN = 2.5; // radians from node to node; 2 and 3 give the same nine places
const TURNS_COUNT = 1e20; // |φ|^−2 up to which they do

/**
 * P(Σ wᵢxᵢEᵢ/(Σ wᵢEᵢ + E₀) ≤ t) = P(Σ λᵢEᵢ ≤ 0) with λᵢ = wᵢ(xᵢ − t) and λ₀ = −t, by inversion of the characteristic function (Gil-Pelaez
 * 1951): ½ − (1/π)∫ Im φ(u)/u du with φ(u) = Π 1/(1 − iλᵢu). In ln u the integrand is analytic and falls off at both ends, so that the
 * trapezoidal rule errs by less than 1e-10 where φ turns little from node to node; with many units, nearly all of them alike, E₀ decides alone
 * and φ turns often before it is small, so the nodes are set closer. Additions, products and square roots only: the same bits on every machine.
 */
function shareBelow(terms: Terms, t: number): number {
  const { scales, first, deviation } = scalesAt(terms, t);
  const { times } = terms;
  const start = START / (Math.abs(first) + deviation);
  const { step, ratio } = nodes(fastestTurn({ scales, times }, t, start));
  let sum = (first * start) / (ratio - 1); // all nodes below the first
  for (let u = start; ; u *= ratio) {
    let re = 1;
    let im = -t * u;
    for (let index = 0; index < scales.length; index += 1) {
      let baseRe = 1;
      let baseIm = scales[index]! * u;
      // × (1 + iλu)^times, by repeated squaring.
      for (let left = times[index]!; ; left = Math.floor(left / 2)) {
        if (left % 2 === 1) {
          const next = re * baseRe - im * baseIm;
          im = re * baseIm + im * baseRe;
          re = next;
          if (left === 1) break;
        }
        const square = baseRe * baseRe - baseIm * baseIm;
        baseIm = 2 * baseRe * baseIm;
        baseRe = square;
      }
      if (re * re + im * im > NEGLIGIBLE) return 0.5 - (step * sum) / Math.PI;
    }
    sum += im / (re * re + im * im);
  }
}

/** The step in ln u, and the ratio of a node to the one before: halved until φ turns little between them. */
function nodes(turn: number): { step: number; ratio: number } {
  let step = STEP;
  let ratio = RATIO;
  for (; step * turn > MOST_TURN; step /= 2) ratio = Math.sqrt(ratio);
  return { step, ratio };
}

/** The most radians that φ turns by within one e-fold of u, as long as it is not negligible. */
function fastestTurn(
  { scales, times }: Pick<Terms, 'times'> & { scales: Float64Array },
  t: number,
  start: number,
): number {
  let fastest = 0;
  for (let u = start; ; u *= 2) {
    let size = 1 + t * t * u * u;
    let turn = (-t * u) / size;
    for (let index = 0; index < scales.length; index += 1) {
      const at = scales[index]! * u;
      let base = 1 + at * at;
      turn += (times[index]! * at) / base;
      for (let left = times[index]!; ; left = Math.floor(left / 2)) {
        if (left % 2 === 1) {
          size *= base;
          if (left === 1) break;
        }
        base *= base;
      }
    }
    if (!(size <= TURNS_COUNT)) return fastest;
    fastest = Math.max(fastest, Math.abs(turn));
  }
}
